// SPDX-License-Identifier: Apache-2.0

/// Builds bitstreams for tests, the most significant bit first.
struct BitWriter {
    private var bits: [UInt8] = []

    mutating func write(_ value: UInt64, _ count: Int) {
        for shift in (0..<count).reversed() { self.bits.append(UInt8(value >> UInt64(shift) & 1)) }
    }

    /// Writes ue(v).
    mutating func ue(_ value: UInt64) {
        let width = 64 - (value + 1).leadingZeroBitCount
        self.write(0, width - 1)
        self.write(value + 1, width)
    }

    /// Writes se(v).
    mutating func se(_ value: Int64) {
        self.ue(value > 0 ? UInt64(2 * value - 1) : UInt64(-2 * value))
    }

    /// The bits, padded with zeros.
    var bytes: [UInt8] {
        stride(from: 0, to: self.bits.count, by: 8).map { start in
            (0..<8).reduce(0) { byte, index in
                byte << 1 | (start + index < self.bits.count ? self.bits[start + index] : 0)
            }
        }
    }
}
