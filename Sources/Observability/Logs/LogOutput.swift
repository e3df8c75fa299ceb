// SPDX-License-Identifier: Apache-2.0

import Basics
public import Logging

/// Where a process' log lines go, and in what format; makes its loggers.
///
/// Safe to use from any thread; lines are never mixed. Lines that are not taken are lost and counted: logging stops
/// nothing.
public final class LogOutput: Sendable {
    private let format: LogFormat
    private let level: Logger.Level
    private let lines: FootedLines
    private let journal: DatagramSocket?
    private let onLine: @Sendable (Logger.Level) -> Void
    private let now: @Sendable () -> UTCTime

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
        self.lines = FootedLines(descriptor: descriptor) { count in
            let record = LogRecord(lossOf: count, at: now())
            return Self.text(of: record, format)
        }
        self.journal = journal
        self.now = now
        self.onLine = onLine
    }

    /// A logger that writes here.
    public func logger(label: String = "tapedeck") -> Logger {
        Logger(label: label) { self.handler(label: $0) }
    }

    /// The log handler for libraries, for `LoggingSystem.bootstrap` in the composition root.
    public func handler(label: String) -> any LogHandler {
        OutputLogHandler(label: label, level: self.level, output: self)
    }

    /// Draws lines that stay below the log on the terminal that standard error is; they replace those before them.
    ///
    /// Log lines are short until `endDrawing`. A terminal that takes nothing, as after Ctrl-S, keeps what it shows.
    /// - Parameter lines: each with the columns that it takes; not wider than the terminal, and fewer than it has rows.
    public func draw(_ lines: [(text: String, columns: Int)]) { self.lines.draw(lines) }

    /// Removes what was drawn.
    public func endDrawing() { self.lines.draw(nil) }

    fileprivate func write(_ event: LogEvent, label: String, metadata: Logger.Metadata) {
        self.onLine(event.level)
        let record = LogRecord(event, label: label, metadata: metadata, time: self.now())
        // The journal takes standard error too, line by line with the priority in front (sd-daemon(3)).
        if self.format == .journal, self.journal?.send(record.journalEntry()) == true { return }
        self.lines.write { isDrawn in
            isDrawn && self.format == .text ? record.shortText() : Self.text(of: record, self.format)
        }
    }

    private static func text(of record: LogRecord, _ format: LogFormat) -> String {
        switch format {
        case .text: record.text()
        case .json: JSONLogLine(record).text()
        case .journal: "<\(record.level.syslogPriority)>\(record.messageWithMetadata)\n"
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
