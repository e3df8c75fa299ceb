// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import HTTPRequests

@Suite struct EventStreamReaderTests {
    private static func read(_ texts: String...) -> [EventStreamReader.Event] {
        var reader = EventStreamReader()
        return texts.flatMap { reader.take($0.utf8) }
    }

    private static func event(_ id: String?, _ type: String, _ data: String) -> EventStreamReader.Event {
        EventStreamReader.Event(id: id, type: type, data: data)
    }

    @Test func readsEventsAndNothingElse() {
        let text =
            "retry: 3000\n\n:\n\nid: a-1\nevent: room.joined\ndata: {\"a\": \"b: c\"}\n\ndata:x\ndata: y\n\nevent: z\n\n"
        #expect(
            Self.read(text) == [
                Self.event("a-1", "room.joined", #"{"a": "b: c"}"#), Self.event("a-1", "message", "x\ny"),
            ]
        )
    }

    @Test func lineEndsAreOfEveryKind() {
        #expect(Self.read("data: 1\r\n\r\ndata: 2\r\rdata: 3\n\n").map(\.data) == ["1", "2", "3"])
        #expect(Self.read("data: 1\r", "\n\r", "\ndata", ": 2\n", "\n").map(\.data) == ["1", "2"])
    }

    @Test func anEventIsOneHoweverItsBytesCome() {
        let text = "id: ä-1\nevent: e\ndata: ü\n\n"
        var reader = EventStreamReader()
        #expect(text.utf8.flatMap { reader.take([$0]) } == [Self.event("ä-1", "e", "ü")])
    }

    @Test func oneThatIsTooLargeIsLeftOut() {
        let large = "data: " + String(repeating: "x", count: EventStreamReader.maximumBytes) + "\n\n"
        #expect(Self.read("data: before\n\n", large, "data: behind\n\n").map(\.data) == ["before", "behind"])
        let many = String(repeating: "data: xxxxxxxxx\n", count: EventStreamReader.maximumBytes / 10)
        #expect(Self.read(many, "\ndata: behind\n\n").map(\.data) == ["behind"])
    }

    @Test func whatIsNotEndedIsNoEvent() {
        #expect(Self.read("data: x\n", "id: 1\n").isEmpty)
        #expect(Self.read("id: 1\u{0}\ndata: x\n\n") == [Self.event(nil, "message", "x")])
    }
}
