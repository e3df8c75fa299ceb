// SPDX-License-Identifier: Apache-2.0

internal import Basics
import TestSupport
import Testing

@testable import Matroska

/// The size that is looked at before a decoder gets a unit.
@Suite struct CodedSizeTests {
    private static func size(_ codec: MediaCodec, _ bytes: [UInt8], framing: H264.Framing = .annexB) -> CodedSize {
        bytes.withUnsafeBytes { Bitstream.codedSize(codec, $0, framing: framing) }
    }

    private static func vp8(_ width: Int, _ height: Int) -> [UInt8] {
        [
            0x50, 0, 0, 0x9D, 0x01, 0x2A, UInt8(width & 0xFF), UInt8(width >> 8), UInt8(height & 0xFF),
            UInt8(height >> 8), 9, 9,
        ]
    }

    @Test func vp8() {
        #expect(Self.size(.vp8, Self.vp8(1920, 1080)) == .fits)
        #expect(Self.size(.vp8, Self.vp8(4096, 4096)) == .fits)
        #expect(Self.size(.vp8, Self.vp8(4096, 4097)) == .tooLarge(width: 4096, height: 4097))
        #expect(Self.size(.vp8, Self.vp8(16383, 16383)) == .tooLarge(width: 16383, height: 16383))
        #expect(Self.size(.vp8, [0x51, 0, 0, 1, 2]) == .fits)
        #expect(Self.size(.vp8, [0x50]) == .unreadable)
    }

    /// An uncompressed header up to the size; `isOfReference` says for each of three references whether the size is its own.
    private static func vp9(
        isIntra: Bool = false,
        profile: UInt64 = 0,
        isOfReference: [Bool] = [false, false, false],
        _ width: Int,
        _ height: Int
    ) -> [UInt8] {
        var bits = BitWriter()
        bits.write(2, 2)
        bits.write(profile & 1, 1)
        bits.write(profile >> 1, 1)
        bits.write(0b01, 2)  // no frame of before, no key frame
        bits.write(isIntra ? 0 : 1, 1)  // show_frame
        bits.write(0, 1)  // error_resilient_mode
        if isIntra { bits.write(1, 1) }
        bits.write(0, 2)  // reset_frame_context
        if isIntra {
            bits.write(0x49_8342, 24)
            if profile == 1 { bits.write(0b0010000, 7) }
        }
        bits.write(0xFF, 8)
        if !isIntra { bits.write(0, 12) }
        for isSame in isIntra ? [] : isOfReference {
            bits.write(isSame ? 1 : 0, 1)
            if isSame { break }
        }
        bits.write(UInt64(width - 1), 16)
        bits.write(UInt64(height - 1), 16)
        return bits.bytes
    }

    private static func superframe(_ frames: [UInt8]...) -> [UInt8] {
        let marker = 0xC8 | UInt8(frames.count - 1)
        return frames.flatMap { $0 } + [marker] + frames.flatMap { [UInt8($0.count & 0xFF), UInt8($0.count >> 8)] } + [
            marker
        ]
    }

    @Test func vp9StatesItInFramesOfAnyKind() {
        let large = CodedSize.tooLarge(width: 16383, height: 16383)
        let key = CodecTests.vp9Keyframe(profile: 0, colourSpace: 2, width: 16383, height: 16383)
        #expect(Self.size(.vp9, key) == large)
        #expect(Self.size(.vp9, CodecTests.vp9Keyframe(profile: 2, colourSpace: 2, width: 640, height: 360)) == .fits)
        #expect(Self.size(.vp9, Self.vp9(16383, 16383)) == large)
        #expect(Self.size(.vp9, Self.vp9(640, 360)) == .fits)
        #expect(Self.size(.vp9, Self.vp9(isOfReference: [false, true], 16383, 16383)) == .fits)
        for profile in [UInt64(0), 1] {
            #expect(Self.size(.vp9, Self.vp9(isIntra: true, profile: profile, 16383, 16383)) == large)
            #expect(Self.size(.vp9, Self.vp9(isIntra: true, profile: profile, 640, 360)) == .fits)
        }
        #expect(Self.size(.vp9, [0b1000_1000]) == .fits)
        for count in 0..<(key.count - 1) { #expect(Self.size(.vp9, Array(key.prefix(count))) == .unreadable) }
    }

    @Test func vp9StatesItInEachFrameOfASuperframe() {
        let small = CodecTests.vp9Keyframe(profile: 0, colourSpace: 2, width: 320, height: 180)
        #expect(Self.size(.vp9, Self.superframe(small, Self.vp9(640, 360))) == .fits)
        let found = Self.size(.vp9, Self.superframe(small, Self.vp9(640, 360), Self.vp9(16383, 16383)))
        #expect(found == .tooLarge(width: 16383, height: 16383))
    }

    private static let start: [UInt8] = [0, 0, 0, 1]

    @Test func h264StatesItBeforeCropping() throws {
        let small = CodecTests.SPS().bytes
        // Cropped to 16 x 16: a decoder needs memory for all of it.
        let large = CodecTests.SPS(columns: 1024, rows: 1024, crop: [8184, 0, 8184, 0]).bytes
        let expected = CodedSize.tooLarge(width: 16384, height: 16384)
        #expect(try #require(large.withUnsafeBytes { H264SequenceParameters($0) }).width == 16)
        #expect(Self.size(.h264, Self.start + small) == .fits)
        #expect(Self.size(.h264, Self.start + small + Self.start + large) == expected)
        #expect(
            Self.size(.h264, Self.start + [0x6F] + large.dropFirst()) == expected,
            "a subset of a sequence parameter set"
        )
        #expect(
            Self.size(.h264, Array(Self.start.prefix(3)) + [UInt8(large.count)] + large, framing: .lengthPrefixed)
                == expected
        )
        #expect(H264ParameterSets(sequence: [small, large]).codedSize == expected)
        let nonsense = CodecTests.SPS(columns: 5_000, rows: 5_000, crop: [1 << 20, 0, 0, 0]).bytes
        #expect(Self.size(.h264, Self.start + nonsense) == .tooLarge(width: 80_000, height: 80_000))
        let endless = CodecTests.SPS(columns: 1 << 31, rows: 1 << 31).bytes
        #expect(Self.size(.h264, Self.start + endless) == .tooLarge(width: 1 << 35, height: 1 << 35))
        #expect(Self.size(.h264, Self.start + small.prefix(5)) == .unreadable)
        #expect(Self.size(.h264, [0, 0, 1, 0x65, 0x88]) == .fits)
    }

    @Test func soundHasNone() {
        for codec in [MediaCodec.opus, .pcmu, .pcma] { #expect(Self.size(codec, [1, 2, 3]) == .fits) }
    }

    @Test(arguments: [MediaCodec.vp8, .vp9, .h264])
    func noBytesTrap(codec: MediaCodec) {
        var random = SeededGenerator(seed: 113)
        for count in 0..<2000 {
            var bytes = (0..<(count % 40)).map { _ in UInt8.random(in: 0...255, using: &random) }
            if codec == .h264 { bytes = [0, 0, 1, 0x67] + bytes }
            if codec == .vp9, let first = bytes.indices.first { bytes[first] = 0x80 | bytes[first] & 0x3F }
            _ = Self.size(codec, bytes)
            _ = Self.size(codec, bytes, framing: .lengthPrefixed)
        }
    }
}
