// SPDX-License-Identifier: Apache-2.0

internal import Basics

/// What JSON writes in another way than YAML.
enum JSONEscapes {
    /// A JSON text with each escaped surrogate pair (RFC 8259 section 7) as YAML's one escape; other texts as they are.
    static func joined(_ text: String) -> String {
        let start = text.utf8.first { $0 > 0x20 }
        guard start == UInt8(ascii: "{") || start == UInt8(ascii: "["), text.contains("\\u") else { return text }
        let bytes = Array(text.utf8)
        var result: [UInt8] = []
        result.reserveCapacity(bytes.count)
        var index = 0
        while index < bytes.count {
            guard bytes[index] == UInt8(ascii: "\\"), index + 1 < bytes.count else {
                result.append(bytes[index])
                index += 1
                continue
            }
            if let high = Self.unit(bytes, index), (0xD800..<0xDC00).contains(high),
                let low = Self.unit(bytes, index + 6), (0xDC00..<0xE000).contains(low)
            {
                let scalar = 0x1_0000 + (high - 0xD800) << 10 + (low - 0xDC00)
                result += "\\U\(Hexadecimal.text(scalar))".utf8
                index += 12
            } else {
                result += bytes[index...index + 1]
                index += 2
            }
        }
        return String(decoding: result, as: UTF8.self)
    }

    /// The code unit of the escape `\uXXXX` at an index.
    private static func unit(_ bytes: [UInt8], _ index: Int) -> UInt32? {
        guard index + 6 <= bytes.count, bytes[index] == UInt8(ascii: "\\"), bytes[index + 1] == UInt8(ascii: "u") else {
            return nil
        }
        var unit: UInt32 = 0
        for byte in bytes[index + 2..<index + 6] {
            guard let digit = Hexadecimal.value(of: byte) else { return nil }
            unit = unit << 4 | UInt32(digit)
        }
        return unit
    }
}
