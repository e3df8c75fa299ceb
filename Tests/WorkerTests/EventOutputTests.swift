// SPDX-License-Identifier: Apache-2.0

import Foundation
import Logging
import Rooms
import Testing

@testable import Worker

/// A supervisor that reads late, or not at all.
@Suite(.timeLimit(.minutes(5))) struct EventOutputTests {
    private let pipe = Pipe()

    private func output() -> EventOutput {
        EventOutput(
            descriptor: self.pipe.fileHandleForWriting.fileDescriptor,
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
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
}
