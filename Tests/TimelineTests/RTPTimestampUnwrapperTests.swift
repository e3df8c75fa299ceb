// SPDX-License-Identifier: Apache-2.0

import Testing
import Timeline

@Suite struct RTPTimestampUnwrapperTests {
    @Test(
        arguments: [
            ([5, 10, 15], [5, 10, 15]),
            ([0xFFFF_FFF0, 0x10], [0xFFFF_FFF0, 0x1_0000_0010]),
            ([0x10, 0xFFFF_FFF0, 0x20], [0x10, -0x10, 0x20]),
            ([0, 0x7FFF_FFFF], [0, 0x7FFF_FFFF]),
            ([0, 0x8000_0000], [0, -0x8000_0000]),
            ([0, 0x8000_0001], [0, -0x7FFF_FFFF]),
            ([100, 90, 95, 110], [100, 90, 95, 110]),
            ([0xF000_0000, 0x6000_0000, 0xD000_0000], [0xF000_0000, 0x1_6000_0000, 0x1_D000_0000]),
        ] as [([UInt32], [Int64])]
    )
    func unwraps(timestamps: [UInt32], expected: [Int64]) {
        var unwrapper = RTPTimestampUnwrapper()
        #expect(timestamps.map { unwrapper.unwrap($0) } == expected)
    }

    @Test func followsManyWraps() {
        var unwrapper = RTPTimestampUnwrapper()
        var clock: Int64 = 0xFFFF_0000
        for _ in 0..<50 {
            #expect(unwrapper.unwrap(UInt32(truncatingIfNeeded: clock)) == clock)
            clock += 1_000_000_007
        }
    }

    @Test func keepsLowBits() {
        var generator = SystemRandomNumberGenerator()
        var unwrapper = RTPTimestampUnwrapper()
        for _ in 0..<1000 {
            let timestamp = UInt32.random(in: 0...UInt32.max, using: &generator)
            #expect(UInt32(truncatingIfNeeded: unwrapper.unwrap(timestamp)) == timestamp)
        }
    }

    @Test func survivesTheEndsOfInt64() {
        #expect(RTPTimestampUnwrapper.nearest(0, to: .max) == .min)
        #expect(RTPTimestampUnwrapper.nearest(1, to: .min) == .min + 1)
    }
}
