// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Logging

/// A log line as a JSON object: what `--log-format json` writes.
struct JSONLogLine: Encodable {
    /// RFC 3339, UTC, milliseconds.
    var time: String
    /// The level's name.
    var level: Logger.Level
    /// The name of the logger.
    var logger: String
    /// The module that logs.
    var source: String
    /// The message.
    var message: String
    /// About what, under the keys of `LogKey`.
    var metadata: [String: String]

    init(_ record: LogRecord) {
        self.time = record.timeText
        self.level = record.level
        self.logger = record.label
        self.source = record.source
        self.message = record.message
        self.metadata = Dictionary(record.metadata.map { ($0.name, $0.value) }) { first, _ in first }
    }

    /// The object on one line, with its line feed.
    func text() -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        // Strings and dictionaries of strings always encode.
        guard let data = try? encoder.encode(self) else { return "{}\n" }
        return String(decoding: data, as: UTF8.self) + "\n"
    }
}
