// SPDX-License-Identifier: Apache-2.0

extension RoomURL {
    /// Percent-encoding (RFC 3986 section 2.1).
    public enum PercentCoding {
        /// The decoded text; nil if a sequence is wrong or the bytes are not UTF-8.
        public static func decode(_ text: Substring) -> String? {
            var bytes: [UInt8] = []
            var source = text.utf8.makeIterator()
            while let byte = source.next() {
                guard byte == UInt8(ascii: "%") else {
                    bytes.append(byte)
                    continue
                }
                guard let high = source.next().flatMap(Self.digit), let low = source.next().flatMap(Self.digit) else {
                    return nil
                }
                bytes.append(high << 4 | low)
            }
            return String(validating: bytes, as: UTF8.self)
        }

        /// Encodes everything but unreserved characters (RFC 3986 section 2.3) and the given ones.
        public static func encode(_ text: String, keeping kept: String = "") -> String {
            var result = ""
            for byte in text.utf8 {
                switch byte {
                case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                    UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"),
                    UInt8(ascii: "~"):
                    result.unicodeScalars.append(Unicode.Scalar(byte))
                case let byte where kept.utf8.contains(byte):
                    result.unicodeScalars.append(Unicode.Scalar(byte))
                default:
                    let hexadecimal = String(byte, radix: 16, uppercase: true)
                    result += byte < 0x10 ? "%0\(hexadecimal)" : "%\(hexadecimal)"
                }
            }
            return result
        }

        /// Keeps what is printable ASCII as it was written, and encodes the rest.
        static func ascii(_ text: some StringProtocol) -> String {
            Self.encode(String(text), keeping: String(decoding: UInt8(0x21)...UInt8(0x7E), as: UTF8.self))
        }

        private static func digit(_ byte: UInt8) -> UInt8? {
            switch byte {
            case UInt8(ascii: "0")...UInt8(ascii: "9"): byte - UInt8(ascii: "0")
            case UInt8(ascii: "a")...UInt8(ascii: "f"): byte - UInt8(ascii: "a") + 10
            case UInt8(ascii: "A")...UInt8(ascii: "F"): byte - UInt8(ascii: "A") + 10
            default: nil
            }
        }
    }

    /// The text form of IPv6 addresses (RFC 4291 section 2.2), without zones.
    enum IPv6Text {
        /// Whether the text is an address.
        static func isValid(_ text: Substring) -> Bool {
            guard text.utf8.count <= 45 else { return false }
            guard let gap = Self.gap(in: text) else { return Self.groups(text, mayEndWithIPv4: true) == 8 }
            let after = text[gap...].dropFirst(2)
            guard Self.gap(in: after) == nil,
                let left = Self.groups(text[..<gap], mayEndWithIPv4: false),
                let right = Self.groups(after, mayEndWithIPv4: true)
            else { return false }
            return left + right <= 7
        }

        /// Where `::` begins.
        private static func gap(in text: Substring) -> Substring.Index? {
            text.indices.first { text[$0...].hasPrefix("::") }
        }

        /// Counts the 16-bit groups; nil if one is wrong.
        private static func groups(_ text: Substring, mayEndWithIPv4: Bool) -> Int? {
            guard !text.isEmpty else { return 0 }
            let parts = text.split(separator: ":", omittingEmptySubsequences: false)
            var count = 0
            for (index, part) in parts.enumerated() {
                if mayEndWithIPv4, index == parts.count - 1, part.contains(".") {
                    let numbers = part.split(separator: ".", omittingEmptySubsequences: false)
                    guard numbers.count == 4, numbers.allSatisfy({ Self.isDecimalByte($0) }) else { return nil }
                    count += 2
                } else {
                    guard (1...4).contains(part.utf8.count), part.utf8.allSatisfy(Self.isHexadecimal) else {
                        return nil
                    }
                    count += 1
                }
            }
            return count
        }

        private static func isDecimalByte(_ text: Substring) -> Bool {
            (1...3).contains(text.utf8.count) && text.utf8.allSatisfy { $0 >= 0x30 && $0 <= 0x39 } && UInt8(text) != nil
        }

        private static func isHexadecimal(_ byte: UInt8) -> Bool {
            switch byte {
            case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "a")...UInt8(ascii: "f"),
                UInt8(ascii: "A")...UInt8(ascii: "F"):
                true
            default: false
            }
        }
    }
}
