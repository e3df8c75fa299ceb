// SPDX-License-Identifier: Apache-2.0

internal import Basics
import TestSupport
import Testing

@testable import Matroska

@Suite struct CodecTests {
    static func inspect(_ codec: MediaCodec, _ bytes: [UInt8], framing: H264.Framing = .annexB) -> UnitInspection? {
        bytes.withUnsafeBytes { Bitstream.inspect(codec, $0, framing: framing) }
    }

    @Test func vp8KeyframeGivesItsSize() {
        // Frame tag: key frame, version 0, shown, first partition of 2 bytes; 640x360, scale bits set.
        let frame: [UInt8] = [0x50, 0, 0, 0x9D, 0x01, 0x2A, 0x80, 0x42, 0x68, 0xC1, 9, 9]
        #expect(Self.inspect(.vp8, frame) == UnitInspection(isKeyframe: true, width: 640, height: 360))
    }

    @Test func vp8InterframeHasNoSize() {
        #expect(Self.inspect(.vp8, [0x51, 0, 0, 1, 2]) == UnitInspection(isKeyframe: false))
    }

    @Test(
        arguments: [
            [], [0x50], [0x50, 0, 0], [0x50, 0, 0, 0x9D, 0x01, 0x2B, 0x80, 2, 0x68, 1, 9, 9],
            [0x50, 0, 0, 0x9D, 0x01, 0x2A, 0, 0, 0x68, 1, 9, 9],  // no width
            [0x50, 0, 0, 0x9D, 0x01, 0x2A, 0x80, 2, 0x68, 1, 9],  // first partition cut
            [0x5F, 0, 0, 1, 2],  // version 7
        ] as [[UInt8]]
    )
    func vp8NonsenseIsRefused(frame: [UInt8]) {
        #expect(Self.inspect(.vp8, frame) == nil)
    }

    static func vp9Keyframe(profile: UInt64, colourSpace: UInt64, width: Int, height: Int) -> [UInt8] {
        var bits = BitWriter()
        bits.write(2, 2)
        bits.write(profile & 1, 1)
        bits.write(profile >> 1, 1)
        if profile == 3 { bits.write(0, 1) }
        bits.write(0, 1)  // show_existing_frame
        bits.write(0, 1)  // key frame
        bits.write(0b10, 2)
        bits.write(0x49_8342, 24)
        if profile >= 2 { bits.write(1, 1) }
        bits.write(colourSpace, 3)
        let hasSubsampling = profile == 1 || profile == 3
        if colourSpace != 7 {
            bits.write(0, hasSubsampling ? 4 : 1)
        } else if hasSubsampling {
            bits.write(0, 1)
        }
        bits.write(UInt64(width - 1), 16)
        bits.write(UInt64(height - 1), 16)
        return bits.bytes
    }

    @Test(arguments: [UInt64(0), 1, 2, 3], [UInt64(2), 7])
    func vp9KeyframeGivesItsSizeAndFormat(profile: UInt64, colourSpace: UInt64) {
        let frame = Self.vp9Keyframe(profile: profile, colourSpace: colourSpace, width: 1_280, height: 721)
        let found = Self.inspect(.vp9, frame)
        if colourSpace == 7, profile.isMultiple(of: 2) {
            #expect(found == nil)
        } else {
            #expect(found?.isKeyframe == true && found?.width == 1_280 && found?.height == 721)
            #expect(found?.vp9Format?.profile == UInt8(profile))
            #expect(found?.vp9Format?.bitDepth == (profile < 2 ? 8 : 12))
            #expect(found?.vp9Format?.subsampling == (profile.isMultiple(of: 2) ? [true, true] : [false, false]))
        }
        for count in 0..<(frame.count - 1) { #expect(Self.inspect(.vp9, Array(frame.prefix(count))) == nil) }
    }

    /// A keyframe in spatial layers: the last frame is shown, and is predicted from the first.
    @Test func aPictureInLayersHasTheSizeOfTheLastOne() {
        let base = Self.vp9Keyframe(profile: 0, colourSpace: 2, width: 320, height: 180)
        var bits = BitWriter()
        bits.write(0b1000_0111, 8)  // an inter frame that is shown, error resilient
        bits.write(0, 8 + 3 * 4 + 3)  // what it refreshes and refers to, none of which has its size
        bits.write(639, 16)
        bits.write(359, 16)
        bits.write(0, 6)
        let index: [UInt8] = [0xC1, UInt8(base.count), UInt8(bits.bytes.count), 0xC1]
        let found = Self.inspect(.vp9, base + bits.bytes + index)
        #expect(found?.isKeyframe == true && found?.width == 640 && found?.height == 360)
    }

    @Test func vp9OtherFrames() {
        #expect(Self.inspect(.vp9, [0b1000_0110]) == UnitInspection(isKeyframe: false))  // inter frame
        #expect(Self.inspect(.vp9, [0b1000_1000]) == UnitInspection(isKeyframe: false))  // shows an earlier one
        #expect(Self.inspect(.vp9, [0b0100_0110]) == nil)  // frame marker
        #expect(Self.inspect(.vp9, [0b1000_0010, 1, 2, 3, 4, 5, 6, 7, 8]) == nil)  // sync code
    }

    struct SPS {
        var profile: UInt64 = 66
        var columns: UInt64 = 80
        var rows: UInt64 = 45
        var chroma: UInt64 = 1
        var isSeparate = false
        var depth: UInt64 = 0
        var hasScaling = false
        var orderType: UInt64 = 0
        var isProgressive = true
        var crop: [UInt64]?

        var bytes: [UInt8] {
            var bits = BitWriter()
            bits.ue(0)
            if self.profile >= 100 {
                bits.ue(self.chroma)
                if self.chroma == 3 { bits.write(self.isSeparate ? 1 : 0, 1) }
                bits.ue(self.depth)
                bits.ue(self.depth)
                bits.write(0, 1)
                bits.write(self.hasScaling ? 1 : 0, 1)
                if self.hasScaling { self.writeScalingLists(&bits) }
            }
            bits.ue(4)
            bits.ue(self.orderType)
            if self.orderType == 0 { bits.ue(2) }
            if self.orderType == 1 {
                bits.write(0, 1)
                for offset in [-3, 1] as [Int64] { bits.se(offset) }
                bits.ue(2)
                for offset in [7, -9] as [Int64] { bits.se(offset) }
            }
            bits.ue(1)
            bits.write(0, 1)
            bits.ue(self.columns - 1)
            bits.ue(self.rows - 1)
            bits.write(self.isProgressive ? 1 : 0, 1)
            if !self.isProgressive { bits.write(0, 1) }
            bits.write(1, 1)
            bits.write(self.crop == nil ? 0 : 1, 1)
            for side in self.crop ?? [] { bits.ue(side) }
            bits.write(0, 1)
            bits.write(1, 1)
            return Self.escaped([0x67, UInt8(self.profile), 0, 31] + bits.bytes)
        }

        private func writeScalingLists(_ bits: inout BitWriter) {
            for index in 0..<(self.chroma == 3 ? 12 : 8) {
                guard index != 2 else {
                    bits.write(0, 1)
                    continue
                }
                bits.write(1, 1)
                if index == 1 {
                    bits.se(-8)  // next scale zero: the rest repeats
                } else {
                    for step in 0..<(index < 6 ? 16 : 64) { bits.se(step.isMultiple(of: 2) ? 3 : -3) }
                }
            }
        }

        /// Inserts emulation prevention bytes.
        private static func escaped(_ bytes: [UInt8]) -> [UInt8] {
            var result: [UInt8] = []
            var zeros = 0
            for byte in bytes {
                if zeros == 2, byte <= 3 {
                    result.append(3)
                    zeros = 0
                }
                zeros = byte == 0 ? zeros + 1 : 0
                result.append(byte)
            }
            return result
        }
    }

    @Test(arguments: [
        (SPS(), 1_280, 720),
        (SPS(columns: 120, rows: 68, crop: [0, 0, 0, 4]), 1_920, 1_080),
        (SPS(profile: 77, columns: 120, rows: 34, isProgressive: false, crop: [0, 0, 0, 2]), 1_920, 1_080),
        (SPS(profile: 100, columns: 40, rows: 23, hasScaling: true, crop: [1, 2, 3, 1]), 634, 360),
        (SPS(profile: 122, columns: 40, rows: 23, chroma: 2, depth: 2, crop: [0, 0, 0, 8]), 640, 360),
        (SPS(profile: 244, columns: 40, rows: 23, chroma: 3, hasScaling: true, crop: [0, 1, 0, 8]), 639, 360),
        (SPS(profile: 244, columns: 40, rows: 23, chroma: 3, isSeparate: true, crop: [0, 1, 0, 8]), 639, 360),
        (SPS(profile: 100, columns: 4, rows: 4, chroma: 0, crop: [0, 1, 0, 1]), 63, 63),
        (SPS(orderType: 1), 1_280, 720), (SPS(orderType: 2), 1_280, 720),
    ])
    func h264SizesAndCropping(sps: SPS, width: Int, height: Int) throws {
        let bytes = sps.bytes
        let parameters = try #require(bytes.withUnsafeBytes { H264SequenceParameters($0) })
        #expect(parameters.width == width)
        #expect(parameters.height == height)
        #expect(UInt64(parameters.profile) == sps.profile)
        #expect(UInt64(parameters.lumaBitDepth) == 8 + sps.depth)
        #expect(parameters.chromaFormat == (sps.profile >= 100 ? UInt8(sps.chroma) : 1))
        // Everything but the last byte, which holds flags behind the size and padding, is needed.
        for count in 0..<(bytes.count - 2) {
            #expect(bytes.prefix(count).withUnsafeBytes { H264SequenceParameters($0) } == nil)
        }
    }

    @Test(arguments: [
        SPS(columns: 5_000), SPS(rows: 5_000), SPS(columns: 1 << 31), SPS(crop: [400, 400, 0, 0]),
        SPS(crop: [0, 0, 1 << 31, 1 << 31]), SPS(profile: 100, chroma: 4), SPS(profile: 100, depth: 7),
        SPS(orderType: 3),
    ])
    func h264NonsenseSizesAreRefused(sps: SPS) {
        #expect(sps.bytes.withUnsafeBytes { H264SequenceParameters($0) } == nil)
    }

    @Test func expGolombIsBounded() {
        var bits = BitWriter()
        bits.ue(0)
        bits.ue(1 << 32 - 2)
        bits.se(-7)
        bits.write(0, 40)
        let bytes = bits.bytes
        bytes.withUnsafeBytes { buffer in
            var reader = BitReader(buffer)
            #expect(reader.readUnsignedExpGolomb() == 0)
            #expect(reader.readUnsignedExpGolomb() == UInt32.max - 1)
            #expect(reader.readSignedExpGolomb() == -7)
            #expect(reader.readUnsignedExpGolomb() == nil)
            #expect(reader.readUnsignedExpGolomb() == nil)
        }
    }

    static let pps: [UInt8] = [0x68, 0xCE, 0x3C, 0x80]

    @Test func h264StartCodesBecomeLengths() {
        let annexB: [UInt8] = [
            0, 0, 0, 1, 0x67, 1, 2, 0, 0, 1, 0x68, 3, 0, 0, 0, 0, 0, 1, 0, 0, 1, 0x65, 0, 0, 3, 0, 9, 0, 0,
        ]
        var output: [UInt8] = [0xAA]
        #expect(annexB.withUnsafeBytes { H264.appendLengthPrefixed($0, to: &output) })
        let expected: [UInt8] = [0xAA, 0, 0, 0, 3, 0x67, 1, 2, 0, 0, 0, 2, 0x68, 3, 0, 0, 0, 6, 0x65, 0, 0, 3, 0, 9]
        #expect(output == expected)
        output.removeAll(keepingCapacity: true)
        let nothing: [UInt8] = [0, 0, 2, 1, 0, 0, 0, 0, 1]
        #expect(!nothing.withUnsafeBytes { H264.appendLengthPrefixed($0, to: &output) })
        #expect(output.isEmpty)
    }

    @Test func h264AccessUnitIsInspectedInBothFramings() throws {
        let sps = SPS().bytes
        let annexB: [UInt8] = [0, 0, 0, 1] + sps + [0, 0, 1] + Self.pps + [0, 0, 1, 0x65, 0x88, 0x84]
        let inspection = try #require(Self.inspect(.h264, annexB))
        #expect(inspection.isKeyframe)
        #expect(inspection.width == 1_280)
        #expect(inspection.height == 720)
        #expect(inspection.parameterSets == H264ParameterSets(sequence: [sps], picture: [Self.pps]))
        var prefixed: [UInt8] = []
        #expect(annexB.withUnsafeBytes { H264.appendLengthPrefixed($0, to: &prefixed) })
        #expect(Self.inspect(.h264, prefixed, framing: .lengthPrefixed) == inspection)
        #expect(Self.inspect(.h264, [0, 0, 1, 0x41, 0x9A]) == UnitInspection(isKeyframe: false))
        #expect(Self.inspect(.h264, [0, 0, 1, 0xC1, 0x9A]) == nil)  // forbidden bit
        #expect(Self.inspect(.h264, [1, 2, 3, 4]) == nil)
        #expect(Self.inspect(.h264, [0xFF, 0xFF, 0xFF, 0xFF, 0x65], framing: .lengthPrefixed) == nil)
    }

    @Test func h264DecoderConfigurationIsByteExact() throws {
        let baseline = SPS().bytes
        let record = try #require(
            H264.decoderConfiguration(H264ParameterSets(sequence: [baseline, baseline], picture: [Self.pps]))
        )
        #expect(
            record == [1, 66, 0, 31, 0xFF, 0xE1, 0, UInt8(baseline.count)] + baseline + [1, 0, 4] + Self.pps
        )
        let high = SPS(profile: 122, chroma: 2, depth: 2).bytes
        let highSets = H264ParameterSets(sequence: [high], picture: [Self.pps])
        let highRecord = try #require(H264.decoderConfiguration(highSets))
        #expect(highRecord.suffix(4) == [0xFE, 0xFA, 0xFA, 0])
        #expect(H264.parameterSets(decoderConfiguration: highRecord) == highSets)
        for count in 0..<(record.count) {
            #expect(H264.parameterSets(decoderConfiguration: Array(record.prefix(count))) == nil)
        }
        #expect(H264.decoderConfiguration(H264ParameterSets(sequence: [baseline])) == nil)
        #expect(H264.decoderConfiguration(H264ParameterSets(sequence: [[0x67]], picture: [Self.pps])) == nil)
    }

    @Test func opusHeadIsByteExact() {
        #expect(
            EBMLTests.hex(Opus.head(channels: 2, preSkip: 312, inputSampleRate: 48_000))
                == "4f70757348656164" + "01" + "02" + "3801" + "80bb0000" + "0000" + "00"
        )
    }

    @Test(
        arguments: [
            ([0x00], 10_000_000), ([0x18], 60_000_000), ([0x60], 10_000_000), ([0x78], 20_000_000),
            ([0x80], 2_500_000), ([0xF8], 20_000_000), ([0xF9], 40_000_000), ([0xFA], 40_000_000),
            ([0xFB, 0x03], 60_000_000), ([0xFB, 0x86], 120_000_000), ([0xFB, 0x07], nil), ([0xFB, 0x00], nil),
            ([0x1B, 0x02], 120_000_000), ([0x1B, 0x03], nil), ([0xFB], nil), ([], nil),
        ] as [([UInt8], Int64?)]
    )
    func opusDurations(packet: [UInt8], expected: Int64?) {
        #expect(packet.withUnsafeBytes { Opus.durationNanoseconds(of: $0) } == expected)
        #expect(Self.inspect(.opus, packet)?.durationNanoseconds == expected)
        #expect((Self.inspect(.opus, packet) == nil) == (expected == nil))
    }

    @Test func opusChannels() {
        #expect([UInt8(0xFC)].withUnsafeBytes { Opus.isStereo($0) } == true)
        #expect([UInt8(0xF8)].withUnsafeBytes { Opus.isStereo($0) } == false)
        #expect([UInt8]().withUnsafeBytes { Opus.isStereo($0) } == nil)
    }

    @Test func g711WaveFormatIsByteExact() {
        #expect(
            EBMLTests.hex(G711.privateData(.pcmu)) == "0700" + "0100" + "401f0000" + "401f0000" + "0100" + "08000000"
        )
        #expect(
            EBMLTests.hex(G711.privateData(.pcma, channels: 2)).hasPrefix("0600" + "0200" + "401f0000" + "803e0000")
        )
        for codec in [MediaCodec.pcmu, .pcma] { #expect(G711.codec(privateData: G711.privateData(codec)) == codec) }
        #expect(G711.codec(privateData: [1, 0]) == nil)
        #expect(G711.codec(privateData: [UInt8](repeating: 1, count: 18)) == nil)
        #expect(G711.durationNanoseconds(byteCount: 160) == 20_000_000)
        #expect(G711.durationNanoseconds(byteCount: 0) == nil)
        #expect(Self.inspect(.pcma, [UInt8](repeating: 0, count: 80))?.durationNanoseconds == 10_000_000)
    }

    @Test func randomUnitsNeverTrap() {
        var random = SeededGenerator(seed: 7)
        let starts: [[UInt8]] = [
            [], [0, 0, 1, 0x67, 100, 0, 31], [0, 0, 1, 0x67, 244], [0x50, 0, 0, 0x9D, 1, 0x2A],
            [0x82, 0x49, 0x83, 0x42],
            [0, 0, 0, 30, 0x67, 100],
        ]
        var understood = 0
        for round in 0..<20_000 {
            let count = Int(random.next() % 40)
            let unit = starts[round % starts.count] + (0..<count).map { _ in UInt8(truncatingIfNeeded: random.next()) }
            for codec in MediaCodec.allCases {
                if let size = Self.inspect(codec, unit)?.width {
                    understood += 1
                    #expect(size > 0 && size <= 65_536)
                }
            }
            _ = Self.inspect(.h264, unit, framing: .lengthPrefixed)
            _ = H264.parameterSets(decoderConfiguration: unit)
        }
        #expect(understood > 0)
    }
}
