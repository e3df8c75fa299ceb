// SPDX-License-Identifier: Apache-2.0

import Synchronization

/// A metric with all its series, one for each combination of label values.
///
/// Safe to use from any thread. The lock is held for one dictionary access; a reader takes a copy that shares storage.
final class MetricFamily: Sendable {
    /// Names and values of a series' labels; both arrays are of one length.
    struct Labels: Hashable, Sendable {
        var names: [String]
        var values: [String]
    }

    /// The value of a series.
    enum Value: Hashable, Sendable {
        /// The value of a counter or a gauge.
        case number(Double)
        /// The value of a histogram: observations in each bucket, not cumulated, the last one without bound; and their
        /// sum.
        case histogram(counts: [UInt64], sum: Double)
    }

    let description: MetricDescription
    private let maximumSeries: Int
    /// Called when a new series is refused because there are too many.
    private let onOverflow: @Sendable () -> Void
    private let series = Mutex<[Labels: Value]>([:])

    init(_ description: MetricDescription, maximumSeries: Int, onOverflow: @escaping @Sendable () -> Void) {
        self.description = description
        self.maximumSeries = maximumSeries
        self.onOverflow = onOverflow
    }

    var snapshot: [Labels: Value] { self.series.withLock { $0 } }

    /// Labels with the declared names; `nil`, an error of ours, if there are more or fewer values than names.
    func labels(_ values: [String]) -> Labels? {
        guard values.count == self.description.labels.count else {
            assertionFailure("\(self.description.name) has labels \(self.description.labels), not \(values.count)")
            return nil
        }
        return Labels(names: self.description.labels, values: values)
    }

    func add(_ amount: Double, _ labels: Labels) {
        self.change(labels) { value in
            guard case .number(let old) = value else { return }
            value = .number(old + amount)
        }
    }

    func set(_ number: Double, _ labels: Labels) {
        self.change(labels) { $0 = .number(number) }
    }

    func observe(_ observation: Double, _ labels: Labels) {
        guard observation.isFinite else { return }
        let buckets = self.description.buckets
        let bucket = buckets.firstIndex { observation <= $0 } ?? buckets.count
        self.change(labels) { value in
            guard case .histogram(var counts, let sum) = value else { return }
            // The counts are in `value` and in `counts` here: let one go, so that they are changed in place.
            value = .number(0)
            counts[bucket] += 1
            value = .histogram(counts: counts, sum: sum + observation)
        }
    }

    /// Makes the series without counting anything, so that it is seen from the start.
    func touch(_ labels: Labels) {
        self.change(labels) { _ in }
    }

    /// Replaces every series.
    func replace(with numbers: [Labels: Double]) {
        let values = Dictionary(
            uniqueKeysWithValues: numbers.prefix(self.maximumSeries).map { ($0.key, Value.number($0.value)) }
        )
        self.series.withLock { $0 = values }
        for _ in values.count..<numbers.count { self.onOverflow() }
    }

    /// Removes the series that have a label value.
    func remove(where name: String, is value: String) {
        self.series.withLock { series in
            series = series.filter { labels, _ in
                !zip(labels.names, labels.values).contains { $0 == name && $1 == value }
            }
        }
    }

    func remove(_ labels: Labels) {
        self.series.withLock { _ = $0.removeValue(forKey: labels) }
    }

    private func change(_ labels: Labels, _ body: (inout Value) -> Void) {
        let isRefused = self.series.withLock { series -> Bool in
            if series[labels] == nil, series.count >= self.maximumSeries { return true }
            body(&series[labels, default: self.initial])
            return false
        }
        if isRefused { self.onOverflow() }
    }

    private var initial: Value {
        switch self.description.kind {
        case .counter, .gauge: .number(0)
        case .histogram: .histogram(counts: Array(repeating: 0, count: self.description.buckets.count + 1), sum: 0)
        }
    }
}
