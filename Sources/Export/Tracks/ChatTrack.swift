// SPDX-License-Identifier: Apache-2.0

import Basics
import Matroska
import Storage
import Timeline

/// Messages of participants to each other, as lines that players show over the video.
struct ChatTrack {
    /// One message on the screen.
    struct Line {
        var nanoseconds: Int64
        var durationNanoseconds: Int64
        var text: String
    }

    /// The uid of the track in every export.
    static let uid: UInt64 = 0x6368_6174

    /// Lines in order of time that are not written yet.
    private(set) var lines: ArraySlice<Line>

    private static let longest: Int64 = 5_000_000_000
    private static let shortest: Int64 = 500_000_000
    private static let maximumLength = 1_000

    /// The messages of a recording in a stretch of it.
    ///
    /// - Parameters:
    ///   - participants: senders of the messages; `nil` for all participants.
    ///   - start: the session time that is the file's zero; earlier messages are left out.
    ///   - end: the session time at which the stretch ends.
    init(_ contents: RecordingContents, participants: Set<String>?, from start: Int64, to end: Int64) {
        let messages = contents.happenings.messages.filter {
            (start..<max(start, end)).contains($0.nanoseconds) && participants?.contains($0.participant) ?? true
        }.sorted { $0.nanoseconds < $1.nanoseconds }
        var lines: [Line] = []
        for (index, message) in messages.enumerated() {
            let begin = message.nanoseconds &- start
            let next = index + 1 < messages.count ? messages[index + 1].nanoseconds &- start : Int64.max
            lines.append(
                Line(
                    nanoseconds: begin,
                    durationNanoseconds: min(Self.longest, max(Self.shortest, next &- begin)),
                    text: contents.shown[message.participant] + ": " + Self.escaped(message.text)
                )
            )
        }
        self.lines = lines[...]
    }

    /// The next line that begins at or before that time of the file.
    mutating func next(until nanoseconds: Int64) -> Line? {
        guard let line = self.lines.first, line.nanoseconds <= nanoseconds else { return nil }
        self.lines = self.lines.dropFirst()
        return line
    }

    /// Text that shows as it was written: players take `<b>` and `{\\an8}` for orders, and end a line at a control.
    private static func escaped(_ text: String) -> String {
        var result = ""
        for scalar in text.unicodeScalars.prefix(Self.maximumLength) {
            switch scalar {
            case "<", "{":
                // The word joiner is not seen, and keeps the bracket from opening anything.
                result.unicodeScalars.append(contentsOf: [scalar, "\u{2060}"])
            default:
                let isHidden = [.control, .lineSeparator, .paragraphSeparator].contains(
                    scalar.properties.generalCategory
                )
                result.unicodeScalars.append(isHidden ? " " : scalar)
            }
        }
        return result
    }
}
