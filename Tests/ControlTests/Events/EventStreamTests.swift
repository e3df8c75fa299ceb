// SPDX-License-Identifier: Apache-2.0

import Model
import NIOCore
import Testing

@testable import Control

@Suite struct EventStreamTests {
    private func stream(
        _ hub: EventHub,
        after sequence: UInt64? = nil,
        filter: EventFilter = .all
    ) throws -> (EventStream, EventSubscription) {
        let last = sequence.map { EventID(life: hub.life, sequence: $0) }
        let subscription = try #require(hub.subscribe(after: last, limit: 10))
        return (EventStream(subscription, filter: filter), subscription)
    }

    @Test func eventsArePassedOnAsTheyCome() async throws {
        let hub = EventHub(life: "life")
        var (stream, _) = try self.stream(hub)
        let text = try await stream.text()
        #expect(text == "retry: 3000\n\n")
        hub.publish(ControlTests.event(1))
        let event = try await stream.text()
        #expect(
            event
                == """
                id: life-1
                event: room.joined
                data: {"details":{},"id":"life-1","kind":"room.joined","sequence":1,"time":"2026-11-21T06:00:00.000Z"}


                """
        )
    }

    @Test func lineBreaksInNamesStayInside() async throws {
        let hub = EventHub(life: "life")
        var (stream, _) = try self.stream(hub)
        _ = try await stream.next()
        var hostile = event(1)
        hostile.details = ["participant": "a\n\nid: 9\r\nevent: x\u{2028}"]
        hub.publish(hostile)
        let passed = try await stream.text()
        #expect(passed?.utf8.filter { $0 == 0x0a }.count == 4)
        #expect(passed?.utf8.contains(0x0d) == false)
    }

    @Test func aStreamThatComesBackReplays() async throws {
        let hub = EventHub(capacity: 100, life: "life")
        for sequence in 1...5 { hub.publish(event(UInt64(sequence))) }
        var (stream, _) = try self.stream(hub, after: 3)
        let text = try await stream.text()
        #expect(text == "retry: 3000\n\n")
        let passed = try await stream.text()
        #expect(passed?.lines(beginning: "id: ") == 2)
        #expect(passed?.contains("id: life-4\n") == true)
        #expect(passed?.contains("id: life-5\n") == true)
        var (other, _) = try self.stream(hub, after: 77)
        let opening = try await other.text()
        #expect(opening?.contains("event: stream.gap\n") == true)
    }

    /// Whatever numbers the other life had reached.
    @Test(arguments: [nil, "earlier"] as [String?], [0, 3, 5, 77] as [UInt64])
    func whoComesBackFromAnotherLifeIsTold(_ life: String?, _ sequence: UInt64) async throws {
        let hub = EventHub(capacity: 100, life: "life")
        for sequence in 1...5 { hub.publish(event(UInt64(sequence))) }
        let last = EventID(life: life, sequence: sequence)
        var stream = EventStream(try #require(hub.subscribe(after: last, limit: 10)), filter: .all)
        let opening = try await stream.text()
        #expect(opening?.contains("event: stream.gap\n") == true)
        let passed = try await stream.text()
        #expect(passed?.lines(beginning: "id: life-") == 5)
    }

    @Test func theFilterLeavesOut() async throws {
        let hub = EventHub(life: "life")
        let filter = try EventFilter(parsing: "recording.*,disk.low")
        var (stream, _) = try self.stream(hub, filter: filter)
        _ = try await stream.next()
        hub.publish(event(1, .roomJoined))
        // Events that are left out still move the stream on.
        let text = try await stream.text()
        #expect(text == ":\n\n")
        hub.publish(event(2, .recordingFinished))
        hub.publish(event(3, .diskLow))
        let passed = try await stream.text()
        #expect(passed?.contains("recording.finished") == true)
        #expect(passed?.contains("disk.low") == true)
    }

    @Test(arguments: ["nothing.*", "room.joined,", "", "room", "room.*.x", ".*", "Room.joined"])
    func unknownTypesAreRefused(_ types: String) {
        #expect(throws: Problem.self) { try EventFilter(parsing: types) }
    }

    @Test func everyTypeAndGroupIsKnown() throws {
        for kind in DaemonEvent.Kind.allCases {
            #expect(try EventFilter(parsing: kind.rawValue).kinds == [kind])
            let group = String(kind.rawValue.prefix { $0 != "." })
            #expect(try EventFilter(parsing: group + ".*").kinds.contains(kind))
        }
        #expect(try EventFilter(parsing: "*") == .all)
    }

    @Test func aQuietStreamShowsLife() async throws {
        let hub = EventHub(life: "life")
        var (stream, _) = try self.stream(hub)
        _ = try await stream.next()
        hub.wakeAll()
        let text = try await stream.text()
        #expect(text == ":\n\n")
    }

    @Test func aSlowStreamEnds() async throws {
        let hub = EventHub(capacity: 8, life: "life")
        var (stream, _) = try self.stream(hub)
        _ = try await stream.next()
        for sequence in 1...100 { hub.publish(event(UInt64(sequence))) }
        let end = try await stream.next()
        #expect(end == nil)
    }

    @Test func streamsEndTogether() async throws {
        let hub = EventHub(life: "life")
        var (stream, _) = try self.stream(hub)
        _ = try await stream.next()
        hub.endStreams()
        let end = try await stream.next()
        #expect(end == nil)
    }

    @Test func placesAreBoundedAndGivenBack() throws {
        let hub = EventHub(life: "life")
        do {
            let streams = (0..<3).map { _ in hub.subscribe(after: nil, limit: 3) }
            #expect(streams.allSatisfy { $0 != nil })
            #expect(hub.subscribe(after: nil, limit: 3) == nil)
            #expect(hub.streamCount == 3)
        }
        #expect(hub.streamCount == 0)
        #expect(hub.subscribe(after: nil, limit: 3) != nil)
    }

    @Test func publishingIsSafeFromAnyThread() async throws {
        let hub = EventHub(capacity: 10_000, life: "life")
        var (stream, _) = try self.stream(hub, after: 0)
        await withTaskGroup(of: Void.self) { group in
            for worker in 0..<8 {
                group.addTask {
                    for number in 0..<100 { hub.publish(event(UInt64(worker * 100 + number + 1))) }
                }
            }
        }
        var count = 0
        while count < 800, let text = try await stream.text() {
            count += text.lines(beginning: "id: ")
        }
        #expect(count == 800)
    }
}

extension EventStream {
    /// The next piece as text.
    fileprivate mutating func text() async throws -> String? {
        try await self.next().map { String(buffer: $0) }
    }
}

extension String {
    fileprivate func lines(beginning prefix: String) -> Int {
        self.split(separator: "\n").filter { $0.hasPrefix(prefix) }.count
    }
}
