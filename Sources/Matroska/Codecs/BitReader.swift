// SPDX-License-Identifier: Apache-2.0

/// Reads bits, the most significant first, and exp-Golomb numbers; every read past the end is nil.
///
/// Valid only while the buffer that it was made from is.
struct BitReader {
    private let bytes: UnsafeRawBufferPointer
    private var position = 0

    init(_ bytes: UnsafeRawBufferPointer) {
        self.bytes = bytes
    }

    private var remaining: Int { self.bytes.count * 8 - self.position }

    /// The next `count` (0…32) bits.
    mutating func read(_ count: Int) -> UInt32? {
        guard count <= self.remaining else { return nil }
        var value: UInt32 = 0
        for _ in 0..<count {
            let bit = self.bytes[self.position >> 3] >> UInt8(7 - self.position & 7) & 1
            value = value << 1 | UInt32(bit)
            self.position += 1
        }
        return value
    }

    /// Passes over `count` bits; false if there are fewer.
    mutating func skip(_ count: Int) -> Bool {
        guard count <= self.remaining else { return false }
        self.position += count
        return true
    }

    /// ue(v) of H.264 section 9.1, up to 2^32 - 2.
    mutating func readUnsignedExpGolomb() -> UInt32? {
        var zeros = 0
        while true {
            guard let bit = self.read(1) else { return nil }
            if bit == 1 { break }
            zeros += 1
            guard zeros < 32 else { return nil }
        }
        guard let rest = self.read(zeros) else { return nil }
        return UInt32((UInt64(1) << UInt64(zeros)) - 1 + UInt64(rest))
    }

    /// se(v) of H.264 section 9.1.1.
    mutating func readSignedExpGolomb() -> Int64? {
        guard let code = self.readUnsignedExpGolomb() else { return nil }
        let magnitude = Int64((UInt64(code) + 1) / 2)
        return code & 1 == 1 ? magnitude : -magnitude
    }
}
