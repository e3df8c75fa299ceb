// SPDX-License-Identifier: Apache-2.0

import Basics
import Foundation
import Matroska
import Model
import Storage
import TestSupport
import Testing
import Timeline

@testable import Export

@Suite struct DamagedUnitsTests {
    /// 120 frames with a keyframe every 30; that of index 40 never came, and 60 is the next keyframe.
    private static func recording(mended: Bool) throws -> SimulatedRecording {
        let media = try EncodedMedia.shared.get()
        var video = SimulatedRecording.TrackPlan.video("alice", .vp8, media.vp8, capture: 0)
        video.missing = 40..<41
        let recording = try SimulatedRecording([video, .audio("alice", media.opus, capture: 0)])
        let first = video.firstRTPTime
        try recording.note(
            .trackDamaged(TrackDamaged(track: 1, rtpTime: first + 41 * 3000, lostPackets: 2)),
            after: 1_400_000_000
        )
        if mended {
            try recording.note(
                .trackMended(TrackMended(track: 1, rtpTime: first + 60 * 3000, units: 19)),
                after: 2_040_000_000
            )
        }
        return recording
    }

    @Test func whatIsDamagedBeyondTheLimitIsLeftIn() {
        var spans = DamagedSpans(clockRateHz: 90_000, maximumCount: 2)
        for loss in Int64(0)..<4 {
            spans.damaged(at: loss * 900_000, lostPackets: 1)
            spans.mended(at: loss * 900_000 + 90_000)
        }
        let found = (Int64(0)..<5).map { spans.contains($0 * 900_000 + 45_000) }
        #expect(found == [true, true, false, false, false])
    }

    @Test func leavesOutWhatCannotBeDecoded() throws {
        let recording = try Self.recording(mended: true)
        let report = try Exporter.run(folder: recording.folder)
        let video = report.tracks[0]
        #expect(video.units == 100)
        #expect(video.unitsLeftOut == 19)
        #expect(report.tracks[1].unitsLeftOut == 0)
        #expect(report.warnings.contains { $0.hasPrefix("19 frames of Alice are left out") })
        let event = try #require(report.events.first { $0.kind == .leftOut })
        #expect(event.title == "0.6 s of Alice's video left out (damaged)")
        #expect(abs(event.nanoseconds - 1_366_666_666) < 1_000_000)
        #expect(report.isComplete)
        #expect(try Command.complaints(about: report.output).isEmpty)
        // The file of stage 1 has them all, and an export that was asked for them.
        let kept = try Exporter.run(
            folder: recording.folder,
            ExportSpec(.tracks(.init(switches: [.keepDamaged]))),
            output: recording.storagePath + "/kept.mkv"
        )
        #expect(kept.tracks[0].units == 119)
        #expect(kept.tracks[0].unitsLeftOut == 0)
        #expect(kept.events.allSatisfy { $0.kind != .leftOut })
        let manifest = try #require(try Manifest.read(recording.folder))
        #expect(manifest.tracks.contains { $0.units == 119 })
    }

    @Test func leavesOutTheEndThatWasNeverMended() throws {
        let recording = try Self.recording(mended: false)
        let report = try Exporter.run(folder: recording.folder)
        #expect(report.tracks[0].units == 40)
        #expect(report.tracks[0].unitsLeftOut == 79)
        let event = try #require(report.events.first { $0.kind == .leftOut })
        #expect(abs((event.durationNanoseconds ?? 0) - 2_600_000_000) < 1_000_000)
    }

    @Test func aRangeCountsItsOwnOnly() throws {
        let recording = try Self.recording(mended: true)
        let after = try Exporter.run(folder: recording.folder, ExportSpec(from: .seconds(3)))
        #expect(after.tracks[0].unitsLeftOut == 0)
        #expect(after.tracks[0].units == 30)
        #expect(after.events.isEmpty)
        // A selection that would begin in the damage begins at the keyframe before it.
        let within = try Exporter.run(
            folder: recording.folder,
            ExportSpec(from: .milliseconds(1_500))
        )
        #expect(within.tracks[0].keyframes > 0)
        #expect(try Command.complaints(about: within.output).isEmpty)
    }
}
