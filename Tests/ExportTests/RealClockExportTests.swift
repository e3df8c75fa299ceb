// SPDX-License-Identifier: Apache-2.0

import Basics
import Export
import Testing
import Timeline

/// Exports and certificates of tracks whose RTP clocks count at another rate than described.
@Suite struct RealClockExportTests {
    /// Twelve seconds of video and audio.
    private static func plans(_ change: (inout [SimulatedRecording.TrackPlan]) -> Void) throws -> SimulatedRecording {
        let media = try EncodedMedia.shared.get()
        var plans: [SimulatedRecording.TrackPlan] = [
            .video("alice", .vp8, media.vp8 + media.vp8 + media.vp8),
            .audio("alice", Array((media.opus + media.opus + media.opus).prefix(600))),
        ]
        change(&plans)
        return try SimulatedRecording(plans)
    }

    @Test(arguments: [(0, 33 as Int64, "990 Hz"), (1, 320, "16000 Hz"), (0, 3300, "99000 Hz")])
    func exportsFollowTheRealClock(track: Int, step: Int64, rate: String) throws {
        let recording = try Self.plans { $0[track].countedStep = step }
        let report = try Exporter.run(folder: recording.folder)
        #expect(report.verdict == .complete && report.isComplete, "\(report.warnings)")
        for track in report.tracks { #expect(abs(track.durationNanoseconds - 12_000_000_000) < 60_000_000) }
        let certificate = try RecordingExamination.certificate(of: recording.folder)
        let notes = certificate.findings(.note).filter { $0.kind == .clockRate }
        #expect(notes.map(\.file) == [certificate.tracks[track].file])
        #expect(notes.first?.text.contains("counts at \(rate) instead of") == true, "\(notes)")
        #expect(certificate.tracks[track].skewPartsPerMillion == nil)
        #expect(certificate.tracks.allSatisfy { $0.gaps.count == 0 && $0.basis == .senderReports })
        // The first unit of both was captured 100 ms apart.
        #expect(abs(certificate.tracks[0].startNanoseconds - 100_000_000) < 15_000_000)
    }

    @Test(arguments: [(33 as Int64, false), (3300, false), (0, true), (1, true), (-100, true)])
    func durationsThatContradictArrivalsAreNotComplete(step: Int64, hasReports: Bool) throws {
        let recording = try Self.plans { plans in
            plans[0].countedStep = step
            if !hasReports { plans[0].firstReportNanoseconds = nil }
        }
        let report = try Exporter.run(folder: recording.folder)
        #expect(report.verdict == .completeWithGaps && !report.isComplete, "\(report.warnings)")
        let certificate = try RecordingExamination.certificate(of: recording.folder)
        let found = certificate.findings(.gap).filter { $0.kind == .clockContradicts }
        #expect(found.map(\.file) == [certificate.tracks[0].file], "\(certificate.findings)")
        #expect(certificate.findings(.damage).isEmpty, "\(certificate.findings)")
    }

    @Test func skewIsStated() throws {
        let skewed = try Self.plans { $0[0].skew = 200e-6 }
        let stated = try #require(RecordingExamination.certificate(of: skewed.folder).tracks[0].skewPartsPerMillion)
        #expect(abs(abs(stated) - 200) < 40, "\(stated)")
    }
}
