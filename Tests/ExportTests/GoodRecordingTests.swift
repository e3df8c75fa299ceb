// SPDX-License-Identifier: Apache-2.0

import Basics
import Export
import Foundation
import Matroska
import Storage
import TestSupport
import Testing
import Timeline

/// Recordings in which the certificate must find nothing, or only what is there to say.
@Suite struct GoodRecordingTests {
    private static let start = SimulatedRecording.startNanoseconds

    /// Before and after an export.
    private func expectComplete(_ recording: SimulatedRecording) throws {
        let certificate = try RecordingExamination.certificate(of: recording.folder)
        #expect(certificate.verdict == .complete, "\(certificate.findings)")
        #expect(try Exporter.run(folder: recording.folder).verdict == .complete)
        let after = try RecordingExamination.certificate(of: recording.folder)
        #expect(after.verdict == .complete && after.findings.isEmpty, "\(after.findings)")
        #expect(after.journal?.chainBreak == nil && after.journal?.chainedLines == after.journal?.lines)
    }

    @Test func aPlainCall() throws {
        let recording = try BrokenRecording.recording()
        try self.expectComplete(recording)
        let certificate = try RecordingExamination.certificate(of: recording.folder)
        #expect(certificate.tracks.map(\.units) == [120, 201, 120])
        #expect(certificate.wallClockNanoseconds == 10_000_000_000)
        #expect(certificate.durationNanoseconds > 4_800_000_000 && certificate.durationNanoseconds < 5_000_000_000)
        #expect(certificate.alignments.map(\.participant) == ["alice"])
        #expect(certificate.tracks.allSatisfy { $0.basis == .senderReports && $0.decoding == nil })
        #expect(certificate.text == (try RecordingExamination.certificate(of: recording.folder)).text)
    }

    /// Parameter sets that came once, and changed: an export has them before each later keyframe, and differs by nothing else.
    @Test func parameterSetsThatAnExportRepeats() throws {
        let media = try EncodedMedia.shared.get()
        var sent: [[UInt8]] = []
        let units = media.h264.map { accessUnit -> [UInt8] in
            var (sets, others): ([[UInt8]], [[UInt8]]) = ([], [])
            accessUnit.withUnsafeBytes { bytes in
                H264.forEachUnit(bytes, framing: .annexB) { unit in
                    if [7, 8].contains((unit.first ?? 0) & 0x1F) {
                        sets.append(Array(unit))
                    } else {
                        others.append(Array(unit))
                    }
                }
            }
            let areNew = !sets.isEmpty && sets != sent
            if areNew { sent = sets }
            let kept: [[UInt8]] = (areNew ? sets : []) + others
            return kept.flatMap { unit -> [UInt8] in [0, 0, 0, 1] + unit }
        }
        let recording = try SimulatedRecording([.video("alice", .h264, units)])
        try self.expectComplete(recording)
        let output = recording.folder.path + "/call.mkv"
        let file = try File(recording.folder.path + "/tracks/" + "001-Alice-video.mkv", .read)
        #expect(try File(output, .read).count > file.count, "sets were repeated")
        #expect(try Command.complaints(about: output).isEmpty)
    }

    /// A lesser layer of a camera is no gap, and is named.
    @Test(
        arguments: [("f", nil), ("q", "layer q, asked for f"), (nil, "layer unknown, asked for f")]
            as [(String?, String?)]
    )
    func layersOfACamera(recorded: String?, told: String?) throws {
        var plan = SimulatedRecording.TrackPlan.video("alice", .vp8, try EncodedMedia.shared.get().vp8)
        plan.layer = TrackLayer(recorded: recorded, offered: ["f", "h", "q"])
        let recording = try SimulatedRecording([plan])
        let certificate = try RecordingExamination.certificate(of: recording.folder)
        #expect(certificate.verdict == .complete)
        let findings = certificate.findings.filter { $0.kind == .lesserLayer }
        #expect(findings.count == (told == nil ? 0 : 1))
        #expect(findings.allSatisfy { $0.severity == .note && $0.text.hasSuffix(told ?? "") })
        let table = try Exporter.run(folder: recording.folder).table()
        #expect(table.contains("vp8 (\(told ?? "layer f"))"), "\(table)")
    }

    /// A codec that changes in mid-call makes two tracks, of which a note says that one continues the other.
    @Test(arguments: [(7 as UInt32, 1 as UInt64, true), (8, 1, false), (7, 2, false)])
    func aChangeOfTheCodecIsNamed(ssrc: UInt32, connection: UInt64, isNamed: Bool) throws {
        let media = try EncodedMedia.shared.get()
        var plans = [
            SimulatedRecording.TrackPlan.video("alice", .vp8, media.vp8),
            .video("alice", .h264, media.h264, capture: 6_000_000_000),
        ]
        (plans[0].ssrc, plans[0].connection) = (7, 1)
        (plans[1].ssrc, plans[1].connection) = (ssrc, connection)
        let recording = try SimulatedRecording(plans)
        let certificate = try RecordingExamination.certificate(of: recording.folder)
        let text = "video of Alice changed from VP8 to H.264 in the call: track 2 continues track 1"
        let named = certificate.findings.filter { $0.kind == .codecChanged }
        #expect(named.map(\.text) == (isNamed ? [text] : []) && named.allSatisfy { $0.severity == .note }, "\(named)")
    }

    @Test func lateJoiners() throws {
        let media = try EncodedMedia.shared.get()
        try self.expectComplete(
            try SimulatedRecording([
                .audio("alice", media.opus), .video("bob", .vp9, media.vp9, capture: 5_000_000_000),
                .audio("carol", media.opus, capture: 3_500_000_000),
            ])
        )
    }

    @Test func silenceThatIsAnnounced() throws {
        let media = try EncodedMedia.shared.get()
        var units = Array(media.opus.prefix(100))
        // A packet of two bytes, and then one each 400 ms (RFC 6716, 2.1.9).
        units += Array(repeating: [0x78, 0], count: 60)
        var plan = SimulatedRecording.TrackPlan.audio("alice", units + media.opus.suffix(50))
        plan.missing = 101..<120
        try self.expectComplete(try SimulatedRecording([plan]))
    }

    /// Some senders announce no silence (RFC 7587, 3.1.3): their clocks continue, and no packet is missing.
    @Test(arguments: [(0 as Int64, 0 as UInt64, true), (19, 0, false), (0, 19, false)])
    func silenceThatNobodyAnnounces(lost: Int64, late: UInt64, isComplete: Bool) throws {
        let media = try EncodedMedia.shared.get()
        var plan = SimulatedRecording.TrackPlan.audio("alice", media.opus)
        plan.missing = 101..<120
        let recording = try SimulatedRecording([plan])
        let recorded = UInt64(media.opus.count - plan.missing.count)
        let account = SourceCounted(
            connection: 1,
            ssrc: 1,
            participant: "alice",
            media: "audio",
            tracks: [1],
            received: recorded + late,
            recorded: recorded,
            refused: late > 0 ? [.late: RefusedPackets(packets: late, nanoseconds: 1)] : [:],
            isFinal: true
        )
        try recording.note(
            .packetsCounted(PacketsCounted(track: 1, received: recorded + late, lost: lost)),
            after: 9_000_000_000
        )
        try recording.note(.sourceCounted(account), after: 9_000_000_000)
        guard !isComplete else { return try self.expectComplete(recording) }
        let certificate = try RecordingExamination.certificate(of: recording.folder)
        #expect(certificate.verdict == .completeWithGaps)
        #expect(certificate.tracks.first?.gaps.count == 1)
    }

    @Test func pauses() throws {
        let media = try EncodedMedia.shared.get()
        var (video, audio) = (
            SimulatedRecording.TrackPlan.video("alice", .vp8, media.vp8),
            SimulatedRecording.TrackPlan.audio("alice", media.opus)
        )
        video.missing = 30..<90
        audio.missing = 55..<145
        let recording = try SimulatedRecording([video, audio])
        let unexplained = try RecordingExamination.certificate(of: recording.folder)
        #expect(unexplained.verdict == .completeWithGaps)
        let journal = try JournalWriter(folder: recording.folder)
        for (name, seconds) in [("paused", 1.15), ("resumed", 2.95)] {
            try journal.append(
                .marker(Marker(name: name)),
                monotonicNanoseconds: Self.start + Int64(seconds * 1e9)
            )
        }
        try self.expectComplete(recording)
    }

    /// A mute explains the silence of whom it concerns, and nothing else.
    @Test(arguments: [
        ("muted", "alice", true), ("muted", "bob", false), ("camera-off", "alice", false),
        ("paused", nil as String?, true),
    ])
    func aMuteExplainsTheSilenceOfItsParticipant(name: String, participant: String?, explains: Bool) throws {
        let media = try EncodedMedia.shared.get()
        var audio = SimulatedRecording.TrackPlan.audio("alice", media.opus)
        audio.missing = 55..<145
        let recording = try SimulatedRecording([audio, .audio("bob", media.opus)])
        try recording.note(.marker(Marker(name: name, participant: participant)), after: 1_150_000_000)
        let ends = ["muted": "unmuted", "camera-off": "camera-on", "paused": "resumed"]
        let end = try #require(ends[name])
        try recording.note(.marker(Marker(name: end, participant: participant)), after: 2_950_000_000)
        let certificate = try RecordingExamination.certificate(of: recording.folder)
        #expect(certificate.tracks.first { $0.participant == "alice" }?.gaps.count == (explains ? 0 : 1))
        #expect(certificate.verdict == (explains ? .complete : .completeWithGaps))
        let events = try Exporter.run(folder: recording.folder).events
        #expect(events.contains { $0.kind == .gap } != explains)
    }

    /// A sender without a processor to spare: its reports state when the audio was taken, its packets come when they
    /// can.
    @Test(arguments: [(1500, false), (4078, true)]) func soundThatCameLate(milliseconds: Int64, isNoted: Bool) throws {
        let media = try EncodedMedia.shared.get()
        var audio = SimulatedRecording.TrackPlan.audio("alice", media.opus)
        audio.delayNanoseconds = milliseconds * 1_000_000
        let recording = try SimulatedRecording([.video("alice", .vp8, media.vp8), audio])
        let certificate = try RecordingExamination.certificate(of: recording.folder)
        #expect(certificate.findings(.damage).isEmpty, "\(certificate.findings)")
        #expect(certificate.findings(.note).contains { $0.kind == .wallClock } == isNoted, "\(certificate.findings)")
        #expect(certificate.verdict == .complete, "nothing is missing")
        #expect(certificate.tracks.map(\.basis) == [.senderReports, .senderReports])
        #expect(certificate.tracks[1].startNanoseconds == 0, "where it was taken, and not where it came")
        #expect(try Exporter.run(folder: recording.folder).verdict == .complete)
    }

    /// By its own account a track misses nothing: packets that were never received have no sequence numbers.
    @Test func aStallIsAGap() throws {
        let media = try EncodedMedia.shared.get()
        let recording = try SimulatedRecording([.audio("alice", media.opus)])
        try self.expectComplete(recording)
        let journal = try JournalWriter(folder: recording.folder)
        for lasted in [61_460_000_000, -1, nil] as [Int64?] {
            try journal.append(
                .marker(Marker(name: "stalled", lastedNanoseconds: lasted)),
                monotonicNanoseconds: Self.start + 2_000_000_000
            )
        }
        let certificate = try RecordingExamination.certificate(of: recording.folder)
        #expect(certificate.verdict == .completeWithGaps)
        #expect(certificate.findings.map(\.kind) == [.stalled], "\(certificate.findings)")
        #expect(certificate.findings.first?.text.contains("stood still for 61460 ms, until 2000 ms") == true)
        try journal.append(
            .marker(Marker(name: "stalled", text: Marker.suspended, lastedNanoseconds: 3_600_000_000_000)),
            monotonicNanoseconds: Self.start + 2_500_000_000
        )
        let later = try RecordingExamination.certificate(of: recording.folder)
        #expect(later.findings.map(\.kind) == [.stalled, .stalled])
        #expect(later.findings.last?.text.contains("suspended for 3600000 ms, 2500 ms after") == true)
    }

    /// Another worker continues a recording, twenty seconds after its start.
    private func goOn(_ recording: SimulatedRecording, _ plans: [SimulatedRecording.TrackPlan]) throws {
        let seconds: Int64 = 20_000_000_000
        try recording.goOn(plans, part: 2, boot: "first", at: Self.start + seconds, after: seconds)
    }

    @Test func severalPartsAndRepair() throws {
        let media = try EncodedMedia.shared.get()
        let plans: [SimulatedRecording.TrackPlan] = [.video("alice", .vp8, media.vp8), .audio("alice", media.opus)]
        let recording = try SimulatedRecording(plans, closed: false, boot: "first")
        try self.goOn(recording, plans)
        _ = try Exporter.run(folder: recording.folder)
        let parts = try RecordingExamination.certificate(of: recording.folder)
        #expect(parts.verdict == .completeWithGaps && parts.findings(.damage).isEmpty, "\(parts.findings)")
        #expect(parts.findings.allSatisfy { $0.kind == .cutOff || $0.kind == .fileTorn }, "\(parts.findings)")
        // The files of the first part will not be closed any more, which is why their hashes are kept as well.
        let hashed = try #require(try Manifest.read(recording.folder)?.files).filter { $0.name.hasPrefix("tracks/") }
        #expect(hashed.count == 4)

        let cut = try BrokenRecording.recording(closed: false)
        #expect(try RecordingExamination.certificate(of: cut.folder).verdict == .damaged)
        _ = try RecordingRepair.finish(cut.folder)
        let repaired = try RecordingExamination.certificate(of: cut.folder)
        #expect(repaired.verdict == .completeWithGaps, "\(repaired.findings)")
        #expect(repaired.findings.map(\.kind) == [.cutOff])
    }

    @Test func aRecordingThatGoesOn() throws {
        let recording = try BrokenRecording.recording(closed: false)
        let journal = try JournalWriter(folder: recording.folder)
        #expect(try journal.lock())
        let certificate = try RecordingExamination.certificate(of: recording.folder)
        #expect(certificate.verdict == .complete)
        #expect(certificate.findings(.note).contains { $0.kind == .notClosed })
        #expect(try journal.lock(), "it is still ours")
        // The export of it is its beginning.
        _ = try Exporter.run(folder: recording.folder)
        let manifest = try #require(try Manifest.read(recording.folder))
        #expect(manifest.exports.map(\.isPart) == [true] && !manifest.hasWholeExport)
    }

    /// A repaired recording is exported in its folder, whatever export exists elsewhere.
    @Test func anExportElsewhereIsNotTheRecordingsOwn() throws {
        let recording = try BrokenRecording.recording(closed: false)
        let elsewhere = FileManager.default.temporaryDirectory.path + "/tapedeck-elsewhere-\(RecordingID.random()).mkv"
        defer { try? FileManager.default.removeItem(atPath: elsewhere) }
        _ = try Exporter.run(folder: recording.folder, output: elsewhere)
        #expect(try Manifest.read(recording.folder)?.hasWholeExport == false)
        #expect(try RecordingRepair.finish(recording.folder).needsExport)
        _ = try Exporter.run(folder: recording.folder)
        #expect(try Manifest.read(recording.folder)?.hasWholeExport == true)
        #expect(try !RecordingRepair.finish(recording.folder).needsExport)
    }

    @Test func aJournalOfAnOlderVersion() throws {
        let recording = try BrokenRecording.recording()
        try recording.changeLines { lines in
            for index in lines.indices {
                lines[index] = lines[index].replacing(/,"chain":"[0-9a-f]{16}"}$/, with: "}")
            }
        }
        let certificate = try RecordingExamination.certificate(of: recording.folder)
        #expect(certificate.verdict == .complete, "\(certificate.findings)")
        #expect(certificate.findings.map(\.kind) == [.noManifest, .notChained])
    }

    @Test func filesOfTheirOwn() throws {
        let recording = try BrokenRecording.recording()
        _ = try Exporter.run(folder: recording.folder)
        for file in [BrokenRecording.video, "call.mkv", "journal.jsonl"] {
            let certificate = try FileExamination.certificate(file: recording.folder.path + "/" + file)
            #expect(certificate.verdict == .complete && certificate.findings.isEmpty, "\(certificate.findings)")
            #expect(certificate.recording == "0123456789abcdef")
        }
        let tracks = try FileExamination.certificate(file: recording.folder.path + "/call.mkv").tracks
        #expect(Set(tracks.map(\.participant)) == ["alice", "bob"] && Set(tracks.map(\.name)) == ["Alice", "Bob"])
        // An export that is no Matroska is known by its hash.
        for file in ["call-grid.mp4", "call-audio.opus", "call-audio.wav", "call.otio"] {
            let path = recording.folder.path + "/" + file
            try Data(file.utf8).write(to: URL(filePath: path))
            let made = try FileExamination.certificate(file: path)
            let unlisted = try #require(made.findings.first { $0.kind == .noManifest })
            #expect(unlisted.text.contains("the folder's manifest does not list the file"))
            var manifest = try #require(try Manifest.read(recording.folder))
            manifest.files?.append(try #require(made.files.first))
            try manifest.write(recording.folder)
            let known = try FileExamination.certificate(file: path)
            #expect(known.verdict == .complete && known.findings.isEmpty, "\(known.findings)")
            try recording.change(file) { $0.dropLast(1) }
            let changed = try FileExamination.certificate(file: path)
            #expect(changed.findings(.damage).map(\.kind) == [.fileChanged])
        }
        try recording.change("call.mkv") { $0.dropLast(5) }
        let cut = try FileExamination.certificate(file: recording.folder.path + "/call.mkv")
        #expect(cut.findings(.damage).map(\.kind).contains(.fileChanged))
        let foreign = recording.storagePath + "/foreign.mkv"
        try Data("hello".utf8).write(to: URL(filePath: foreign))
        #expect(try FileExamination.certificate(file: foreign).verdict == .damaged)
        #expect(throws: ExportError.self) { try FileExamination.certificate(file: foreign + "x") }
        // A file of another kind is not damaged.
        for name in ["call.mp4", "call.wav", "call.opus"] {
            let path = recording.storagePath + "/" + name
            try Data("....ftypisom".utf8).write(to: URL(filePath: path))
            let error = #expect(throws: ExportError.self) { try FileExamination.certificate(file: path) }
            #expect(error?.code == .notMatroska && error?.blame == .request)
        }
    }

    /// Cut where a unit ends: all that is there is whole.
    @Test func aFileWithoutItsEnd() throws {
        let recording = try BrokenRecording.recording()
        let whole = recording.storagePath + "/whole.mkv"
        _ = try Exporter.run(folder: recording.folder, output: whole)
        let alone = try FileExamination.certificate(file: whole)
        #expect(alone.verdict == .complete && alone.findings.map(\.kind) == [.noManifest], "\(alone.findings)")
        #expect(alone.findings.first?.severity == .note)
        #expect(alone.findings.first?.text.hasPrefix("the file was checked alone") == true)
        let bytes = [UInt8](try Data(contentsOf: URL(filePath: whole)))
        var reader = try Reader(MemorySource(bytes))
        var end = 0
        while end < bytes.count / 2, let head = try reader.nextHead() {
            end = Int(head.payloadOffset) + head.payloadSize
        }
        let cut = recording.storagePath + "/cut.mkv"
        try Data(bytes.prefix(end)).write(to: URL(filePath: cut))
        let certificate = try FileExamination.certificate(file: cut)
        #expect(certificate.findings(.damage).map(\.kind) == [.fileTorn], "\(certificate.findings)")
        #expect(certificate.findings(.damage).first?.text.contains("its end is missing") == true)
    }

    @Test func anExportFromBeforeTheEnd() throws {
        let media = try EncodedMedia.shared.get()
        let plans: [SimulatedRecording.TrackPlan] = [.video("alice", .vp8, media.vp8), .audio("alice", media.opus)]
        let recording = try SimulatedRecording(plans, closed: false, boot: "first")
        _ = try Exporter.run(folder: recording.folder)
        try self.goOn(recording, plans)
        let certificate = try RecordingExamination.certificate(of: recording.folder)
        #expect(certificate.findings(.damage).isEmpty, "\(certificate.findings)")
        let found = certificate.findings(.note).filter { $0.kind == .exportDiffers && $0.file == "call.mkv" }
        #expect(!found.isEmpty && found.allSatisfy { $0.text.hasSuffix("it was made before the recording ended") })
        try recording.change("call.mkv") { $0 + Data([0]) }
        let changed = try RecordingExamination.certificate(of: recording.folder)
        #expect(changed.findings(.damage).contains { $0.kind == .exportDiffers })
    }
}
