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
@testable import Rendering

/// Track files of one sender that follow each other become one track of an export.
@Suite(.timeLimit(.minutes(5))) struct JoinedTracksTests {
    private typealias Plan = SimulatedRecording.TrackPlan

    /// Video of Alice, from so many seconds after the recording's start.
    private static func video(
        _ units: [[UInt8]],
        _ codec: MediaCodec = .vp8,
        at seconds: Double,
        of participant: String = "alice"
    ) -> Plan {
        let capture = Int64(seconds * 1e9)
        var plan = Plan.video(participant, codec, units, capture: capture)
        plan.firstReportNanoseconds = capture + 500_000_000
        return plan
    }

    /// The same camera, by two sources: units 0 to 59 from 0.2 s on, and 60 to 119 from 3.7 s on; and audio all the
    /// time.
    private static func changed(_ codec: MediaCodec = .vp8, closed: Bool = true) throws -> SimulatedRecording {
        let media = try EncodedMedia.shared.get()
        let units = codec == .h264 ? media.h264 : codec == .vp9 ? media.vp9 : media.vp8
        return try SimulatedRecording(
            [
                Self.video(Array(units[..<60]), codec, at: 0.2), Self.video(Array(units[60...]), codec, at: 3.7),
                .audio("alice", media.opus, capture: 200_000_000),
            ],
            closed: closed
        )
    }

    /// Numbers of the recording's tracks in each video track of the export.
    private func tracks(_ plans: [Plan], closed: Bool = true) throws -> [[Int]] {
        let recording = try SimulatedRecording(plans, closed: closed)
        return try Exporter.run(folder: recording.folder).tracks.map { track in
            track.sourceTracks ?? [track.sourceTrack].compactMap(\.self)
        }
    }

    /// H.264 changes its parameter sets, too: from 320x240 to 640x360.
    @Test(arguments: [MediaCodec.vp8, .vp9, .h264])
    func aSourceThatChangesGoesOnInItsTrack(codec: MediaCodec) throws {
        let recording = try Self.changed(codec)
        let report = try Exporter.run(folder: recording.folder)
        #expect(report.tracks.map(\.units)[0] == 120 && report.tracks.count == 2)
        let names = recording.files.prefix(2).map { String($0.dropFirst(recording.folder.path.utf8.count + 1)) }
        #expect(report.tracks[0].files == names && report.tracks[0].file == names[0])
        #expect(report.tracks[0].sourceTracks == [1, 2])
        #expect(report.tracks[0].clips?.map(\.file) == names)
        #expect(report.tracks[0].basis == .senderReports)
        #expect(report.warnings.isEmpty && report.verdict == .complete, "\(report.warnings)")
        #expect(try Command.complaints(about: report.output).isEmpty)
        let expected = try recording.files.prefix(2).flatMap { try Command.pictures($0) }
        #expect(expected.count == 120)
        #expect(try Command.pictures(report.output) == expected)
        // Nothing came between the two, and the file says so.
        let gap = try #require(report.tracks[0].gaps.first)
        #expect(report.tracks[0].gapCount == 1 && abs(gap.durationNanoseconds - 1_533_000_000) < 5_000_000)
        #expect(report.events.map(\.title).contains("gap of 1.5 s in Alice's video"))
        let tags = try Probe(report.output).streams[0].tags ?? [:]
        #expect(tags["SOURCE_FILE"] == names.joined(separator: ", "))
        // Each file keeps a separate entry in manifest and certificate, and the export holds the sum of them.
        let certificate = try RecordingExamination.certificate(of: recording.folder)
        #expect(certificate.verdict == .complete && certificate.findings.isEmpty, "\(certificate.findings)")
        #expect(certificate.tracks.count == 3)
        #expect(try Manifest.read(recording.folder)?.tracks.count == 3)
    }

    @Test(arguments: [MediaCodec.vp9, .h264])
    func mp4HasTheSamePictures(codec: MediaCodec) throws {
        let recording = try Self.changed(codec)
        let mp4 = try recording.export(ExportSpec(.tracks(.init(container: .mp4))))
        #expect(mp4.tracks.map(\.units)[0] == 120 && mp4.tracks.count == 2)
        #expect(try Command.complaints(about: mp4.output).isEmpty)
        let expected = try recording.files.prefix(2).flatMap { try Command.pictures($0) }
        #expect(try Command.pictures(mp4.output) == expected)
    }

    @Test func webMHasTheSamePictures() throws {
        let recording = try Self.changed()
        let webm = try Exporter.run(folder: recording.folder, ExportSpec(.tracks(.init(container: .webm))))
        #expect(webm.tracks.count == 2)
        let expected = try recording.files.prefix(2).flatMap { try Command.pictures($0) }
        #expect(try Command.pictures(webm.output) == expected)
    }

    @Test func aFlagKeepsThemApart() throws {
        let recording = try Self.changed()
        let report = try Exporter.run(folder: recording.folder, ExportSpec(.tracks(.init(switches: [.separateTracks]))))
        #expect(report.tracks.map(\.units).prefix(2) == [60, 60] && report.tracks.count == 3)
        #expect(report.tracks.allSatisfy { $0.files == nil && $0.sourceTracks == nil && $0.clips == nil })
        #expect(report.tracks.map(\.gapCount) == [0, 0, 0])
    }

    @Test func whatOverlapsStaysApart() throws {
        let vp8 = try EncodedMedia.shared.get().vp8
        // One frame of the second is earlier than the last one of the first.
        let plans = [Self.video(Array(vp8[..<60]), at: 0.2), Self.video(Array(vp8[60...]), at: 2.16)]
        #expect(try self.tracks(plans) == [[1], [2]])
        #expect(try self.tracks(plans, closed: false) == [[1], [2]], "the file tells where the journal does not")
        let following = [plans[0], Self.video(Array(vp8[60...]), at: 2.2)]
        #expect(try self.tracks(following) == [[1, 2]])
        #expect(try self.tracks(following, closed: false) == [[1, 2]])
    }

    /// As Janus sent once after it had switched between publishers.
    @Test func aFirstUnitWithAWrongTimeIsNotTheFirstTrack() throws {
        let units = try EncodedMedia.shared.get().opus
        var stray = Plan.audio("alice", Array(units[..<1]), capture: 2_300_000_000)
        stray.ssrc = 7
        var rest = Plan.audio("alice", Array(units[1...]), capture: 500_000_000)
        rest.ssrc = 7
        #expect(try self.tracks([stray, rest]) == [[2], [1]])
        // A sender with one unit alone keeps its place.
        rest.ssrc = 8
        #expect(try self.tracks([stray, rest]) == [[1], [2]])
    }

    @Test func anotherCodecOrFormatBeginsAnotherTrack() throws {
        let media = try EncodedMedia.shared.get()
        #expect(try self.tracks([Self.video(media.vp8, at: 0), Self.video(media.vp9, .vp9, at: 5)]) == [[1], [2]])
        // Baseline and main profile.
        var main = Self.video(media.reordered, .h264, at: 5)
        main.places = media.reorderedPlaces
        main.delayNanoseconds = 140_000_000
        #expect(try self.tracks([Self.video(media.h264, .h264, at: 0), main]) == [[1], [2]])
    }

    /// The head of a track says once which profile, depth and subsampling its frames have.
    @Test func anotherProfileOfVP9BeginsAnotherTrack() throws {
        let pixels = ["yuv420p", "yuv444p", "yuv422p", "yuv420p10le", "yuv444p", "yuv420p"]
        let plans = try pixels.enumerated().map { index, pixels in
            let units = try EncodedMedia.vp9("testsrc2=s=160x120:r=30", seconds: 1, pixels: pixels)
            return Self.video(units, .vp9, at: 2 * Double(index))
        }
        #expect(try self.tracks(plans) == [[1, 6], [2, 5], [3], [4]])
    }

    @Test func participantsStayApart() throws {
        let vp8 = try EncodedMedia.shared.get().vp8
        #expect(try self.tracks([Self.video(vp8, at: 0), Self.video(vp8, at: 5, of: "bob")]) == [[1], [2]])
    }

    /// A video track in the description: its section, its connection, and from when to when it comes.
    struct Section: Sendable {
        var mid: String?
        var connection: UInt64
        var seconds: Double
        var frames = 30

        init(_ mid: String?, on connection: UInt64, at seconds: Double, frames: Int = 30) {
            (self.mid, self.connection, self.seconds, self.frames) = (mid, connection, seconds, frames)
        }
    }

    @Test(arguments: [
        // A screen, when the camera is off: another section of the same connection.
        ([Section("0", on: 1, at: 0), Section("2", on: 1, at: 2)], [[1], [2]]),
        // A screen next to a camera whose source changes, and comes again when the camera is off.
        (
            [
                Section("0", on: 1, at: 0), Section("2", on: 1, at: 0.5, frames: 60), Section("0", on: 1, at: 1.5),
                Section("2", on: 1, at: 3),
            ], [[1, 3], [2, 4]]
        ),
        // Another connection restarts its numbers, and there is one of the kind on each.
        ([Section("0", on: 1, at: 0), Section("video", on: 2, at: 2)], [[1, 2]]),
        // The section shows which of two it is.
        ([Section("0", on: 1, at: 0), Section("2", on: 1, at: 0.5), Section("0", on: 2, at: 3)], [[1, 3], [2]]),
        ([Section("0", on: 1, at: 0), Section("2", on: 1, at: 0.5), Section("5", on: 2, at: 3)], [[1], [2], [3]]),
        // If several cannot be distinguished, the one that ended last.
        (
            [Section(nil, on: 1, at: 0, frames: 90), Section(nil, on: 1, at: 1), Section(nil, on: 2, at: 4)],
            [[1, 3], [2]]
        ),
    ])
    func sectionsTellCamerasAndScreensApart(_ sections: [Section], _ expected: [[Int]]) throws {
        let vp8 = try EncodedMedia.shared.get().vp8
        let plans = sections.map { section in
            var plan = Self.video(Array(vp8[..<section.frames]), at: section.seconds)
            (plan.mid, plan.connection) = (section.mid, section.connection)
            return plan
        }
        #expect(try self.tracks(plans) == expected)
    }

    @Test func aPartHasTheFilesThatAreInIt() throws {
        let recording = try Self.changed()
        func export(_ from: Double?, _ to: Double?) throws -> ExportReport.Track {
            let selection = ExportSpec(from: from.map { .seconds($0) }, to: to.map { .seconds($0) })
            let report = try Exporter.run(folder: recording.folder, selection)
            #expect(try Command.complaints(about: report.output).isEmpty)
            return try #require(report.tracks.first)
        }
        let first = try export(0.5, 2.5)
        #expect(first.sourceTrack == 1 && first.files == nil && first.units == 60)
        // The keyframe of the second file at 4.7 s of the call, which is 4.5 s of the file.
        let second = try export(4.6, nil)
        #expect(second.sourceTrack == 2 && second.files == nil && second.units == 30)
        // From the gap on.
        #expect(try export(3, nil).units == 60)
        // Over it.
        let both = try export(1.5, 3.99)
        #expect(both.sourceTracks == [1, 2] && both.units == 30 + 15)
    }

    /// A journal that is wrong costs units, and the report says so.
    @Test func whatAWrongJournalCostsIsTold() throws {
        let vp8 = try EncodedMedia.shared.get().vp8
        let recording = try SimulatedRecording([Self.video(vp8, at: 0), Self.video(vp8, at: 2)])
        let wrong = TrackClosed(track: 1, units: 120, bytes: 1, keyframes: 4, lastRTPTime: 0xFFFF_8000, reason: "test")
        try recording.note(.trackClosed(wrong), after: 9_000_000_000)
        let report = try Exporter.run(folder: recording.folder)
        #expect(report.tracks.map(\.units) == [180])
        #expect(report.warnings.contains { $0.hasPrefix("60 units of Alice's video are left out where") })
        #expect(try Command.complaints(about: report.output).isEmpty)
    }

    /// The one that holds longest is that of a file whose sender never said anything.
    @Test(arguments: [false, true])
    func oneRotationHoldsForAllFiles(isTurnedLonger: Bool) throws {
        let vp8 = try EncodedMedia.shared.get().vp8
        var plans = [Self.video(Array(vp8[..<90]), at: 0), Self.video(Array(vp8[90...]), at: 4)]
        plans[isTurnedLonger ? 0 : 1].turns = [0: .quarter]
        let recording = try SimulatedRecording(plans)
        let report = try Exporter.run(folder: recording.folder)
        let head = try Reader(File(report.output, .read)).tracks.first
        #expect(head?.video?.rotation == (isTurnedLonger ? .quarter : .upright))
        #expect(report.warnings.contains { $0.contains("turned the camera") })
    }

    @Test func packetsThatWereRefusedAreAddedUp() throws {
        let recording = try Self.changed()
        var report = try Exporter.run(folder: recording.folder)
        report.sources = [20, 7].enumerated().map { index, packets in
            SourceCounted(
                connection: 1,
                ssrc: UInt32(index),
                participant: "alice",
                media: "video",
                tracks: [index + 1],
                received: 100,
                recorded: 100 - packets,
                refused: [.late: RefusedPackets(packets: packets, nanoseconds: 1)],
                isFinal: true
            )
        }
        #expect(report.table().split(separator: "\n").map { $0.contains("  27  ") } == [false, true, false])
    }
}
