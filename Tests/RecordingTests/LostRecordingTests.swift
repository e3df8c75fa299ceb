// SPDX-License-Identifier: Apache-2.0

import Basics
import Foundation
import Matroska
import Storage
import TestSupport
import Testing
import Timeline

@testable import Recording

/// A session's reaction to files and folders that disappear, and to pages that the disk loses.
@Suite struct LostRecordingTests {
    private static let lost = StorageError(.inputOutput, "the disk lost pages", path: "x")

    /// A recording with one frame in it, all of which is on the disk.
    private static func begun() throws -> (feed: RecordingFeed, video: UInt64, folder: RecordingFolder) {
        let feed = RecordingFeed { $0.synchroniseEvery = .nanoseconds(1) }
        let video = feed.open(.vp8)
        feed.push(video, FedUnit.keyframe(), at: 0)
        feed.tick(at: 50)
        #expect(feed.degraded.isEmpty)
        _ = feed.takeNames()
        return (feed, video, try #require(feed.status.folder))
    }

    private static func ends(_ entries: [JournalEntry]) -> [Int: String] {
        var ends: [Int: String] = [:]
        for entry in entries { if case .trackClosed(let record) = entry.record { ends[record.track] = record.reason } }
        return ends
    }

    @Test(arguments: [false, true])
    func aFolderThatGoesAwayEndsItsRecordingAndAnotherBegins(isDeleted: Bool) throws {
        let (feed, video, folder) = try Self.begun()
        // Its own name stays: elsewhere it is a recording like any other.
        let elsewhere = feed.storage + "/recordings/elsewhere"
        let moved = elsewhere + "/" + (folder.path as NSString).lastPathComponent
        try FileManager.default.createDirectory(atPath: elsewhere, withIntermediateDirectories: true)
        try FileManager.default.moveItem(atPath: folder.path, toPath: moved)
        if isDeleted { try FileManager.default.removeItem(atPath: moved) }
        feed.tick(at: 1000)
        #expect(feed.degraded.map(\.folder) == [folder] && !feed.degraded[0].byDisk)
        #expect(feed.degraded[0].reason.contains("folder is gone"))
        #expect(feed.finished.map(\.folder) == [folder] && feed.finished.map(\.reason) == ["notFound"])
        #expect(feed.status.phase == .waiting && feed.status.current == nil)
        #expect(
            feed.takeNames().filter { $0 != "keyframe" && $0 != "synchronise" }
                == ["degraded", "incomplete", "file", "journal", "finished"]
        )
        #expect(feed.push(video, FedUnit.frame(), at: 1010) == .leftOut, "a file begins with a keyframe")
        feed.tick(at: 1020)
        #expect(feed.keyframeRequests > 0)
        #expect(feed.push(video, FedUnit.keyframe(), at: 1030) != .leftOut)
        let second = try #require(feed.status.folder)
        #expect(second != folder && feed.status.phase == .recording)
        feed.end()
        #expect(try ReadRecording(second).times("video").count == 1)
        guard !isDeleted else { return }
        let first = try ReadRecording(RecordingFolder.open(path: moved))
        #expect(first.times("video").count == 1)
        #expect(first.entries.contains { $0.record == .recordingFinished(RecordingFinished(reason: "notFound")) })
    }

    @Test func whatGoesAwayAgainAndAgainIsWaitedFor() throws {
        let (feed, video, folder) = try Self.begun()
        var last = folder
        for (time, pause) in [(1000, 0), (2000, 4000)] as [(Int64, Int64)] {
            try FileManager.default.removeItem(atPath: last.path)
            feed.tick(at: time)
            #expect(feed.status.phase == .waiting)
            if pause > 0 { #expect(feed.push(video, FedUnit.keyframe(), at: time + pause - 1) == .leftOut) }
            #expect(feed.push(video, FedUnit.keyframe(), at: time + pause) != .leftOut)
            last = try #require(feed.status.folder)
        }
        feed.end()
    }

    @Test func aTrackFileThatIsGoneIsFollowedByTheNext() throws {
        let (feed, video, folder) = try Self.begun()
        let sound = feed.open(.opus)
        feed.push(sound, FedUnit.opus, at: 60, rateHz: 48_000)
        let file = try #require(FileManager.default.contentsOfDirectory(atPath: folder.tracksPath).sorted().first)
        try FileManager.default.removeItem(atPath: folder.tracksPath + "/" + file)
        feed.push(video, FedUnit.frame(), at: 100)
        feed.tick(at: 1000)
        #expect(feed.degraded.map(\.folder) == [folder] && feed.degraded[0].reason.contains(file))
        #expect(feed.push(sound, FedUnit.opus, at: 1100, rateHz: 48_000) == .sound, "the other goes on")
        #expect(feed.push(video, FedUnit.keyframe(), at: 2900) == .leftOut)
        #expect(feed.push(video, FedUnit.keyframe(), at: 3000) != .leftOut)
        #expect(feed.status.folder == folder)
        feed.end()
        let entries = try Journal.entries(of: folder)
        #expect(Self.ends(entries) == [1: "notFound", 2: "test", 3: "test"])
    }

    @Test func aFileOfWhichTheDiskLostPagesIsFollowedByTheNext() throws {
        let (feed, video, folder) = try Self.begun()
        feed.push(video, FedUnit.frame(), at: 100)
        feed.failsRoundWith = RecordingError(.track(1), Self.lost)
        feed.tick(at: 1000)
        feed.failsRoundWith = nil
        #expect(feed.degraded.map(\.reason) == ["the disk lost pages"])
        #expect(feed.push(video, FedUnit.keyframe(), at: 2999) == .leftOut)
        #expect(feed.push(video, FedUnit.keyframe(), at: 3000) != .leftOut)
        feed.push(video, FedUnit.frame(), at: 3100)
        let names = feed.takeNames().filter { $0 != "keyframe" && $0 != "synchronise" }
        #expect(names == ["degraded", "incomplete", "goes on"])
        feed.end()
        let recording = try ReadRecording(folder)
        #expect(Self.ends(recording.entries) == [1: "inputOutput", 2: "test"])
        #expect(recording.units.mapValues(\.count).sorted { $0.key < $1.key }.map(\.value) == [2, 2])
    }

    @Test func aDiskThatStaysBrokenCostsFewFiles() throws {
        let (feed, video, folder) = try Self.begun()
        for time in stride(from: 100 as Int64, to: 300_000, by: 100) {
            let open = feed.status.tracks.first { $0.isOpen }
            feed.failsRoundWith = open.map { RecordingError(.track($0.number), Self.lost) }
            feed.push(video, FedUnit.keyframe(), at: time)
            feed.tick(at: time)
        }
        feed.failsRoundWith = nil
        feed.end()
        #expect((4...12).contains(try FileManager.default.contentsOfDirectory(atPath: folder.tracksPath).count))
    }

    @Test func aJournalOfWhichTheDiskLostPagesEndsItsRecording() throws {
        let (feed, video, folder) = try Self.begun()
        feed.failsRoundWith = RecordingError(.journal, Self.lost)
        feed.tick(at: 1000)
        feed.failsRoundWith = nil
        #expect(feed.finished.map(\.folder) == [folder] && feed.finished.map(\.reason) == ["inputOutput"])
        #expect(feed.degraded.map(\.reason) == ["the disk lost pages"])
        #expect(feed.push(video, FedUnit.keyframe(), at: 2999) == .leftOut)
        #expect(feed.status.phase == .waiting)
        #expect(feed.push(video, FedUnit.keyframe(), at: 3000) != .leftOut)
        #expect(feed.status.folder != folder && feed.status.phase == .recording)
        feed.end()
        #expect(try ReadRecording(folder).times("video").count == 1)
    }

    @Test func theEndOfARecordingWaitsForItsDisk() throws {
        let (feed, video, folder) = try Self.begun()
        feed.failsWith = RecordingError(.journal, Self.lost)
        for time in 1...6 as ClosedRange<Int64> { feed.tick(at: time * 1000) }
        #expect(feed.finished.isEmpty && feed.degraded.count == 1)
        feed.failsWith = nil
        feed.tick(at: 9000)
        #expect(feed.finished.map(\.folder) == [folder])
        feed.push(video, FedUnit.keyframe(), at: 9010)
        feed.end()
        #expect(feed.finished.count == 2)
    }

    @Test func aPauseOutlivesARecordingThatIsLost() throws {
        let (feed, video, folder) = try Self.begun()
        feed.tell { _ = $0.pauseOrdered() }
        try FileManager.default.removeItem(atPath: folder.path)
        for time in 1...5 as ClosedRange<Int64> { feed.tick(at: time * 1000) }
        #expect(feed.degraded.count == 1 && feed.status.phase == .paused)
        #expect(feed.push(video, FedUnit.keyframe(), at: 5500) == .leftOut)
        feed.tell { _ = $0.resumeOrdered() }
        feed.tick(at: 6000)
        #expect(feed.status.phase == .waiting)
        #expect(feed.push(video, FedUnit.keyframe(), at: 6100) != .leftOut)
        #expect(feed.status.folder != folder)
        feed.end()
    }

    /// Names are forced to the disk once, with the first round behind them.
    @Test func newNamesAreForcedToTheDisk() throws {
        let feed = RecordingFeed { $0.synchroniseEvery = .nanoseconds(1) }
        let (video, sound) = (feed.open(.vp8), feed.open(.opus))
        feed.push(video, FedUnit.keyframe(), at: 0)
        feed.tick(at: 50)
        feed.push(video, FedUnit.frame(), at: 100)
        feed.tick(at: 1000)
        feed.push(sound, FedUnit.opus, at: 1100, rateHz: 48_000)
        feed.tick(at: 2000)
        let folder = try #require(feed.status.folder)
        let room = feed.storage + "/recordings/r"
        let temporary = (feed.storage as NSString).deletingLastPathComponent
        let rounds = feed.actions.compactMap { action in
            if case .synchronise(let round) = action { round.recordings.first?.folders } else { nil }
        }
        let all = [folder.tracksPath, folder.path, room, feed.storage + "/recordings", feed.storage, temporary]
        #expect(rounds == [all, [], [folder.tracksPath]])
        feed.end()
    }

    @Test func pausesGrowWhileADiskFails() {
        var pause = FailurePause()
        var now: Int64 = 0
        var lengths: [Int64] = []
        for _ in 0..<7 {
            let length = pause.failed(at: now)
            lengths.append(length.components.seconds)
            now += length.components.seconds * 1_000_000_000 + 119_000_000_000
        }
        #expect(lengths == [2, 4, 8, 16, 32, 60, 60])
        now += 1_000_000_000
        #expect(pause.failed(at: now) == .seconds(2))
    }
}
