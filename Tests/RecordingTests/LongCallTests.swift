// SPDX-License-Identifier: Apache-2.0

import Basics
import Matroska
import Storage
import Testing
import Timeline

@testable import Recording

/// Calls of many hours, whose time is the test's.
@Suite struct LongCallTests {
    /// A unit every four seconds, each of which begins a cluster, as the units of a second do in a call.
    private static let seconds = stride(from: 0, to: 8 * 3600, by: 4)

    @Test func whoLeavesAfterEightHoursCostsTheOthersNothing() throws {
        let feed = RecordingFeed()
        let video = feed.open(.vp8, participant: "alice", ssrc: 1)
        let names = ["alice", "bob", "carol", "dave"]
        let audio = names.enumerated().map { index, name in
            feed.open(.opus, participant: name, ssrc: UInt32(index) + 2, connection: UInt64(index) + 1)
        }
        for second in Self.seconds {
            let now = Int64(second) * 1000
            feed.push(video, second == 0 ? FedUnit.keyframe() : FedUnit.frame(), at: now)
            for track in audio { feed.push(track, FedUnit.opus, at: now, rateHz: 48_000) }
        }
        let before = feed.written
        #expect(before == UInt64(5 * Self.seconds.underestimatedCount))
        feed.isDiskBusy = true
        _ = feed.takeNames()
        feed.tell { $0.connectionClosed(1, reason: "left") }
        #expect(feed.completing == ["file": 2])
        for action in feed.actions {
            guard case .complete(let completion) = action, case .file(let end) = completion.work else { continue }
            #expect(end.finish.patches.count <= 5, "eight hours end in a handful of writes")
        }
        // The others continue while the disk is busy with the files of the one that left.
        for second in 0..<60 {
            let now = Int64(8 * 3600 + second) * 1000
            for track in audio.dropFirst() {
                #expect(feed.push(track, FedUnit.opus, at: now, rateHz: 48_000) != .leftOut)
            }
        }
        #expect(feed.written == before + 3 * 60)
        feed.end()
        while feed.completes(.oldest) {}
        #expect(feed.finished.map(\.reason) == ["test"])
        let recording = try ReadRecording(try #require(feed.folders.first))
        #expect(recording.units.count == 5)
        let hours = Self.seconds.underestimatedCount
        for (file, times) in recording.units {
            #expect(times.count == (file.contains("alice") ? hours : hours + 60), "\(file)")
        }
        let closed = recording.entries.count { if case .trackClosed = $0.record { true } else { false } }
        #expect(closed == 5)
    }
}
