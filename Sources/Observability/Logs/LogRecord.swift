// SPDX-License-Identifier: Apache-2.0

import Basics
import Glibc
import Logging

/// One log line before it is written in some format.
///
/// Text is bounded here, and no format needs to do so: data from peers end up in metadata.
struct LogRecord: Sendable {
    /// Longest message or value in UTF-8 bytes; what is longer is cut.
    static let maximumTextLength = 8192
    /// Most bytes of metadata, names and values; what is more is left out.
    ///
    /// A journal entry holds each value twice, and with them fits a datagram, of which Linux takes 200 KB.
    static let maximumMetadataLength = 32 * 1024

    var time: UTCTime
    var level: Logger.Level
    /// The logger's label.
    var label: String
    var message: String
    /// Names and values, sorted by name.
    var metadata: [(name: String, value: String)]
    /// The module that logs.
    var source: String
    var file: String
    var function: String
    var line: UInt

    init(_ event: LogEvent, label: String, metadata: Logger.Metadata, time: UTCTime) {
        self.time = time
        self.level = event.level
        self.label = label
        self.message = Self.bounded(event.message.description)
        var fields = metadata.sorted { $0.key < $1.key }.map { (name: $0.key, value: $0.value.description) }
        if let error = event.error { fields.append(("error", "\(error)")) }
        self.metadata = []
        var length = 0
        for field in fields {
            let name = Self.bounded(field.name)
            let value = Self.bounded(field.value)
            length += name.utf8.count + value.utf8.count
            guard length <= Self.maximumMetadataLength else { break }
            self.metadata.append((name, value))
        }
        self.source = event.source
        self.file = event.file
        self.function = event.function
        self.line = event.line
    }

    /// The record that replaces lines that were not taken.
    init(lossOf count: Int, at time: UTCTime) {
        self.time = time
        self.level = .warning
        self.label = "tapedeck"
        self.message = "log lines were lost: no one took them"
        self.metadata = [(LogKey.detail.rawValue, "\(count)")]
        (self.source, self.file, self.function, self.line) = ("Observability", #fileID, #function, #line)
    }

    /// The system's wall clock.
    static func now() -> UTCTime {
        var time = timespec()
        clock_gettime(CLOCK_REALTIME, &time)
        return UTCTime(nanosecondsSince1970: Int64(time.tv_sec) &* 1_000_000_000 &+ Int64(time.tv_nsec))
    }

    /// RFC 3339 with milliseconds.
    var timeText: String { self.time.iso8601.prefix(23) + "Z" }

    static func bounded(_ text: String) -> String {
        guard text.utf8.count > Self.maximumTextLength else { return text }
        return String(decoding: text.utf8.prefix(Self.maximumTextLength), as: UTF8.self) + "…"
    }
}
