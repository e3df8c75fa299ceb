// SPDX-License-Identifier: Apache-2.0

import Basics
import Glibc
import Logging
import Synchronization
import Testing

@testable import Observability

/// A log output that writes into a pipe, with a clock that stands.
private final class CapturedOutput {
    let output: LogOutput
    private var ends: [Int32] = [-1, -1]
    let levels = Levels()

    final class Levels: Sendable {
        let all = Mutex<[Logger.Level]>([])
    }

    init(_ format: LogFormat, level: Logger.Level = .info, journal: DatagramSocket? = nil) throws {
        // Waiting lines are written when there is no reader any more.
        signal(SIGPIPE, SIG_IGN)
        try #require(pipe(&self.ends) == 0)
        for end in self.ends { try #require(fcntl(end, F_SETFL, O_NONBLOCK) == 0) }
        let time = try #require(UTCTime(iso8601: "2026-11-21T03:12:26.125999Z"))
        self.output = LogOutput(
            format: format,
            level: level,
            descriptor: self.ends[1],
            journal: journal,
            now: { time },
            onLine: { [levels] level in levels.all.withLock { $0.append(level) } }
        )
    }

    deinit {
        for end in self.ends { close(end) }
    }

    /// Everything written so far.
    var text: String {
        var bytes = [UInt8](repeating: 0, count: 1 << 16)
        let count = read(self.ends[0], &bytes, bytes.count)
        return String(decoding: bytes.prefix(max(0, count)), as: UTF8.self)
    }
}

@Suite struct LogOutputTests {
    @Test func whatIsDrawnStaysBelowTheLog() throws {
        let captured = try CapturedOutput(.text)
        let logger = captured.output.logger()
        captured.output.draw([("one", 3), ("two", 3)])
        #expect(captured.text == "one\ntwo\n")
        logger.notice("peer dropped", metadata: .tagged([.peerID: "p", .detail: "why", .sessionID: "s"]))
        logger.error("Gone")
        let above = "\u{1B}[2A\r\u{1B}[J"
        #expect(
            captured.text
                == "\(above)03:12:26 peer dropped: p, why\none\ntwo\n\(above)03:12:26 error: Gone\none\ntwo\n"
        )
        captured.output.draw([("three", 5)])
        captured.output.endDrawing()
        captured.output.endDrawing()
        #expect(captured.text == "\(above)three\n\u{1B}[1A\r\u{1B}[J")
        logger.notice("Done")
        #expect(captured.text == "2026-11-21T03:12:26.125Z notice tapedeck: Done\n")
    }

    /// The lines that a narrower terminal broke are removed whole.
    @Test func whatIsDrawnIsRemovedAlsoWhenTheTerminalBecameNarrower() throws {
        let terminal = open("/dev/ptmx", O_RDWR | O_NOCTTY)
        var (isLocked, number) = (Int32(0), Int32(0))
        // TIOCSPTLCK and TIOCGPTN (ioctl_tty(2)), which Swift does not import.
        try #require(ioctl(terminal, 0x4004_5431, &isLocked) == 0 && ioctl(terminal, 0x8004_5430, &number) == 0)
        let end = open("/dev/pts/\(number)", O_RDWR | O_NOCTTY)
        try #require(end >= 0)
        defer { for descriptor in [end, terminal] { close(descriptor) } }
        let output = LogOutput(format: .text, level: .info, descriptor: end, journal: nil, now: LogRecord.now) { _ in }
        var size = winsize(ws_row: 24, ws_col: 80, ws_xpixel: 0, ws_ypixel: 0)
        try #require(ioctl(terminal, UInt(TIOCSWINSZ), &size) == 0)
        output.draw([(String(repeating: "x", count: 25), 25), ("", 0)])
        size.ws_col = 10
        try #require(ioctl(terminal, UInt(TIOCSWINSZ), &size) == 0)
        output.draw([("y", 1)])
        let wanted = String(repeating: "x", count: 25) + "\r\n\r\n\u{1B}[4A\r\u{1B}[Jy\r\n"
        var text: [UInt8] = []
        // The kernel passes on what was written in as many parts as it likes.
        while text.count < wanted.utf8.count {
            var waiting = pollfd(fd: terminal, events: Int16(POLLIN), revents: 0)
            try #require(poll(&waiting, 1, 60_000) == 1)
            var bytes = [UInt8](repeating: 0, count: 4096)
            let count = read(terminal, &bytes, bytes.count)
            text += bytes.prefix(max(0, count))
        }
        #expect(String(decoding: text, as: UTF8.self) == wanted)
    }

    @Test func aTerminalThatTakesNothingStopsNobody() throws {
        let captured = try CapturedOutput(.text)
        let logger = captured.output.logger()
        captured.output.draw([("one", 3)])
        // More than a pipe takes.
        for _ in 0..<20 { logger.notice("\(String(repeating: "x", count: 8000))") }
        for number in 0..<1000 { captured.output.draw([("\(number)", 1)]) }
        let text = captured.text
        #expect(text.hasPrefix("one\n") && text.count > 60_000 && !text.contains("\n999\n"))
    }

    @Test func textIsOneLineForPeople() throws {
        let captured = try CapturedOutput(.text)
        var logger = captured.output.logger()
        logger[key: .sessionID] = "k3v9q2wtb4"
        logger.notice("Joined", metadata: .tagged([.peerID: "two words", .detail: ""]))
        logger.debug("Not important enough")
        #expect(
            captured.text
                == "2026-11-21T03:12:26.125Z notice tapedeck: Joined detail=\"\" peer.id=\"two words\" "
                + "session.id=k3v9q2wtb4\n"
        )
        #expect(captured.levels.all.withLock { $0 } == [.notice])
    }

    @Test func textFromOutsideWritesNoLinesAndMovesNoCursor() throws {
        let captured = try CapturedOutput(.text)
        captured.output.logger().info(
            "a\nb",
            metadata: .tagged([.peerID: "x\r\u{1B}[2J\u{202E}\u{2028}\t\"=", .detail: "ü\u{85}"])
        )
        #expect(
            captured.text == "2026-11-21T03:12:26.125Z info tapedeck: a\\nb detail=ü\\u{85} "
                + "peer.id=\"x\\r\\u{1b}[2J\\u{202e}\\u{2028}\\t\\\"=\"\n"
        )
    }

    @Test func jsonIsOneObjectALine() throws {
        let captured = try CapturedOutput(.json)
        var logger = captured.output.logger(label: "worker")
        logger[key: .roomName] = "standup"
        logger.error("Lost\nthe room", metadata: .tagged([.errorMessage: "\"gone\""]))
        #expect(
            captured.text
                == #"{"level":"error","logger":"worker","message":"Lost\nthe room","#
                + #""metadata":{"error.message":"\"gone\"","room.name":"standup"},"#
                + #""source":"ObservabilityTests","time":"2026-11-21T03:12:26.125Z"}"# + "\n"
        )
    }

    @Test(arguments: [LogFormat.text, .json]) func longTextIsCut(format: LogFormat) throws {
        let captured = try CapturedOutput(format)
        let fields = (0..<200).map { ("key\($0)", Logger.MetadataValue.string("v")) }
        captured.output.logger().info(
            "\(String(repeating: "ä", count: 20_000))",
            metadata: .init(uniqueKeysWithValues: fields)
        )
        let text = captured.text
        #expect(text.hasSuffix("\n") && text.utf8.count < 12_000)
        #expect(text.contains("…"))
    }

    @Test func metadataOfTheLineWinsOverTheLoggersAndErrorsAreShown() throws {
        struct Broken: Error {}
        let captured = try CapturedOutput(.text)
        var logger = captured.output.logger()
        logger[key: .detail] = "old"
        logger.handler.metadataProvider = Logger.MetadataProvider { ["provided": "yes"] }
        logger.info("m", error: Broken(), metadata: .tagged([.detail: "new"]))
        #expect(captured.text.hasSuffix("m detail=new provided=yes error=Broken()\n"))
    }

    @Test func threadsDoNotMixLines() async throws {
        let captured = try CapturedOutput(.text)
        await withTaskGroup(of: Void.self) { group in
            for task in 0..<4 {
                group.addTask { [output = captured.output] in
                    for _ in 0..<20 { output.logger().info("\(String(repeating: "\(task)", count: 100))") }
                }
            }
        }
        let lines = captured.text.split(separator: "\n")
        #expect(lines.count == 80)
        #expect(lines.allSatisfy { Set($0.suffix(100)).count == 1 })
    }

    /// The pipe is a blocking one, as standard error is: a `less` that is not scrolled must not stop a logging process.
    @Test(.timeLimit(.minutes(2))) func whoeverLogsNeverWaitsForWhoReads() async throws {
        var ends: [Int32] = [-1, -1]
        try #require(pipe(&ends) == 0)
        defer { for end in ends { close(end) } }
        let time = try #require(UTCTime(iso8601: "2026-11-21T03:12:26Z"))
        let output = LogOutput(
            format: .text,
            level: .info,
            descriptor: ends[1],
            journal: nil,
            now: { time },
            onLine: { _ in }
        )
        let logger = output.logger()
        let padding = String(repeating: "x", count: 1000)
        for number in 0..<1000 { logger.info("\(number) \(padding)") }
        // Now there is a reader: first come the waiting lines, then the number of missing ones, then new ones.
        var text = ""
        func read(until sign: String) {
            var bytes = [UInt8](repeating: 0, count: 1 << 16)
            while !text.contains(sign) {
                let count = Glibc.read(ends[0], &bytes, bytes.count)
                guard count > 0 else { return }
                text += String(decoding: bytes.prefix(count), as: UTF8.self)
            }
        }
        read(until: "log lines were lost")
        read(until: "detail=")
        read(until: "\n")
        logger.info("the last")
        read(until: "the last")
        let lines = text.split(separator: "\n")
        let numbers = lines.compactMap { $0.split(separator: " ").dropFirst(3).first.flatMap { Int($0) } }
        #expect(numbers == Array(0..<numbers.count))
        // The pipe takes 64 KiB, and memory 256.
        #expect(numbers.count > 250)
        let loss = try #require(lines.dropLast().last)
        #expect(loss.hasSuffix("log lines were lost: no one took them detail=\(1000 - numbers.count)"))
        #expect(lines.allSatisfy { $0.hasPrefix("2026") })
    }

    @Test func formatFollowsStandardError() throws {
        var ends: [Int32] = [-1, -1]
        try #require(pipe(&ends) == 0)
        defer { for end in ends { close(end) } }
        var information = stat()
        try #require(fstat(ends[1], &information) == 0)
        let stream = "\(information.st_dev):\(information.st_ino)"
        #expect(LogFormat.automatic(environment: ["JOURNAL_STREAM": stream], descriptor: ends[1]) == .journal)
        #expect(LogFormat.automatic(environment: ["JOURNAL_STREAM": "1:1"], descriptor: ends[1]) == .text)
        #expect(LogFormat.automatic(environment: [:], descriptor: ends[1]) == .text)
        #expect(LogFormat.automatic(environment: ["JOURNAL_STREAM": stream], descriptor: -1) == .text)
    }
}

@Suite struct JournalTests {
    /// The fields of an entry, read as the journal reads them.
    private func fields(_ entry: [UInt8]) -> [String: String] {
        var fields: [String: String] = [:]
        var rest = entry[...]
        while let end = rest.firstIndex(where: { $0 == UInt8(ascii: "=") || $0 == UInt8(ascii: "\n") }) {
            let name = String(decoding: rest[..<end], as: UTF8.self)
            let isBinary = rest[end] == UInt8(ascii: "\n")
            rest = rest[(end + 1)...]
            var count = rest.firstIndex(of: UInt8(ascii: "\n")).map { $0 - rest.startIndex } ?? 0
            if isBinary {
                count = rest.prefix(8).reversed().reduce(0) { $0 << 8 | Int($1) }
                rest = rest.dropFirst(8)
            }
            fields[name] = String(decoding: rest.prefix(count), as: UTF8.self)
            rest = rest.dropFirst(count + 1)
        }
        return fields
    }

    @Test func entryHasItsFields() throws {
        let receiver = try DatagramReceiver()
        let captured = try CapturedOutput(.journal, journal: DatagramSocket(path: receiver.address))
        var logger = captured.output.logger()
        logger[key: .roomName] = "standup"
        logger.warning("Bad\nPRIORITY=0", metadata: ["größe.x": "a\nMESSAGE=forged\n"])
        let fields = self.fields(try #require(receiver.receive()))
        #expect(fields["MESSAGE"] == "Bad\\nPRIORITY=0 größe.x=\"a\\nMESSAGE=forged\\n\" room.name=standup")
        #expect(fields["PRIORITY"] == "4")
        #expect(fields["SYSLOG_IDENTIFIER"] == "tapedeck")
        #expect(fields["TAPEDECK_ROOM_NAME"] == "standup")
        #expect(fields["TAPEDECK_GR____E_X"] == "a\nMESSAGE=forged\n")
        #expect(fields["TAPEDECK_LEVEL"] == "warning")
        #expect(fields["CODE_FILE"]?.hasSuffix("LogOutputTests.swift") == true)
        #expect(fields["CODE_FUNC"] == "entryHasItsFields()")
        #expect(fields["CODE_LINE"].flatMap { Int($0) } != nil)
        #expect(fields.count == 10)
        #expect(captured.text.isEmpty)
    }

    @Test(arguments: zip(Logger.Level.allCases, ["7", "7", "6", "5", "4", "3", "2"]))
    func levelsArePriorities(level: Logger.Level, priority: String) throws {
        let receiver = try DatagramReceiver()
        let captured = try CapturedOutput(.journal, level: .trace, journal: DatagramSocket(path: receiver.address))
        captured.output.logger().log(level: level, "m")
        #expect(self.fields(try #require(receiver.receive()))["PRIORITY"] == priority)
    }

    @Test func largestEntryFitsADatagram() throws {
        let receiver = try DatagramReceiver()
        let captured = try CapturedOutput(.journal, journal: DatagramSocket(path: receiver.address))
        let large = String(repeating: "\u{1B}", count: 20_000)
        let metadata = Logger.Metadata(uniqueKeysWithValues: (0..<60).map { ("key\($0)", .string(large)) })
        captured.output.logger().info("\(large)", metadata: metadata)
        let fields = self.fields(try #require(receiver.receive()))
        #expect(fields["TAPEDECK_KEY0"] == String(large.prefix(LogRecord.maximumTextLength)) + "…")
        #expect(fields.keys.filter { $0.hasPrefix("TAPEDECK_KEY") }.count == 3)
        #expect(captured.text.isEmpty)
    }

    @Test func withoutJournalTheLineGoesToStandardErrorWithItsPriority() throws {
        let captured = try CapturedOutput(
            .journal,
            journal: DatagramSocket(path: "/tmp/tapedeck-no-journal-\(getpid())")
        )
        captured.output.logger().error("Gone", metadata: .tagged([.detail: "x"]))
        #expect(captured.text == "<3>Gone detail=x\n")
    }
}
