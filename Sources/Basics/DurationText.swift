// SPDX-License-Identifier: Apache-2.0

/// Lengths of time as people write them: `500ms`, `30s`, `30m`, `2h`, `30d`.
public enum DurationText {
    private static let days: [(suffix: String, factor: Int64)] = [("d", 86_400_000)]
    private static let upToHours: [(suffix: String, factor: Int64)] = [
        ("ms", 1), ("s", 1000), ("m", 60_000), ("h", 3_600_000),
    ]

    /// Reads a whole number with a unit; nil for anything else.
    public static func parse(_ text: String) -> Duration? {
        UnitText(units: Self.upToHours + Self.days).whole(text).map { .milliseconds($0) }
    }

    /// Reads what a person types on a command line: also parts of a unit, as in `1.5h`, but no days.
    ///
    /// Parts of a millisecond are cut off.
    public static func parseDecimal(_ text: String) -> Duration? {
        UnitText(units: Self.upToHours).decimal(text, bare: nil).map { .milliseconds(Int64($0)) }
    }

    /// The shortest text that reads back as the same time; parts of a millisecond are cut off.
    public static func text(_ duration: Duration) -> String {
        let milliseconds = duration.milliseconds
        let unit = (Self.upToHours + Self.days).last { milliseconds % $0.factor == 0 } ?? Self.upToHours[0]
        return milliseconds == 0 ? "0s" : "\(milliseconds / unit.factor)\(unit.suffix)"
    }
}
