// SPDX-License-Identifier: Apache-2.0

import Basics
import Export
import Foundation
import Model
import Rendering
import Storage
import TestSupport
import Testing
import Timeline

/// Grids and mixed audio show and play the right thing at the right time.
///
/// Flashes and beeps are unevenly apart, so that no whole number of seconds looks right.
@Suite(.serialized) struct RenderedContentTests {
    /// When a flash and a beep begin, in seconds from the first capture; each lasts a tenth of a second.
    private static let times = [0.5, 1.3, 2.4, 3.1]
    private static let isOn = Self.times.map { "between(t,\($0),\($0 + 0.0999))" }.joined(separator: "+")

    /// Four seconds of a colour that is white for a tenth of a second at each time.
    private func video(_ colour: String) throws -> [[UInt8]] {
        let flash = "drawbox=color=white:t=fill:enable='\(Self.isOn)'"
        return try EncodedMedia.vp8("color=c=\(colour):s=320x180:r=30,\(flash)", seconds: 4)
    }

    /// Four seconds of beeps of 1600 Hz on the left, and a quiet tone of 400 Hz on the right.
    private func audio() throws -> [[UInt8]] {
        let left = "0.8*(\(Self.isOn))*sin(2*PI*1600*t)"
        return try EncodedMedia.opus("aevalsrc='\(left)|0.2*sin(2*PI*400*t)':s=48000", seconds: 4)
    }

    /// The samples of both channels, from the file's time 0.
    private func samples(_ path: String) throws -> [[Float]] {
        let raw = try Command.run(
            "ffmpeg",
            [
                "-nostdin", "-v", "error", "-i", path, "-vn", "-af", "aresample=48000:async=1:first_pts=0",
                "-f", "f32le", "-ac", "2", "-",
            ]
        )
        let all = raw.standardOutput.withUnsafeBytes { Array($0.bindMemory(to: Float.self)) }
        return [0, 1].map { channel in stride(from: channel, to: all.count - 1, by: 2).map { all[$0] } }
    }

    /// The brightness of each frame, and how far apart two of them are, in seconds.
    private func brightness(_ path: String, framesPerSecond: Int) throws -> [Int] {
        let filter = "fps=\(framesPerSecond):start_time=0,scale=1:1:flags=area,format=gray"
        let raw = try Command.run(
            "ffmpeg",
            ["-nostdin", "-v", "error", "-i", path, "-vf", filter, "-f", "rawvideo", "-"]
        )
        return raw.standardOutput.map(Int.init)
    }

    /// Where values rise above a limit for the first time in a tenth of a second, in seconds.
    private func onsets<Value: Comparable>(_ values: [Value], above limit: Value, rate: Int) -> [Double] {
        var found: [Double] = []
        for (index, value) in values.enumerated() where value > limit {
            let time = Double(index) / Double(rate)
            if found.last.map({ time - $0 > 0.25 }) ?? true { found.append(time) }
        }
        return found
    }

    /// How strong a tone is (Goertzel's algorithm), as a share of a full one.
    private func tone(_ samples: ArraySlice<Float>, _ hertz: Double) -> Double {
        var (sine, cosine) = (0.0, 0.0)
        for (index, sample) in samples.enumerated() {
            let phase = 2 * Double.pi * hertz * Double(index) / 48_000
            sine += Double(sample) * sin(phase)
            cosine += Double(sample) * cos(phase)
        }
        return (sine * sine + cosine * cosine).squareRoot() * 2 / Double(samples.count)
    }

    private func expect(_ found: [Double], _ expected: [Double], within tolerance: Double, _ name: String) {
        #expect(found.count == expected.count, "\(name): \(found)")
        for (found, expected) in zip(found, expected) {
            #expect(abs(found - expected) <= tolerance, "\(name): \(found) in place of \(expected)")
        }
    }

    /// The delay of Opus is 6.5 ms: an offset of that size shows.
    @Test func mixedAudioHasEachSampleWhenItWasCapturedAndInItsChannel() throws {
        let recording = try SimulatedRecording([.audio("alice", self.audio(), capture: 0)])
        let channels = try self.samples(recording.export(ExportSpec(.audio(.init(format: .wav)))).output)
        try #require(channels.allSatisfy { $0.count > 3 * 48_000 })
        let beeps = self.onsets(channels[0].map(abs), above: 0.3, rate: 48_000)
        self.expect(beeps, Self.times, within: 0.003, "beeps")
        let beep = (Int(0.52 * 48_000)..<Int(0.58 * 48_000))
        // The layout brings the mix to its loudness: what counts is how strong a tone is here and there.
        for (channel, hertz) in [(0, 1600.0), (1, 400.0)] {
            let here = self.tone(channels[channel][beep], hertz)
            let there = self.tone(channels[1 - channel][beep], hertz)
            #expect(here > 0.02 && here > 10 * there, "\(hertz) Hz: \(here) and \(there)")
        }
    }

    /// What telephones send is heard where it was captured, also where it must become another codec.
    @Test(
        arguments: [MediaCodec.pcmu, .pcma],
        [ExportSpec.Layout.grid(.init(size: VideoSize(width: 320, height: 180), framesPerSecond: 10)), .browser]
    )
    func beepsOfG711AreInTime(codec: MediaCodec, layout: ExportSpec.Layout) throws {
        var audio = SimulatedRecording.TrackPlan.audio("alice", [], capture: 0)
        let source = "aevalsrc='0.8*(\(Self.isOn))*sin(2*PI*1600*t)':s=8000"
        audio.units = try EncodedMedia.g711(source, seconds: 4, codec == .pcmu ? "mulaw" : "alaw")
        (audio.codec, audio.clockRateHz, audio.step) = (codec, 8_000, 160)
        let recording = try SimulatedRecording([.video("alice", .vp8, self.video("black"), capture: 0), audio])
        let report = try recording.export(ExportSpec(layout))
        #expect(report.isComplete && report.warnings.isEmpty, "\(report.warnings)")
        let beeps = self.onsets(try self.samples(report.output)[0].map(abs), above: 0.3, rate: 48_000)
        self.expect(beeps, Self.times, within: 0.01, "beeps of \(report.output)")
    }

    /// The speakers are in the manifest, from the recording's first unit; an export of a part does not change them.
    @Test(arguments: [
        ExportSpec.Layout.audio(.init()), .grid(.init(size: VideoSize(width: 320, height: 180), framesPerSecond: 10)),
    ])
    func theManifestTellsWhoSpoke(layout: ExportSpec.Layout) throws {
        func voice(_ from: Double, _ to: Double) throws -> [[UInt8]] {
            try EncodedMedia.opus("aevalsrc='0.5*between(t,\(from),\(to))*sin(2*PI*300*t)':s=48000", seconds: 7)
        }
        let recording = try SimulatedRecording([
            .audio("alice", voice(0.5, 2), capture: 0), .audio("bob", voice(4, 5.5), capture: 0),
        ])
        _ = try recording.export(ExportSpec(layout))
        let turns = try #require(try Manifest.read(recording.folder)?.speakers)
        #expect(turns.map(\.participant) == ["alice", "bob"])
        // The highlight follows the audio after some time, and stays for a second.
        for (turn, (from, to)) in zip(turns, [(0.5, 3.0), (4.0, 6.5)]) {
            #expect(abs(Double(turn.startNanoseconds) / 1e9 - from) < 0.3, "\(turn)")
            #expect(abs(Double(turn.startNanoseconds + turn.durationNanoseconds) / 1e9 - to) < 0.5, "\(turn)")
        }
        _ = try recording.export(ExportSpec(.audio(.init()), participant: "bob"))
        _ = try recording.export(ExportSpec())
        #expect(try Manifest.read(recording.folder)?.speakers == turns)
    }

    @Test(arguments: [ExportSpec.Grid.Codec.h264, .vp8])
    func flashesAndBeepsOfAGridAreTogether(codec: ExportSpec.Grid.Codec) throws {
        let recording = try SimulatedRecording([
            .video("alice", .vp8, self.video("black"), capture: 0), .audio("alice", self.audio(), capture: 0),
        ])
        let settings = ExportSpec(
            .grid(.init(size: VideoSize(width: 320, height: 180), framesPerSecond: 30, codec: codec))
        )
        let grid = try recording.export(settings).output
        let flashes = self.onsets(try self.brightness(grid, framesPerSecond: 30), above: 120, rate: 30)
        self.expect(flashes, Self.times, within: 0.034, "flashes")
        let beeps = self.onsets(try self.samples(grid)[0].map(abs), above: 0.3, rate: 48_000)
        // A WebM file of GStreamer does not say that Opus begins 6.5 ms early.
        self.expect(beeps, Self.times, within: 0.01, "beeps")
    }

    /// Frames that are sent behind later ones are shown in their turn.
    @Test(arguments: ["bframes=2:b-adapt=0", "bframes=3:b-pyramid=normal:b-adapt=0"])
    func eachFrameOfH264IsShownOnce(parameters: String) throws {
        // Each frame's number in eight bars: white is 1, and the first is the lowest bit.
        let bars = "nullsrc=s=320x192:r=30,geq=lum='16+210*mod(floor(N/pow(2,floor(X/40))),2)':cb=128:cr=128"
        let (units, places) = try EncodedMedia.h264(bars, seconds: 2, parameters)
        var plan = SimulatedRecording.TrackPlan.video("alice", .h264, units)
        plan.places = places
        plan.delayNanoseconds = 140_000_000
        let recording = try SimulatedRecording([plan])
        let settings = ExportSpec(.grid(.init(size: VideoSize(width: 320, height: 192), framesPerSecond: 30)))
        let report = try recording.export(settings)
        #expect(report.warnings.isEmpty, "\(report.warnings)")
        // The name is in the lower part.
        let filter = "crop=iw:ih/2:0:0,scale=8:1:flags=area,format=gray"
        let raw = try Command.run(
            "ffmpeg",
            ["-nostdin", "-v", "error", "-i", report.output, "-vf", filter, "-f", "rawvideo", "-"]
        )
        let brightness = [UInt8](raw.standardOutput)
        let numbers = stride(from: 0, to: brightness.count, by: 8).map { first in
            (0..<8).reduce(0) { $0 + (brightness[first + $1] > 120 ? 1 << $1 : 0) }
        }
        #expect(numbers == Array(0..<60))
    }

    @Test func eachTileShowsItsParticipant() throws {
        let colours = ["red", "lime", "blue"]
        let recording = try SimulatedRecording(
            zip(["alice", "bob", "carol"], colours).map { .video($0, .vp8, try self.video($1)) }
        )
        let settings = ExportSpec(.grid(.init(size: VideoSize(width: 640, height: 360), framesPerSecond: 10)))
        let raw = try Command.run(
            "ffmpeg",
            [
                "-nostdin", "-v", "error", "-ss", "2", "-i", try recording.export(settings).output, "-frames:v", "1",
                "-f", "rawvideo", "-pix_fmt", "rgb24", "-",
            ]
        )
        let pixels = [UInt8](raw.standardOutput)
        try #require(pixels.count == 640 * 360 * 3)
        // Two tiles above, the third in the middle below them.
        for (place, (x, y)) in [(160, 90), (480, 90), (320, 270)].enumerated() {
            let pixel = pixels[((y * 640 + x) * 3)...].prefix(3)
            for (channel, value) in pixel.enumerated() {
                #expect(channel == place ? value > 180 : value < 80, "\(colours[place]): \(Array(pixel))")
            }
        }
    }
}
