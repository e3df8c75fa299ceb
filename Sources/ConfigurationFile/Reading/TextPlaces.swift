// SPDX-License-Identifier: Apache-2.0

extension String {
    /// The line and column, from 1, of the Unicode scalar at an offset in UTF-8; the end for offsets behind it.
    func place(ofUTF8Offset offset: Int) -> SourceNode.Place {
        let index = self.utf8.index(self.utf8.startIndex, offsetBy: offset, limitedBy: self.utf8.endIndex)
        return self.place(of: index ?? self.endIndex)
    }

    /// The line and column, from 1, of an index.
    func place(of index: String.Index) -> SourceNode.Place {
        var place = SourceNode.Place(line: 1, column: 1)
        var before: Unicode.Scalar?
        for scalar in self.unicodeScalars[..<index] {
            Self.advance(&place, over: scalar, before: before)
            before = scalar
        }
        return place
    }

    /// The index of a place; nil if the text has no such place.
    func index(of wanted: SourceNode.Place) -> String.Index? {
        var place = SourceNode.Place(line: 1, column: 1)
        var before: Unicode.Scalar?
        for index in self.unicodeScalars.indices {
            if place >= wanted { return place == wanted ? index : nil }
            Self.advance(&place, over: self.unicodeScalars[index], before: before)
            before = self.unicodeScalars[index]
        }
        return nil
    }

    /// Counts as YAML does (version 1.1, section 5.4).
    private static func advance(
        _ place: inout SourceNode.Place,
        over scalar: Unicode.Scalar,
        before: Unicode.Scalar?
    ) {
        switch scalar {
        case "\n" where before == "\r": break
        case "\n", "\r", "\u{85}", "\u{2028}", "\u{2029}":
            place.line += 1
            place.column = 1
        default: place.column += 1
        }
    }
}
