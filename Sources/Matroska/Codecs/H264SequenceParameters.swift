// SPDX-License-Identifier: Apache-2.0

/// The part of an H.264 sequence parameter set that recording needs (H.264 section 7.3.2.1.1).
public struct H264SequenceParameters: Sendable, Hashable {
    /// profile_idc: 66 baseline, 77 main, 100 high.
    public var profile: UInt8
    /// The six constraint flags and two zero bits.
    public var constraints: UInt8
    /// level_idc: ten times the level, mostly.
    public var level: UInt8
    /// Chroma format: 0 monochrome, 1 4:2:0, 2 4:2:2, 3 4:4:4.
    public var chromaFormat: UInt8
    /// Bits a luma sample, 8…14.
    public var lumaBitDepth: UInt8
    /// Bits a chroma sample, 8…14.
    public var chromaBitDepth: UInt8
    /// Width after cropping, in pixels.
    public var width: Int
    /// Height after cropping, in pixels.
    public var height: Int
    /// Width and height before cropping, once they were read.
    private var coded: CodedSize?
    /// Whether frames may be shown in another order than that in which they are sent.
    ///
    /// They may not in the baseline profile (H.264 section A.2.1), nor where output order is decoding order (section
    /// 8.2.1.3).
    public var mayReorder: Bool

    /// A frame wider or higher than this is treated as nonsense; level 6.2 allows 16 880.
    static let maximumDimension = 32_768

    /// A parameter set is a few hundred bytes even with every scaling list; more is not looked at.
    private static let maximumParsedSize = 4_096

    /// Parses a NAL unit of type 7, header byte included; nil if it is torn or not sensible.
    public init?(_ unit: UnsafeRawBufferPointer) {
        guard unit.count >= 4, unit[0] & 0x1F == 7 else { return nil }
        self.init(head: unit)
        guard self.parse(unit) else { return nil }
    }

    /// How large frames are that use a sequence parameter set or a subset of one (NAL unit types 7 and 15), without regard to
    /// cropping, which a decoder may ignore; `fits` for units of other types.
    static func codedSize(_ unit: UnsafeRawBufferPointer) -> CodedSize {
        guard let header = unit.first, [7, 15].contains(header & 0x1F) else { return .fits }
        guard unit.count >= 4 else { return .unreadable }
        var parameters = Self(head: unit)
        _ = parameters.parse(unit)
        return parameters.coded ?? .unreadable
    }

    private init(head unit: UnsafeRawBufferPointer) {
        self.profile = unit[1]
        self.constraints = unit[2]
        self.level = unit[3]
        self.chromaFormat = 1
        self.lumaBitDepth = 8
        self.chromaBitDepth = 8
        self.width = 0
        self.height = 0
        self.mayReorder = self.profile != 66
    }

    private mutating func parse(_ unit: UnsafeRawBufferPointer) -> Bool {
        Self.withoutEmulationPrevention(unit).withUnsafeBytes { self.parse(payload: $0) }
    }

    /// Removes the 3 of each `00 00 03` (H.264 section 7.4.1.1), beginning after the level byte.
    private static func withoutEmulationPrevention(_ unit: UnsafeRawBufferPointer) -> [UInt8] {
        var payload: [UInt8] = []
        var zeros = 0
        for byte in unit.dropFirst(4).prefix(Self.maximumParsedSize) {
            if zeros >= 2, byte == 3 {
                zeros = 0
                continue
            }
            zeros = byte == 0 ? zeros + 1 : 0
            payload.append(byte)
        }
        return payload
    }

    private mutating func parse(payload: UnsafeRawBufferPointer) -> Bool {
        var bits = BitReader(payload)
        guard let id = bits.readUnsignedExpGolomb(), id <= 31 else { return false }
        var hasSeparatePlanes = false
        // The profiles that carry a chroma format (H.264 section 7.3.2.1.1).
        if [100, 110, 122, 244, 44, 83, 86, 118, 128, 138, 139, 134, 135].contains(self.profile) {
            guard let format = bits.readUnsignedExpGolomb(), format <= 3 else { return false }
            self.chromaFormat = UInt8(format)
            if format == 3 {
                guard let flag = bits.read(1) else { return false }
                hasSeparatePlanes = flag == 1
            }
            guard let luma = bits.readUnsignedExpGolomb(), luma <= 6,
                let chroma = bits.readUnsignedExpGolomb(), chroma <= 6,
                bits.skip(1), let hasScaling = bits.read(1)
            else { return false }
            self.lumaBitDepth = UInt8(8 + luma)
            self.chromaBitDepth = UInt8(8 + chroma)
            if hasScaling == 1 {
                guard Self.skipScalingLists(&bits, count: format == 3 ? 12 : 8) else { return false }
            }
        }
        guard bits.readUnsignedExpGolomb() != nil, self.parsePictureOrder(&bits),
            bits.readUnsignedExpGolomb() != nil, bits.skip(1)  // max_num_ref_frames, gaps allowed
        else { return false }
        return self.parseSize(&bits, chromaArrayType: hasSeparatePlanes ? 0 : self.chromaFormat)
    }

    private mutating func parseSize(_ bits: inout BitReader, chromaArrayType: UInt8) -> Bool {
        guard let columns = bits.readUnsignedExpGolomb(), let rows = bits.readUnsignedExpGolomb(),
            let isProgressive = bits.read(1)
        else { return false }
        let fields = isProgressive == 1 ? 1 : 2
        let codedWidth = (Int(columns) + 1) * 16
        let codedHeight = (Int(rows) + 1) * 16 * fields
        self.coded = CodedSize(width: codedWidth, height: codedHeight)
        if isProgressive == 0 {
            guard bits.skip(1) else { return false }  // mb_adaptive_frame_field_flag
        }
        guard bits.skip(1), let hasCropping = bits.read(1) else { return false }
        guard codedWidth <= Self.maximumDimension, codedHeight <= Self.maximumDimension else { return false }
        var horizontal = 0
        var vertical = 0
        if hasCropping == 1 {
            guard let left = bits.readUnsignedExpGolomb(), let right = bits.readUnsignedExpGolomb(),
                let top = bits.readUnsignedExpGolomb(), let bottom = bits.readUnsignedExpGolomb()
            else { return false }
            let unitX = chromaArrayType == 1 || chromaArrayType == 2 ? 2 : 1
            let unitY = (chromaArrayType == 1 ? 2 : 1) * fields
            horizontal = (Int(left) + Int(right)) * unitX
            vertical = (Int(top) + Int(bottom)) * unitY
        }
        guard horizontal < codedWidth, vertical < codedHeight else { return false }
        self.width = codedWidth - horizontal
        self.height = codedHeight - vertical
        return true
    }

    /// Reads pic_order_cnt_type, and passes over what follows it.
    private mutating func parsePictureOrder(_ bits: inout BitReader) -> Bool {
        switch bits.readUnsignedExpGolomb() {
        case 0: return bits.readUnsignedExpGolomb() != nil
        case 1:
            guard bits.skip(1), bits.readSignedExpGolomb() != nil, bits.readSignedExpGolomb() != nil,
                let count = bits.readUnsignedExpGolomb(), count <= 255
            else { return false }
            for _ in 0..<count where bits.readSignedExpGolomb() == nil { return false }
            return true
        case 2:
            self.mayReorder = false
            return true
        default: return false
        }
    }

    /// Passes over scaling lists (H.264 section 7.3.2.1.1.1).
    private static func skipScalingLists(_ bits: inout BitReader, count: Int) -> Bool {
        for index in 0..<count {
            guard let isPresent = bits.read(1) else { return false }
            guard isPresent == 1 else { continue }
            var last: Int64 = 8
            var next: Int64 = 8
            for _ in 0..<(index < 6 ? 16 : 64) {
                if next != 0 {
                    guard let delta = bits.readSignedExpGolomb(), (-128...127).contains(delta) else { return false }
                    next = (last + delta + 256) % 256
                }
                if next != 0 { last = next }
            }
        }
        return true
    }
}
