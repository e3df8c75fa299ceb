// SPDX-License-Identifier: Apache-2.0

/// Numbers with a unit behind them.
struct UnitText {
    /// The units, longer ones before those that they end in, and how many of the smallest each is.
    let units: [(suffix: String, factor: Int64)]

    /// Reads 1 to 18 digits and a unit; nil for anything else.
    func whole(_ text: String) -> Int64? {
        let digits = text.prefix { ("0"..."9").contains($0) }
        guard (1...18).contains(digits.utf8.count), let number = Int64(digits),
            let unit = self.units.first(where: { $0.suffix == text[digits.endIndex...] })
        else { return nil }
        let (product, overflow) = number.multipliedReportingOverflow(by: unit.factor)
        return overflow ? nil : product
    }

    /// Reads a number, which may have a fraction, and a unit; nil for anything else, and beyond what is exact.
    ///
    /// - Parameter bare: How many of the smallest a number without a unit counts; nil if it needs one.
    func decimal(_ text: String, bare: Int64?) -> Double? {
        let unit = self.units.first { text.hasSuffix($0.suffix) } ?? bare.map { ("", $0) }
        guard let unit, let number = Double(text.dropLast(unit.suffix.count)),
            case let product = number * Double(unit.factor),
            abs(product) <= 0x1p53
        else { return nil }
        return product
    }
}
