// SPDX-License-Identifier: Apache-2.0

public import CoreMetrics

/// Takes what libraries report through swift-metrics into a registry.
///
/// Labels become metric names: characters that Prometheus does not allow become `_`, counters end in `_total`, timers
/// are histograms in `_seconds`. Give it to `MetricsSystem.bootstrap` in the composition root only.
public struct PrometheusMetricsFactory: MetricsFactory {
    private let registry: PrometheusRegistry

    /// A factory whose metrics appear in this registry.
    public init(registry: PrometheusRegistry) {
        self.registry = registry
    }

    /// A counter.
    public func makeCounter(label: String, dimensions: [(String, String)]) -> any CounterHandler {
        self.series(label, .counter, suffix: "_total", dimensions)
    }

    /// A counter of fractions.
    public func makeFloatingPointCounter(
        label: String,
        dimensions: [(String, String)]
    ) -> any FloatingPointCounterHandler {
        FloatingPointSeries(series: self.series(label, .counter, suffix: "_total", dimensions))
    }

    /// A gauge.
    public func makeMeter(label: String, dimensions: [(String, String)]) -> any MeterHandler {
        self.series(label, .gauge, suffix: "", dimensions)
    }

    /// A histogram, or a gauge of the last value if nothing is to be aggregated.
    public func makeRecorder(
        label: String,
        dimensions: [(String, String)],
        aggregate: Bool
    ) -> any RecorderHandler {
        self.series(label, aggregate ? .histogram : .gauge, suffix: "", dimensions)
    }

    /// A histogram in seconds.
    public func makeTimer(label: String, dimensions: [(String, String)]) -> any TimerHandler {
        self.series(label, .histogram, unit: .seconds, suffix: "_seconds", dimensions)
    }

    /// Removes the counter's series.
    public func destroyCounter(_ handler: any CounterHandler) { (handler as? LibrarySeries)?.remove() }
    /// Removes the counter's series.
    public func destroyFloatingPointCounter(_ handler: any FloatingPointCounterHandler) {
        (handler as? FloatingPointSeries)?.series.remove()
    }
    /// Removes the gauge's series.
    public func destroyMeter(_ handler: any MeterHandler) { (handler as? LibrarySeries)?.remove() }
    /// Removes the recorder's series.
    public func destroyRecorder(_ handler: any RecorderHandler) { (handler as? LibrarySeries)?.remove() }
    /// Removes the timer's series.
    public func destroyTimer(_ handler: any TimerHandler) { (handler as? LibrarySeries)?.remove() }

    private func series(
        _ label: String,
        _ kind: MetricDescription.Kind,
        unit: MetricDescription.Unit = .one,
        suffix: String,
        _ dimensions: [(String, String)]
    ) -> LibrarySeries {
        let identifier = MetricDescription.identifier(label)
        let description = MetricDescription(
            identifier.hasSuffix(suffix) ? identifier : identifier + suffix,
            kind,
            unit: unit,
            help: "What a library reports as \(label).",
            labels: dimensions.map(\.0),
            buckets: unit == .seconds ? MetricDescription.requestSeconds : Self.sizes
        )
        // A name given twice would make the whole text unreadable: the first one counts.
        var seen: Set<String> = []
        let pairs = zip(description.labels, dimensions.map(\.1)).filter { seen.insert($0.0).inserted }
        let sorted = pairs.sorted { $0.0 < $1.0 }
        return LibrarySeries(
            family: self.registry.family(description),
            labels: .init(names: sorted.map(\.0), values: sorted.map(\.1))
        )
    }

    /// Bounds for values whose unit is not known.
    private static let sizes: [Double] = [1, 10, 100, 1000, 10_000, 100_000, 1_000_000, 10_000_000]
}

/// One series that a library keeps.
private final class LibrarySeries: CounterHandler, MeterHandler, RecorderHandler, TimerHandler {
    private let family: MetricFamily
    private let labels: MetricFamily.Labels

    init(family: MetricFamily, labels: MetricFamily.Labels) {
        self.family = family
        self.labels = labels
    }

    func remove() { self.family.remove(self.labels) }

    // Counter
    func increment(by amount: Int64) { self.count(Double(amount)) }
    func reset() { self.family.set(0, self.labels) }

    func count(_ amount: Double) {
        guard amount >= 0, amount.isFinite else { return }
        self.family.add(amount, self.labels)
    }

    // Meter
    func set(_ value: Int64) { self.family.set(Double(value), self.labels) }
    func set(_ value: Double) { self.family.set(value, self.labels) }
    func increment(by amount: Double) { self.family.add(amount, self.labels) }
    func decrement(by amount: Double) { self.family.add(-amount, self.labels) }

    // Recorder
    func record(_ value: Int64) { self.record(Double(value)) }
    func record(_ value: Double) {
        if self.family.description.kind == .histogram {
            self.family.observe(value, self.labels)
        } else {
            self.family.set(value, self.labels)
        }
    }

    // Timer
    func recordNanoseconds(_ duration: Int64) { self.family.observe(Double(duration) / 1e9, self.labels) }
}

/// A counter of fractions; apart from `LibrarySeries`, whose meter has a method of the same name.
private final class FloatingPointSeries: FloatingPointCounterHandler {
    let series: LibrarySeries

    init(series: LibrarySeries) {
        self.series = series
    }

    func increment(by amount: Double) { self.series.count(amount) }
    func reset() { self.series.reset() }
}
