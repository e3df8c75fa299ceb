// SPDX-License-Identifier: Apache-2.0

import Basics
import Matroska
import Testing

@Suite struct SealedUnitsTests {
    /// A unit as an encrypting sender makes it: its first byte, noise, tag, vector, and the vector's size and the key.
    private static func unit(_ index: Int, key: UInt8 = 3) -> [UInt8] {
        let time = UInt32(index * 960)
        let vector = [1, 2, 3, 4] + [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: time >> $0) } + [0, 0, 0, 9]
        return [0x78] + [UInt8](repeating: UInt8(truncatingIfNeeded: index * 37), count: 56) + vector + [12, key]
    }

    private static func count(_ units: [[UInt8]], _ codec: MediaCodec = .opus) -> Int {
        var sealed = SealedUnits()
        for unit in units { unit.withUnsafeBytes { sealed.note($0, codec) } }
        return sealed.count
    }

    @Test(arguments: MediaCodec.allCases)
    func unitsOfOneKeyAreCountedFromTheFirst(codec: MediaCodec) {
        #expect(Self.count((0..<25).map { Self.unit($0) }, codec) == 25)
        #expect(Self.count((0..<9).map { Self.unit($0) }, codec) == 0)
    }

    @Test func eachRowCountsForItself() {
        let clear = (0..<30).map { [UInt8]("clear \($0), and longer than what is appended".utf8) }
        let calls = clear + (0..<12).map { Self.unit($0) } + clear + (12..<21).map { Self.unit($0) } + clear
        #expect(Self.count(calls) == 12)
        #expect(Self.count((0..<10).map { Self.unit($0) } + (10..<20).map { Self.unit($0, key: 4) }) == 20)
    }

    @Test func h264LosesKeyZero() {
        let units = (0..<20).map { [UInt8](Self.unit($0, key: 0).dropLast()) }
        #expect(Self.count(units, .h264) == 20)
        #expect(Self.count(units, .vp9) == 0)
    }

    /// As silence is: each packet has the same bytes, whatever they are.
    @Test func equalUnitsAreNoRow() {
        #expect(Self.count([[UInt8]](repeating: Self.unit(1), count: 50)) == 0)
    }

    @Test func shortUnitsAreNone() {
        for size in 0...31 {
            let units = (1...20).map { [UInt8](([UInt8](repeating: UInt8($0), count: 40) + [12, 3]).suffix(size)) }
            #expect(Self.count(units) == (size > 30 ? 20 : 0), "\(size) bytes")
        }
    }
}
