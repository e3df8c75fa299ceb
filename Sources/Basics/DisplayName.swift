// SPDX-License-Identifier: Apache-2.0

/// The name that a member of a room wants others to see.
public enum DisplayName {
    /// The longest that comes out, in bytes.
    public static let maximumBytes = 256

    /// The name as one line of at most 256 bytes, without what steers text; nil if nothing is left of it.
    public static func line(_ text: String) -> String? {
        var name = ""
        for scalar in text.unicodeScalars.prefix(1024) {
            let isBlank = scalar.value <= 0x20 || (0x7F...0xA0).contains(scalar.value) || scalar.isUnfitForNames
            if isBlank, name.isEmpty || name.hasSuffix(" ") { continue }
            let next = isBlank ? " " : scalar
            guard name.utf8.count + UTF8.width(next) <= Self.maximumBytes else { break }
            name.unicodeScalars.append(next)
        }
        if name.hasSuffix(" ") { name.removeLast() }
        return name.isEmpty ? nil : name
    }
}
