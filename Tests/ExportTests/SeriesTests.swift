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

/// Exports that span the recordings of a series.
@Suite struct SeriesTests {
    private typealias Plan = SimulatedRecording.TrackPlan

    private static let ids = ["0000000000000001", "0000000000000002", "0000000000000003"]

    /// The same call, cut where both tracks change over at their own times; `cuts` are units of video and of audio.
    private static func series(
        cuts: [(video: Int, audio: Int)],
        boot: String? = "boot",
        codec: MediaCodec = .vp8,
        change: (inout [Plan], _ segment: Int) -> Void = { _, _ in }
    ) throws -> [SimulatedRecording] {
        let media = try EncodedMedia.shared.get()
        let pictures = codec == .h264 ? media.h264 : media.vp8
        let ends = cuts + [(pictures.count, media.opus.count)]
        var recordings: [SimulatedRecording] = []
        var begin = (video: 0, audio: 0)
        for (index, end) in ends.enumerated() {
            var video = Plan.video("alice", codec, Array(pictures[begin.video..<end.video]))
            video.firstRTPTime += Int64(begin.video) * video.step
            video.captureNanoseconds += Int64(begin.video) * 100_000_000 / 3
            var audio = Plan.audio("alice", Array(media.opus[begin.audio..<end.audio]))
            audio.firstRTPTime += Int64(begin.audio) * audio.step
            audio.captureNanoseconds += Int64(begin.audio) * 20_000_000
            var plans = [video, audio]
            for plan in plans.indices {
                // Reports continue at their own pace.
                let due = (plans[plan].captureNanoseconds - 500_000_000 + 999_999_999) / 1_000_000_000
                plans[plan].firstReportNanoseconds = 500_000_000 + max(0, due) * 1_000_000_000
            }
            change(&plans, index)
            let segment = SimulatedRecording.Segment(
                storage: recordings.first?.storagePath
                    ?? FileManager.default.temporaryDirectory.path + "/tapedeck-series-\(RecordingID.random())",
                series: Self.ids[0],
                number: index + 1,
                startNanoseconds: index == 0
                    ? 0 : min(video.captureNanoseconds, audio.captureNanoseconds) + video.delayNanoseconds,
                before: recordings.last
            )
            recordings.append(try SimulatedRecording(plans, boot: boot, id: Self.ids[index], segment: segment))
            begin = end
        }
        return recordings
    }

    private func export(_ recordings: [SimulatedRecording], from index: Int = 0, _ spec: ExportSpec = .init())
        throws -> ExportReport
    {
        var spec = spec
        spec.series = true
        return try Exporter.run(folder: recordings[index].folder, spec)
    }

    @Test(arguments: [0, 1])
    func givesWhatOneRecordingWouldHaveGiven(asked: Int) throws {
        let media = try EncodedMedia.shared.get()
        let recordings = try Self.series(cuts: [(60, 110)])
        let whole = try SimulatedRecording([.video("alice", .vp8, media.vp8), .audio("alice", media.opus)])
        let report = try self.export(recordings, from: asked)
        let expected = try Exporter.run(folder: whole.folder)
        #expect(report.output == recordings[0].folder.path + "/call-series.mkv")
        #expect(report.tracks.map(\.units) == expected.tracks.map(\.units))
        #expect(report.tracks.map(\.gapCount) == [0, 0])
        #expect(report.tracks.map(\.basis) == [.senderReports, .senderReports])
        #expect(report.verdict == .complete, "\(report.warnings)")
        #expect(
            report.tracks[0].files == [
                "tracks/001-Alice-video.mkv", "../\(name(recordings[1]))/tracks/001-Alice-video.mkv",
            ]
        )
        let (probe, reference) = (try Probe(report.output), try Probe(expected.output))
        #expect(probe.streams.map(\.codec_name) == ["vp8", "opus"])
        for stream in 0..<2 {
            let distances = zip(probe.times(stream), reference.times(stream)).map { abs($0 - $1) }
            #expect((distances.max() ?? 1) < 0.0006, "\(distances.max() ?? 1)")
        }
        #expect(report.events.contains { $0.title == "Segment 2" && abs($0.nanoseconds - 2_100_000_000) < 1_000_000 })
        #expect(report.events.filter { $0.kind == .joined }.count == 1, "who was there all the time joined once")
        #expect(try Command.complaints(about: report.output).isEmpty)
        let bytes = try Data(contentsOf: URL(filePath: report.output))
        #expect(try self.export(recordings) == report)
        #expect(try Data(contentsOf: URL(filePath: report.output)) == bytes)
        // The result of `tapedeck verify` for the file and its recording.
        #expect(try FileExamination.certificate(file: report.output).verdict == .complete)
        #expect(try RecordingExamination.certificate(of: recordings[0].folder).verdict == .complete)
        #expect(try Manifest.read(recordings[0].folder)?.exports.map(\.file) == ["call-series.mkv"])
    }

    private func name(_ recording: SimulatedRecording) -> String {
        URL(filePath: recording.folder.path).lastPathComponent
    }

    /// Video with a keyframe every 30 frames, cut in the middle of a group, as the recorder does after 20 s without
    /// one.
    private static func cutOff(
        _ cuts: [Int] = [75],
        codec: MediaCodec = .vp8,
        lost: UInt64 = 0,
        lostLater: Bool = false
    ) throws -> [SimulatedRecording] {
        let recordings = try Self.series(cuts: cuts.map { ($0, $0 * 5 / 3) }, codec: codec)
        for (recording, cut) in zip(recordings.dropFirst(), cuts) {
            let next = (cut / 30 + 1) * 30
            func note(_ record: JournalRecord, at unit: Int) throws {
                try recording.note(record, after: 240_000_000 + Int64(unit) * 100_000_000 / 3)
            }
            func time(_ unit: Int) -> Int64 { 0xFFFF_8000 + Int64(unit) * 3000 }
            try note(.trackDamaged(TrackDamaged(track: 1, rtpTime: time(cut), lostPackets: lost)), at: cut)
            if lostLater {
                try note(.trackDamaged(TrackDamaged(track: 1, rtpTime: time(cut + 5), lostPackets: 1)), at: cut + 5)
            }
            // The group of the last cut of one without a keyframe continues beyond its segment.
            guard cuts.allSatisfy({ $0 <= cut || $0 > next }) else { continue }
            try note(
                .trackMended(TrackMended(track: 1, rtpTime: time(next), units: UInt64(next - cut))),
                at: next
            )
        }
        return recordings
    }

    @Test(arguments: [MediaCodec.vp8, .h264])
    func picturesThatGoOnWithoutAKeyframeAreKept(codec: MediaCodec) throws {
        let recordings = try Self.cutOff(codec: codec)
        let alone = try Exporter.run(folder: recordings[1].folder)
        #expect(alone.tracks.map(\.units)[0] == 30)
        #expect(alone.tracks.map(\.unitsLeftOut)[0] == 15)
        let report = try self.export(recordings)
        #expect(report.tracks.count == 2)
        #expect(report.tracks.map(\.units)[0] == 120)
        #expect(report.tracks.map(\.unitsLeftOut) == [0, 0])
        #expect(report.tracks.map(\.gapCount) == [0, 0])
        #expect(report.events.allSatisfy { $0.kind != .leftOut })
        #expect(try Command.complaints(about: report.output).isEmpty)
        // The same frames as those of one recording, not only as many.
        let media = try EncodedMedia.shared.get()
        let whole = try SimulatedRecording([.video("alice", codec, codec == .h264 ? media.h264 : media.vp8)])
        let expected = try Exporter.run(folder: whole.folder)
        #expect(try Command.pictures(report.output) == Command.pictures(expected.output))
    }

    @Test func aSegmentMayHaveNoKeyframe() throws {
        // The first GOP is in three segments.
        let recordings = try Self.cutOff([65, 80])
        // Alone it has audio only, and is not damaged.
        let alone = try Exporter.run(folder: recordings[1].folder)
        #expect(alone.tracks.map(\.codec) == ["opus"])
        #expect(alone.verdict == .completeWithGaps, "\(alone.warnings)")
        let report = try self.export(recordings)
        #expect(report.verdict == .completeWithGaps, "\(report.warnings)")
        #expect(report.tracks.map(\.units)[0] == 120)
        #expect(report.tracks.map(\.unitsLeftOut)[0] == 0)
        // A range in the last of them begins with the keyframe in the first.
        let late = try self.export(recordings, ExportSpec(from: .milliseconds(2_900)))
        #expect(late.tracks[0].units == 60)
        #expect(late.tracks[0].keyframes == 2)
        #expect(late.warnings.contains { $0.contains("before the range, at a keyframe") })
        #expect(try Command.complaints(about: late.output).isEmpty)
    }

    @Test func whatWasLostAtACutIsLeftOut() throws {
        // Packets never came between the two, so what follows cannot be decoded by the first segment either.
        let atOnce = try self.export(try Self.cutOff(lost: 2))
        #expect(atOnce.tracks.map(\.units)[0] == 105)
        #expect(atOnce.tracks.map(\.unitsLeftOut)[0] == 15)
        // Some came.
        let later = try self.export(try Self.cutOff(lostLater: true))
        #expect(later.tracks.map(\.units)[0] == 110)
        #expect(later.tracks.map(\.unitsLeftOut)[0] == 10)
    }

    @Test func withoutTheSegmentBeforePicturesBeginAtAKeyframe() throws {
        let recordings = try Self.cutOff([65, 80])
        try FileManager.default.removeItem(atPath: recordings[1].folder.path)
        let report = try self.export(recordings)
        #expect(report.tracks.map(\.units)[0] == 65 + 30)
        #expect(report.tracks.map(\.unitsLeftOut)[0] == 10)
        #expect(try Command.complaints(about: report.output).isEmpty)
        let all = try Exporter.run(
            folder: recordings[0].folder,
            ExportSpec(.tracks(.init(switches: [.keepDamaged])), series: true)
        )
        #expect(all.tracks[0].units == 65 + 40)
    }

    @Test func aMissingSegmentIsAGap() throws {
        let recordings = try Self.series(cuts: [(30, 55), (90, 155)])
        try FileManager.default.removeItem(atPath: recordings[1].folder.path)
        let report = try self.export(recordings)
        #expect(report.verdict == .completeWithGaps)
        #expect(report.warnings.contains { $0.hasPrefix("segment 2 of the series is not there") })
        #expect(report.tracks.map(\.units)[0] == 60)
        #expect(report.tracks.count == 2, "tracks go on behind the gap")
        #expect(report.tracks.map(\.gapCount) == [1, 1])
        let gap = try #require(report.tracks[0].gaps.first)
        #expect(abs(gap.durationNanoseconds - 2_033_000_000) < 5_000_000)
        #expect(try Command.complaints(about: report.output).isEmpty)
        #expect(report.events.contains { $0.title == "Segment 3" })
        let separate = try Exporter.run(
            folder: recordings[0].folder,
            ExportSpec(.tracks(.init(switches: [.separateTracks])), series: true)
        )
        #expect(separate.tracks.map(\.sourceTrack) == [1, 3, 2, 4], "without a segment between no stream goes on")
    }

    @Test func theFirstSegmentMayBeGone() throws {
        let recordings = try Self.series(cuts: [(30, 55), (90, 155)])
        try FileManager.default.removeItem(atPath: recordings[0].folder.path)
        let report = try self.export(recordings, from: 2)
        #expect(report.output == recordings[1].folder.path + "/call-series.mkv")
        #expect(report.warnings.contains { $0.contains("segment 1 of the series is not there: the file begins later") })
        #expect(report.tracks.map(\.units)[0] == 90)
    }

    @Test func aRangeMaySpanACut() throws {
        let recordings = try Self.series(cuts: [(60, 110)])
        let report = try self.export(recordings, ExportSpec(from: .milliseconds(1_500), to: .milliseconds(3_100)))
        #expect(report.output.hasSuffix("/call-series-from-1.5s-to-3.1s.mkv"))
        // Video begins with the keyframe at 1.1 s and ends at 3.1 s of the call, audio is cut at both.
        #expect(report.tracks.map(\.units) == [60, 80])
        #expect(report.tracks[0].keyframes == 2)
        #expect(report.tracks.map(\.gapCount) == [0, 0])
        let late = try self.export(recordings, ExportSpec(from: .milliseconds(2_900)))
        #expect(late.tracks[0].units == 60, "the second segment begins with the keyframe before")
    }

    @Test func anotherCodecIsAnotherTrack() throws {
        let media = try EncodedMedia.shared.get()
        let recordings = try Self.series(cuts: [(60, 110)]) { plans, segment in
            guard segment == 1 else { return }
            plans[0].codec = .h264
            plans[0].units = media.h264
        }
        let report = try self.export(recordings)
        #expect(report.tracks.map(\.sourceTrack) == [1, 3, 2])
        #expect(report.tracks.map(\.codec) == ["vp8", "h264", "opus"])
        #expect(report.events.contains { $0.kind == .codecChanged })
        #expect(try Command.complaints(about: report.output).isEmpty)
    }

    @Test func withoutTheKernelsNameTheSendersClocksPlaceASegment() throws {
        // By its date the second would begin where the journal of the first ends, 8 s late.
        let report = try self.export(try Self.series(cuts: [(60, 110)], boot: nil))
        #expect(report.tracks.count == 2)
        #expect(report.tracks.map(\.gapCount) == [0, 0])
    }

    @Test func manyGuestsTakeManyTracksAndFewDescriptors() throws {
        let media = try EncodedMedia.shared.get()
        let guests = 70
        var recordings: [SimulatedRecording] = []
        for segment in 1...2 {
            // One after the other, a second each.
            let plans = (0..<guests).map { guest in
                let begin = Int64((segment - 1) * guests + guest) * 1_500_000_000
                var plan = Plan.video("guest-\(segment)-\(guest)", .vp8, Array(media.vp8[..<30]), capture: begin)
                plan.firstReportNanoseconds = begin + 500_000_000
                return plan
            }
            let place = SimulatedRecording.Segment(
                storage: recordings.first?.storagePath
                    ?? FileManager.default.temporaryDirectory.path + "/tapedeck-series-\(RecordingID.random())",
                series: Self.ids[0],
                number: segment,
                startNanoseconds: plans[0].captureNanoseconds,
                before: nil
            )
            recordings.append(try SimulatedRecording(plans, boot: "boot", id: Self.ids[segment - 1], segment: place))
        }
        var descriptors: [Int] = []
        let report = try Exporter.run(folder: recordings[0].folder, ExportSpec(series: true)) { _ in
            descriptors.append(Self.openFiles(in: recordings[0].storagePath))
        }
        #expect(report.tracks.map(\.units) == Array(repeating: 30, count: 2 * guests))
        #expect(report.verdict == .complete, "\(report.warnings)")
        #expect(descriptors.count > 2)
        #expect(descriptors.allSatisfy { (1...4).contains($0) }, "the file and who is there: \(descriptors)")
        let probe = try Probe(report.output)
        #expect(probe.streams.count == 2 * guests)
        #expect(Dictionary(grouping: probe.packets, by: \.stream_index).values.allSatisfy { $0.count == 30 })
        #expect(try FileExamination.certificate(file: report.output).verdict == .complete)
        let part = try self.export(recordings, ExportSpec(from: .milliseconds(30_100), to: .milliseconds(39_900)))
        #expect(part.tracks.map(\.participant) == (20...26).map { "guest-1-\($0)" })
        #expect(try Command.complaints(about: part.output).isEmpty)
    }

    /// How many descriptors of this process are of files below a folder.
    private static func openFiles(in folder: String) -> Int {
        let links = (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd")) ?? []
        return links.count { link in
            (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/" + link))?.hasPrefix(folder)
                ?? false
        }
    }

    @Test func whatIsNoSeriesIsRefused() throws {
        let media = try EncodedMedia.shared.get()
        let recording = try SimulatedRecording([.audio("alice", media.opus)])
        let error = #expect(throws: ExportError.self) {
            try Exporter.run(folder: recording.folder, ExportSpec(series: true))
        }
        #expect(error?.code == .noSeries)
        let series = try Self.series(cuts: [(60, 110)])
        let other = #expect(throws: ExportError.self) { try series[0].export(ExportSpec(.browser, series: true)) }
        #expect(other?.code == .invalidSpec)
    }

    @Test func aCopyOfASegmentIsLeftOut() throws {
        let recordings = try Self.series(cuts: [(60, 110)])
        let copy = recordings[1].folder.path.replacingOccurrences(of: Self.ids[1], with: "000000000000000c")
        try FileManager.default.copyItem(atPath: recordings[1].folder.path, toPath: copy)
        let report = try self.export(recordings)
        #expect(report.tracks.map(\.units)[0] == 120)
        #expect(report.warnings.contains { $0.hasPrefix(copy) })
    }
}
