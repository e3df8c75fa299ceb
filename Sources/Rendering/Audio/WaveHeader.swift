// SPDX-License-Identifier: Apache-2.0

/// The head of a WAV file with 16 bits, 48 kHz, stereo; beyond 4 GB it is RF64 (EBU Tech 3306).
public enum WaveHeader {
    /// Bytes of the head, the same for both.
    public static let byteCount = 80
    /// Bytes of one frame.
    public static let frameBytes = 4

    /// The head for that many bytes of audio.
    public static func bytes(dataBytes: UInt64) -> [UInt8] {
        let whole = dataBytes &+ UInt64(Self.byteCount - 8)
        let isLarge = whole > UInt64(UInt32.max)
        var head: [UInt8] = []
        head += Array((isLarge ? "RF64" : "RIFF").utf8)
        head += Self.little(isLarge ? UInt64(UInt32.max) : whole, 4)
        head += Array("WAVE".utf8)
        head += Array((isLarge ? "ds64" : "JUNK").utf8)
        head += Self.little(28, 4)
        head += Self.little(isLarge ? whole : 0, 8)
        head += Self.little(isLarge ? dataBytes : 0, 8)
        head += Self.little(isLarge ? dataBytes / UInt64(Self.frameBytes) : 0, 8)
        head += Self.little(0, 4)
        head += Array("fmt ".utf8)
        head += Self.little(16, 4)
        head += Self.little(1, 2)  // PCM
        head += Self.little(2, 2)  // channels
        head += Self.little(48_000, 4)
        head += Self.little(48_000 * UInt64(Self.frameBytes), 4)
        head += Self.little(UInt64(Self.frameBytes), 2)
        head += Self.little(16, 2)
        head += Array("data".utf8)
        head += Self.little(isLarge ? UInt64(UInt32.max) : dataBytes, 4)
        return head
    }

    /// Interleaved samples as 16 bits, rounded.
    public static func pcm(_ samples: [Float]) -> [UInt8] {
        [UInt8](unsafeUninitializedCapacity: samples.count * 2) { bytes, count in
            for (index, sample) in samples.enumerated() {
                let value = Int16(max(-32_768, min(32_767, (sample.isFinite ? sample : 0) * 32_768)).rounded())
                let bits = UInt16(bitPattern: value)
                bytes[index * 2] = UInt8(truncatingIfNeeded: bits)
                bytes[index * 2 + 1] = UInt8(truncatingIfNeeded: bits >> 8)
            }
            count = samples.count * 2
        }
    }

    private static func little(_ value: UInt64, _ count: Int) -> [UInt8] {
        (0..<count).map { UInt8(truncatingIfNeeded: value >> (8 * UInt64($0))) }
    }
}
