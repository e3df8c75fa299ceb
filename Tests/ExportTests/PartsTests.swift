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

/// Recordings that another process continued, and parts of recordings.
@Suite(.timeLimit(.minutes(5))) struct PartsTests {
    /// Alice is recorded, the recorder dies, and another continues 20 s later.
    private static func recording(boot: String?, secondStart: Int64) throws -> SimulatedRecording {
        let media = try EncodedMedia.shared.get()
        let plans: [SimulatedRecording.TrackPlan] = [.video("alice", .vp8, media.vp8), .audio("alice", media.opus)]
        let recording = try SimulatedRecording(plans, closed: false, boot: "first")
        try recording.goOn(plans, part: 2, boot: boot, at: secondStart, after: 20_000_000_000)
        return recording
    }

    @Test(arguments: [("first", SimulatedRecording.startNanoseconds + 20_000_000_000), ("second", 77_000_000_000)])
    func placesPartsOnOneClockAndKeepsTheGap(boot: String, secondStart: Int64) throws {
        let recording = try Self.recording(boot: boot, secondStart: secondStart)
        let report = try Exporter.run(folder: recording.folder)
        #expect(report.tracks.map(\.media) == [.video, .audio])
        #expect(report.tracks.map(\.gapCount) == [1, 1])
        let clips = try #require(report.tracks[0].clips)
        try #require(clips.count == 2)
        let distance = clips[1].startNanoseconds - clips[0].startNanoseconds
        #expect(abs(distance - 20_000_000_000) < 5_000_000, "\(distance)")
        let manifest = try #require(try Manifest.read(recording.folder))
        #expect(manifest.parts?.map(\.number) == [1, 2])
        #expect(manifest.parts?.map(\.host) == ["host", "host2"])
        #expect(manifest.verdict == .completeWithGaps, "the first part was cut off")
        #expect(try Command.complaints(about: report.output).isEmpty)
    }

    @Test func aRenditionForBrowsersJoinsThePartsIntoOnePictureAndOneSound() throws {
        let second = SimulatedRecording.startNanoseconds + 20_000_000_000
        let recording = try Self.recording(boot: "first", secondStart: second)
        let output = recording.storagePath + "/browser.webm"
        let report = try Exporter.run(folder: recording.folder, ExportSpec(.browser), output: output)
        #expect(report.tracks.map(\.codec) == ["vp8", "opus"])
        #expect(report.tracks[0].units == 240)
        #expect(report.tracks[0].gapCount == 1)
        let head = try Data(contentsOf: URL(filePath: output)).prefix(64)
        #expect(String(decoding: head, as: UTF8.self).contains("webm"))
        #expect(try Command.complaints(about: output).isEmpty)
    }

    @Test func selectsAParticipantAndASpan() throws {
        let media = try EncodedMedia.shared.get()
        let recording = try SimulatedRecording([
            .video("alice", .vp8, media.vp8), .audio("alice", media.opus), .audio("bob", media.opus),
        ])
        let whole = try Exporter.run(folder: recording.folder)
        let output = recording.storagePath + "/part.mkv"
        let selection = ExportSpec(participant: "alice", from: .seconds(1), to: .seconds(2))
        let part = try Exporter.run(folder: recording.folder, selection, output: output)
        #expect(part.tracks.map(\.participant) == ["alice", "alice"])
        #expect(part.tracks[1].units < whole.tracks[1].units)
        #expect((49...51).contains(part.tracks[1].units), "a second of 20 ms packets")
        #expect(part.tracks[0].keyframes >= 1)
        #expect(try Command.complaints(about: output).isEmpty)
        let manifest = try #require(try Manifest.read(recording.folder))
        #expect(manifest.tracks.count == 3, "the manifest tells of the whole recording")
        #expect(manifest.exports.count == 2)
    }

    @Test func aSelectionWithNothingInItIsAnError() throws {
        let media = try EncodedMedia.shared.get()
        let recording = try SimulatedRecording([.audio("alice", media.opus)])
        let selections: [(ExportSpec, ExportError.Code)] = [
            (ExportSpec(participant: "nobody"), .noSuchParticipant),
            (ExportSpec(from: .seconds(3600)), .emptySelection),
        ]
        for (selection, code) in selections {
            let error = #expect(throws: ExportError.self) {
                try Exporter.run(folder: recording.folder, selection)
            }
            #expect(error?.code == code)
        }
    }

    @Test func manifestsWithoutPartsAreReadable() throws {
        let media = try EncodedMedia.shared.get()
        let recording = try SimulatedRecording([.audio("alice", media.opus)])
        _ = try Exporter.run(folder: recording.folder)
        let path = recording.folder.manifestPath
        var object = try #require(
            try JSONSerialization.jsonObject(with: Data(contentsOf: URL(filePath: path))) as? [String: Any]
        )
        object["parts"] = nil
        try JSONSerialization.data(withJSONObject: object).write(to: URL(filePath: path))
        let manifest = try #require(try Manifest.read(recording.folder))
        #expect(manifest.parts == nil && manifest.verdict == .complete)
    }
}
