// SPDX-License-Identifier: Apache-2.0

import Synchronization

/// Every metric of a process, and the text that Prometheus scrapes.
///
/// Safe to use from any thread. Each metric holds a bounded number of series: a new one beyond is dropped, and counted
/// in `tapedeck_metrics_dropped_total`.
public final class PrometheusRegistry: Sendable {
    /// Counts what was not kept because of a bound; part of every registry.
    public static let droppedDescription = MetricDescription(
        "tapedeck_metrics_dropped_total",
        .counter,
        help: "Values that were not kept because a metric had too many series, or the process too many metrics.",
        labels: ["metric"]
    )

    private struct State {
        var families: [String: MetricFamily] = [:]
        var callbacks: [@Sendable () -> Void] = []
    }

    private let maximumSeries: Int
    private let maximumFamilies: Int
    private let dropped: MetricFamily
    private let state: Mutex<State>

    /// A registry without metrics but the one of what was dropped.
    ///
    /// - Parameters:
    ///   - maximumSeries: Most combinations of label values of one metric.
    ///   - maximumFamilies: Most metrics.
    public init(maximumSeries: Int = 2000, maximumFamilies: Int = 500) {
        self.maximumSeries = maximumSeries
        self.maximumFamilies = maximumFamilies
        self.dropped = MetricFamily(Self.droppedDescription, maximumSeries: maximumFamilies + 1, onOverflow: {})
        self.state = Mutex(State(families: [Self.droppedDescription.name: self.dropped]))
    }

    /// Every registered metric, by name.
    public var descriptions: [MetricDescription] {
        self.state.withLock { $0.families.values.map(\.description) }.sorted { $0.name < $1.name }
    }

    /// Runs before each scrape's text is made, on the scraper's thread, to bring gauges up to date; must not block.
    public func onScrape(_ body: @escaping @Sendable () -> Void) {
        self.state.withLock { $0.callbacks.append(body) }
    }

    /// The counter of this description, whose kind must be `.counter`.
    public func counter(_ description: MetricDescription) -> CounterFamily {
        assert(description.kind == .counter)
        return CounterFamily(family: self.family(description))
    }

    /// The gauge of this description, whose kind must be `.gauge`.
    public func gauge(_ description: MetricDescription) -> GaugeFamily {
        assert(description.kind == .gauge)
        return GaugeFamily(family: self.family(description))
    }

    /// The histogram of this description, whose kind must be `.histogram`.
    public func histogram(_ description: MetricDescription) -> HistogramFamily {
        assert(description.kind == .histogram)
        return HistogramFamily(family: self.family(description))
    }

    /// The answer to a scrape: metrics by name, series by label values.
    public func text(_ format: PrometheusFormat = .text) -> String {
        let callbacks = self.state.withLock { $0.callbacks }
        for callback in callbacks { callback() }
        let families = self.state.withLock { Array($0.families.values) }
        var encoder = PrometheusEncoder(format: format)
        for family in families.sorted(by: { $0.description.name < $1.description.name }) {
            encoder.append(family.description, family.snapshot)
        }
        return encoder.finish()
    }

    /// Removes every series that has a label value, such as those of a room that is no more.
    public func removeSeries(where name: String, is value: String) {
        for family in self.state.withLock({ Array($0.families.values) }) where family.description.labels.contains(name)
        {
            family.remove(where: name, is: value)
        }
    }

    /// The metric of a name, made at first use.
    ///
    /// A name that is taken by a metric of another kind, and a metric too many, give one that no scrape shows.
    func family(_ description: MetricDescription) -> MetricFamily {
        let name = description.name
        let family = MetricFamily(description, maximumSeries: self.maximumSeries) { [dropped] in
            dropped.add(1, .init(names: Self.droppedDescription.labels, values: [name]))
        }
        let (found, isShown) = self.state.withLock { state -> (MetricFamily, Bool) in
            if let existing = state.families[name] {
                let isSame = existing.description.kind == description.kind
                return (isSame ? existing : family, isSame)
            }
            guard state.families.count < self.maximumFamilies else { return (family, false) }
            state.families[name] = family
            return (family, true)
        }
        if !isShown { self.dropped.add(1, .init(names: Self.droppedDescription.labels, values: [name])) }
        return found
    }
}
