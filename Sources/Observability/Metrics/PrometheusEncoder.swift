// SPDX-License-Identifier: Apache-2.0

/// The text formats that a scraper may ask for.
public enum PrometheusFormat: Sendable, Hashable, CaseIterable {
    /// Prometheus text exposition format 0.0.4.
    case text
    /// OpenMetrics 1.0.0.
    case openMetrics

    /// The value of the answer's `Content-Type`.
    public var contentType: String {
        switch self {
        case .text: "text/plain; version=0.0.4; charset=utf-8"
        case .openMetrics: "application/openmetrics-text; version=1.0.0; charset=utf-8"
        }
    }

    /// The format for a request's `Accept`: OpenMetrics if it is named there, with any weight but zero, else text.
    public init(accept: String?) {
        let ranges = (accept ?? "").lowercased().split(separator: ",").prefix(20)
        let isOpen = ranges.contains { range in
            let parts = range.split(separator: ";").map { $0.filter { $0 != " " } }
            guard parts.first == "application/openmetrics-text" else { return false }
            return !parts.contains { $0.hasPrefix("q=") && Double($0.dropFirst(2)) == 0 }
        }
        self = isOpen ? .openMetrics : .text
    }
}

/// Writes metrics as text.
struct PrometheusEncoder {
    private let format: PrometheusFormat
    private var text = ""

    init(format: PrometheusFormat) {
        self.format = format
    }

    /// A metric: its help, its type, and its series by label values; nothing if it has no series.
    mutating func append(_ description: MetricDescription, _ series: [MetricFamily.Labels: MetricFamily.Value]) {
        guard !series.isEmpty else { return }
        let name = self.familyName(description)
        self.text += "# HELP \(name) \(self.escapedHelp(description.help))\n"
        self.text += "# TYPE \(name) \(description.kind.rawValue)\n"
        if self.format == .openMetrics, name.hasSuffix("_\(description.unit.rawValue)") {
            self.text += "# UNIT \(name) \(description.unit.rawValue)\n"
        }
        let sorted = series.sorted { left, right in
            (left.key.values + left.key.names).lexicographicallyPrecedes(right.key.values + right.key.names)
        }
        for (labels, value) in sorted {
            let pairs = zip(labels.names, labels.values).map { "\($0)=\"\(Self.escaped($1))\"" }
            switch value {
            case .number(let number):
                self.append(description.name, pairs, Self.number(number))
            case .histogram(let counts, let sum):
                self.append(description, pairs, counts, sum)
            }
        }
    }

    /// The whole text.
    consuming func finish() -> String {
        self.format == .openMetrics ? self.text + "# EOF\n" : self.text
    }

    private mutating func append(
        _ description: MetricDescription,
        _ pairs: [String],
        _ counts: [UInt64],
        _ sum: Double
    ) {
        var total: UInt64 = 0
        for (bound, count) in zip(description.buckets + [.infinity], counts) {
            total += count
            self.append("\(description.name)_bucket", pairs + ["le=\"\(self.bound(bound))\""], String(total))
        }
        self.append("\(description.name)_sum", pairs, Self.number(sum))
        self.append("\(description.name)_count", pairs, String(total))
    }

    private mutating func append(_ name: String, _ pairs: [String], _ value: String) {
        let labels = pairs.isEmpty ? "" : "{\(pairs.joined(separator: ","))}"
        self.text += "\(name)\(labels) \(value)\n"
    }

    /// OpenMetrics names a counter without its `_total`, the text format with it.
    private func familyName(_ description: MetricDescription) -> String {
        let suffix = "_total"
        guard self.format == .openMetrics, description.kind == .counter, description.name.hasSuffix(suffix) else {
            return description.name
        }
        return String(description.name.dropLast(suffix.count))
    }

    /// OpenMetrics wants bounds in canonical form, with a fraction.
    private func bound(_ bound: Double) -> String {
        guard self.format == .openMetrics, bound.isFinite else { return Self.number(bound) }
        return "\(bound)"
    }

    private func escapedHelp(_ text: String) -> String {
        self.format == .openMetrics ? Self.escaped(text) : Self.escaped(text, quotes: false)
    }

    private static func escaped(_ text: String, quotes: Bool = true) -> String {
        var escaped = ""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\\": escaped += "\\\\"
            case "\n": escaped += "\\n"
            case "\"" where quotes: escaped += "\\\""
            default: escaped.unicodeScalars.append(scalar)
            }
        }
        return escaped
    }

    /// Whole numbers without a fraction, others so that they read back equal.
    private static func number(_ value: Double) -> String {
        if value.isNaN { return "NaN" }
        if value.isInfinite { return value < 0 ? "-Inf" : "+Inf" }
        if let whole = Int64(exactly: value), whole.magnitude < 1 << 53 { return String(whole) }
        return "\(value)"
    }
}
