// SPDX-License-Identifier: Apache-2.0

/// Numbers of bytes as the configuration writes them: `2GB` (decimal) or `500MiB` (binary).
enum ByteCountText {
    private static let units: [(suffix: String, bytes: Int64)] = [
        ("B", 1), ("kB", 1000), ("KB", 1000), ("MB", 1_000_000), ("GB", 1_000_000_000), ("TB", 1_000_000_000_000),
        ("KiB", 1 << 10), ("MiB", 1 << 20), ("GiB", 1 << 30), ("TiB", 1 << 40),
    ]

    /// Reads a whole number with a unit; `nil` for anything else.
    static func parse(_ text: String) -> Int64? {
        guard let (number, suffix) = UnitText.split(text),
            let unit = Self.units.first(where: { $0.suffix == suffix })
        else { return nil }
        let (bytes, overflow) = number.multipliedReportingOverflow(by: unit.bytes)
        return overflow ? nil : bytes
    }

    /// A short text that reads back as the same number.
    static func text(_ bytes: Int64) -> String {
        let decimal = Self.units.prefix(6).filter { $0.suffix != "KB" }
        guard bytes > 0, let unit = decimal.last(where: { bytes % $0.bytes == 0 }) else { return "\(bytes)B" }
        return "\(bytes / unit.bytes)\(unit.suffix)"
    }
}
