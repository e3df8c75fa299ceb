// SPDX-License-Identifier: Apache-2.0

/// A whole number with a unit behind it.
enum UnitText {
    /// Cuts a text into its number and its unit; `nil` unless it begins with 1 to 18 digits and letters follow.
    static func split(_ text: String) -> (number: Int64, suffix: Substring)? {
        let digits = text.prefix { ("0"..."9").contains($0) }
        guard (1...18).contains(digits.utf8.count), let number = Int64(digits) else { return nil }
        let suffix = text[digits.endIndex...]
        return suffix.isEmpty ? nil : (number, suffix)
    }
}
