// SPDX-License-Identifier: Apache-2.0

/// Numbers of bytes as people write them: `2GB` (decimal) or `500MiB` (binary).
public enum ByteCountText {
    private static let decimal: [(suffix: String, factor: Int64)] = [
        ("kB", 1000), ("MB", 1_000_000), ("GB", 1_000_000_000), ("TB", 1_000_000_000_000),
    ]
    private static let others: [(suffix: String, factor: Int64)] = [
        ("KB", 1000), ("KiB", 1 << 10), ("MiB", 1 << 20), ("GiB", 1 << 30), ("TiB", 1 << 40), ("B", 1),
    ]

    /// Reads a whole number with a unit; nil for anything else.
    public static func parse(_ text: String) -> Int64? { UnitText(units: Self.decimal + Self.others).whole(text) }

    /// Reads a whole number with one of kB, MB, GB and TB; nil for anything else.
    public static func parseDecimal(_ text: String) -> Int64? { UnitText(units: Self.decimal).whole(text) }

    /// A short text that reads back as the same number.
    public static func text(_ bytes: Int64) -> String {
        guard bytes > 0, let unit = Self.decimal.last(where: { bytes % $0.factor == 0 }) else { return "\(bytes)B" }
        return "\(bytes / unit.factor)\(unit.suffix)"
    }
}
