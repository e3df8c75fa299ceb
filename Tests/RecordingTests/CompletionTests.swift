// SPDX-License-Identifier: Apache-2.0

import Basics
import Matroska
import Storage
import Testing
import Timeline

@testable import Recording

/// In which order files and recordings that are over are completed, on a disk of which the test says when it is done.
@Suite struct CompletionTests {
    @Test func filesAreCompletedSideBySideAndTheJournalAfterAll() throws {
        let feed = RecordingFeed()
        let tracks = (0..<20).map { _ in feed.open(.opus) }
        for track in tracks { feed.push(track, FedUnit.opus, at: 0, rateHz: 48_000) }
        feed.isDiskBusy = true
        feed.end()
        #expect(feed.completing == ["file": CompletionSchedule.mostFiles])
        #expect(feed.isCompleting)
        for left in (1...19).reversed() {
            // The newest first: one does not wait for another.
            try #require(feed.completes(.newest))
            #expect(feed.completing == ["file": min(left, CompletionSchedule.mostFiles)])
        }
        #expect(feed.finished.isEmpty)
        try #require(feed.completes(.newest))
        #expect(feed.completing == ["journal": 1])
        #expect(feed.isCompleting)
        try #require(feed.completes(.newest))
        #expect(feed.finished.map(\.reason) == ["test"])
        #expect(!feed.isCompleting)
        let recording = try ReadRecording(try #require(feed.folders.first))
        let closed = recording.entries.count { if case .trackClosed = $0.record { true } else { false } }
        #expect(closed == 20)
        let last = try #require(recording.entries.last)
        #expect({ if case .recordingFinished = last.record { true } else { false } }())
    }

    @Test func mediaAndTheNextRecordingWaitForNoFile() throws {
        let feed = RecordingFeed()
        let (video, sound) = (feed.open(.vp8), feed.open(.opus))
        feed.push(video, FedUnit.keyframe(), at: 0)
        feed.push(sound, FedUnit.opus, at: 0, rateHz: 48_000)
        feed.isDiskBusy = true
        feed.tell { _ = $0.stopOrdered(reason: "stopped") }
        feed.tell { _ = $0.recordOrdered() }
        #expect(feed.push(video, FedUnit.keyframe(), at: 1000) != .leftOut)
        feed.end()
        #expect(feed.completing == ["file": 3], "files of two recordings")
        try #require(feed.completes(.newest))
        #expect(feed.completing == ["file": 2], "the second recording's end comes after the first one's")
        while feed.completes(.oldest) {}
        #expect(feed.finished.map(\.reason) == ["stopped", "test"])
    }

    @Test func aFileThatCannotBeCompletedDoesNotKeepARecordingFromItsEnd() throws {
        let feed = RecordingFeed()
        feed.push(feed.open(.vp8), FedUnit.keyframe(), at: 0)
        feed.isDiskBusy = true
        feed.end()
        feed.failsWith = RecordingError(.track(1), StorageError(.noSpace, "no space left", path: "p"))
        while feed.completes(.oldest) {}
        #expect(feed.finished.count == 1)
        #expect(feed.status.failure?.part == .track(1))
        #expect(!feed.isCompleting)
    }
}
