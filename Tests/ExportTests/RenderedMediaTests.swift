// SPDX-License-Identifier: Apache-2.0

import Basics
import Export
import Foundation
import Matroska
import Model
import Rendering
import Storage
import TestSupport
import Testing

/// A stream in ffprobe's output.
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

    @Test(arguments: [("call.mp4", "h264", "aac"), ("call.mkv", "h264", "aac"), ("call.webm", "vp8", "opus")])
    func rendersAGridOfConstantSizeAndRate(_ wanted: (file: String, video: String, audio: String)) throws {
        let recording = try self.twoPeople()
        let output = recording.storagePath + "/" + wanted.file
        let container = ExportSpec.Container(rawValue: wanted.file.split(separator: ".").last.map(String.init) ?? "")
        let settings = ExportSpec(
            .grid(.init(size: VideoSize(width: 640, height: 360), framesPerSecond: 20, container: container))
        )
        var fractions: [Double] = []
        let report = try recording.export(settings, output: output) {
            fractions.append($0.fraction)
        }
        // From the first packet at 0.1 s to the last frame at 5 s, and the duration of the last.
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
        if wanted.file != "call.mp4" {
            // Colour is of version 4, and a player seeks to where every track has a keyframe.
            let head = try Data(contentsOf: URL(filePath: output)).prefix(64)
            #expect(head.range(of: Data([0x42, 0x87, 0x81, 4])) != nil)
            var reader = try Reader(File(output, .read))
            let audio = reader.tracks.first { $0.codec == .opus }?.number
            while let block = try reader.nextHead() { #expect(block.track != audio || block.isKeyframe) }
        }
        let manifest = try #require(try Manifest.read(recording.folder))
        #expect(manifest.exports.contains { $0.layout == "grid" && $0.file == output })
        #expect(!FileManager.default.fileExists(atPath: recording.storagePath + "/." + wanted.file + ".partial"))
    }

    /// A frame of a file, or of ffmpeg's test source: the brightness of eight columns and six rows of a part of it.
    private func brightness(_ input: [String], _ filter: String) throws -> [Int] {
        let raw = try Command.run(
            "ffmpeg",
            ["-nostdin", "-v", "error"] + input + [
                "-frames:v", "1", "-vf", filter + "scale=8:6:flags=area,format=gray", "-f", "rawvideo", "-",
            ]
        )
        try #require(raw.standardOutput.count == 48, "\(raw.standardError)")
        return raw.standardOutput.map { Int($0) }
    }

    /// Which turn makes a part of a frame look most like the camera's own frame.
    private func turn(_ input: [String], upright: String, sideways: String) throws -> VideoRotation? {
        let camera = try self.brightness(["-f", "lavfi", "-i", "testsrc2=s=320x240:r=30"], "")
        let filters: [VideoRotation: String] = [
            .upright: upright, .quarter: sideways + "transpose=cclock,", .half: upright + "hflip,vflip,",
            .threeQuarters: sideways + "transpose=clock,",
        ]
        let differences = try filters.mapValues { filter in
            zip(try self.brightness(input, filter), camera).reduce(0) { $0 + abs($1.0 - $1.1) }
        }
        return differences.min { $0.value < $1.value }?.key
    }

    /// A phone that is turned during the call: the grid follows, a file of tracks shows it as most of it is.
    @Test(arguments: [VideoRotation.quarter, .half, .threeQuarters])
    func whatIsTurnedStandsUpright(rotation: VideoRotation) throws {
        let media = try EncodedMedia.shared.get()
        var plan = SimulatedRecording.TrackPlan.video("alice", .vp8, media.vp8)
        plan.turns = [0: .upright, 40: rotation]
        let recording = try SimulatedRecording([plan])
        let settings = ExportSpec(.grid(.init(size: VideoSize(width: 640, height: 360), framesPerSecond: 20)))
        let grid = try recording.export(settings).output
        for (second, expected) in [(1, VideoRotation.upright), (3, rotation)] {
            let input = ["-ss", "\(second)", "-i", grid]
            let found = try self.turn(input, upright: "crop=480:360:80:0,", sideways: "crop=270:360:185:0,")
            #expect(found == expected, "at \(second) s")
        }
        let report = try Exporter.run(folder: recording.folder)
        #expect(report.warnings.contains { $0.contains("turned by \(rotation.rawValue)°") }, "\(report.warnings)")
        // ffmpeg and players turn what they decode as the file says.
        #expect(try self.turn(["-ss", "3", "-i", report.output], upright: "", sideways: "") == rotation)
        let entry = try Reader(File(report.output, .read)).tracks.first
        #expect(entry?.video?.rotation == rotation)
    }

    @Test func whatIsTurnedAllAlongIsNoWarning() throws {
        let media = try EncodedMedia.shared.get()
        var plan = SimulatedRecording.TrackPlan.video("alice", .vp8, media.vp8)
        plan.turns = [0: .quarter]
        let recording = try SimulatedRecording([plan])
        let report = try Exporter.run(folder: recording.folder)
        #expect(report.warnings.isEmpty, "\(report.warnings)")
        #expect(try Reader(File(report.output, .read)).tracks.first?.video?.rotation == .quarter)
    }

    @Test func whoSpeaksHasAGreenFrame() throws {
        let media = try EncodedMedia.shared.get()
        // Both send video for four seconds; only Alice is heard, for the first two.
        let recording = try SimulatedRecording([
            .video("alice", .vp8, media.vp8),
            .audio("alice", Array(media.opus.prefix(100))),
            .video("bob", .vp8, media.vp8),
        ])
        let settings = ExportSpec(.grid(.init(size: VideoSize(width: 640, height: 360), framesPerSecond: 20)))
        let report = try recording.export(settings)
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

    @Test func aSlideStaysUntilTheNextOne() throws {
        let media = try EncodedMedia.shared.get()
        var slides = SimulatedRecording.TrackPlan.video("alice", .vp8, Array(media.vp8.prefix(91)))
        slides.missing = 1..<90
        let recording = try SimulatedRecording([slides, .audio("alice", media.opus)])
        let settings = ExportSpec(.grid(.init(size: VideoSize(width: 320, height: 240), framesPerSecond: 10)))
        let report = try recording.export(settings)
        let raw = try Command.run(
            "ffmpeg",
            ["-nostdin", "-v", "error", "-i", report.output, "-f", "rawvideo", "-pix_fmt", "gray", "-"]
        )
        let pixels = [UInt8](raw.standardOutput)
        let frames = stride(from: 0, to: pixels.count, by: 320 * 240).map { pixels[$0..<$0 + 320 * 240] }
        try #require(frames.count > 30)
        let difference = { (index: Int) in
            zip(frames[10], frames[index]).reduce(0.0) { $0 + abs(Double($1.0) - Double($1.1)) } / (320 * 240)
        }
        // The first slide is shown from 0.1 s on, the next one comes at 3.1 s.
        for index in 11..<31 { #expect(difference(index) < 3, "frame \(index)") }
        #expect(difference(32) > 3)
    }

    @Test func soundHasTheLengthOfTheCallToTheSample() throws {
        let recording = try self.twoPeople()
        for format in ExportSpec.Audio.Format.allCases {
            let settings = ExportSpec(.audio(.init(format: format)))
            let report = try recording.export(settings)
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
        // Between two keyframes, and between two frames.
        let report = try recording.export(
            ExportSpec(
                .grid(.init(size: VideoSize(width: 320, height: 180))),
                participant: "Alice",
                from: .milliseconds(1513),
                to: .milliseconds(2713)
            )
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
        let settings = ExportSpec(.grid(.init(size: VideoSize(width: 320, height: 180), codec: .vp8)))
        let report = try recording.export(settings)
        #expect(try probe(report.output).count == 2)
        #expect(report.tracks[0].units > 90)
        #expect(report.warnings.contains { $0.contains("Mallory") || $0.contains("Trudy") })
    }

    @Test func anInterruptionLeavesNothing() throws {
        struct Interrupted: Error {}
        let recording = try self.twoPeople()
        for settings in [
            ExportSpec(.grid(.init(size: VideoSize(width: 320, height: 180)))),
            ExportSpec(.audio(.init(format: .wav))),
        ] {
            #expect(throws: Interrupted.self) {
                try recording.export(settings) { _ in throw Interrupted() }
            }
        }
        let left = try FileManager.default.contentsOfDirectory(atPath: recording.folder.path)
        #expect(Set(left).isSubset(of: ["journal.jsonl", "tracks", "manifest.json"]), "\(left)")
    }

    @Test func whatIsNotThereCannotBeRendered() throws {
        let recording = try self.twoPeople()
        let grid = ExportSpec.Layout(.grid)
        let specs: [(ExportSpec, ExportError.Code)] = [
            (ExportSpec(grid, participant: "nobody"), .noSuchParticipant),
            (ExportSpec(grid, from: .seconds(100)), .emptySelection),
            (ExportSpec(grid, from: .seconds(1), to: .seconds(1)), .invalidSpec),
        ]
        for (spec, code) in specs {
            let error = #expect(throws: ExportError.self) { try recording.export(spec) }
            #expect(error?.code == code)
        }
    }
}
