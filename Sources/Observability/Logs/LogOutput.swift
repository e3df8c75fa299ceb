// SPDX-License-Identifier: Apache-2.0

import Basics
import Glibc
public import Logging
import Synchronization

/// Where a process' log lines go, and in what format; makes its loggers.
///
/// Safe to use from any thread; lines are never mixed. A line that nobody takes is lost: logging stops nothing.
public final class LogOutput: Sendable {
    private let format: LogFormat
    private let level: Logger.Level
    private let descriptor: Int32
    private let journal: DatagramSocket?
    private let onLine: @Sendable (Logger.Level) -> Void
    private let now: @Sendable () -> UTCTime
    /// Held while a line is written.
    private let turn = Mutex(())

    /// An output to standard error or the journal.
    ///
    /// - Parameters:
    ///   - level: Least important level that its loggers write.
    ///   - onLine: Called with the level of each line, before it is written.
    public convenience init(
        format: LogFormat,
        level: Logger.Level,
        onLine: @escaping @Sendable (Logger.Level) -> Void = { _ in }
    ) {
        let journal = format == .journal ? DatagramSocket(path: "/run/systemd/journal/socket") : nil
        self.init(format: format, level: level, descriptor: 2, journal: journal, now: LogRecord.now, onLine: onLine)
    }

    init(
        format: LogFormat,
        level: Logger.Level,
        descriptor: Int32,
        journal: DatagramSocket?,
        now: @escaping @Sendable () -> UTCTime,
        onLine: @escaping @Sendable (Logger.Level) -> Void
    ) {
        self.format = format
        self.level = level
        self.descriptor = descriptor
        self.journal = journal
        self.now = now
        self.onLine = onLine
    }

    /// A logger that writes here.
    public func logger(label: String = "tapedeck") -> Logger {
        Logger(label: label) { self.handler(label: $0) }
    }

    /// What loggers of libraries are made of, for `LoggingSystem.bootstrap` in the composition root.
    public func handler(label: String) -> any LogHandler {
        OutputLogHandler(label: label, level: self.level, output: self)
    }

    fileprivate func write(_ event: LogEvent, label: String, metadata: Logger.Metadata) {
        self.onLine(event.level)
        let record = LogRecord(event, label: label, metadata: metadata, time: self.now())
        switch self.format {
        case .text: self.write(record.text())
        case .json: self.write(JSONLogLine(record).text())
        case .journal:
            // The journal takes standard error too, line by line with the priority in front (sd-daemon(3)).
            if self.journal?.send(record.journalEntry()) != true {
                self.write("<\(record.level.syslogPriority)>\(record.messageWithMetadata)\n")
            }
        }
    }

    private func write(_ text: String) {
        var text = text
        self.turn.withLock { _ in
            text.withUTF8 { bytes in
                var written = 0
                while written < bytes.count {
                    let count = Glibc.write(
                        self.descriptor,
                        bytes.baseAddress?.advanced(by: written),
                        bytes.count - written
                    )
                    if count > 0 {
                        written += count
                    } else if count == 0 || errno != EINTR {
                        return
                    }
                }
            }
        }
    }
}

/// One logger's part of an output.
private struct OutputLogHandler: LogHandler {
    let label: String
    var logLevel: Logger.Level
    var metadata: Logger.Metadata = [:]
    var metadataProvider: Logger.MetadataProvider?
    private let output: LogOutput

    init(label: String, level: Logger.Level, output: LogOutput) {
        self.label = label
        self.logLevel = level
        self.output = output
    }

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { self.metadata[key] }
        set { self.metadata[key] = newValue }
    }

    func log(event: LogEvent) {
        var merged = self.metadata
        if let provided = self.metadataProvider?.get() { merged.merge(provided) { $1 } }
        if let given = event.metadata { merged.merge(given) { $1 } }
        self.output.write(event, label: self.label, metadata: merged)
    }
}
