// SPDX-License-Identifier: Apache-2.0

/// Turns names from peers and users into path components; the only way such a name reaches a path.
public enum Sanitiser {
    /// The longest component that comes out, in bytes.
    public static let maximumLength = 64

    /// A path component of ASCII letters, digits, `-`, `_` and `.`, 1…64 long, that begins with a letter, digit or `_`.
    ///
    /// A name that is fine comes out as it is. Any other gets a hash of the whole name at its end, so that names that
    /// look alike afterwards stay apart. A name with nothing usable gives `fallback` (which must be fine itself) and,
    /// unless the name is empty, the hash.
    public static func pathComponent(_ untrusted: String, fallback: String) -> String {
        let bytes = untrusted.utf8
        guard !bytes.isEmpty else { return fallback }
        if bytes.count <= Self.maximumLength, bytes.allSatisfy(isAllowed), let first = bytes.first, isLeading(first) {
            return untrusted
        }
        let suffix = "-" + Hexadecimal.text(fnv1a(bytes))
        var stem: [UInt8] = []
        for byte in bytes.drop(while: { !isLeading($0) }) where stem.count < Self.maximumLength - suffix.utf8.count {
            if isAllowed(byte) {
                stem.append(byte)
            } else if stem.last != UInt8(ascii: "_") {
                stem.append(UInt8(ascii: "_"))
            }
        }
        while let last = stem.last, !isAlphanumeric(last) { stem.removeLast() }
        return (stem.isEmpty ? fallback : String(decoding: stem, as: UTF8.self)) + suffix
    }

    /// A path component, as safe as the others, that reads like the name as far as ASCII can express it; nil if a letter of it
    /// has no likeness there, or nothing is left.
    ///
    /// Latin letters lose their marks: `Zoë` is `Zoe`. Nothing keeps names apart that look alike afterwards: something else
    /// in the path must.
    public static func readableComponent(_ untrusted: String) -> String? {
        var stem: [UInt8] = []
        for scalar in untrusted.unicodeScalars.prefix(Self.maximumLength * 4) where stem.count < Self.maximumLength {
            if let byte = asciiLikeness(of: scalar), isAllowed(byte) {
                if isLeading(byte) || !stem.isEmpty { stem.append(byte) }
            } else if scalar.properties.isAlphabetic {
                return nil
            } else if !scalar.properties.generalCategory.isMark, let last = stem.last, last != UInt8(ascii: "_") {
                stem.append(UInt8(ascii: "_"))
            }
        }
        while let last = stem.last, !isAlphanumeric(last) { stem.removeLast() }
        return stem.isEmpty ? nil : String(decoding: stem, as: UTF8.self)
    }
}

/// The letter, digit or mark itself, or the one letter that a letter of the Latin script is with marks.
private func asciiLikeness(of scalar: Unicode.Scalar) -> UInt8? {
    if scalar.isASCII { return UInt8(scalar.value) }
    let words = (scalar.properties.name ?? "").split(separator: " ")
    guard words.count > 4, words[0] == "LATIN", words[2] == "LETTER", words[4] == "WITH",
        words[1] == "SMALL" || words[1] == "CAPITAL", words[3].utf8.count == 1, let letter = words[3].utf8.first
    else { return nil }
    return words[1] == "SMALL" ? letter | 0x20 : letter
}

extension Unicode.GeneralCategory {
    /// Whether it combines with the character before it.
    fileprivate var isMark: Bool { [.nonspacingMark, .spacingMark, .enclosingMark].contains(self) }
}

private func isAlphanumeric(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
        UInt8(ascii: "0")...UInt8(ascii: "9"):
        true
    default: false
    }
}

private func isLeading(_ byte: UInt8) -> Bool {
    isAlphanumeric(byte) || byte == UInt8(ascii: "_")
}

private func isAllowed(_ byte: UInt8) -> Bool {
    isLeading(byte) || byte == UInt8(ascii: "-") || byte == UInt8(ascii: ".")
}
