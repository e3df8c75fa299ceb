// SPDX-License-Identifier: Apache-2.0

internal import Basics

/// A person's text, in a message as an app sends it.
enum ChatText {
    /// UTF-8 bytes of a text in the journal.
    static let maximumBytes = 4096
    /// Where apps put what was written, the first of them that is there.
    private static let members = ["text", "message", "msg"]

    /// The text of a message: of a JSON object the member that holds it, of everything else the whole; nil if there is
    /// nothing to be seen.
    static func read(_ message: String) -> String? {
        var text = message
        if message.utf8.first(where: { $0 > 0x20 }) == UInt8(ascii: "{"), let object = try? JSONValue(parsing: message)
        {
            text = self.members.lazy.compactMap { object[$0]?.string }.first ?? message
        }
        let cut = self.cut(text)
        return cut.contains { !$0.isWhitespace } ? cut : nil
    }

    /// The text without what does not fit; no character is torn.
    private static func cut(_ text: String) -> String {
        guard text.utf8.count > self.maximumBytes else { return text }
        var end = text.startIndex
        var bytes = 0
        for index in text.indices {
            bytes += text[index].utf8.count
            guard bytes <= self.maximumBytes else { break }
            end = text.index(after: index)
        }
        return String(text[..<end])
    }
}
