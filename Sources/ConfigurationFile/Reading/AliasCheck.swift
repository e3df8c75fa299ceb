// SPDX-License-Identifier: Apache-2.0

/// Finds YAML texts in which an alias could stand inside of a key.
///
/// The parser hashes keys with all that their aliases stand for, which is exponential in the length of the text. This
/// check looks at bytes only, without telling quotes and comments, and so refuses a little more than it must.
struct AliasCheck {
    private let bytes: [UInt8]

    init(_ text: String) {
        self.bytes = Array(text.utf8)
    }

    /// Offset of the first byte of what is refused, in UTF-8; nil if the text can be parsed.
    func firstOffence() -> Int? {
        var hasAlias = false
        var key: Int?
        var index = 0
        while index < self.bytes.count {
            switch self.bytes[index] {
            case UInt8(ascii: "*") where self.beginsToken(index) && self.isNameByte(index + 1):
                hasAlias = true
                let start = index
                repeat { index += 1 } while self.isNameByte(index)
                if self.hasColon(after: index) { key = key ?? start }
                continue
            case UInt8(ascii: "?") where self.beginsToken(index):
                key = key ?? index
            case UInt8(ascii: "$") where self.byte(index + 1) == UInt8(ascii: "{"):
                index = self.bytes[index...].firstIndex(of: UInt8(ascii: "}")) ?? index
            case UInt8(ascii: "]") where self.hasColon(after: index + 1) && !self.endsAddress(index),
                UInt8(ascii: "}") where self.hasColon(after: index + 1):
                key = key ?? index
            default: break
            }
            index += 1
        }
        return hasAlias ? key : nil
    }

    private func byte(_ index: Int) -> UInt8? {
        self.bytes.indices.contains(index) ? self.bytes[index] : nil
    }

    private func isNameByte(_ index: Int) -> Bool {
        guard let byte = self.byte(index) else { return false }
        return switch byte {
        case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, 0x5F, 0x2D: true
        default: false
        }
    }

    private func beginsToken(_ index: Int) -> Bool {
        guard let before = self.byte(index - 1) else { return true }
        // The ends of YAML's wide white space and line breaks (U+0085, U+2028, U+2029) and of U+FEFF are not ASCII.
        return before >= 0x80 || before <= 0x20 || ",[{:-?".utf8.contains(before)
    }

    /// Whether a colon follows, behind white space of any kind.
    private func hasColon(after index: Int) -> Bool {
        var index = index
        while let byte = self.byte(index), byte <= 0x20 || byte >= 0x80 { index += 1 }
        return self.byte(index) == UInt8(ascii: ":")
    }

    /// Whether a bracket ends an IPv6 address: such a list has no alias in it.
    private func endsAddress(_ index: Int) -> Bool {
        for byte in self.bytes[..<index].suffix(46).reversed() {
            switch byte {
            case UInt8(ascii: "["): return true
            case 0x30...0x3A, 0x41...0x46, 0x61...0x66, 0x2E: continue
            default: return false
            }
        }
        return false
    }
}
