// SPDX-License-Identifier: Apache-2.0

import Basics
import Matroska
import Storage
import Testing
import Timeline

@testable import Recording

@Suite struct ChatMessageTests {
    private func messages(_ feed: RecordingFeed) throws -> [String] {
        try ReadRecording(try #require(feed.folders.first)).entries.compactMap { entry in
            guard case .chatMessage(let message) = entry.record else { return nil }
            let milliseconds = (entry.monotonicNanoseconds - feed.start) / 1_000_000
            return "\(message.participant) \(message.label ?? "-") \(message.text) \(milliseconds)"
        }
    }

    private func write(_ feed: RecordingFeed, _ text: String, at milliseconds: Int64, label: String = "") {
        let time = feed.start + milliseconds * 1_000_000
        feed.tell { $0.messageCame(from: "alice", text, label: label, at: time) }
    }

    @Test func wordsAreRecordedFromShortlyBeforeTheFirstMediaOn() throws {
        let feed = RecordingFeed()
        let audio = feed.open(.opus)
        self.write(feed, "long ago", at: 0)
        self.write(feed, "just before", at: 6000, label: "chat")
        feed.push(audio, FedUnit.opus, at: 8000, rateHz: 48_000)
        self.write(feed, "within", at: 9000)
        feed.tell { _ = $0.pauseOrdered() }
        self.write(feed, "in a pause", at: 9500)
        feed.tell { _ = $0.resumeOrdered() }
        self.write(feed, "after it", at: 10_000)
        feed.end()
        #expect(
            try self.messages(feed) == [
                "alice chat just before 8000", "alice - within 9000", "alice - after it 10000",
            ]
        )
    }

    @Test func wordsOfSomebodyWithoutMediaComeWithAName() throws {
        let feed = RecordingFeed()
        let audio = feed.open(.opus)
        feed.push(audio, FedUnit.opus, at: 0, rateHz: 48_000)
        feed.tell { $0.participantNamed("bob", "Bob") }
        feed.tell { $0.messageCame(from: "bob", "hi", label: "", at: feed.start) }
        feed.end()
        let joined = try ReadRecording(try #require(feed.folders.first)).entries.compactMap { entry -> String? in
            guard case .participantJoined(let record) = entry.record else { return nil }
            return "\(record.participant) \(record.name ?? "-")"
        }
        #expect(joined == ["alice -", "bob Bob"])
    }

    @Test func whatIsNotToBeRecordedIsNot() throws {
        let feed = RecordingFeed { $0.recordsChat = false }
        let audio = feed.open(.opus)
        feed.push(audio, FedUnit.opus, at: 0, rateHz: 48_000)
        self.write(feed, "secret", at: 0)
        feed.end()
        #expect(try self.messages(feed).isEmpty)
    }

    @Test func wordsBeforeAnOrderNeedAPreroll() throws {
        for preroll in [Duration.zero, .seconds(10)] {
            let feed = RecordingFeed {
                $0.isAutomatic = false
                $0.preroll = preroll
            }
            let audio = feed.open(.opus)
            self.write(feed, "before the pre-roll", at: -1)
            feed.push(audio, FedUnit.opus, at: 0, rateHz: 48_000)
            self.write(feed, "before", at: 500)
            feed.tell { _ = $0.recordOrdered() }
            feed.push(audio, FedUnit.opus, at: 1000, rateHz: 48_000)
            feed.end()
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
