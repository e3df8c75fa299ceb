// SPDX-License-Identifier: Apache-2.0

import Foundation
import InMemoryLogging
import Logging
import Model
import Synchronization
import Testing

@testable import Worker

/// A supervisor that reads late, or not at all.
@Suite(.timeLimit(.minutes(5))) struct EventOutputTests {
    private let pipe = Pipe()

    private let log = InMemoryLogHandler()

    private func output() -> EventOutput {
        EventOutput(
            descriptor: self.pipe.fileHandleForWriting.fileDescriptor,
            logger: Logger(label: "test") { _ in self.log }
        )
    }

    private func events(_ data: Data) throws -> [WorkerEvent] {
        var splitter = LineSplitter()
        return try splitter.take(data).compactMap { line in
            guard case .whole(let line) = line else { return nil }
            return try WorkerLine.decode(WorkerEvent.self, from: line)
        }
    }

    @Test func nothingButOldStatusesIsLostWhileNobodyReads() throws {
        let output = self.output()
        // More than a pipe takes.
        let reason = String(repeating: "x", count: 1000)
        for number in 0..<500 {
            var status = RoomStatus()
            status.counters = ["number": number]
            output.send(.status(room: "a", status))
            output.send(.notJoined(room: "a", reason: "\(number) \(reason)"))
        }
        output.send(.joined(room: "a"))
        let reading = self.pipe.fileHandleForReading
        var data = Data()
        let end = Data("{\"joined\":{\"room\":\"a\"}}\n".utf8)
        while data.suffix(end.count) != end { data += reading.availableData }
        output.close()
        let events = try self.events(data)
        let failures = events.compactMap { event -> Int? in
            guard case .notJoined(_, let reason) = event else { return nil }
            return reason.split(separator: " ").first.flatMap { Int($0) }
        }
        #expect(failures == Array(0..<500), "in order, and all of them")
        let statuses = events.compactMap { event -> Int? in
            guard case .status(_, let status) = event else { return nil }
            return status.counters["number"]
        }
        #expect(statuses.last == 499, "the newest is there")
        #expect(statuses.count < 500, "older ones gave way")
    }

    @Test func aSupervisorThatIsGoneStopsNothing() throws {
        let output = self.output()
        signal(SIGPIPE, SIG_IGN)
        try self.pipe.fileHandleForReading.close()
        for _ in 0..<100 { output.send(.joined(room: "a")) }
        output.close()
    }

    @Test func closingDoesNotWaitForOneThatHangs() {
        let output = self.output()
        for _ in 0..<200 { output.send(.notJoined(room: "a", reason: String(repeating: "x", count: 10_000))) }
        output.close()
    }

    @Test func whatIsTooLongForALineIsSaidInstead() throws {
        let output = self.output()
        output.send(.graph(room: "a", pipeline: "p", dot: String(repeating: "x", count: WorkerLine.maximumLength)))
        output.close()
        try self.pipe.fileHandleForWriting.close()
        let data = try #require(try self.pipe.fileHandleForReading.readToEnd())
        #expect(
            try self.events(data) == [
                .commandFailed(room: "a", command: "graph", reason: "the graph is too large to send")
            ]
        )
    }

    /// - Parameter again: whether it is sent once more, as soon as the log tells of the first.
    private func sent(_ status: RoomStatus, again: Bool = false) throws -> [WorkerEvent] {
        let output = self.output()
        let reading = self.pipe.fileHandleForReading
        let read = Mutex(Data())
        let thread = DispatchQueue(label: "reader")
        let isRead = DispatchSemaphore(value: 0)
        thread.async {
            let data = (try? reading.readToEnd()) ?? Data()
            read.withLock { $0 = data }
            isRead.signal()
        }
        output.send(.status(room: "a", status))
        if again {
            while self.log.entries.isEmpty { Thread.sleep(forTimeInterval: 0.001) }
            output.send(.status(room: "a", status))
        }
        output.close()
        try self.pipe.fileHandleForWriting.close()
        isRead.wait()
        return try self.events(read.withLock { $0 })
    }

    /// A hostile server gives participants long names.
    @Test func aStatusThatIsTooLongLosesItsOldestClosedTracksAndSaysSo() throws {
        var status = RoomStatus()
        status.tracks = (1...512).map { number in
            let name = "\(number) " + String(repeating: "x", count: 4000)
            return RoomStatus.Track(
                number: number,
                participant: name,
                kind: "audio",
                codec: "opus",
                isOpen: number % 100 == 0
            )
        }
        let events = try self.sent(status, again: true)
        guard events.count == 2, case .status("a", let sent)? = events.last else {
            Issue.record("no status came")
            return
        }
        let cut = try #require(sent.counters["cut_tracks"])
        #expect(cut > 200 && sent.tracks.count == 512 - cut)
        #expect(sent.tracks.filter(\.isOpen).map(\.number) == [100, 200, 300, 400, 500])
        #expect(sent.tracks.last?.number == 512, "the newest stay")
        let entries = self.log.entries
        #expect(
            entries.map { "\($0.level) \($0.message)" } == ["warning status is too long and leaves out tracks"],
            "once, and not with each status"
        )
        #expect(entries.first?.metadata["detail"] == "\(cut) tracks")
    }

    /// Nothing is closed, and nothing fits.
    @Test func aStatusThatIsTooLongWithoutClosedTracksIsSent() throws {
        var status = RoomStatus()
        status.participants = [RoomStatus.Participant(id: "p", isConnected: true)]
        let sdp = String(repeating: "s", count: WorkerLine.maximumLength)
        let session = RoomStatus.Output.Session(participant: "p", sdp: sdp, streams: [])
        status.outputs = [RoomStatus.Output(name: "rtp://h:1", state: "sending", sessions: [session])]
        status.tracks = [RoomStatus.Track(number: 1, participant: "p", kind: "audio", codec: "opus")]
        guard case .status("a", let sent)? = try self.sent(status).first else {
            Issue.record("no status came")
            return
        }
        #expect(sent.participants == status.participants && sent.counters["cut_tracks"] == 1)
        #expect(sent.outputs?.map(\.name) == ["rtp://h:1"])
    }

    @Test func aStatusOfWhichNothingFitsIsReported() throws {
        var status = RoomStatus()
        let id = String(repeating: "p", count: WorkerLine.maximumLength)
        status.participants = [RoomStatus.Participant(id: id, isConnected: true)]
        let reason = "the status is too large to send"
        #expect(try self.sent(status) == [.commandFailed(room: "a", command: "status", reason: reason)])
    }
}
