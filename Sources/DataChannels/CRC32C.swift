// SPDX-License-Identifier: Apache-2.0

/// The checksum of SCTP: CRC-32 with Castagnoli's polynomial (RFC 9260 appendix A).
enum CRC32C {
    private static let table: [UInt32] = (0..<256).map { index in
        (0..<8).reduce(UInt32(index)) { value, _ in value & 1 == 1 ? value >> 1 ^ 0x82F6_3B78 : value >> 1 }
    }

    /// The checksum in the byte order of a packet, as if the bytes of `range` were zero.
    static func bytes(of bytes: [UInt8], clearing range: Range<Int>) -> [UInt8] {
        let table = Self.table
        var sum = UInt32.max
        for index in bytes.indices {
            let byte = range.contains(index) ? 0 : bytes[index]
            sum = sum >> 8 ^ table[Int(UInt8(truncatingIfNeeded: sum) ^ byte)]
        }
        return withUnsafeBytes(of: (~sum).littleEndian) { Array($0) }
    }
}
