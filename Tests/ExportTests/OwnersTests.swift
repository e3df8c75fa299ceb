// SPDX-License-Identifier: Apache-2.0

internal import Basics
import Export
import Foundation
import Matroska
import Model
import Storage
import TestSupport
import Testing
import Timeline

/// Exports of a series that several hosts of a cluster recorded, each by clocks of its own.
@Suite struct OwnersTests {
    private typealias Plan = SimulatedRecording.TrackPlan

    /// What an owner recorded of Alice's call: units of video, 30 a second with a keyframe each second, and of audio, 50 a
    /// second.
    private struct Owner {
        var epoch: Int
        var number: Int
        var video: Range<Int>
        var audio: Range<Int>
        /// Units of these that did not come.
        var missing: (video: Range<Int>, audio: Range<Int>) = (0..<0, 0..<0)
        var reports = true
        var wallNanoseconds: Int64 = 90_000_000_000
    }

    private static func series(_ owners: [Owner]) throws -> [SimulatedRecording] {
        let media = try EncodedMedia.shared.get()
        var recordings: [SimulatedRecording] = []
        for (index, owner) in owners.enumerated() {
            var video = Plan.video("alice", .vp8, Array(media.vp8[owner.video]))
            video.captureNanoseconds += Int64(owner.video.lowerBound) * 100_000_000 / 3
            video.missing = owner.missing.video.moved(by: -owner.video.lowerBound)
            var audio = Plan.audio("alice", Array(media.opus[owner.audio]))
            audio.captureNanoseconds += Int64(owner.audio.lowerBound) * 20_000_000
            audio.missing = owner.missing.audio.moved(by: -owner.audio.lowerBound)
            var plans = [video, audio]
            for plan in plans.indices {
                plans[plan].connection = 1
                // A connection of its own, with its own beginnings of RTP time.
                plans[plan].firstRTPTime += Int64(owner.epoch) * 5_000_000
                plans[plan].ssrc = UInt32(100 * owner.epoch + plan)
                plans[plan].reportIntervalNanoseconds = 200_000_000
                plans[plan].firstReportNanoseconds = owner.reports ? plans[plan].captureNanoseconds + 100_000_000 : nil
            }
            let segment = SimulatedRecording.Segment(
                storage: recordings.first?.storagePath
                    ?? FileManager.default.temporaryDirectory.path + "/tapedeck-owners-\(RecordingID.random())",
                series: "0000000000000001",
                number: owner.number,
                startNanoseconds: min(video.captureNanoseconds, audio.captureNanoseconds),
                before: nil,
                epoch: owner.epoch,
                monotonicNanoseconds: Int64(index) * 7_000_000_000_000,
                wallNanoseconds: index == 0 ? 0 : owner.wallNanoseconds
            )
            recordings.append(
                try SimulatedRecording(
                    plans,
                    boot: "boot\(owner.epoch)",
                    id: "000000000000000\(index + 1)",
                    segment: segment
                )
            )
        }
        return recordings
    }

    private static func export(_ recordings: [SimulatedRecording], _ spec: ExportSpec = .init()) throws -> ExportReport
    {
        var spec = spec
        spec.series = true
        return try Exporter.run(folder: recordings[0].folder, spec)
    }

    /// The times of the units of a call that one host recorded whole; ffprobe takes the codec's delay from audio.
    private static func expected(video: [Range<Int>], audio: [Range<Int>]) -> [[Double]] {
        [
            video.flatMap { $0.map { 0.1 + Double($0) / 30 } },
            audio.flatMap { $0.map { Double($0) * 0.02 - 0.0065 } },
        ]
    }

    private func check(
        _ report: ExportReport,
        video: [Range<Int>],
        audio: [Range<Int>],
        sourceLocation: SourceLocation = #_sourceLocation
    ) throws {
        let probe = try Probe(report.output)
        #expect(probe.streams.map(\.codec_name) == ["vp8", "opus"], sourceLocation: sourceLocation)
        for (stream, expected) in Self.expected(video: video, audio: audio).enumerated() {
            let times = probe.times(stream)
            #expect(times.count == expected.count, sourceLocation: sourceLocation)
            let farthest = zip(times, expected).map { abs($0 - $1) }.max() ?? 1
            #expect(farthest < 0.002, "\(farthest)", sourceLocation: sourceLocation)
        }
        #expect(try Command.complaints(about: report.output).isEmpty, sourceLocation: sourceLocation)
    }

    @Test func hostsWhoseClocksAreApartGiveOneCall() throws {
        let recordings = try Self.series([
            Owner(epoch: 1, number: 1, video: 0..<57, audio: 0..<95),
            Owner(epoch: 2, number: 2, video: 90..<120, audio: 155..<200),
        ])
        let report = try Self.export(recordings)
        try self.check(report, video: [0..<57, 90..<120], audio: [0..<95, 155..<200])
        #expect(report.tracks.map(\.gapCount) == [1, 1])
        #expect(report.tracks.map { $0.files?.count } == [2, 2])
        #expect(
            report.joined == [
                ClockJoin(segment: 2, host: "host2", joinedBy: .senders, boundNanoseconds: 1_000_000)
            ]
        )
        #expect(report.events.contains { $0.title == "Segment 2" })
        // The manifest and the result of `tapedeck verify` say it as well.
        let manifest = try #require(try Manifest.read(recordings[0].folder))
        #expect(manifest.exports.map(\.joined) == [report.joined])
        let gap = try #require(manifest.exports[0].gaps?.first)
        #expect(manifest.exports[0].gaps == [gap])
        #expect(abs(gap.durationNanoseconds - 1_130_000_000) < 20_000_000, "\(gap)")
        for certificate in [manifest.certificate, try RecordingExamination.certificate(of: recordings[0].folder)] {
            let found = certificate?.findings.filter { $0.kind == .clocksJoined } ?? []
            #expect(found.map(\.text) == ["segment 2 (host host2): joined by senders ± 1 ms"])
            #expect(found.map(\.file) == ["call-series.mkv"])
            let parts = certificate?.findings.filter { $0.kind == .seriesParts } ?? []
            #expect(parts.map(\.text) == ["made of segment 1 (host host1, epoch 1), segment 2 (host host2, epoch 2)"])
            let gaps = certificate?.findings.filter { $0.kind == .gap && $0.file == "call-series.mkv" } ?? []
            #expect(gaps.count == 1 && gaps[0].text.hasPrefix("no host recorded anything for 1"), "\(gaps)")
        }
        #expect(manifest.claim?.epoch == 1)
    }

    @Test func ofAnOverlapTheNewerOwnerCounts() throws {
        let recordings = try Self.series([
            Owner(epoch: 1, number: 1, video: 0..<90, audio: 0..<150),
            // The same number: each began it without the other.
            Owner(epoch: 2, number: 1, video: 60..<120, audio: 100..<200),
        ])
        let report = try Self.export(recordings)
        try self.check(report, video: [0..<120], audio: [0..<200])
        #expect(report.tracks.map(\.gapCount) == [0, 0] && report.gaps.isEmpty)
        #expect(report.tracks.map { $0.clips?.count } == [2, 2])
        #expect(!report.warnings.contains { $0.contains("left out") }, "\(report.warnings)")
        let separate = try Self.export(recordings, ExportSpec(.tracks(.init(switches: [.separateTracks]))))
        #expect(separate.tracks.map(\.units) == [60, 60, 100, 100])
    }

    @Test func theOlderOwnerCountsBehindTheNewer() throws {
        let recordings = try Self.series([
            Owner(epoch: 1, number: 1, video: 0..<120, audio: 0..<200),
            Owner(epoch: 2, number: 2, video: 30..<90, audio: 50..<150),
        ])
        let report = try Self.export(recordings)
        try self.check(report, video: [0..<120], audio: [0..<200])
        #expect(report.tracks.map(\.gapCount) == [0, 0])
        #expect(report.tracks[0].sourceTracks == [1, 3, 1])
        #expect(report.tracks[0].packetsReceived == nil)
        // A range begins with the older one's keyframe.
        let late = try Self.export(recordings, ExportSpec(from: .milliseconds(3_500)))
        #expect(late.tracks.map(\.units) == [30, 25])
        let separate = try Self.export(recordings, ExportSpec(.tracks(.init(switches: [.separateTracks]))))
        #expect(separate.tracks.map(\.units) == [60, 60, 100, 100])
        #expect(separate.tracks.map(\.gapCount) == [1, 0, 1, 0])
    }

    @Test func theOlderOwnerFillsHolesOfTheNewer() throws {
        let recordings = try Self.series([
            Owner(epoch: 1, number: 1, video: 0..<120, audio: 0..<200),
            Owner(
                epoch: 2,
                number: 2,
                video: 30..<120,
                audio: 50..<200,
                missing: (video: 50..<90, audio: 70..<140)
            ),
        ])
        let report = try Self.export(recordings)
        // Video of the older one begins with its keyframe.
        try self.check(report, video: [0..<50, 60..<120], audio: [0..<200])
        #expect(report.tracks.map(\.gapCount) == [0, 0])
        #expect(report.tracks[0].sourceTracks == [1, 3, 1, 3])
    }

    @Test func threeOwnersAreCutAsTwo() throws {
        let recordings = try Self.series([
            Owner(epoch: 1, number: 1, video: 0..<90, audio: 0..<150),
            Owner(epoch: 2, number: 2, video: 30..<120, audio: 50..<200),
            Owner(epoch: 4, number: 3, video: 60..<90, audio: 100..<150),
        ])
        let report = try Self.export(recordings)
        try self.check(report, video: [0..<120], audio: [0..<200])
        #expect(report.tracks[0].sourceTracks == [1, 3, 5, 3])
        #expect(report.joined?.map(\.host) == ["host2", "host4"])
    }

    @Test func withoutReportsUTCJoinsThem() throws {
        let recordings = try Self.series([
            Owner(epoch: 1, number: 1, video: 0..<60, audio: 0..<100),
            Owner(epoch: 2, number: 2, video: 90..<120, audio: 150..<200, reports: false, wallNanoseconds: 500_000_000),
        ])
        let report = try Self.export(recordings)
        #expect(report.joined == [ClockJoin(segment: 2, host: "host2", joinedBy: .utc)])
        #expect(report.warnings.contains { $0.hasPrefix("segment 2 (host host2): joined by utc ± unknown: ") })
        let gap = try #require(report.tracks[0].gaps.first)
        #expect(abs(gap.durationNanoseconds - 1_533_333_000) < 5_000_000, "as far off as the wall clock")
    }

    @Test func aSegmentThatComesBackIsExported() throws {
        let recordings = try Self.series([
            Owner(epoch: 1, number: 1, video: 0..<60, audio: 0..<100),
            Owner(epoch: 2, number: 2, video: 60..<90, audio: 100..<150),
            Owner(epoch: 3, number: 3, video: 90..<120, audio: 150..<200),
        ])
        let away = recordings[1].storagePath + "/away"
        try FileManager.default.moveItem(atPath: recordings[1].folder.path, toPath: away)
        let before = try Self.export(recordings)
        #expect(before.verdict == .completeWithGaps)
        #expect(before.tracks.map(\.units) == [90, 150])
        try FileManager.default.moveItem(atPath: away, toPath: recordings[1].folder.path)
        let outdated = try RecordingExamination.certificate(of: recordings[0].folder)
        #expect(
            outdated.findings.filter { $0.kind == .exportOutdated }.map(\.text) == [
                "segment 2 of host host2 came after it was made: export the series again"
            ]
        )
        let report = try Self.export(recordings)
        #expect(report.verdict == .complete, "\(report.warnings)")
        try self.check(report, video: [0..<120], audio: [0..<200])
        let certificate = try RecordingExamination.certificate(of: recordings[0].folder)
        #expect(!certificate.findings.contains { $0.kind == .exportOutdated })
        #expect(
            try Manifest.read(recordings[0].folder)?.exports.map(\.recordings) == [recordings.map(\.folder.id.rawValue)]
        )
    }
}

extension Range<Int> {
    /// The range so much further.
    fileprivate func moved(by distance: Int) -> Range<Int> {
        self.isEmpty ? self : (self.lowerBound + distance)..<(self.upperBound + distance)
    }
}
