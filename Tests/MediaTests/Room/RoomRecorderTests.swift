// SPDX-License-Identifier: Apache-2.0

import Basics
import Foundation
import Logging
import Matroska
import Recording
import Storage
import Synchronization
import Testing

@testable import GStreamer
@testable import Media

/// The thread around a recording session.
@Suite(.timeLimit(.minutes(2)))
struct RoomRecorderTests {
    private static func recorder(
        _ feed: RecorderFeed,
        onEvent: @escaping @Sendable (RecorderEvent) -> Void
    ) -> RoomRecorder {
        RoomRecorder(
            settings: RecorderSettings(storage: feed.storage, room: "r", host: "h"),
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() },
            onEvent: onEvent
        )
    }

    @Test func whatIsKeptWaitsForNobody() async throws {
        let feed = try RecorderFeed {
            $0.isAutomatic = false
            $0.preroll = .seconds(10)
        }
        let sound = feed.open(.opus)
        feed.push(sound, FedUnit.opus, at: -2000, rateHz: 48_000)
        try await feed.drain(at: -1)
        #expect(feed.recorder.record() == .done)
        #expect(feed.written == 2, "the recording is there before the next unit")
        #expect(feed.recorder.stopRecording() == .finish)
        // A second recording has nothing of the first.
        #expect(feed.recorder.record() == .done)
        #expect(feed.folders.count == 1)
        feed.recorder.finish(reason: "test")
    }

    @Test func whatWasQueuedIsWrittenBeforeTheEnd() async throws {
        let feed = try RecorderFeed()
        let (video, sound) = (feed.open(.vp8), feed.open(.opus))
        for time in 0..<200 as Range<Int64> {
            feed.push(video, time == 0 ? FedUnit.keyframe() : FedUnit.frame(), at: time)
            feed.push(sound, FedUnit.opus, at: time, rateHz: 48_000)
        }
        feed.recorder.finish(reason: "test")
        #expect(feed.finished.map(\.reason) == ["test"], "it is told before finish returns")
        #expect(feed.written == 400)
        #expect(feed.recorder.status.phase == .off)
        #expect(feed.recorder.status.failure == nil)
        #expect(feed.recorder.takeLag() != nil && feed.recorder.takeLag() == nil)
    }

    @Test func nobodyWaitsForTheDiskToLearnWhatIsGoingOn() async throws {
        let feed = try RecorderFeed()
        let held = HeldRecorder()
        let recorder = Self.recorder(feed, onEvent: held.onEvent)
        let track = ReceivedTrack(
            participant: "alice",
            codec: .opus,
            clockRateHz: 48_000,
            channels: 2,
            ssrc: 7,
            payloadType: 111,
            connection: 1
        )
        _ = recorder.open(track) {}
        feed.push(1, FedUnit.opus, at: 0, rateHz: 48_000, into: recorder.queue)
        #expect(held.waits())
        #expect(recorder.status.phase == .recording)
        #expect(recorder.status.current?.part == 1)
        #expect(recorder.status.tracks.map(\.participant) == ["alice"])
        recorder.named(participant: "alice", "Alice")
        recorder.presenceChanged(isEmpty: true)
        for _ in 0..<2000 { recorder.wrote(participant: "alice", "hello", label: "", feed.start) }
        recorder.close(connection: 1, reason: "left")
        held.release()
        recorder.finish(reason: "test")
        #expect(recorder.status.tracks.map(\.units) == [1])
        let folder = try #require(feed.folders.first)
        let journal = try String(contentsOfFile: folder.journalPath, encoding: .utf8)
        let messages = journal.split(separator: "\n").count { $0.contains("chat-message") }
        #expect((1000...1024).contains(messages), "those that can be spared are not kept without end")
    }

    @Test func whoGoesWhileTheRecorderStandsStillLosesNothing() async throws {
        let feed = try RecorderFeed()
        let held = HeldRecorder()
        let recorder = Self.recorder(feed, onEvent: held.onEvent)
        let tracks = (1...2 as ClosedRange<UInt64>).map { connection in
            ReceivedTrack(
                participant: "participant\(connection)",
                codec: .opus,
                clockRateHz: 48_000,
                channels: 2,
                ssrc: 7,
                payloadType: 111,
                connection: connection
            )
        }
        for track in tracks { _ = recorder.open(track) {} }
        feed.push(1, FedUnit.opus, at: 0, rateHz: 48_000, into: recorder.queue)
        #expect(held.waits())
        for time in 1..<100 as Range<Int64> {
            for track in 1...2 as ClosedRange<UInt64> {
                feed.push(track, FedUnit.opus, at: 20 * time, rateHz: 48_000, into: recorder.queue)
            }
        }
        recorder.close(connection: 1, reason: "left")
        recorder.left(participant: "participant1", reason: "left")
        for time in 100..<200 as Range<Int64> {
            feed.push(2, FedUnit.opus, at: 20 * time, rateHz: 48_000, into: recorder.queue)
        }
        held.release()
        recorder.finish(reason: "test")
        let units = Dictionary(uniqueKeysWithValues: recorder.status.tracks.map { ($0.participant, $0.units) })
        #expect(units == ["participant1": 100, "participant2": 199])
        let folder = try #require(feed.folders.first)
        let journal = try String(contentsOfFile: folder.journalPath, encoding: .utf8)
        let kinds = journal.split(separator: "\n").compactMap { line in
            ["track-closed", "participant-left"].first { line.contains($0) }
        }
        #expect(kinds.sorted() == ["participant-left", "track-closed", "track-closed"], "\(journal)")
    }

    @Test func ordersAfterTheEndAreAnswered() throws {
        let feed = try RecorderFeed()
        _ = feed.open(.vp8)
        feed.recorder.finish(reason: "test")
        feed.recorder.finish(reason: "again")
        #expect(feed.recorder.record() == .nothingRecorded)
        #expect(!feed.recorder.mark(text: "late"))
        #expect(feed.recorder.requestKeyframes() == 0)
        #expect(feed.recorder.lastKeyframe(participant: "alice") == nil)
        feed.recorder.close(connection: 1, reason: "late")
        #expect(feed.folders.isEmpty)
    }

    @Test func aRecorderThatNobodyHasEndsItsThread() async throws {
        final class Witness: Sendable {}
        let feed = try RecorderFeed()
        weak var witness: Witness?
        do {
            let present = Witness()
            witness = present
            _ = Self.recorder(feed) { _ in withExtendedLifetime(present) {} }
        }
        let deadline = ContinuousClock.now + .seconds(20)
        while witness != nil, ContinuousClock.now < deadline { try await Task.sleep(for: .milliseconds(5)) }
        #expect(witness == nil)
        feed.recorder.finish(reason: "test")
    }
}
