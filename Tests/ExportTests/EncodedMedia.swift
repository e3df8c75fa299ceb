// SPDX-License-Identifier: Apache-2.0

import Foundation
import Matroska
import TestSupport
import Testing

/// Real coded units, made once by ffmpeg.
struct EncodedMedia: Sendable {
    /// 30 frames a second, a keyframe each second.
    var vp8: [[UInt8]]
    var vp9: [[UInt8]]
    /// Access units in Annex B; 320x240 for the first half, then 640x360.
    var h264: [[UInt8]]
    /// Access units of the main profile, with frames that are sent after later ones.
    var reordered: [[UInt8]]
    /// When each of those is shown, in frames from the first.
    var reorderedPlaces: [Int]
    /// 20 ms each, stereo.
    var opus: [[UInt8]]

    static let shared = Result { try EncodedMedia() }

    private static let seconds = 4

    private static let fast = ["-g", "30", "-deadline", "realtime", "-cpu-used", "8", "-b:v", "300k"]

    private init() throws {
        func encode(_ input: String, seconds: Int, _ arguments: [String], _ ending: String) throws -> [UInt8] {
            try Self.encode(input, seconds, arguments, ending) { [UInt8](try Data(contentsOf: URL(filePath: $0))) }
        }

        let picture = "testsrc2=s=320x240:r=30"
        self.vp8 = try Self.vp8(picture, seconds: Self.seconds)
        self.vp9 = try Self.vp9(picture, seconds: Self.seconds)
        let x264 = [
            "-c:v", "libx264", "-profile:v", "baseline", "-tune", "zerolatency", "-preset", "ultrafast", "-g", "30",
            "-x264-params", "aud=1",
        ]
        self.h264 =
            Self.accessUnits(try encode(picture, seconds: Self.seconds / 2, x264, "h264"))
            + Self.accessUnits(try encode("testsrc2=s=640x360:r=30", seconds: Self.seconds / 2, x264, "h264"))
        (self.reordered, self.reorderedPlaces) = try Self.h264(picture, seconds: Self.seconds, "bframes=2:b-adapt=0")
        try #require(zip(self.reorderedPlaces, self.reorderedPlaces.dropFirst()).contains { $0 > $1 })
        self.opus = try Self.opus("sine=440:r=48000", seconds: Self.seconds)
        try #require(self.vp8.count == 120 && self.vp9.count == 120 && self.h264.count == 120 && self.opus.count >= 200)
    }

    /// Frames of a source of ffmpeg, a keyframe in 30.
    static func vp8(_ input: String, seconds: Int) throws -> [[UInt8]] {
        try Self.encode(input, seconds, ["-c:v", "libvpx"] + Self.fast + ["-auto-alt-ref", "0"], "ivf") {
            Self.ivf([UInt8](try Data(contentsOf: URL(filePath: $0))))
        }
    }

    /// The same of VP9; another format of pixels is another profile.
    static func vp9(_ input: String, seconds: Int, pixels: String = "yuv420p") throws -> [[UInt8]] {
        let arguments = ["-c:v", "libvpx-vp9"] + Self.fast + ["-lag-in-frames", "0", "-pix_fmt", pixels]
        return try Self.encode(input, seconds, arguments, "ivf") {
            Self.ivf([UInt8](try Data(contentsOf: URL(filePath: $0))))
        }
    }

    /// Access units of H.264's main profile, and when each is shown, in frames from the first.
    static func h264(_ input: String, seconds: Int, _ parameters: String) throws -> (units: [[UInt8]], places: [Int]) {
        let arguments = [
            "-c:v", "libx264", "-profile:v", "main", "-preset", "ultrafast", "-g", "30",
            "-x264-params", "aud=1:scenecut=0:\(parameters)",
        ]
        let units = try Self.encode(input, seconds, arguments, "h264") {
            Self.accessUnits([UInt8](try Data(contentsOf: URL(filePath: $0))))
        }
        // The same once more, in a file that has times.
        let places = try Self.encode(input, seconds, arguments, "mkv") { path in
            try Probe(path).times(0).map { Int(($0 * 30).rounded()) }
        }
        try #require(units.count == places.count)
        return (units, places)
    }

    /// Packets of a source of ffmpeg, 20 ms each, stereo.
    static func opus(_ input: String, seconds: Int) throws -> [[UInt8]] {
        try Self.encode(input, seconds, ["-ac", "2", "-c:a", "libopus", "-b:a", "128k"], "ogg") {
            Self.ogg([UInt8](try Data(contentsOf: URL(filePath: $0))))
        }
    }

    /// Packets of a source of ffmpeg, 20 ms each, by the law `mulaw` or `alaw`.
    static func g711(_ input: String, seconds: Int, _ law: String) throws -> [[UInt8]] {
        try Self.encode(input, seconds, ["-ar", "8000", "-ac", "1", "-c:a", "pcm_\(law)", "-f", law], law) { path in
            let bytes = [UInt8](try Data(contentsOf: URL(filePath: path)))
            return stride(from: 0, to: bytes.count, by: 160).map { Array(bytes[$0..<min($0 + 160, bytes.count)]) }
        }
    }

    /// Encodes a source of ffmpeg into a file that is there while it is read.
    private static func encode<Value>(
        _ input: String,
        _ seconds: Int,
        _ arguments: [String],
        _ ending: String,
        read: (String) throws -> Value
    ) throws -> Value {
        let path = FileManager.default.temporaryDirectory.path + "/tapedeck-media-\(UUID().uuidString).\(ending)"
        defer { try? FileManager.default.removeItem(atPath: path) }
        let output = try Command.run(
            "ffmpeg",
            ["-nostdin", "-v", "error", "-f", "lavfi", "-i", input, "-t", String(seconds)] + arguments + [path]
        )
        try #require(output.status == 0, "\(output.standardError)")
        return try read(path)
    }

    /// The frames of an IVF file: a head of 32 bytes, then 12 bytes before each frame.
    private static func ivf(_ bytes: [UInt8]) -> [[UInt8]] {
        var frames: [[UInt8]] = []
        var rest = bytes.dropFirst(32)
        while rest.count >= 12 {
            let size = rest.prefix(4).reversed().reduce(0) { $0 << 8 | Int($1) }
            frames.append(Array(rest.dropFirst(12).prefix(size)))
            rest = rest.dropFirst(12 + size)
        }
        return frames
    }

    /// Splits a byte stream before each access unit delimiter.
    private static func accessUnits(_ bytes: [UInt8]) -> [[UInt8]] {
        let delimiter: [UInt8] = [0, 0, 0, 1, 9]
        let starts = bytes.indices.dropLast(4).filter {
            bytes[$0] == 0 && bytes[$0..<($0 + 5)].elementsEqual(delimiter)
        }
        return zip(starts, starts.dropFirst() + [bytes.count]).map { Array(bytes[$0..<$1]) }
    }

    /// The packets of an Ogg file (RFC 3533) without the two that describe the stream.
    private static func ogg(_ bytes: [UInt8]) -> [[UInt8]] {
        var packets: [[UInt8]] = []
        var packet: [UInt8] = []
        var rest = bytes[...]
        while rest.count >= 27, rest.starts(with: Array("OggS".utf8)) {
            let segmentCount = Int(rest[rest.startIndex + 26])
            let sizes = rest.dropFirst(27).prefix(segmentCount).map(Int.init)
            rest = rest.dropFirst(27 + segmentCount)
            for size in sizes {
                packet += rest.prefix(size)
                rest = rest.dropFirst(size)
                if size < 255 {
                    packets.append(packet)
                    packet = []
                }
            }
        }
        return Array(packets.dropFirst(2))
    }
}
