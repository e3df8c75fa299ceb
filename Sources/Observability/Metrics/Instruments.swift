// SPDX-License-Identifier: Apache-2.0

/// A metric that only rises, with the values of its labels given at each use, in declared order.
public struct CounterFamily: Sendable {
    let family: MetricFamily

    /// Counts; an amount below zero or none that is finite counts nothing.
    public func add(_ amount: Double = 1, _ labels: String...) {
        guard amount >= 0, amount.isFinite, let labels = self.family.labels(labels) else { return }
        self.family.add(amount, labels)
    }

    /// Takes over a total that something else keeps; one below the last means that it began again.
    public func set(total: Double, _ labels: String...) {
        guard total >= 0, total.isFinite, let labels = self.family.labels(labels) else { return }
        self.family.set(total, labels)
    }

    /// Shows the series at zero from now on.
    public func touch(_ labels: String...) {
        self.family.labels(labels).map(self.family.touch)
    }
}

/// A metric that goes up and down, with the values of its labels given at each use, in declared order.
public struct GaugeFamily: Sendable {
    let family: MetricFamily

    /// Sets a value; `nil` removes the series.
    public func set(_ value: Double?, _ labels: String...) {
        guard let labels = self.family.labels(labels) else { return }
        if let value {
            self.family.set(value, labels)
        } else {
            self.family.remove(labels)
        }
    }

    /// Replaces every series by these; what is not named is gone.
    public func replace(with values: [[String]: Double]) {
        self.family.replace(with: self.keyed(values))
    }

    /// Shows what is new or other than before, and removes what was before and is no more.
    public func change(from before: [[String]: Double], to values: [[String]: Double]) {
        for (labels, value) in values where before[labels] != value {
            self.family.labels(labels).map { self.family.set(value, $0) }
        }
        for labels in before.keys where values[labels] == nil {
            self.family.labels(labels).map(self.family.remove)
        }
    }

    private func keyed(_ values: [[String]: Double]) -> [MetricFamily.Labels: Double] {
        var keyed: [MetricFamily.Labels: Double] = [:]
        for (labels, value) in values {
            if let labels = self.family.labels(labels) { keyed[labels] = value }
        }
        return keyed
    }
}

/// A metric that counts observations by size, with the values of its labels given at each use, in declared order.
public struct HistogramFamily: Sendable {
    let family: MetricFamily

    /// Counts an observation in the metric's unit; one that is not finite is left out.
    public func observe(_ value: Double, _ labels: String...) {
        guard let labels = self.family.labels(labels) else { return }
        self.family.observe(value, labels)
    }

    /// Counts a duration, in seconds.
    public func observe(_ duration: Duration, _ labels: String...) {
        guard let labels = self.family.labels(labels) else { return }
        self.family.observe(duration / .seconds(1), labels)
    }

    /// Shows the series at zero from now on.
    public func touch(_ labels: String...) {
        self.family.labels(labels).map(self.family.touch)
    }
}
