// SPDX-License-Identifier: Apache-2.0

internal import Basics
import TestSupport
import Testing

@testable import Matroska

/// Coded units as depayloaders would give them, made once with ffmpeg.
struct EncodedMedia: Sendable {
    var vp8: [[UInt8]]
    var vp9: [[UInt8]]
    /// Annex B access units: 320x240, then 640x360, which needs cropping.
    var h264: [[UInt8]]
    /// High 4:2:2 with 10 bits, one access unit or more.
    var h264High: [[UInt8]]
    var opus: [[UInt8]]
    var pcmu: [[UInt8]]
    var pcma: [[UInt8]]

    private static let made = Result { try Self.make() }

    static func shared() throws -> EncodedMedia { try Self.made.get() }

    /// Two seconds of each at 25 frames a second.
    private static func make() throws -> EncodedMedia {
        let folder = try TemporaryFolder()
        let path = folder.path
        let x264 = ["-c:v", "libx264", "-preset", "ultrafast", "-g", "25", "-bsf:v", "h264_metadata=aud=insert"]
        let result = try Command.run(
            "ffmpeg",
            [
                "-v", "error", "-f", "lavfi", "-i", "testsrc2=size=320x240:rate=25:duration=2", "-f", "lavfi", "-i",
                "testsrc2=size=640x360:rate=25:duration=1", "-f", "lavfi", "-i", "sine=frequency=440:duration=2",
                "-map", "0:v", "-c:v", "libvpx", "-deadline", "realtime", "-cpu-used", "8", "-g", "25",
                path + "/vp8.ivf",
                "-map", "0:v", "-c:v", "libvpx-vp9", "-deadline", "realtime", "-cpu-used", "8", "-g", "25",
                path + "/vp9.ivf",
                "-map", "0:v",
            ] + x264 + ["-profile:v", "baseline", path + "/small.h264", "-map", "1:v"] + x264
                + ["-profile:v", "main", path + "/large.h264", "-map", "0:v", "-pix_fmt", "yuv422p10le"] + x264 + [
                    "-profile:v", "high422", "-frames:v", "2", path + "/high.h264",
                    "-map", "2:a", "-c:a", "libopus", "-ac", "2", path + "/opus.mka",
                    "-map", "2:a", "-c:a", "pcm_mulaw", "-ar", "8000", path + "/pcmu.mka",
                    "-map", "2:a", "-c:a", "pcm_alaw", "-ar", "8000", path + "/pcma.mka",
                ]
        )
        try #require(result.status == 0, "ffmpeg: \(result.standardError)")
        return EncodedMedia(
            vp8: Self.ivfFrames(try Tool.read(path + "/vp8.ivf")),
            vp9: Self.ivfFrames(try Tool.read(path + "/vp9.ivf")),
            h264: Self.accessUnits(try Tool.read(path + "/small.h264"))
                + Self.accessUnits(try Tool.read(path + "/large.h264")),
            h264High: Self.accessUnits(try Tool.read(path + "/high.h264")),
            opus: try SampleFile.read(try Tool.read(path + "/opus.mka")).units.map(\.payload),
            pcmu: try SampleFile.read(try Tool.read(path + "/pcmu.mka")).units.map(\.payload),
            pcma: try SampleFile.read(try Tool.read(path + "/pcma.mka")).units.map(\.payload)
        )
    }

    private static func ivfFrames(_ bytes: [UInt8]) -> [[UInt8]] {
        var frames: [[UInt8]] = []
        var position = 32
        while position + 12 <= bytes.count {
            let size = (0..<4).reduce(0) { $0 | Int(bytes[position + $1]) << (8 * $1) }
            frames.append(Array(bytes[(position + 12)..<(position + 12 + size)]))
            position += 12 + size
        }
        return frames
    }

    /// Cuts a stream before each access unit delimiter.
    private static func accessUnits(_ bytes: [UInt8]) -> [[UInt8]] {
        var starts: [Int] = []
        for index in 0..<(bytes.count - 4) where bytes[index...].starts(with: [0, 0, 0, 1, 9]) { starts.append(index) }
        return zip(starts, starts.dropFirst() + [bytes.count]).map { Array(bytes[$0..<$1]) }
    }
}

extension SampleFile {
    /// Appends a coded unit as the recorder does: keyframes found by inspection, H.264 with lengths.
    mutating func append(unit: [UInt8], codec: MediaCodec, track: Int = 1, time: Int64) throws {
        let inspection = try #require(CodecTests.inspect(codec, unit))
        var payload = unit
        if codec == .h264 {
            payload.removeAll(keepingCapacity: true)
            #expect(unit.withUnsafeBytes { H264.appendLengthPrefixed($0, to: &payload) })
        }
        try self.append(payload, track: track, time: time, isKeyframe: inspection.isKeyframe)
    }

    /// A file of one track with real media in it.
    static func recording(_ codec: MediaCodec) throws -> SampleFile {
        let media = try EncodedMedia.shared()
        let units: [[UInt8]]
        let step: Int64
        switch codec {
        case .vp8: (units, step) = (media.vp8, 40_000_000)
        case .vp9: (units, step) = (media.vp9, 40_000_000)
        case .h264: (units, step) = (media.h264, 40_000_000)
        case .opus: (units, step) = (media.opus, 20_000_000)
        case .pcmu: (units, step) = (media.pcmu, try Self.duration(.pcmu, media.pcmu))
        case .pcma: (units, step) = (media.pcma, try Self.duration(.pcma, media.pcma))
        }
        let first = try #require(units.first)
        let inspection = try #require(CodecTests.inspect(codec, first))
        var file = try SampleFile(tracks: [try Self.track(codec, number: 1, inspection)])
        for (index, unit) in units.enumerated() {
            try file.append(unit: unit, codec: codec, time: Int64(index) * step)
        }
        return file
    }

    static func track(_ codec: MediaCodec, number: Int, _ inspection: UnitInspection) throws -> Track {
        let uid = UInt64(number) * 1_001 + (codec.kind == .audio ? 7 : 0)
        switch codec {
        case .vp8, .vp9, .h264:
            var codecPrivate: [UInt8] = []
            if codec == .h264 {
                let sets = try #require(inspection.parameterSets)
                codecPrivate = try #require(H264.decoderConfiguration(sets))
            }
            return .video(
                number: number,
                uid: uid,
                codec: codec,
                width: try #require(inspection.width),
                height: try #require(inspection.height),
                codecPrivate: codecPrivate,
                name: "Picture"
            )
        case .opus: return .opus(number: number, uid: uid, name: "Sound")
        case .pcmu, .pcma: return .g711(number: number, uid: uid, codec: codec)
        }
    }

    private static func duration(_ codec: MediaCodec, _ units: [[UInt8]]) throws -> Int64 {
        try #require(units.first.flatMap { CodecTests.inspect(codec, $0)?.durationNanoseconds })
    }
}
