// SPDX-License-Identifier: Apache-2.0

import Storage
import Timeline

/// Text as it is stored and looked for: without zero characters; for searching, in one case and bounded.
enum SearchText {
    /// Text beyond this many bytes of one recording is not searched.
    private static let maximumLength = 16_384
    /// Longer questions are cut.
    private static let maximumQuestionLength = 256
    /// The least length that the index of three-character sequences can look up.
    private static let indexedLength = 3

    /// All that a recording is found by.
    static func stored(_ entry: RecordingEntry) -> String {
        var text = fold(entry.room) + "\n" + entry.id.rawValue
        let people = entry.participants.flatMap { [$0.id, $0.name ?? ""] }
        for part in entry.tags + [entry.notes ?? ""] + people where !part.isEmpty {
            guard text.utf8.count + part.utf8.count < Self.maximumLength else { continue }
            text += "\n" + fold(part)
        }
        return text
    }

    /// The normalised search text; `nil` if nothing is left of it.
    static func question(_ text: String) -> String? {
        let folded = fold(String(text.prefix(Self.maximumQuestionLength)))
        return folded.isEmpty ? nil : folded
    }

    /// The question as one phrase of an FTS5 query; `nil` if it is too short for the index.
    static func phrase(_ question: String) -> String? {
        guard question.unicodeScalars.count >= Self.indexedLength else { return nil }
        return "\"" + question.split(separator: "\"", omittingEmptySubsequences: false).joined(separator: "\"\"") + "\""
    }

    /// Text with U+FFFD instead of zero characters, at which SQLite's text ends for many of its readers.
    static func storable(_ text: String) -> String {
        text.contains("\0") ? String(text.map { $0 == "\0" ? "\u{FFFD}" : $0 }) : text
    }

    private static func fold(_ text: String) -> String { self.storable(text.lowercased()) }
}
