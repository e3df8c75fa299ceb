// SPDX-License-Identifier: Apache-2.0

import Logging

extension LogRecord {
    /// One human-readable line, with its line feed: `2026-11-21T03:12:26.125Z notice tapedeck: Joined room.id=standup`.
    ///
    /// Control characters are written as escapes: text from outside begins no new line and moves no cursor.
    func text() -> String {
        "\(self.timeText) \(self.level.rawValue) \(self.label): \(self.messageWithMetadata)\n"
    }

    /// One line above what is drawn on a terminal: `03:12:26 warning: peer dropped: mallory, it sent nothing`.
    func shortText() -> String {
        let isUsual = self.level == .notice || self.level == .info
        let shown = [LogKey.peerID, .detail, .errorMessage].compactMap { key in
            self.metadata.first { $0.name == key.rawValue }.map { Self.printable($0.value) }
        }
        let rest = shown.isEmpty ? "" : ": " + shown.joined(separator: ", ")
        return "\(self.timeText.dropFirst(11).prefix(8)) \(isUsual ? "" : "\(self.level.rawValue): ")"
            + "\(Self.printable(self.message))\(rest)\n"
    }

    /// The message with the metadata behind it.
    var messageWithMetadata: String {
        var text = Self.printable(self.message)
        for (name, value) in self.metadata { text += " \(Self.printable(name))=\(Self.quoted(Self.printable(value)))" }
        return text
    }

    /// A value in quotation marks if it is not one word.
    private static func quoted(_ value: String) -> String {
        guard value.isEmpty || value.contains(where: { " \"=".contains($0) }) else { return value }
        return "\"" + value.map { $0 == "\"" ? "\\\"" : String($0) }.joined() + "\""
    }

    private static func printable(_ text: String) -> String {
        guard text.unicodeScalars.contains(where: Self.isControl) else { return text }
        var printable = ""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\n": printable += "\\n"
            case "\r": printable += "\\r"
            case "\t": printable += "\\t"
            case _ where Self.isControl(scalar): printable += "\\u{\(String(scalar.value, radix: 16))}"
            default: printable.unicodeScalars.append(scalar)
            }
        }
        return printable
    }

    /// Whether a character acts on a terminal, or turns the direction of what follows.
    private static func isControl(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.properties.generalCategory {
        case .control, .format, .lineSeparator, .paragraphSeparator: true
        default: false
        }
    }
}
