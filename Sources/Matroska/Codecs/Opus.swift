// SPDX-License-Identifier: Apache-2.0

/// Facts about Opus packets and their set-up header that recording needs.
public enum Opus {
    /// The 19-byte OpusHead of mapping family 0 (RFC 7845 section 5.1).
    ///
    /// `channels` is clamped to 1…2.
    public static func head(channels: Int = 2, preSkip: UInt16 = 312, inputSampleRate: UInt32 = 48_000) -> [UInt8] {
        var bytes = Array("OpusHead".utf8)
        bytes.append(1)  // version
        bytes.append(UInt8(min(max(channels, 1), 2)))
        bytes.appendLittleEndian(UInt64(preSkip), count: 2)
        bytes.appendLittleEndian(UInt64(inputSampleRate), count: 4)
        bytes.appendLittleEndian(0, count: 2)  // output gain
        bytes.append(0)  // mapping family
        return bytes
    }

    /// Duration of a packet, in nanoseconds: at most 120 ms (RFC 6716 sections 3.1 and 3.2).
    ///
    /// Nil if the packet is empty, or its frame count is zero or makes it longer than 120 ms.
    public static func durationNanoseconds(of packet: UnsafeRawBufferPointer) -> Int64? {
        guard let toc = packet.first else { return nil }
        let frames: Int64
        switch toc & 3 {
        case 0: frames = 1
        case 1, 2: frames = 2
        default:
            guard packet.count >= 2 else { return nil }
            frames = Int64(packet[1] & 0x3F)
        }
        let duration = frames * Self.frameNanoseconds(configuration: toc >> 3)
        return duration > 0 && duration <= 120_000_000 ? duration : nil
    }

    /// Whether the packet codes two channels (the `s` bit, RFC 6716 section 3.1); nil if it is empty.
    public static func isStereo(_ packet: UnsafeRawBufferPointer) -> Bool? {
        packet.first.map { $0 & 4 != 0 }
    }

    /// The frame size of a configuration number 0…31 (RFC 6716 table 2).
    private static func frameNanoseconds(configuration: UInt8) -> Int64 {
        let step = configuration & 3
        switch configuration {
        case 0..<12: return [10_000_000, 20_000_000, 40_000_000, 60_000_000][Int(step)]  // SILK
        case 12..<16: return step & 1 == 0 ? 10_000_000 : 20_000_000  // hybrid
        default: return 2_500_000 << Int64(step)  // CELT
        }
    }
}
