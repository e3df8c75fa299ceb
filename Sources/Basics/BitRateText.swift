// SPDX-License-Identifier: Apache-2.0

/// Bit rates as people write them: `1500k` or `2M`, in bits a second.
public enum BitRateText {
    private static let units = UnitText(units: [("k", 1000), ("K", 1000), ("m", 1_000_000), ("M", 1_000_000)])

    /// Reads a whole number with `k` or `M`; nil for anything else.
    public static func parse(_ text: String) -> Int? { Self.units.whole(text).flatMap { Int(exactly: $0) } }

    /// Reads what a person types on a command line: also parts of a unit, and bits without one.
    ///
    /// Parts of a bit are cut off.
    public static func parseDecimal(_ text: String) -> Int? { Self.units.decimal(text, bare: 1).map { Int($0) } }

    /// A short text that reads back as the same rate, for whole thousands.
    public static func text(_ bitsPerSecond: Int) -> String {
        bitsPerSecond % 1_000_000 == 0 ? "\(bitsPerSecond / 1_000_000)M" : "\(bitsPerSecond / 1000)k"
    }
}
