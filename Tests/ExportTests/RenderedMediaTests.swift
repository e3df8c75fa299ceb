// SPDX-License-Identifier: Apache-2.0

import Basics
import Codecs
import Export
import Foundation
import Matroska
import Rendering
import Storage
import Supervision
import Testing

/// What ffprobe says of a stream.
private struct ProbedStream: Decodable {
    var codec_type: String
    var codec_name: String
    var width: Int?
    var height: Int?
    var nb_read_frames: String?
}

private func probe(_ path: String) throws -> [ProbedStream] {
    struct Answer: Decodable { var streams: [ProbedStream] }
    let result = try Command.run(
        "ffprobe",
        ["-v", "error", "-count_frames", "-show_streams", "-of", "json", path]
    )
    #expect(result.standardError.isEmpty)
    return try JSONDecoder().decode(Answer.self, from: Data(result.standardOutput)).streams
}

/// Renders simulated recordings by GStreamer; ffmpeg looks at the results.
@Suite(.serialized) struct RenderedMediaTests {
    private func twoPeople() throws -> SimulatedRecording {
        let media = try EncodedMedia.shared.get()
        return try SimulatedRecording([
            .video("alice", .vp8, media.vp8),
            .audio("alice", Array(media.opus.prefix(200))),
            .video("bob", .h264, media.h264, capture: 1_000_000_000),
            .audio("bob", Array(media.opus.prefix(200)), capture: 900_000_000),
        ])
    }

    private func render(
        _ recording: SimulatedRecording,
        _ settings: RenderSettings,
        _ selection: ExportSelection = ExportSelection(),
        output: String? = nil,
        progress: (ExportProgress) throws -> Void = { _ in }
    ) throws -> ExportReport {
        try Renderer.run(
            folder: recording.folder,
            settings: settings,
            selection: selection,
            output: output,
            isStuck: { Issue.record("stuck; \($0) would be removed") },
            progress: progress
        )
    }

    @Test(arguments: [("call.mp4", "h264", "aac"), ("call.mkv", "h264", "aac"), ("call.webm", "vp8", "opus")])
    func rendersAGridOfConstantSizeAndRate(_ wanted: (file: String, video: String, audio: String)) throws {
        let recording = try self.twoPeople()
        let output = recording.storagePath + "/" + wanted.file
        let settings = try RenderSettings(
            layout: .grid,
            size: PictureSize(width: 640, height: 360),
            framesPerSecond: 20,
            output: output
        )
        var fractions: [Double] = []
        let report = try self.render(recording, settings, output: output) {
            fractions.append($0.fraction)
        }
        // From the first packet at 0.1 s to the last picture at 5 s, and what the last is shown for.
        #expect(report.durationNanoseconds == 4_900_000_000)
        #expect(report.warnings.joined(separator: "; ") == "")
        #expect(report.isComplete)
        #expect(report.tracks.map(\.codec) == [wanted.video, wanted.audio] && report.tracks[0].units == 98)
        #expect(fractions == fractions.sorted() && fractions.last == 1)
        let streams = try probe(output)
        let video = try #require(streams.first { $0.codec_type == "video" })
        #expect(video.codec_name == wanted.video && video.width == 640 && video.height == 360)
        #expect(video.nb_read_frames == "98")
        #expect(streams.contains { $0.codec_name == wanted.audio })
        let manifest = try #require(try Manifest.read(recording.folder))
        #expect(manifest.exports.contains { $0.layout == "grid" && $0.file == output })
        #expect(!FileManager.default.fileExists(atPath: recording.storagePath + "/." + wanted.file + ".partial"))
    }

    @Test func whoSpeaksHasAGreenFrame() throws {
        let media = try EncodedMedia.shared.get()
        // Both send pictures for four seconds; only Alice is heard, for the first two.
        let recording = try SimulatedRecording([
            .video("alice", .vp8, media.vp8),
            .audio("alice", Array(media.opus.prefix(100))),
            .video("bob", .vp8, media.vp8),
        ])
        let settings = try RenderSettings(
            layout: .grid,
            size: PictureSize(width: 640, height: 360),
            framesPerSecond: 20
        )
        let report = try self.render(recording, settings)
        // Two tiles of 314 side by side; the frame is drawn along their inner edge.
        for (milliseconds, expected) in [(1_000, [true, false]), (3_600, [false, false])] {
            let raw = try Command.run(
                "ffmpeg",
                [
                    "-nostdin", "-v", "error", "-ss", "\(Double(milliseconds) / 1000)", "-i", report.output,
                    "-frames:v", "1", "-f", "rawvideo", "-pix_fmt", "rgb24", "-",
                ]
            )
            let pixels = [UInt8](raw.standardOutput)
            try #require(pixels.count == 640 * 360 * 3)
            let framed = [4, 322].map { left in
                (60..<300).filter { row in
                    let index = (row * 640 + left + 1) * 3
                    return Int(pixels[index + 1]) > Int(pixels[index]) + 40
                        && Int(pixels[index + 1]) > Int(pixels[index + 2]) + 40
                }.count > 200
            }
            #expect(framed == expected, "at \(milliseconds) ms")
        }
    }

    @Test func soundHasTheLengthOfTheCallToTheSample() throws {
        let recording = try self.twoPeople()
        for format in RenderSettings.SoundFormat.allCases {
            let settings = try RenderSettings(layout: .audio, format: format)
            let report = try self.render(recording, settings)
            #expect(report.output == recording.folder.path + "/call-audio.\(format.rawValue)")
            let raw = try Command.run(
                "ffmpeg",
                ["-nostdin", "-v", "error", "-i", report.output, "-f", "s16le", "-ac", "1", "-"]
            )
            let samples = (report.durationNanoseconds * 48 + 999_999) / 1_000_000
            #expect(raw.status == 0 && Int64(raw.standardOutput.count) == samples * 2)
        }
    }

    @Test func aRangeHasTheLengthThatWasAskedFor() throws {
        let recording = try self.twoPeople()
        let settings = try RenderSettings(layout: .grid, size: PictureSize(width: 320, height: 180))
        let report = try self.render(
            recording,
            settings,
            // Between two keyframes, and between two pictures.
            ExportSelection(participant: "Alice", from: .milliseconds(1513), to: .milliseconds(2713))
        )
        #expect(report.durationNanoseconds == 1_200_000_000 && report.tracks[0].units == 30)
        #expect(report.output.hasSuffix("/call-grid-Alice-from-1.513s-to-2.713s.mp4"))
        #expect(report.tracks[0].participant == "alice")
    }

    private func firstBytesOfASlice(_ unit: [UInt8]) -> [UInt8] {
        var slice: [UInt8] = []
        unit.withUnsafeBytes { bytes in
            H264.forEachUnit(bytes, framing: .annexB) { nal in
                if slice.isEmpty, [1, 5].contains((nal.first ?? 0) & 0x1F) { slice = Array(nal.prefix(5)) }
            }
        }
        return [0, 0, 0, 1] + slice + [1]
    }

    @Test func unitsThatCannotBeDecodedBecomeAWarning() throws {
        let media = try EncodedMedia.shared.get()
        // The heads are whole, the rest is noise.
        var generator = SystemRandomNumberGenerator()
        let noise = media.vp8.prefix(30).map { unit in
            Array(unit.prefix(40)) + unit.dropFirst(40).map { _ in UInt8.random(in: 0...255, using: &generator) }
        }
        let recording = try SimulatedRecording([
            .video("alice", .vp8, media.vp8),
            .video(
                "mallory",
                .h264,
                media.h264.prefix(1) + media.h264.dropFirst(60).prefix(5).map { self.firstBytesOfASlice($0) }
            ),
            .video("trudy", .vp8, noise),
            .audio("alice", media.opus),
        ])
        let settings = try RenderSettings(layout: .grid, size: PictureSize(width: 320, height: 180), codec: .vp8)
        let report = try self.render(recording, settings)
        #expect(try probe(report.output).count == 2)
        #expect(report.tracks[0].units > 90)
        #expect(report.warnings.contains { $0.contains("mallory") || $0.contains("trudy") })
    }

    @Test func anInterruptionLeavesNothing() throws {
        struct Interrupted: Error {}
        let recording = try self.twoPeople()
        for settings in [
            try RenderSettings(layout: .grid, size: PictureSize(width: 320, height: 180)),
            try RenderSettings(layout: .audio, format: .wav),
        ] {
            #expect(throws: Interrupted.self) {
                try self.render(recording, settings) { _ in throw Interrupted() }
            }
        }
        let left = try FileManager.default.contentsOfDirectory(atPath: recording.folder.path)
        #expect(Set(left).isSubset(of: ["journal.jsonl", "tracks", "manifest.json"]), "\(left)")
    }

    @Test func whatIsNotThereCannotBeRendered() throws {
        let recording = try self.twoPeople()
        let settings = try RenderSettings(layout: .grid)
        for selection in [
            ExportSelection(participant: "nobody"), ExportSelection(from: .seconds(100)),
            ExportSelection(from: .seconds(1), to: .seconds(1)),
        ] {
            #expect(throws: ExportError.self) {
                try self.render(recording, settings, selection)
            }
        }
    }
}
