// SPDX-License-Identifier: Apache-2.0

/// Lengths of time as the configuration writes them: `500ms`, `30s`, `30m`, `2h`, `30d`.
enum DurationText {
    private static let units: [(suffix: String, milliseconds: Int64)] = [
        ("ms", 1), ("s", 1000), ("m", 60_000), ("h", 3_600_000), ("d", 86_400_000),
    ]

    /// Reads a whole number with a unit; `nil` for anything else.
    static func parse(_ text: String) -> Duration? {
        guard let (number, suffix) = UnitText.split(text),
            let unit = Self.units.first(where: { $0.suffix == suffix })
        else { return nil }
        let (milliseconds, overflow) = number.multipliedReportingOverflow(by: unit.milliseconds)
        return overflow ? nil : .milliseconds(milliseconds)
    }

    /// The shortest text that reads back as the same time; parts of a millisecond are cut off.
    static func text(_ duration: Duration) -> String {
        let (seconds, attoseconds) = duration.components
        let (whole, overflow) = seconds.multipliedReportingOverflow(by: 1000)
        guard !overflow else { return "\(seconds)s" }
        let milliseconds = whole &+ attoseconds / 1_000_000_000_000_000
        let unit = Self.units.last { milliseconds % $0.milliseconds == 0 } ?? Self.units[0]
        return milliseconds == 0 ? "0s" : "\(milliseconds / unit.milliseconds)\(unit.suffix)"
    }
}
