// SPDX-License-Identifier: Apache-2.0

internal import Basics
import Matroska
import Testing

@Suite struct H264KnownSetsTests {
    /// A sequence parameter set of that id (ue(v) of 0: `1`, of 1: `010`) and a separate size.
    private static let first = CodecTests.SPS(columns: 40, rows: 30).bytes
    private static let otherSize = CodecTests.SPS(columns: 80, rows: 45).bytes
    /// PPS 0 and 1 of sequence parameter set 0: `1 1 …` and `010 1 …`.
    private static let zero: [UInt8] = [0x68, 0b1100_1011, 0x83]
    private static let one: [UInt8] = [0x68, 0b0101_1011, 0x83]
    /// PPS 2 (`011`) of sequence parameter set 1 (`010`).
    private static let stray: [UInt8] = [0x68, 0b0110_1010, 0x83]

    @Test func keepsTheNewestOfEachID() {
        var known = H264KnownSets()
        #expect(known.isEmpty)
        #expect(known.needed(pictureSetID: 0) == nil)
        known.note(H264ParameterSets(sequence: [Self.first]))
        #expect(known.needed(pictureSetID: 0) == nil)
        known.note(H264ParameterSets(picture: [Self.zero, Self.one]))
        #expect(known.needed(pictureSetID: 0) == H264ParameterSets(sequence: [Self.first], picture: [Self.zero]))
        #expect(known.needed(pictureSetID: 1) == H264ParameterSets(sequence: [Self.first], picture: [Self.one]))
        #expect(known.needed(pictureSetID: nil)?.picture == [Self.one])
        known.note(H264ParameterSets(sequence: [Self.otherSize]))
        #expect(known.needed(pictureSetID: 0)?.sequence == [Self.otherSize])
        #expect(known.needed(pictureSetID: 0)?.size.map { [$0.width, $0.height] } == [1280, 720])
        #expect(known.changes == 4)
        known.note(H264ParameterSets(sequence: [Self.otherSize], picture: [Self.zero]))
        #expect(known.changes == 4)
    }

    @Test func aFileBeginsWithAllOfThemThoseOfItsFirstFrameInFront() {
        var known = H264KnownSets()
        known.note(H264ParameterSets(sequence: [Self.first], picture: [Self.zero, Self.one, Self.stray]))
        #expect(
            known.all(pictureSetID: 1) == H264ParameterSets(sequence: [Self.first], picture: [Self.one, Self.zero])
        )
        // It uses a sequence parameter set that never came.
        #expect(known.needed(pictureSetID: 2) == nil)
        #expect(known.all(pictureSetID: 3) == nil)
    }

    @Test func saysWhatAnotherOneLacks() {
        var (known, other) = (H264KnownSets(), H264KnownSets())
        known.note(H264ParameterSets(sequence: [Self.first], picture: [Self.zero, Self.one]))
        other.note(H264ParameterSets(sequence: [Self.otherSize], picture: [Self.one]))
        #expect(known.lacking(in: other) == H264ParameterSets(sequence: [Self.first], picture: [Self.zero]))
        #expect(known.lacking(in: known) == H264ParameterSets())
    }

    @Test(arguments: [[], [0x67], [0x67, 66, 0, 10], [0x68], [0x68, 0], [0x68, 0, 0, 0, 0, 0, 0, 0, 0, 0]])
    func leavesOutWhatCannotBeRead(bytes: [UInt8]) {
        var known = H264KnownSets()
        known.note(H264ParameterSets(sequence: [bytes], picture: [bytes]))
        #expect(known.isEmpty)
    }

    /// A sender with endless sets costs 64 kB.
    @Test func isBounded() {
        var known = H264KnownSets()
        known.note(H264ParameterSets(sequence: [Self.first], picture: [Self.zero]))
        for length in 1...40 {
            known.note(H264ParameterSets(picture: [Self.one + [UInt8](repeating: 7, count: length * 8000)]))
        }
        #expect(known.changes < 20)
        #expect(known.needed(pictureSetID: 0) != nil)
    }

    private static func unit(_ nals: [UInt8]...) -> [UInt8] { nals.flatMap { [0, 0, 0, 1] + $0 } }

    /// Where a decoder may begin: H.264 sections 7.4.1.2.1 and D.2.8.
    @Test(arguments: [
        // An IDR access unit.
        (unit([0x65, 0b1000_1000, 0x84]), true, 0),
        // Its PPS is 1 (`010`), after first_mb_in_slice 0 (`1`) and slice_type 7 (`0001000`).
        (unit([0x65, 0b1000_1000, 0b0100_0000]), true, 1),
        // A recovery point, alone and behind another message.
        (unit([6, 6, 1, 0x84, 0x80], [0x41, 0b1000_1000, 0x84]), true, 0),
        (unit([6, 5, 2, 9, 9, 6, 1, 0x84, 0x80], [0x41, 0b1000_1000, 0x84]), true, 0),
        // Other messages, and one that says it is longer than it is.
        (unit([6, 5, 2, 6, 1, 0x80], [0x41, 0b1000_1000, 0x84]), false, nil),
        (unit([6, 5, 200, 6, 1, 0x84, 0x80], [0x41, 0b1000_1000, 0x84]), false, nil),
        (unit([6, 0xFF, 0xFF, 0xFF], [0x41, 0b1000_1000, 0x84]), false, nil),
        // An I slice says nothing of what comes behind it.
        (unit([0x41, 0b1000_1000, 0x84]), false, nil),
        // A recovery point without a frame.
        (unit([6, 6, 1, 0x84, 0x80]), false, nil),
    ])
    func knowsWhereADecoderMayBegin(bytes: [UInt8], isKeyframe: Bool, pictureSet: Int?) throws {
        let inspection = try #require(CodecTests.inspect(.h264, bytes))
        #expect(inspection.isKeyframe == isKeyframe)
        #expect(inspection.pictureSetID == pictureSet)
        #expect(!inspection.isHeadless)
    }

    @Test func seesWhatOfAFrameIsThere() throws {
        let sets = Self.unit(Self.first, Self.zero)
        #expect(try #require(CodecTests.inspect(.h264, sets)).hasFrame == false)
        #expect(try #require(CodecTests.inspect(.h264, sets + Self.unit([0x41, 0x9A]))).hasFrame)
        // first_mb_in_slice is 1 (`010`): the first slice is missing.
        #expect(try #require(CodecTests.inspect(.h264, Self.unit([0x65, 0b0100_0100, 0x84]))).isHeadless)
        #expect(
            try #require(CodecTests.inspect(.h264, Self.unit([0x65, 0x88, 0x84], [0x65, 0b0100_0100]))).isHeadless
                == false
        )
    }
}
