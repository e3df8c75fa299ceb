// SPDX-License-Identifier: Apache-2.0

/// Facts about VP8 frames that recording needs.
enum VP8 {
    /// Reads the frame tag and, of a key frame, the size (RFC 6386 section 9.1); nil if a decoder would refuse it.
    static func inspect(_ frame: UnsafeRawBufferPointer) -> UnitInspection? {
        guard frame.count >= 3 else { return nil }
        let tag = UInt32(frame[0]) | UInt32(frame[1]) << 8 | UInt32(frame[2]) << 16
        let isKeyframe = tag & 1 == 0
        let version = (tag >> 1) & 7
        let headSize = isKeyframe ? 10 : 3
        guard version <= 3, frame.count >= headSize, Int(tag >> 5) <= frame.count - headSize else { return nil }
        guard isKeyframe else { return UnitInspection(isKeyframe: false) }
        guard frame[3] == 0x9D, frame[4] == 0x01, frame[5] == 0x2A else { return nil }
        // The two high bits are an upscaling hint, not part of the size.
        let width = Int(frame[6]) | Int(frame[7] & 0x3F) << 8
        let height = Int(frame[8]) | Int(frame[9] & 0x3F) << 8
        guard width > 0, height > 0 else { return nil }
        return UnitInspection(isKeyframe: true, width: width, height: height)
    }
}
