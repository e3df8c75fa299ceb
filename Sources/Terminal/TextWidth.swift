// SPDX-License-Identifier: Apache-2.0

internal import Basics

extension String {
    /// The columns that the text takes on a terminal (Unicode Standard Annex 11); it holds nothing that steers one.
    public var columns: Int { self.reduce(0) { $0 + $1.columns } }

    /// The text in exactly `columns`: filled with blanks, or cut, then with `…` at its end.
    public func fitted(to columns: Int) -> String {
        let cut = self.cut(to: columns)
        return cut + String(repeating: " ", count: max(0, columns - cut.columns))
    }

    /// The text in at most `columns`; where something is cut off, `…` is at its end.
    public func cut(to columns: Int) -> String {
        guard self.columns > columns else { return self }
        var text = ""
        var left = columns - 1
        for character in self {
            left -= character.columns
            guard left >= 0 else { break }
            text.append(character)
        }
        return columns > 0 ? text + "…" : ""
    }

    /// The text without line ends and what else could steer a terminal: such characters are shown as `?`.
    public var shown: String {
        String(self.map { $0.unicodeScalars.contains(where: \.steersText) ? "?" : $0 })
    }
}

extension Character {
    /// The blocks whose characters are wide: Hangul, CJK, their punctuation and full-width forms, and pictographs.
    private static let wide: [ClosedRange<UInt32>] = [
        0x1100...0x115F, 0x2E80...0x303E, 0x3041...0xA4CF, 0xA960...0xA97F, 0xAC00...0xD7A3, 0xF900...0xFAFF,
        0xFE30...0xFE6F, 0xFF00...0xFF60, 0xFFE0...0xFFE6, 0x1F1E6...0x1F1FF, 0x1F300...0x1F64F, 0x1F680...0x1F6FF,
        0x1F900...0x1FAFF, 0x20000...0x3FFFD,
    ]

    fileprivate var columns: Int {
        guard let first = self.unicodeScalars.first else { return 0 }
        switch first.properties.generalCategory {
        case .nonspacingMark, .enclosingMark, .format: return 0
        default: break
        }
        // The variation selector makes a character an emoji.
        let isEmoji = self.unicodeScalars.contains { $0.value == 0xFE0F }
        return isEmoji || Self.wide.contains { $0.contains(first.value) } ? 2 : 1
    }
}
