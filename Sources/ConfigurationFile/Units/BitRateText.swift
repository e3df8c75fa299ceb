// SPDX-License-Identifier: Apache-2.0

/// Bit rates as the configuration writes them: `1500k` or `2M`, in bits a second.
enum BitRateText {
    /// Reads a whole number with `k` or `M`; `nil` for anything else.
    static func parse(_ text: String) -> Int? {
        guard let (number, suffix) = UnitText.split(text) else { return nil }
        let factor: Int64
        switch suffix {
        case "k", "K": factor = 1000
        case "m", "M": factor = 1_000_000
        default: return nil
        }
        let (bits, overflow) = number.multipliedReportingOverflow(by: factor)
        return overflow ? nil : Int(exactly: bits)
    }

    /// A short text that reads back as the same rate, for whole thousands.
    static func text(_ bitsPerSecond: Int) -> String {
        bitsPerSecond % 1_000_000 == 0 ? "\(bitsPerSecond / 1_000_000)M" : "\(bitsPerSecond / 1000)k"
    }
}
