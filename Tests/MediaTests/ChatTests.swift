// SPDX-License-Identifier: Apache-2.0

import Matroska
import Testing
import Timeline

@testable import Media

@Suite struct ChatTests {
    @Test(arguments: [
        ("hello", "hello"),
        ("  spaces stay ", "  spaces stay "),
        (#"{"type":"chat","text":"hi"}"#, "hi"),
        (#" {"message":"hi","from":{"name":"x"}}"#, "hi"),
        (#"{"msg":"hi","text":7}"#, "hi"),
        (#"{"type":"cursor","x":1}"#, #"{"type":"cursor","x":1}"#),
        (#"{"payload":{"text":"hi"}}"#, #"{"payload":{"text":"hi"}}"#),
        (#"{"text":"torn"#, #"{"text":"torn"#),
        (#"["text"]"#, #"["text"]"#),
        ("{}", "{}"),
    ])
    func whatAPersonWroteIsRead(message: String, text: String) {
        #expect(ChatText.read(message) == text)
    }

    @Test func nothingToSeeIsNothing() {
        #expect(ChatText.read("") == nil)
        #expect(ChatText.read(" \n") == nil)
        #expect(ChatText.read(#"{"text":" "}"#) == nil)
    }

    @Test func aLongTextLosesItsEndBetweenCharacters() throws {
        let text = try #require(ChatText.read(String(repeating: "ü", count: 5000)))
        #expect(text.utf8.count == ChatText.maximumBytes)
        #expect(ChatText.read("x" + String(repeating: "👩‍👩‍👧", count: 5000))?.utf8.count ?? 0 <= ChatText.maximumBytes)
        #expect(ChatText.read("x" + String(repeating: "ü", count: 5000))?.utf8.count == ChatText.maximumBytes - 1)
    }

    private func messages(_ feed: RecorderFeed) throws -> [String] {
        try ReadRecording(try #require(feed.folders.first)).entries.compactMap { entry in
            guard case .chatMessage(let message) = entry.record else { return nil }
            let milliseconds = (entry.monotonicNanoseconds - feed.start) / 1_000_000
            return "\(message.participant) \(message.label ?? "-") \(message.text) \(milliseconds)"
        }
    }

    private func write(_ feed: RecorderFeed, _ text: String, at milliseconds: Int64, label: String = "") {
        feed.recorder.wrote(participant: "alice", text, label: label, feed.start + milliseconds * 1_000_000)
    }

    @Test func wordsAreRecordedFromShortlyBeforeTheFirstMediaOn() async throws {
        let feed = try RecorderFeed()
        let audio = feed.open(.opus)
        self.write(feed, "long ago", at: 0)
        self.write(feed, "just before", at: 6000, label: "chat")
        feed.push(audio, FedUnit.opus, at: 8000, rateHz: 48_000)
        try await feed.settle { $0.written == 1 }
        self.write(feed, "within", at: 9000)
        feed.recorder.pause()
        self.write(feed, "in a pause", at: 9500)
        feed.recorder.resume()
        self.write(feed, "after it", at: 10_000)
        feed.recorder.finish(reason: "test")
        #expect(
            try self.messages(feed) == [
                "alice chat just before 8000", "alice - within 9000", "alice - after it 10000",
            ]
        )
    }

    @Test func wordsOfSomebodyWithoutMediaComeWithAName() async throws {
        let feed = try RecorderFeed()
        let audio = feed.open(.opus)
        feed.push(audio, FedUnit.opus, at: 0, rateHz: 48_000)
        try await feed.settle { $0.written == 1 }
        feed.recorder.named(participant: "bob", "Bob")
        feed.recorder.wrote(participant: "bob", "hi", label: "", feed.start)
        feed.recorder.finish(reason: "test")
        let joined = try ReadRecording(try #require(feed.folders.first)).entries.compactMap { entry -> String? in
            guard case .participantJoined(let record) = entry.record else { return nil }
            return "\(record.participant) \(record.name ?? "-")"
        }
        #expect(joined == ["alice -", "bob Bob"])
    }

    @Test func whatIsNotToBeRecordedIsNot() async throws {
        let feed = try RecorderFeed { $0.recordsChat = false }
        let audio = feed.open(.opus)
        feed.push(audio, FedUnit.opus, at: 0, rateHz: 48_000)
        try await feed.settle { $0.written == 1 }
        self.write(feed, "secret", at: 0)
        feed.recorder.finish(reason: "test")
        #expect(try self.messages(feed).isEmpty)
    }

    @Test func wordsBeforeAnOrderNeedAPreroll() async throws {
        for preroll in [Duration.zero, .seconds(10)] {
            let feed = try RecorderFeed {
                $0.isAutomatic = false
                $0.preroll = preroll
            }
            let audio = feed.open(.opus)
            self.write(feed, "before the pre-roll", at: -1)
            feed.push(audio, FedUnit.opus, at: 0, rateHz: 48_000)
            try await feed.drain(at: 100)
            self.write(feed, "before", at: 500)
            feed.recorder.record()
            feed.push(audio, FedUnit.opus, at: 1000, rateHz: 48_000)
            try await feed.settle { $0.written > 0 }
            feed.recorder.finish(reason: "test")
            #expect(try self.messages(feed) == (preroll == .zero ? [] : ["alice - before 500"]))
        }
    }

    @Test func earlyMessagesAreFew() {
        var early = EarlyMessages()
        for index in 0..<100 {
            early.keep(.init(participant: "a", text: "\(index)", label: "", nanoseconds: Int64(index)))
        }
        let kept = early.take(since: 50, isAutomatic: true)
        #expect(kept.map(\.text) == (36..<100).map(String.init))
        #expect(kept.map(\.nanoseconds).min() == 50)
        #expect(early.take(since: 0, isAutomatic: true).isEmpty)
    }
}
