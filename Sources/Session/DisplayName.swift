// SPDX-License-Identifier: Apache-2.0

internal import Basics

/// The name that a member wants others to see.
enum DisplayName {
    /// The name as one line of at most 256 bytes; nil if nothing is left of it.
    static func line(_ text: String) -> String? {
        var name = ""
        for scalar in text.unicodeScalars.prefix(1024) {
            let isBlank = scalar.value <= 0x20 || (0x7F...0xA0).contains(scalar.value) || scalar.isUnfitForNames
            if isBlank, name.isEmpty || name.hasSuffix(" ") { continue }
            let next = isBlank ? " " : scalar
            guard name.utf8.count + UTF8.width(next) <= 256 else { break }
            name.unicodeScalars.append(next)
        }
        if name.hasSuffix(" ") { name.removeLast() }
        return name.isEmpty ? nil : name
    }
}
