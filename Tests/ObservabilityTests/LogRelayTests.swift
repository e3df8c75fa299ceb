// SPDX-License-Identifier: Apache-2.0

import InMemoryLogging
import Logging
import Testing

@testable import Observability

@Suite struct LogRelayTests {
    private let memory = InMemoryLogHandler()

    private func relay(_ chunks: [String], level: Logger.Level = .trace) -> [InMemoryLogHandler.Entry] {
        var logger = Logger(label: "supervisor") { _ in self.memory }
        logger.logLevel = level
        logger[key: .roomName] = "standup"
        var relay = LogRelay(logger: logger)
        for chunk in chunks { relay.receive(chunk.utf8) }
        relay.finish()
        return self.memory.entries
    }

    private let line =
        #"{"level":"error","logger":"worker","message":"Lost","metadata":{"peer.id":"a","room.name":"forged"},"#
        + #""source":"Media","time":"2026-11-21T03:12:26.125Z"}"# + "\n"

    @Test func levelMessageAndMetadataStay() throws {
        let entry = try #require(self.relay([self.line]).first)
        #expect(entry.level == .error)
        #expect(entry.message == "Lost")
        #expect(entry.metadata == ["peer.id": "a", "room.name": "standup"])
    }

    @Test func linesMayComeInPieces() {
        let pieces = self.line.map { String($0) }
        #expect(self.relay(pieces + pieces).map(\.message) == ["Lost", "Lost"])
    }

    @Test func lessImportantLinesAreLeftOut() {
        #expect(self.relay([self.line.replacing("error", with: "info")], level: .notice).isEmpty)
    }

    @Test(arguments: [
        "GLib-CRITICAL **: assertion failed", "{", "null", "{}", #"{"level":"loud","message":"x"}"#,
        #"{"level":"error","logger":"w","message":5,"metadata":{},"source":"","time":""}"#, "\u{1B}[31mred",
    ]) func everythingElseIsAWarning(text: String) {
        let entries = self.relay([text + "\r\n\n  \n", text])
        #expect(entries.map(\.level) == [.warning, .warning])
        #expect(entries.last?.message.description == text)
        #expect(entries.last?.metadata == ["room.name": "standup"])
    }

    @Test func bytesThatAreNoTextAreReplaced() {
        var logger = Logger(label: "supervisor") { _ in self.memory }
        logger.logLevel = .trace
        var relay = LogRelay(logger: logger)
        relay.receive([0xFF, 0xC0, 0x41, 0x0A] as [UInt8])
        #expect(self.memory.entries.map(\.message) == ["\u{FFFD}\u{FFFD}A"])
    }

    @Test func longLineIsCutAndTheNextOneIsWhole() {
        let long = String(repeating: "x", count: 3 * LogRelay.maximumLineLength)
        let messages = self.relay([long, long, "\nnext\n"]).map(\.message.description)
        #expect(messages == [String(repeating: "x", count: LogRelay.maximumLineLength), "next"])
    }

    /// What `--log-format json` writes is what the relay reads.
    @Test func jsonFormatIsReadBack() throws {
        let event = LogEvent(
            level: .notice,
            message: "Joined \"it\"\n",
            metadata: nil,
            source: "Media",
            file: "F",
            function: "f",
            line: 1
        )
        let record = LogRecord(event, label: "worker", metadata: ["session.id": "ü"], time: LogRecord.now())
        let entry = try #require(self.relay([JSONLogLine(record).text()]).first)
        #expect(entry.level == .notice)
        #expect(entry.message == "Joined \"it\"\n")
        #expect(entry.metadata["session.id"] == "ü")
    }
}

@Suite struct RedactionTests {
    @Test(arguments: [
        ("socketio+https://rtc.example.org/123123", "socketio+https://rtc.example.org/123123"),
        (
            "socketio+https://user:secret@rtc.example.org/1?eio=4&token=secret",
            "socketio+https://rtc.example.org/1?eio=4&token=***"
        ),
        ("xmpp://recorder:p@ss@example.org/?peer=alice", "xmpp://example.org/?peer=alice"),
        ("whip+https://h/x?secret", "whip+https://h/x?***"),
        ("lan+tcp://0.0.0.0:5556?listen", "lan+tcp://0.0.0.0:5556?listen"),
        ("https://h/x#secret", "https://h/x"), ("https://h/x?room=1#secret", "https://h/x?room=1"),
        ("xmpp://a@h/?room_server=https://u:secret@h", "xmpp://h/?room_server=***"),
        ("user:secret@host", "***"), ("", ""), ("://", "://"), ("a://@", "a://"), ("?&=&", "?=***"),
    ]) func urlKeepsNoSecret(text: String, redacted: String) {
        #expect(Redaction.url(text) == redacted)
        #expect(!Redaction.url(text).contains("secret"))
    }

    @Test func longTextIsCut() {
        #expect(Redaction.url("a://" + String(repeating: "x", count: 100_000)).count == 512)
    }

    @Test func everySessionHasAnIDOfItsOwn() {
        let logger = Logger(label: "test")
        let ids = (0..<100).map { _ in logger.forSession()[key: .sessionID]?.description ?? "" }
        #expect(Set(ids).count == 100)
        #expect(ids.allSatisfy { $0.count == 10 && $0.allSatisfy { $0.isASCII && ($0.isLetter || $0.isNumber) } })
    }
}
