// SPDX-License-Identifier: Apache-2.0

/// H.264 parameter sets, each a NAL unit with its header byte and without a start code.
public struct H264ParameterSets: Sendable, Hashable {
    /// Sequence parameter sets (NAL unit type 7), in order of appearance.
    public var sequence: [[UInt8]]
    /// Picture parameter sets (NAL unit type 8), in order of appearance.
    public var picture: [[UInt8]]

    /// Sets with each part given.
    public init(sequence: [[UInt8]] = [], picture: [[UInt8]] = []) {
        self.sequence = sequence
        self.picture = picture
    }

    /// Sets out of NAL units of any types.
    public init(units: [[UInt8]]) {
        self.init(
            sequence: units.filter { $0.first.map { $0 & 0x1F == 7 } ?? false },
            picture: units.filter { $0.first.map { $0 & 0x1F == 8 } ?? false }
        )
    }

    /// Width and height in pixels that the first readable sequence parameter set says; nil if none does.
    public var size: (width: Int, height: Int)? {
        for set in self.sequence {
            if let found = set.withUnsafeBytes({ H264SequenceParameters($0) }) { return (found.width, found.height) }
        }
        return nil
    }

    /// Whether frames may be shown in another order than that in which they are sent.
    public var mayReorder: Bool {
        self.sequence.contains { set in set.withUnsafeBytes { H264SequenceParameters($0)?.mayReorder == true } }
    }
}

/// Facts about H.264 access units that recording needs.
public enum H264 {
    /// How the NAL units of an access unit are separated.
    public enum Framing: Sendable, Hashable {
        /// Start codes of 3 or 4 bytes (H.264 annex B), as depayloaders give them.
        case annexB
        /// 4-byte big-endian lengths (ISO/IEC 14496-15), as Matroska files hold them.
        case lengthPrefixed
    }

    /// Parameter sets beyond this number in one access unit are ignored: avcC holds no more.
    static let maximumParameterSets = 31

    /// Replaces start codes by 4-byte lengths and appends the result to `output`; drops trailing zero bytes.
    ///
    /// Callers keep `output` and empty it with `removeAll(keepingCapacity: true)`, so that nothing is allocated.
    /// - Returns: whether there was a NAL unit at all.
    public static func appendLengthPrefixed(_ annexB: UnsafeRawBufferPointer, to output: inout [UInt8]) -> Bool {
        var found = false
        output.reserveCapacity(output.count + annexB.count + 16)
        Self.forEachUnit(annexB, framing: .annexB) { unit in
            found = true
            output.appendBigEndian(UInt64(unit.count), count: 4)
            output.append(contentsOf: unit)
        }
        return found
    }

    /// Appends one NAL unit, which has no start code, behind its length.
    public static func appendLengthPrefixed(unit: [UInt8], to output: inout [UInt8]) {
        output.appendBigEndian(UInt64(unit.count), count: 4)
        output.append(contentsOf: unit)
    }

    /// Calls `body` with each NAL unit that is not empty, header byte first.
    ///
    /// Ends at the first length that does not fit. The buffers are valid during the call only.
    public static func forEachUnit(
        _ accessUnit: UnsafeRawBufferPointer,
        framing: Framing,
        _ body: (UnsafeRawBufferPointer) -> Void
    ) {
        switch framing {
        case .annexB:
            var start = Self.startCode(in: accessUnit, from: 0)
            while let current = start {
                let next = Self.startCode(in: accessUnit, from: current + 3)
                var end = next ?? accessUnit.count
                while end > current + 3, accessUnit[end - 1] == 0 { end -= 1 }
                if end > current + 3 { body(UnsafeRawBufferPointer(rebasing: accessUnit[(current + 3)..<end])) }
                start = next
            }
        case .lengthPrefixed:
            var position = 0
            while accessUnit.count - position >= 4 {
                var length = 0
                for index in position..<(position + 4) { length = length << 8 | Int(accessUnit[index]) }
                position += 4
                guard length <= accessUnit.count - position else { return }
                if length > 0 { body(UnsafeRawBufferPointer(rebasing: accessUnit[position..<(position + length)])) }
                position += length
            }
        }
    }

    /// The position of the next `00 00 01`; a fourth zero before it counts as a trailing zero of the unit before.
    private static func startCode(in bytes: UnsafeRawBufferPointer, from start: Int) -> Int? {
        var index = start + 2
        while index < bytes.count {
            let byte = bytes[index]
            if byte > 1 {
                index += 3
            } else if byte == 0 {
                index += 1
            } else if bytes[index - 1] == 0, bytes[index - 2] == 0 {
                return index - 2
            } else {
                index += 3
            }
        }
        return nil
    }

    /// Looks for parameter sets and for what a decoder can start with; the size is that of the last sequence parameter set.
    ///
    /// A decoder can start at an IDR access unit, and at a recovery point (H.264 section D.2.8): a frame of an open
    /// GOP, or the first of several that refresh the frame step by step. Nil if there is no NAL unit, or one has its
    /// forbidden bit set (H.264 section 7.4.1).
    static func inspect(_ accessUnit: UnsafeRawBufferPointer, framing: Framing) -> UnitInspection? {
        var inspection = UnitInspection(isKeyframe: false)
        var sets = H264ParameterSets()
        var isValid = false
        var isForbidden = false
        var isRecoveryPoint = false
        var slice: SliceHead?
        inspection.hasFrame = false
        Self.forEachUnit(accessUnit, framing: framing) { unit in
            guard let header = unit.first, header & 0x80 == 0 else {
                isForbidden = true
                return
            }
            isValid = true
            switch header & 0x1F {
            case 1...5:
                // A partition of slice data (types 3 and 4) has another head.
                if !inspection.hasFrame, ![3, 4].contains(header & 0x1F) { slice = SliceHead(unit) }
                inspection.hasFrame = true
                if header & 0x1F == 5 { inspection.isKeyframe = true }
            case 6: isRecoveryPoint = isRecoveryPoint || Self.isRecoveryPoint(unit)
            case 7 where sets.sequence.count < Self.maximumParameterSets:
                sets.sequence.append(Array(unit))
                if let parameters = H264SequenceParameters(unit) {
                    inspection.width = parameters.width
                    inspection.height = parameters.height
                }
            case 8 where sets.picture.count < Self.maximumParameterSets: sets.picture.append(Array(unit))
            default: break
            }
        }
        guard isValid, !isForbidden else { return nil }
        if isRecoveryPoint, inspection.hasFrame { inspection.isKeyframe = true }
        inspection.isHeadless = slice.map { $0.firstMacroblock != 0 } ?? false
        if inspection.isKeyframe { inspection.pictureSetID = slice?.pictureSetID }
        if !sets.sequence.isEmpty || !sets.picture.isEmpty { inspection.parameterSets = sets }
        return inspection
    }

    /// How a slice begins (H.264 section 7.3.3).
    private struct SliceHead {
        var firstMacroblock: UInt32
        var pictureSetID: Int

        init?(_ unit: UnsafeRawBufferPointer) {
            // The header is too short for emulation prevention where the first macroblock is 0, which is the case that matters.
            var bits = BitReader(UnsafeRawBufferPointer(rebasing: unit.dropFirst().prefix(16)))
            guard let macroblock = bits.readUnsignedExpGolomb(), bits.readUnsignedExpGolomb() != nil,
                let set = bits.readUnsignedExpGolomb(), set <= 255
            else { return nil }
            self.firstMacroblock = macroblock
            self.pictureSetID = Int(set)
        }
    }

    /// Supplemental information is read up to here: a recovery point comes before the additions of a camera.
    private static let mostInformation = 4_096

    /// Whether a NAL unit of type 6 has a recovery point among its messages (H.264 sections 7.3.2.3.1 and D.1.8).
    private static func isRecoveryPoint(_ unit: UnsafeRawBufferPointer) -> Bool {
        var position = 1
        let end = min(unit.count, Self.mostInformation)
        func number() -> Int? {
            var value = 0
            while position < end {
                let byte = unit[position]
                position += 1
                value += Int(byte)
                if byte != 0xFF { return value }
            }
            return nil
        }
        // The last byte ends the data (rbsp_trailing_bits).
        while position + 1 < end, let type = number(), let size = number() {
            if type == 6 { return true }
            guard size <= end - position else { return false }
            position += size
        }
        return false
    }

    /// The AVCDecoderConfigurationRecord ("avcC", ISO/IEC 14496-15 section 5.3.3) with 4-byte lengths.
    ///
    /// Nil without at least one readable SPS and one PPS, or if one is larger than 65 535 bytes.
    public static func decoderConfiguration(_ sets: H264ParameterSets) -> [UInt8]? {
        let sequence = Self.unique(sets.sequence)
        let picture = Self.unique(sets.picture)
        guard let first = sequence.first, !picture.isEmpty,
            sequence.count <= Self.maximumParameterSets, picture.count <= Self.maximumParameterSets,
            (sequence + picture).allSatisfy({ !$0.isEmpty && $0.count <= 0xFFFF }),
            let parameters = first.withUnsafeBytes({ H264SequenceParameters($0) })
        else { return nil }
        var bytes: [UInt8] = [1, first[1], first[2], first[3], 0xFC | 3, 0xE0 | UInt8(sequence.count)]
        for set in sequence {
            bytes.appendBigEndian(UInt64(set.count), count: 2)
            bytes.append(contentsOf: set)
        }
        bytes.append(UInt8(picture.count))
        for set in picture {
            bytes.appendBigEndian(UInt64(set.count), count: 2)
            bytes.append(contentsOf: set)
        }
        if ![66, 77, 88].contains(parameters.profile) {
            bytes.append(0xFC | parameters.chromaFormat)
            bytes.append(0xF8 | (parameters.lumaBitDepth - 8))
            bytes.append(0xF8 | (parameters.chromaBitDepth - 8))
            bytes.append(0)  // no SPS extensions
        }
        return bytes
    }

    /// The parameter sets in an avcC record; nil if it is not one.
    public static func parameterSets(decoderConfiguration bytes: [UInt8]) -> H264ParameterSets? {
        guard bytes.count >= 7, bytes[0] == 1 else { return nil }
        var position = 5
        func take(_ count: Int) -> [[UInt8]]? {
            var sets: [[UInt8]] = []
            for _ in 0..<count {
                guard bytes.count - position >= 2 else { return nil }
                let length = Int(bytes[position]) << 8 | Int(bytes[position + 1])
                position += 2
                guard bytes.count - position >= length else { return nil }
                sets.append(Array(bytes[position..<(position + length)]))
                position += length
            }
            return sets
        }
        position += 1
        guard let sequence = take(Int(bytes[5] & 0x1F)), position < bytes.count else { return nil }
        let pictureCount = Int(bytes[position])
        position += 1
        guard let picture = take(pictureCount) else { return nil }
        return H264ParameterSets(sequence: sequence, picture: picture)
    }

    private static func unique(_ sets: [[UInt8]]) -> [[UInt8]] {
        var result: [[UInt8]] = []
        for set in sets where !result.contains(set) { result.append(set) }
        return result
    }
}
