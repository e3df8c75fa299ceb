// SPDX-License-Identifier: Apache-2.0

/// One line for a terminal: text in pieces that may have a colour.
public struct TerminalLine: Sendable, Hashable {
    /// How a piece looks where the terminal has colours; the raw value is its number in SGR (ECMA-48 8.3.117).
    public enum Style: Int, Sendable, Hashable {
        /// As all text is.
        case plain = 0
        /// Bold.
        case bold = 1
        /// Faint.
        case faint = 2
        /// Recording, or lost.
        case red = 31
        /// Good.
        case green = 32
        /// To be looked at.
        case yellow = 33
    }

    /// Text in one style.
    public struct Piece: Sendable, Hashable {
        /// The text.
        public var text: String
        /// How it looks.
        public var style: Style

        /// A piece with each part given; what could steer the terminal becomes `?`.
        public init(_ text: String, _ style: Style = .plain) {
            self.text = text.shown
            self.style = style
        }
    }

    /// The pieces from left to right.
    public private(set) var pieces: [Piece]

    /// A line of pieces, cut where it would be wider than `columns`.
    public init(_ pieces: [Piece], columns: Int = .max) {
        var left = columns
        self.pieces = []
        for var piece in pieces where left > 0 && !piece.text.isEmpty {
            piece.text = piece.text.cut(to: left)
            left -= piece.text.columns
            self.pieces.append(piece)
        }
    }

    /// The line without colours.
    public var text: String { self.pieces.map(\.text).joined() }

    /// The columns that it takes.
    public var columns: Int { self.text.columns }

    /// The line as it is written to a terminal.
    public func text(inColour: Bool) -> String {
        guard inColour else { return self.text }
        return self.pieces.map { piece in
            piece.style == .plain ? piece.text : "\u{1B}[\(piece.style.rawValue)m\(piece.text)\u{1B}[0m"
        }.joined()
    }

    /// As many lines as a terminal of that size shows, each cut to its width; one row is the cursor's.
    ///
    /// Where lines are left out, the last one says how many.
    public static func fitting(_ lines: [String], columns: Int, rows: Int) -> [TerminalLine] {
        let space = max(1, rows - 1)
        let left = lines.count - space + 1
        let shown = left <= 1 ? lines : Array(lines.prefix(space - 1)) + ["+ \(left) more lines"]
        return shown.map { TerminalLine([Piece($0)], columns: columns) }
    }
}
