// SPDX-License-Identifier: Apache-2.0

/// Hexadecimal digits.
public enum Hexadecimal {
    /// The value of an ASCII digit of either case; nil for anything else.
    public static func value(of digit: UInt8) -> UInt8? {
        switch digit {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): digit - UInt8(ascii: "0")
        case UInt8(ascii: "a")...UInt8(ascii: "f"): digit - UInt8(ascii: "a") + 10
        case UInt8(ascii: "A")...UInt8(ascii: "F"): digit - UInt8(ascii: "A") + 10
        default: nil
        }
    }

    /// The bytes of pairs of digits; nil if there is anything else.
    public static func bytes(of text: some StringProtocol) -> [UInt8]? {
        let digits = text.utf8.compactMap(Self.value(of:))
        guard digits.count == text.utf8.count, digits.count.isMultiple(of: 2) else { return nil }
        return stride(from: 0, to: digits.count, by: 2).map { digits[$0] << 4 | digits[$0 + 1] }
    }

    /// Two digits for each byte.
    public static func text(of bytes: some Sequence<UInt8>, uppercase: Bool = false) -> String {
        let digits = Array((uppercase ? "0123456789ABCDEF" : "0123456789abcdef").utf8)
        return String(decoding: bytes.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }, as: UTF8.self)
    }

    /// A number with all digits that its type can have, such as eight for a `UInt32`.
    public static func text<Number: FixedWidthInteger & UnsignedInteger>(
        _ number: Number,
        uppercase: Bool = false
    ) -> String {
        let digits = String(number, radix: 16, uppercase: uppercase)
        return String(repeating: "0", count: Number.bitWidth / 4 - digits.count) + digits
    }
}
