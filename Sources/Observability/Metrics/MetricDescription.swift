// SPDX-License-Identifier: Apache-2.0

/// The description of a metric: everything about it but its values.
public struct MetricDescription: Sendable, Hashable {
    /// How values come and go; the raw values are those of the exposition format's `# TYPE`.
    public enum Kind: String, Sendable, Hashable, CaseIterable {
        /// Only rises; begins again at zero with the process, or with what is counted.
        case counter
        /// Goes up and down.
        case gauge
        /// Counts observations by size.
        case histogram
    }

    /// The base units that are used.
    public enum Unit: String, Sendable, Hashable, CaseIterable {
        /// Seconds, with fraction.
        case seconds
        /// Bytes.
        case bytes
        /// Bytes a second.
        case bytesPerSecond = "bytes_per_second"
        /// Decibels of a full-scale square wave (dBov).
        case decibels
        /// A number of things.
        case one = "1"
    }

    /// The whole name as Prometheus sees it, with the unit and, for a counter, `_total` at the end.
    public var name: String
    /// How values come and go.
    public var kind: Kind
    /// The unit of the values.
    public var unit: Unit
    /// One human-readable sentence.
    public var help: String
    /// Names of the labels, in the order in which values are given.
    public var labels: [String]
    /// Upper bounds of a histogram's buckets, rising, without infinity; empty for the other kinds.
    public var buckets: [Double]

    /// A description with each part given.
    ///
    /// - Parameter name: A letter or `_`, then letters, digits and `_`; a name that is none is made one.
    public init(
        _ name: String,
        _ kind: Kind,
        unit: Unit = .one,
        help: String,
        labels: [String] = [],
        buckets: [Double] = []
    ) {
        self.name = Self.identifier(name)
        self.kind = kind
        self.unit = unit
        self.help = help
        self.labels = labels.map(Self.identifier)
        self.buckets = kind == .histogram ? Array(Set(buckets.filter(\.isFinite))).sorted() : []
    }

    /// Bounds for durations of requests, in seconds.
    public static let requestSeconds = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10]
    /// Bounds for the wait for media, in seconds.
    public static let mediaWaitSeconds = [0.1, 0.2, 0.3, 0.4, 0.5, 0.75, 1, 1.5, 2, 3, 5, 10, 30]
    /// Bounds for steps of a connection's beginning, in seconds.
    public static let setupSeconds = [0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10]
    /// Bounds for jobs that take minutes, in seconds.
    public static let jobSeconds = [0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600, 1800, 3600]

    /// A text as metric or label name: every other character becomes `_`.
    static func identifier(_ text: String) -> String {
        var characters = text.unicodeScalars.map { scalar -> Character in
            let isAllowed = scalar.isASCII && (scalar.properties.isAlphabetic || ("0"..."9").contains(scalar))
            return isAllowed ? Character(scalar) : "_"
        }
        if characters.first.map({ $0.isNumber }) ?? true { characters.insert("_", at: 0) }
        return String(characters)
    }
}
