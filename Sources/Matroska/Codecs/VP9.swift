// SPDX-License-Identifier: Apache-2.0

/// How the samples of VP9 frames are coded, which the head of a file says once for all of a track.
public struct VP9Format: Sendable, Hashable {
    /// 0 to 3.
    public var profile: UInt8
    /// Bits a sample: 8, 10 or 12.
    public var bitDepth: UInt8
    /// Whether two columns, and two rows, share their colour.
    public var subsampling: [Bool]

    /// Reads color_config (VP9 bitstream specification section 6.2.2); nil if it is not sensible.
    init?(_ bits: inout BitReader, profile: UInt32) {
        guard let isTwelve = profile >= 2 ? bits.read(1) : 0, let colourSpace = bits.read(3) else { return nil }
        self.profile = UInt8(profile)
        self.bitDepth = profile < 2 ? 8 : isTwelve == 1 ? 12 : 10
        self.subsampling = [true, true]
        let isRGB = colourSpace == 7
        if !isRGB, !bits.skip(1) { return nil }  // color_range
        guard profile == 1 || profile == 3 else {
            if isRGB { return nil }  // it is 4:4:4 only
            return
        }
        if isRGB {
            self.subsampling = [false, false]
        } else {
            guard let columns = bits.read(1), let rows = bits.read(1) else { return nil }
            self.subsampling = [columns == 1, rows == 1]
        }
        guard bits.skip(1) else { return nil }  // reserved_zero
    }
}

/// Facts about VP9 frames and superframes that recording needs.
enum VP9 {
    /// Reads the uncompressed header of the first frame (VP9 bitstream specification section 6.2); nil if it is none.
    ///
    /// In a superframe the first frame decides: a decoder can start there if it is a key frame. The last one is shown,
    /// and in spatial layers it has the largest size.
    static func inspect(_ unit: UnsafeRawBufferPointer) -> UnitInspection? {
        guard var inspection = Self.inspectFirst(unit) else { return nil }
        guard inspection.isKeyframe, let shown = Self.frames(unit)?.last else { return inspection }
        if case .own(let width, let height) = Self.statedSize(shown) {
            (inspection.width, inspection.height) = (width, height)
        }
        return inspection
    }

    private static func inspectFirst(_ frame: UnsafeRawBufferPointer) -> UnitInspection? {
        var bits = BitReader(frame)
        guard bits.read(2) == 2, let low = bits.read(1), let high = bits.read(1) else { return nil }
        let profile = high << 1 | low
        if profile == 3 {
            guard bits.read(1) == 0 else { return nil }
        }
        guard let showsExisting = bits.read(1) else { return nil }
        if showsExisting == 1 { return UnitInspection(isKeyframe: false) }
        guard let frameType = bits.read(1), bits.skip(2) else { return nil }  // show_frame, error_resilient_mode
        if frameType == 1 { return UnitInspection(isKeyframe: false) }
        guard bits.read(24) == 0x49_8342 else { return nil }
        guard let format = VP9Format(&bits, profile: profile) else { return nil }
        guard let width = bits.read(16), let height = bits.read(16) else { return nil }
        var inspection = UnitInspection(isKeyframe: true, width: Int(width) + 1, height: Int(height) + 1)
        inspection.vp9Format = format
        return inspection
    }

    /// The size of every frame of a frame or superframe that states its own, also of those that are no key frames.
    static func codedSize(_ unit: UnsafeRawBufferPointer) -> CodedSize {
        guard let frames = Self.frames(unit) else { return Self.statedSize(unit).codedSize }
        return frames.reduce(.fits) { size, frame in size.and(Self.statedSize(frame).codedSize) }
    }

    /// The frames of a superframe (annex B); nil if it is a frame.
    private static func frames(_ unit: UnsafeRawBufferPointer) -> [UnsafeRawBufferPointer]? {
        guard let marker = unit.last, marker & 0xE0 == 0xC0 else { return nil }
        let (count, width) = (Int(marker & 7) + 1, Int(marker >> 3 & 3) + 1)
        let index = unit.count - 2 - count * width
        guard index >= 0, unit[index] == marker else { return nil }
        var frames: [UnsafeRawBufferPointer] = []
        var start = 0
        for number in 0..<count {
            var size = 0
            for byte in (0..<width).reversed() { size = size << 8 | Int(unit[index + 1 + number * width + byte]) }
            guard size <= index - start else { break }
            if size > 0 { frames.append(UnsafeRawBufferPointer(rebasing: unit[start..<(start + size)])) }
            start += size
        }
        return frames
    }

    /// The frame size in an uncompressed header.
    private enum StatedSize {
        /// Nothing: it is that of another frame.
        case none
        case own(width: Int, height: Int)
        case unreadable

        var codedSize: CodedSize {
            switch self {
            case .none: .fits
            case .own(let width, let height): CodedSize(width: width, height: height)
            case .unreadable: .unreadable
            }
        }
    }

    /// The size in an uncompressed header (section 6.2): a frame that is no key frame has the size of a frame that it refers to,
    /// or its own (section 7.2.5).
    private static func statedSize(_ frame: UnsafeRawBufferPointer) -> StatedSize {
        var bits = BitReader(frame)
        guard bits.read(2) == 2, let low = bits.read(1), let high = bits.read(1) else { return .unreadable }
        let profile = high << 1 | low
        if profile == 3 {
            guard bits.read(1) == 0 else { return .unreadable }
        }
        guard let showsExisting = bits.read(1) else { return .unreadable }
        if showsExisting == 1 { return .none }
        guard let frameType = bits.read(1), let isShown = bits.read(1), let isResilient = bits.read(1) else {
            return .unreadable
        }
        if frameType == 1 {
            guard let isIntra = isShown == 1 ? 0 : bits.read(1), bits.skip(isResilient == 1 ? 0 : 2) else {
                return .unreadable
            }
            guard isIntra == 1 else { return Self.sizeWithReferences(&bits) }
            guard bits.read(24) == 0x49_8342, profile == 0 || VP9Format(&bits, profile: profile) != nil, bits.skip(8)
            else { return .unreadable }
        } else {
            guard bits.read(24) == 0x49_8342, VP9Format(&bits, profile: profile) != nil else { return .unreadable }
        }
        return Self.size(&bits)
    }

    private static func sizeWithReferences(_ bits: inout BitReader) -> StatedSize {
        guard bits.skip(8 + 3 * 4) else { return .unreadable }  // what is refreshed, and three references
        for _ in 0..<3 {
            guard let isOfReference = bits.read(1) else { return .unreadable }
            if isOfReference == 1 { return .none }
        }
        return Self.size(&bits)
    }

    private static func size(_ bits: inout BitReader) -> StatedSize {
        guard let width = bits.read(16), let height = bits.read(16) else { return .unreadable }
        return .own(width: Int(width) + 1, height: Int(height) + 1)
    }
}
