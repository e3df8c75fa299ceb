// SPDX-License-Identifier: Apache-2.0

import Basics
import Foundation
import Matroska
import Model
import Storage
import TestSupport
import Testing

@testable import Export
@testable import Rendering

/// Exports that ffmpeg puts into MP4, looked at box by box and decoded.
@Suite(.timeLimit(.minutes(5))) struct MP4Tests {
    /// The content of each box of a name, wherever it is: names of four letters are rare enough in a small index.
    private func boxes(_ name: String, _ bytes: Data) -> [[UInt8]] {
        var found: [[UInt8]] = []
        var rest = bytes[...]
        while let place = rest.range(of: Data(name.utf8)), place.lowerBound >= 4 {
            let size = bytes[(place.lowerBound - 4)..<place.lowerBound].reduce(0) { $0 << 8 | Int($1) }
            let end = min(bytes.count, max(place.upperBound, place.lowerBound - 4 + size))
            found.append(Array(bytes[place.upperBound..<end]))
            rest = bytes[place.upperBound...]
        }
        return found
    }

    /// The index of the file, which stands before the media.
    private func index(_ path: String) throws -> Data {
        let bytes = try Data(contentsOf: URL(filePath: path))
        let media = try #require(bytes.range(of: Data("mdat".utf8)))
        return bytes[..<media.lowerBound]
    }

    /// The audio of a track as ffmpeg decodes it, with the time of its first sample.
    private func decoded(_ path: String, _ stream: Int) throws -> (samples: Int, first: Double) {
        let raw = try Command.run(
            "ffmpeg",
            ["-nostdin", "-v", "error", "-copyts", "-i", path, "-map", "0:\(stream)", "-f", "s16le", "-ac", "1", "-"]
        )
        let frames = try Command.run(
            "ffprobe",
            [
                "-v", "error", "-select_streams", "\(stream)", "-show_entries", "frame=pts_time", "-of", "csv=p=0",
                "-read_intervals", "%+#3", path,
            ]
        )
        let first = frames.text.split(separator: "\n").first?.split(separator: ",").first
        return (raw.standardOutput.count / 2, first.flatMap { Double($0) } ?? .nan)
    }

    private func export(_ recording: SimulatedRecording) throws -> (mkv: ExportReport, mp4: ExportReport) {
        let mkv = try Exporter.run(folder: recording.folder)
        let mp4 = try recording.export(ExportSpec(.tracks(.init(container: .mp4))))
        #expect(try Command.complaints(about: mp4.output).isEmpty)
        #expect(mp4.tracks.map(\.units) == mkv.tracks.map(\.units))
        #expect(mp4.warnings == mkv.warnings + ["an MP4 file has no chapters of the call's events"])
        #expect(mp4.verdict == mkv.verdict)
        #expect(try File(mp4.output, .read).count == mp4.bytes)
        let (was, became) = (try Probe(mkv.output), try Probe(mp4.output))
        for stream in mkv.tracks.indices {
            let (old, new) = (was.times(stream), became.times(stream))
            try #require(old.count == new.count && UInt64(new.count) == mkv.tracks[stream].units)
            for (old, new) in zip(old, new) { #expect(abs(old - new) < 0.0002, "stream \(stream)") }
        }
        let end = Double(mkv.durationNanoseconds) / 1e9
        #expect(abs((became.format.duration.flatMap(Double.init) ?? 0) - end) < 0.05)
        return (mkv, mp4)
    }

    @Test func playersFindParameterSetsAndTheBeginningOfTheAudio() throws {
        let media = try EncodedMedia.shared.get()
        var video = SimulatedRecording.TrackPlan.video("bob", .h264, media.h264)
        video.turns = [0: .quarter]
        let recording = try SimulatedRecording([
            video, .audio("bob", media.opus),
            // Later than the others, so that its own delay is not at the file's beginning.
            .audio("carol", media.opus, capture: 2_100_000_000),
        ])
        let (mkv, mp4) = try self.export(recording)
        let index = try self.index(mp4.output)
        #expect(self.boxes("avc3", index).isEmpty && self.boxes("avc1", index).count == 1 + 1, "sample entry and brand")
        let configuration = try #require(self.boxes("avcC", index).first)
        let sets = try #require(H264.parameterSets(decoderConfiguration: configuration))
        #expect(!sets.sequence.isEmpty && !sets.picture.isEmpty)
        // Version 0, two channels, PreSkip 312, 48 kHz, in the order of bytes that MP4 has.
        let opus = self.boxes("dOps", index)
        #expect(opus.count == 2)
        for box in opus { #expect(box.prefix(8) == [0, 2, 1, 0x38, 0, 0, 0xBB, 0x80]) }
        for stream in mkv.tracks.indices where mkv.tracks[stream].media == .audio {
            let (was, became) = (try self.decoded(mkv.output, stream), try self.decoded(mp4.output, stream))
            #expect(became.samples == was.samples && abs(became.first - was.first) < 0.0002, "stream \(stream)")
        }
        let turned = try Command.run(
            "ffprobe",
            ["-v", "error", "-show_entries", "stream_side_data=rotation", "-of", "csv=p=0", mp4.output]
        )
        #expect(turned.text.contains("-90"))
        // Titles of tracks; and no track that is neither video nor audio, as chapters would be.
        let text = String(decoding: index, as: UTF8.self)
        #expect(text.contains("Bob – video") && text.contains("Carol – audio"))
        #expect(self.boxes("trak", index).count == mkv.tracks.count)
        let mode = try FileManager.default.attributesOfItem(atPath: mp4.output)[.posixPermissions] as? Int
        #expect(mode == 0o640)
    }

    /// ffmpeg looks at the first seconds of a file to find out about its tracks.
    @Test func vp9ThatBeginsLateIsDescribedAsWell() throws {
        let media = try EncodedMedia.shared.get()
        let recording = try SimulatedRecording([
            .video("alice", .vp9, media.vp9), .audio("alice", media.opus),
            .video("bob", .vp9, media.vp9, capture: 20_000_000_000),
        ])
        let (_, mp4) = try self.export(recording)
        let described = self.boxes("vpcC", try self.index(mp4.output))
        // Version 1, profile 0, and 8 bits of 4:2:0.
        #expect(described.count == 2 && described.allSatisfy { $0.count == 12 && $0[6] >> 4 == 8 }, "\(described)")
        #expect(Set(described).count == 1)
    }

    /// A unit missing in the file is found before the file is published.
    @Test func aFileThatLacksAUnitIsThrownAway() throws {
        let media = try EncodedMedia.shared.get()
        let recording = try SimulatedRecording([.video("bob", .vp9, media.vp9), .audio("bob", media.opus)])
        let (_, mp4) = try self.export(recording)
        try RemuxReadBack.check(mp4.output, .mp4, mp4)
        for index in mp4.tracks.indices {
            var more = mp4
            more.tracks[index].units += 1
            #expect(throws: ExportError.self) { try RemuxReadBack.check(mp4.output, .mp4, more) }
        }
    }
}
