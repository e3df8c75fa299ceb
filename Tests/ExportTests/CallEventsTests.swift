// SPDX-License-Identifier: Apache-2.0

import Basics
import Export
import Foundation
import Matroska
import Model
import Storage
import TestSupport
import Testing
import Timeline

@Suite struct CallEventsTests {
    private typealias Plan = SimulatedRecording.TrackPlan

    private func expect(_ found: [(seconds: Double, title: String)], _ wanted: [(Double, String)]) {
        #expect(found.map(\.title) == wanted.map(\.1))
        for (found, wanted) in zip(found, wanted) {
            #expect(abs(found.seconds - wanted.0) < 0.06, "\(found.title) is at \(found.seconds), not \(wanted.0)")
        }
    }

    @Test func makesAChapterOfEachEventOfTheJournal() throws {
        let media = try EncodedMedia.shared.get()
        let recording = try SimulatedRecording([
            .video("alice", .vp8, media.vp8, capture: 0), .audio("alice", media.opus, capture: 0),
        ])
        let records: [(JournalRecord, Int64)] = [
            (.marker(Marker(name: "muted", participant: "alice")), 500_000_000),
            (.marker(Marker(name: "unmuted", participant: "alice")), 900_000_000),
            (.participantJoined(ParticipantJoined(participant: "bob", name: "Bob\u{1b}[31m")), 1_000_000_000),
            (.participantJoined(ParticipantJoined(participant: "bob", name: "Bob")), 1_100_000_000),
            (.marker(Marker(name: "camera-off", participant: "alice")), 1_200_000_000),
            (.marker(Marker(name: "camera-on", participant: "alice")), 1_300_000_000),
            (.marker(Marker(name: "paused")), 1_500_000_000),
            (.marker(Marker(name: "resumed")), 1_700_000_000),
            (.marker(Marker(name: "mark", text: "the \u{202e}point")), 2_000_000_000),
            (.marker(Marker(name: "unheard of")), 2_100_000_000),
            (.marker(Marker(name: "stalled", lastedNanoseconds: 300_000_000)), 2_600_000_000),
            (
                .marker(Marker(name: "stalled", text: Marker.suspended, lastedNanoseconds: 60_000_000_000)),
                2_800_000_000
            ),
            (.participantLeft(ParticipantLeft(participant: "bob")), 3_000_000_000),
        ]
        for (record, nanoseconds) in records { try recording.note(record, after: nanoseconds) }
        let report = try Exporter.run(folder: recording.folder)
        // Media arrive 40 ms after their capture, and the session clock is ours.
        self.expect(
            try Probe(report.output).titles,
            [
                (0, "Start"), (0, "Alice joined"), (0.5, "Alice muted"), (0.9, "Alice unmuted"), (1, "Bob joined"),
                (1.2, "Alice: camera off"), (1.3, "Alice: camera on"), (1.5, "Recording paused"),
                (1.7, "Recording resumed"), (2, "Mark: the ?point"),
                (2.3, "Recorder stood still for 0.3 s"), (2.8, "Machine suspended for 60.0 s"), (3, "Bob left"),
            ]
        )
        #expect(report.events.count == 12)
        #expect(report.events.allSatisfy { !$0.isGuess })
        #expect(try Command.complaints(about: report.output).isEmpty)
        let identified = try Command.run("mkvmerge", ["-J", report.output])
        #expect(identified.status == 0 && identified.text.contains("\"num_entries\": 13"), "\(identified.text)")
    }

    @Test func leavesOutWhatIsOutsideTheSelection() throws {
        let media = try EncodedMedia.shared.get()
        let recording = try SimulatedRecording([
            .video("alice", .vp8, media.vp8, capture: 0), .video("bob", .vp8, media.vp8, capture: 0),
        ])
        for second in 0..<4 {
            let mark = Marker(name: "mark", participant: second == 2 ? "bob" : nil, text: "\(second)")
            try recording.note(.marker(mark), after: Int64(second) * 1_000_000_000 + 500_000_000)
        }
        let range = ExportSpec(participant: "alice", from: .seconds(1), to: .seconds(4))
        let report = try Exporter.run(folder: recording.folder, range)
        #expect(report.events.map(\.title) == ["Mark: 1", "Mark: 3"])
        self.expect(try Probe(report.output).titles, [(0, "Start"), (0.5, "Mark: 1"), (2.5, "Mark: 3")])
    }

    @Test func findsResolutionsCodecsAndGapsInTheMedia() throws {
        let media = try EncodedMedia.shared.get()
        var before = Plan.video("alice", .vp8, media.vp8, capture: 0)
        // Seconds 1 to 3 come as H.264, whose frame grows after a second.
        before.missing = 30..<90
        var switched = Plan.video("alice", .h264, Array(media.h264[30..<90]), capture: 1_000_000_000)
        switched.firstReportNanoseconds = 1_500_000_000
        var audio = Plan.audio("alice", media.opus, capture: 0)
        audio.missing = 50..<150
        let recording = try SimulatedRecording([before, switched, audio])
        let report = try Exporter.run(folder: recording.folder)
        self.expect(
            report.events.map { (Double($0.nanoseconds) / 1e9, $0.title) },
            [
                (0, "Alice joined"), (1, "gap of 2.0 s in Alice's audio"), (1, "Alice: VP8 → H.264"),
                (2, "Alice: 320×240 → 640×360"), (3, "Alice: H.264 → VP8"),
            ]
        )
    }

    @Test func guessesMutedSoundAndCamerasSwitchedOff() throws {
        let media = try EncodedMedia.shared.get()
        var opus = media.opus
        // Silence as an encoder codes it that corrects losses, and then as any other does.
        for index in 80..<120 { opus[index] = [0xF8, 0xFF, 0xFE] }
        for index in 49..<80 { opus[index] = [0x68, 0x07] + [UInt8](repeating: 0xC9, count: 30) }
        var vp8 = media.vp8
        // Differences without content; decoders would take the frames for torn, but nothing decodes them here.
        for index in 31..<70 { vp8[index] = [0x31, 0x00, 0x00, 0x00] }
        let recording = try SimulatedRecording([
            .video("alice", .vp8, vp8, capture: 0), .audio("alice", opus, capture: 0),
        ])
        let report = try Exporter.run(folder: recording.folder)
        self.expect(
            report.events.map { (Double($0.nanoseconds) / 1e9, $0.title) },
            [
                (0, "Alice joined"), (1, "Alice silent (muted?)"), (1.033, "Alice: still video (camera off?)"),
                (2.333, "Alice: moving video again"), (2.4, "Alice audible again"),
            ]
        )
        #expect(report.events.dropFirst().allSatisfy { $0.isGuess })

        try recording.note(.marker(Marker(name: "muted", participant: "alice")), after: 1_000_000_000)
        let told = try Exporter.run(folder: recording.folder)
        #expect(told.events.map(\.title) == ["Alice joined", "Alice muted"])
    }

    @Test func tellsARestartAndNoGapOfAPause() throws {
        let media = try EncodedMedia.shared.get()
        var video = Plan.video("alice", .vp8, media.vp8, capture: 0)
        video.missing = 30..<90
        let recording = try SimulatedRecording([video], boot: "a")
        try recording.note(.marker(Marker(name: "paused")), after: 1_000_000_000)
        try recording.note(.marker(Marker(name: "resumed")), after: 2_900_000_000)
        // The first part ends after 10 s, and the second begins behind it.
        try recording.goOn([.video("alice", .vp8, media.vp8)], part: 2, boot: "b", at: 77, after: 8_000_000_000)
        let report = try Exporter.run(folder: recording.folder)
        #expect(
            report.events.map(\.title) == [
                "Alice joined", "Recording paused", "Recording resumed", "gap of 6.2 s in Alice's video",
                "Recording restarted (part 2)",
            ]
        )
        #expect(report.tracks.map(\.gapCount) == [1])
        #expect(report.tracks.map(\.units) == [180])
    }

    @Test func aGapApartFromAPauseStays() throws {
        let media = try EncodedMedia.shared.get()
        var video = Plan.video("alice", .vp8, media.vp8, capture: 0)
        video.missing = 60..<110
        let recording = try SimulatedRecording([video])
        try recording.note(.marker(Marker(name: "paused")), after: 100_000_000)
        try recording.note(.marker(Marker(name: "resumed")), after: 200_000_000)
        let report = try Exporter.run(folder: recording.folder)
        #expect(
            report.events.map(\.title) == [
                "Alice joined", "Recording paused", "Recording resumed", "gap of 1.7 s in Alice's video",
            ]
        )
    }

    @Test func boundsTheChapters() throws {
        let media = try EncodedMedia.shared.get()
        let recording = try SimulatedRecording([.video("alice", .vp8, media.vp8, capture: 0)])
        let journal = try JournalWriter(folder: recording.folder)
        for index in 0..<1_200 {
            try journal.append(
                .marker(Marker(name: "mark", text: "\(index)")),
                monotonicNanoseconds: SimulatedRecording.startNanoseconds + Int64(index) * 1_000_000
            )
        }
        let report = try Exporter.run(folder: recording.folder)
        #expect(try Probe(report.output).titles.count == 1_000)
        #expect(report.events.count == 1_201)
        #expect(report.warnings.contains { $0.hasPrefix("202 events of the call have no chapter") })
    }
}
