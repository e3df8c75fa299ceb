// SPDX-License-Identifier: Apache-2.0

import Basics
import Testing

@Suite struct HexadecimalTests {
    @Test func writes() {
        #expect(Hexadecimal.text(of: [0, 10, 255]) == "000aff")
        #expect(Hexadecimal.text(of: [171], uppercase: true) == "AB")
        #expect(Hexadecimal.text(UInt16(0x1A)) == "001a")
        #expect(Hexadecimal.text(UInt64.max) == "ffffffffffffffff")
        #expect(Hexadecimal.text(UInt8(0), uppercase: true) == "00")
    }

    @Test func reads() {
        #expect(Hexadecimal.bytes(of: "00aAfF") == [0, 170, 255])
        #expect(Hexadecimal.bytes(of: "") == [])
        for text in ["0", "0g", "+1", " 1", "١٢"] { #expect(Hexadecimal.bytes(of: text) == nil) }
    }

    @Test func hashIsTheOneOfTheStandard() {
        // From the test vectors of its authors.
        #expect(fnv1a("".utf8) == 0xCBF2_9CE4_8422_2325)
        #expect(fnv1a("a".utf8) == 0xAF63_DC4C_8601_EC8C)
        #expect(fnv1a("foobar".utf8) == 0x8594_4171_F739_67E8)
    }
}
