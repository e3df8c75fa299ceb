// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import Matroska

@Suite struct EBMLTests {
    static func hex(_ bytes: [UInt8]) -> String {
        bytes.map { byte in String(byte >> 4, radix: 16) + String(byte & 15, radix: 16) }.joined()
    }

    static func encoded(_ body: (inout [UInt8]) -> Void) -> String {
        var bytes: [UInt8] = []
        body(&bytes)
        return Self.hex(bytes)
    }

    @Test(
        arguments: [
            (0, "80"), (1, "81"), (126, "fe"), (127, "407f"), (16_382, "7ffe"), (16_383, "203fff"),
            (2_097_150, "3ffffe"), (2_097_151, "101fffff"), (0xFFF_FFFE, "1ffffffe"), (0xFFF_FFFF, "080fffffff"),
            (0x7_FFFF_FFFE, "0ffffffffe"), (0x3FF_FFFF_FFFE, "07fffffffffe"), (0x1_FFFF_FFFF_FFFE, "03fffffffffffe"),
            (0x1_FFFF_FFFF_FFFF, "0101ffffffffffff"), ([UInt8].maximumElementSize, "01fffffffffffffe"),
        ] as [(UInt64, String)]
    )
    func sizesTakeTheFewestBytes(size: UInt64, expected: String) {
        #expect(Self.encoded { $0.appendElementSize(size) } == expected)
        var bytes: [UInt8] = []
        bytes.appendElementSize(size)
        let decoded = VariableInteger(bytes[...])
        #expect(decoded?.value == size)
        #expect(decoded?.width == bytes.count)
        #expect(decoded?.isAllOnes == false)
    }

    @Test func sizesOfFixedWidth() {
        #expect(Self.encoded { $0.appendElementSize(5, width: 8) } == "0100000000000005")
        #expect(Self.encoded { $0.appendElementSize(5, width: 2) } == "4005")
        #expect(Self.encoded { $0.appendElementSize(300, width: 1) } == "412c")
        #expect(Self.encoded { $0.appendUnknownElementSize() } == "01ffffffffffffff")
        #expect(Self.encoded { $0.appendUnknownElementSize(width: 1) } == "ff")
        #expect(VariableInteger([0xFF])?.isAllOnes == true)
        #expect(ElementHead([0xEC, 0xFF])?.size == nil)
    }

    @Test(arguments: [
        (UInt32(0xEC), "ec"), (0x4286, "4286"), (0x80, "80"), (0x2AD7B1, "2ad7b1"), (0x1A45_DFA3, "1a45dfa3"),
    ])
    func elementIDs(id: UInt32, expected: String) {
        #expect(Self.encoded { $0.appendElementID(id) } == expected)
        var bytes: [UInt8] = []
        bytes.appendElementID(id)
        bytes.append(0x83)
        let head = ElementHead(bytes[...])
        #expect(head?.id == id)
        #expect(head?.size == 3)
        #expect(head?.length == bytes.count)
    }

    @Test(arguments: [
        (UInt64(0), "d78100"), (1, "d78101"), (255, "d781ff"), (256, "d7820100"), (1_000_000, "d7830f4240"),
        (UInt64.max, "d788ffffffffffffffff"),
    ])
    func unsignedNumbers(value: UInt64, expected: String) {
        #expect(Self.encoded { $0.appendUnsigned(0xD7, value) } == expected)
        var bytes: [UInt8] = []
        bytes.appendUnsigned(0xD7, value)
        #expect(bytes.dropFirst(2).ebmlUnsigned == value)
    }

    @Test(arguments: [
        (Int64(0), "fb8100"), (127, "fb817f"), (128, "fb820080"), (-1, "fb81ff"), (-128, "fb8180"), (-129, "fb82ff7f"),
        (Int64.max, "fb887fffffffffffffff"), (Int64.min, "fb888000000000000000"),
    ])
    func signedNumbers(value: Int64, expected: String) {
        #expect(Self.encoded { $0.appendSigned(0xFB, value) } == expected)
        var bytes: [UInt8] = []
        bytes.appendSigned(0xFB, value)
        #expect(bytes.dropFirst(2).ebmlSigned == value)
    }

    @Test func otherTypes() {
        #expect(Self.encoded { $0.appendFloat(0x4489, 1.5) } == "4489883ff8000000000000")
        #expect(Self.encoded { $0.appendFloat(0xB5, 48_000) } == "b58840e7700000000000")
        #expect(Self.encoded { $0.appendDate(0x4461, nanosecondsSince2001: -2) } == "446188fffffffffffffffe")
        #expect(Self.encoded { $0.appendString(0x86, "V_VP8") } == "8685565f565038")
        #expect(Self.encoded { $0.appendString(0x7BA9, "é") } == "7ba982c3a9")
        #expect(Self.encoded { $0.appendBinary(0x63A2, [1, 2, 3]) } == "63a283010203")
        #expect(Self.encoded { $0.appendMaster(0xE0) { $0.appendUnsigned(0xB0, 640) } } == "e084b0820280")
        #expect(([0x3F, 0xC0, 0, 0] as [UInt8])[...].ebmlFloat == 1.5)
        #expect(([1, 2, 3] as [UInt8])[...].ebmlFloat == nil)
        #expect(([0x61, 0x62, 0, 0x63] as [UInt8])[...].ebmlString == "ab")
        #expect([UInt8](repeating: 1, count: 9)[...].ebmlUnsigned == nil)
        #expect(([] as [UInt8])[...].ebmlSigned == 0)
    }

    @Test(arguments: [2, 3, 11, 128, 129, 130, 500])
    func voidsTakeExactlyTheirPlace(total: Int) throws {
        var bytes: [UInt8] = []
        bytes.appendVoid(total: total)
        #expect(bytes.count == total)
        let head = try #require(ElementHead(bytes[...]))
        #expect(head.id == ElementID.void)
        #expect(head.length + Int(try #require(head.size)) == total)
    }

    @Test(
        arguments: [
            [], [0x00], [0x00, 0x81], [0xEC], [0x40, 0x00, 0x81], [0xFF, 0x81], [0x08, 0, 0, 0, 1, 0x81],
            [0x1A, 0x45, 0xDF],
            [0x7F, 0xFF, 0x81], [0xEC, 0x00], [0xEC, 0x40], [0xEC, 0x01, 0, 0, 0, 0, 0, 0],
        ] as [[UInt8]]
    )
    func brokenHeadsAreRefused(bytes: [UInt8]) {
        #expect(ElementHead(bytes[...]) == nil)
    }

    @Test func childrenThatDoNotFitEndTheList() {
        var cursor = ElementCursor([0x83, 0x81, 0x07, 0x86, 0x84, 0x41])
        let first = cursor.next()
        #expect(first?.id == 0x83)
        #expect(first?.content.elementsEqual([7]) == true)
        #expect(cursor.next() == nil)
    }
}
