// SPDX-License-Identifier: Apache-2.0

public import Basics

/// G.711 in Matroska: `A_MS/ACM` with a WAVEFORMATEX structure as CodecPrivate.
public enum G711 {
    /// Samples a second.
    public static let sampleRate = 8_000

    /// The 18-byte WAVEFORMATEX of a track; `codec` is `pcmu` (format tag 7) or, for all others, `pcma` (tag 6).
    ///
    /// `channels` is clamped to 1…255.
    public static func privateData(_ codec: MediaCodec, channels: Int = 1) -> [UInt8] {
        let channels = UInt64(min(max(channels, 1), 255))
        var bytes: [UInt8] = []
        bytes.appendLittleEndian(codec == .pcmu ? 7 : 6, count: 2)
        bytes.appendLittleEndian(channels, count: 2)
        bytes.appendLittleEndian(UInt64(Self.sampleRate), count: 4)
        bytes.appendLittleEndian(UInt64(Self.sampleRate) * channels, count: 4)  // bytes a second
        bytes.appendLittleEndian(channels, count: 2)  // bytes a frame
        bytes.appendLittleEndian(8, count: 2)  // bits a sample
        bytes.appendLittleEndian(0, count: 2)  // no further bytes
        return bytes
    }

    /// The law that a WAVEFORMATEX names, or nil if it names another codec.
    public static func codec(privateData: [UInt8]) -> MediaCodec? {
        guard privateData.count >= 16, privateData[1] == 0 else { return nil }
        switch privateData[0] {
        case 6: return .pcma
        case 7: return .pcmu
        default: return nil
        }
    }

    /// Duration of a payload of `byteCount` bytes, in nanoseconds; nil without bytes or channels.
    public static func durationNanoseconds(byteCount: Int, channels: Int = 1) -> Int64? {
        guard byteCount > 0, channels > 0, byteCount < 1 << 30 else { return nil }
        return Int64(byteCount / channels) * 1_000_000_000 / Int64(Self.sampleRate)
    }
}
