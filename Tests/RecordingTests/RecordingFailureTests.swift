// SPDX-License-Identifier: Apache-2.0

import Basics
import Foundation
import Matroska
import Storage
import Testing
import Timeline

@testable import Recording

/// A session's reaction to data that cannot be stored.
@Suite struct RecordingFailureTests {
    private static let noSpace = StorageError(.noSpace, "no space left", path: "x")

    /// Whether each failure that was logged was one of the present recording.
    private static func logged(_ feed: RecordingFeed) -> [(error: RecordingError, isPresent: Bool)] {
        feed.actions.compactMap { action in
            if case .logIncomplete(let error, let folder) = action { (error, folder == nil) } else { nil }
        }
    }

    @Test func aFolderThatCannotBeMadeIsTriedAgain() throws {
        let feed = RecordingFeed()
        #expect(FileManager.default.createFile(atPath: feed.storage, contents: nil))
        let video = feed.open(.vp8)
        #expect(feed.push(video, FedUnit.keyframe(), at: 0) == .leftOut)
        #expect(feed.status.phase == .waiting)
        #expect(feed.status.failure?.part == .folder)
        #expect(feed.push(video, FedUnit.keyframe(), at: 1900) == .leftOut)
        #expect(feed.degraded.map(\.folder) == [nil])
        try FileManager.default.removeItem(atPath: feed.storage)
        #expect(feed.push(video, FedUnit.keyframe(), at: 1990) == .leftOut, "it rests for 2 s")
        #expect(feed.push(video, FedUnit.keyframe(), at: 2000) != .leftOut)
        #expect(feed.status.phase == .recording)
        feed.end()
        #expect(feed.status.failure?.part == .folder, "the end keeps it")
    }

    @Test func aFileThatCannotBeBegunIsTriedAgain() throws {
        let feed = RecordingFeed()
        let (video, sound) = (feed.open(.vp8), feed.open(.opus))
        feed.push(sound, FedUnit.opus, at: 0, rateHz: 48_000)
        let folder = try #require(feed.status.folder)
        try FileManager.default.moveItem(atPath: folder.tracksPath, toPath: folder.path + "/away")
        #expect(feed.push(video, FedUnit.keyframe(), at: 100) == .leftOut)
        #expect(feed.status.failure?.part == .track(2))
        #expect(feed.push(sound, FedUnit.opus, at: 110, rateHz: 48_000) == .sound, "the other goes on")
        try FileManager.default.moveItem(atPath: folder.path + "/away", toPath: folder.tracksPath)
        #expect(feed.push(video, FedUnit.keyframe(), at: 1000) == .leftOut)
        #expect(feed.push(video, FedUnit.keyframe(), at: 2100) != .leftOut)
        #expect(feed.takeNames().filter { $0 != "keyframe" } == ["started", "degraded", "incomplete", "goes on"])
        #expect(feed.status.failure?.part == .track(2), "it stays incomplete")
        feed.end()
    }

    @Test func aFailureIsToldOnceForARecording() {
        let feed = RecordingFeed { $0.synchroniseEvery = .nanoseconds(1) }
        let video = feed.open(.vp8)
        feed.push(video, FedUnit.keyframe(), at: 0)
        feed.failsWith = RecordingError(.track(1), Self.noSpace)
        for time in 1...5 as ClosedRange<Int64> { feed.tick(at: time * 50) }
        #expect(feed.degraded.map(\.reason) == ["no space left"] && feed.degraded.allSatisfy { $0.byDisk })
        #expect(Self.logged(feed).map(\.error.part) == [.track(1)])
        #expect(feed.status.failure?.part == .track(1))
    }

    @Test func whatIsOverIsNotToBlameForWhatGoesOn() throws {
        let feed = RecordingFeed()
        let video = feed.open(.vp8)
        feed.push(video, FedUnit.keyframe(), at: 0)
        let first = try #require(feed.status.folder)
        feed.tell { _ = $0.stopOrdered(reason: "stopped") }
        feed.tell { _ = $0.recordOrdered() }
        feed.push(video, FedUnit.keyframe(), at: 1000)
        let completions = feed.actions.compactMap { if case .complete(let completion) = $0 { completion } else { nil } }
        let late = try #require(completions.first)
        feed.tell { $0.completed(late, failure: RecordingError(.track(1), Self.noSpace)) }
        #expect(feed.status.failure == nil)
        #expect(feed.degraded.map(\.folder) == [first])
        #expect(Self.logged(feed).map(\.isPresent) == [false])
        feed.end()
    }

    @Test func theEndKeepsWhatFailedInIt() {
        let feed = RecordingFeed()
        feed.push(feed.open(.vp8), FedUnit.keyframe(), at: 0)
        feed.failsWith = RecordingError(.track(1), Self.noSpace)
        feed.end()
        #expect(feed.status.failure?.part == .track(1))
        #expect(feed.finished.map(\.reason) == ["test"], "it is over all the same")
    }

    @Test func aRecordingThatCannotGoOnIsToldAndAnotherBegins() throws {
        let before = RecordingFeed()
        before.push(before.open(.vp8), FedUnit.keyframe(), at: 0)
        let folder = try #require(before.status.folder)
        let held = RecordingFeed(storage: before.storage) { $0.continues = folder.path }
        #expect(held.status.failure?.part == .journal)
        #expect(held.status.failure?.cause.code == .exists)
        #expect(held.status.phase == .waiting)
        before.end()
        // Completions have the journal, and with it its lock.
        _ = before.takeNames()
        let finished = RecordingFeed(storage: before.storage) { $0.continues = folder.path }
        #expect(finished.status.failure?.cause.code == .closed)
        let absent = RecordingFeed(storage: before.storage) { $0.continues = folder.path + "-not" }
        #expect(absent.status.failure?.part == .folder)
        absent.push(absent.open(.vp8), FedUnit.keyframe(), at: 0)
        #expect(absent.status.phase == .recording)
        #expect(absent.takeNames().contains("not continued"))
    }
}
