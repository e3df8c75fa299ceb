// SPDX-License-Identifier: Apache-2.0

public import Logging

/// Logs again what another process writes to its standard error.
///
/// A JSON log line keeps its level and metadata; any other line, such as a complaint of a C library, is a warning whose
/// message it is. Memory is bounded: of a line longer than `maximumLineLength` the rest is left out.
public struct LogRelay {
    /// Longest line in bytes that is kept.
    public static let maximumLineLength = 64 * 1024

    private let logger: Logger
    private var line: [UInt8] = []

    /// A relay to a logger, whose metadata is on each line too and wins over the other process'.
    public init(logger: Logger) {
        self.logger = logger
    }

    /// Takes what was read; logs each line that it completes.
    public mutating func receive(_ bytes: some Sequence<UInt8>) {
        for byte in bytes {
            if byte == UInt8(ascii: "\n") {
                self.flush()
            } else if self.line.count < Self.maximumLineLength {
                self.line.append(byte)
            }
        }
    }

    /// Logs the last line if its line feed is missing; call it when the other process has ended.
    public mutating func finish() {
        self.flush()
    }

    private mutating func flush() {
        defer { self.line.removeAll(keepingCapacity: self.line.capacity < 4096) }
        if let parsed = JSONLogLine(self.line) {
            let theirs = parsed.metadata.mapValues { Logger.MetadataValue.string($0) }
            let metadata = theirs.merging(self.ours(theirs)) { $1 }
            self.logger.log(
                level: parsed.level,
                "\(parsed.message)",
                metadata: metadata,
                source: String(parsed.source.prefix(100))
            )
        } else {
            let text = String(decoding: self.line, as: UTF8.self)
            guard text.contains(where: { !$0.isWhitespace }) else { return }
            self.logger.warning("\(text)")
        }
    }

    /// The logger's own values of the keys that the other process uses as well.
    private func ours(_ theirs: Logger.Metadata) -> Logger.Metadata {
        var ours: Logger.Metadata = [:]
        for key in theirs.keys { ours[key] = self.logger[metadataKey: key] }
        return ours
    }
}
