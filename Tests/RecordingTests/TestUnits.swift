// SPDX-License-Identifier: Apache-2.0

import Basics
import Matroska
import Recording
import Storage

/// Coded units with valid heads and filler behind.
enum TestUnits {
    static func vp8Keyframe(width: Int = 320, height: Int = 240, size: Int = 200) -> [UInt8] {
        [
            0x10, 0x02, 0x00, 0x9D, 0x01, 0x2A, UInt8(width & 255), UInt8(width >> 8), UInt8(height & 255),
            UInt8(height >> 8),
        ]
            + [UInt8](repeating: 0xA5, count: size)
    }

    static func vp8Frame(size: Int = 100) -> [UInt8] {
        [0x11, 0x02, 0x00] + [UInt8](repeating: 0x5A, count: size)
    }

    static let startCode: [UInt8] = [0, 0, 0, 1]
    /// 64x48, constrained baseline.
    static let sequenceParameters: [UInt8] = [
        0x67, 0x42, 0xC0, 0x0A, 0xD9, 0x04, 0x7B, 0x01, 0x10, 0x00, 0x00, 0x03, 0x00, 0x10, 0x00, 0x00, 0x03, 0x03,
        0xC8, 0xF1, 0x22, 0x64, 0x80,
    ]
    static let pictureParameters: [UInt8] = [0x68, 0xCB, 0x83, 0xCB, 0x20]
    static let h264Slice: [UInt8] = [0x41, 0x9A, 0x38, 0x2B, 0x8D, 0x80]

    static func h264Keyframe(pictureParameters: [UInt8] = Self.pictureParameters) -> [UInt8] {
        startCode + self.sequenceParameters + startCode + pictureParameters + startCode + [
            0x65, 0x88, 0x84, 0x3A, 0xFF,
        ]
    }

    /// 64x48, main profile, frames in any order.
    static let mainParameters: [UInt8] = [0x67, 0x4D, 0x00, 0x0A, 0xF4, 0x23, 0xC8]

    static var mainKeyframe: [UInt8] {
        startCode + self.mainParameters + startCode + self.pictureParameters + startCode + [
            0x65, 0x88, 0x84, 0x3A, 0xFF,
        ]
    }

    /// 20 ms of CELT, stereo.
    static let opusPacket: [UInt8] = [0xFC, 1, 2, 3, 4, 5, 6, 7]
}

extension TrackFileWriter {
    func gather(
        _ unit: [UInt8],
        rtpTime: Int64,
        arrival: Int64 = 0,
        rotation: VideoRotation? = nil
    ) throws -> WriteResult {
        try unit.withUnsafeBytes { bytes in
            let inspection = Bitstream.inspect(self.track.codec, bytes)
            return try self.gather(bytes, inspection, rtpTime: rtpTime, arrivalNanoseconds: arrival, rotation: rotation)
        }
    }

    /// A round of one unit.
    func write(
        _ unit: [UInt8],
        rtpTime: Int64,
        arrival: Int64 = 0,
        rotation: VideoRotation? = nil
    ) throws -> WriteResult {
        let result = try self.gather(unit, rtpTime: rtpTime, arrival: arrival, rotation: rotation)
        try self.writeGathered()
        return result
    }
}
