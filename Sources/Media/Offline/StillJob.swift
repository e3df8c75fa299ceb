// SPDX-License-Identifier: Apache-2.0

public import Basics
internal import Foundation
internal import GStreamer
internal import Model

/// Makes an image of a keyframe, in a process that knows nothing else.
public enum StillJob {
    /// More than decoding and scaling the largest frame takes.
    static let memoryBytes: UInt64 = 1 << 30
    static let processorTime = Duration.seconds(5)

    /// Reads a keyframe from standard input and writes a JPEG image to standard output; false if it cannot be decoded.
    ///
    /// Throws `GStreamerError` where there is no GStreamer, and what standard output throws.
    public static func run(codec: MediaCodec, rotation: Int) throws -> Bool {
        ProcessLimits.yieldToRecordings()
        // The registry of plugins, which it may write, is nothing of a peer's.
        try Runtime.initialise()
        ProcessLimits.limitMemory(bytes: Self.memoryBytes)
        ProcessLimits.limitProcessorTime(Self.processorTime)
        let input = FileHandle.standardInput
        var keyframe: [UInt8] = []
        while let part = try input.read(upToCount: 1 << 16), !part.isEmpty {
            keyframe += part
            guard keyframe.count <= KeyframePart.maximumKeyframeBytes else { return false }
        }
        let rotation = VideoRotation(rawValue: rotation) ?? .upright
        guard Thumbnail.refusal(of: keyframe, codec: codec) == nil,
            let image = Thumbnail.jpeg(of: keyframe, codec: codec, rotation: rotation)
        else { return false }
        try FileHandle.standardOutput.write(contentsOf: Data(image))
        return true
    }
}
