// SPDX-License-Identifier: Apache-2.0

extension VP8 {
    /// Whether the partitions of a frame are as long as its header says (RFC 6386 sections 9.2 to 9.6 and 19.2).
    ///
    /// Every decoder refuses others. A payload that is encrypted behind a header in clear is noise here: three in four
    /// of its frames say that they have partitions that do not fit. A payload that `inspect` rejects as a frame is
    /// rejected here as well.
    static func hasWholePartitions(_ frame: UnsafeRawBufferPointer) -> Bool {
        guard let inspection = Self.inspect(frame) else { return false }
        let head = inspection.isKeyframe ? 10 : 3
        let tag = UInt32(frame[0]) | UInt32(frame[1]) << 8 | UInt32(frame[2]) << 16
        let size = Int(tag >> 5)
        var bits = VP8BoolReader(UnsafeRawBufferPointer(rebasing: frame[head..<(head + size)]))
        if inspection.isKeyframe { bits.skip(2) }  // color_space, clamping_type
        Self.skipSegmentation(&bits)
        bits.skip(1 + 6 + 3)  // filter_type, loop_filter_level, sharpness_level
        if bits.flag(), bits.flag() {
            for _ in 0..<8 where bits.flag() { bits.skip(6 + 1) }  // mode_ref_lf_delta_update
        }
        let count = 1 << bits.read(2)
        var end = head + size + 3 * (count - 1)
        guard end <= frame.count else { return false }
        for index in 0..<(count - 1) {
            let at = head + size + 3 * index
            end += Int(frame[at]) | Int(frame[at + 1]) << 8 | Int(frame[at + 2]) << 16
        }
        return end <= frame.count
    }

    private static func skipSegmentation(_ bits: inout VP8BoolReader) {
        guard bits.flag() else { return }
        let (updatesMap, updatesData) = (bits.flag(), bits.flag())
        if updatesData {
            bits.skip(1)  // segment_feature_mode
            for _ in 0..<4 where bits.flag() { bits.skip(7 + 1) }  // quantizer_update
            for _ in 0..<4 where bits.flag() { bits.skip(6 + 1) }  // loop_filter_update
        }
        if updatesMap {
            for _ in 0..<3 where bits.flag() { bits.skip(8) }  // segment_prob
        }
    }
}

/// Reads bits of even odds that a boolean encoder wrote (RFC 6386 section 7.3); zeros behind the end.
struct VP8BoolReader {
    private let bytes: UnsafeRawBufferPointer
    private var position = 2
    private var value: UInt32
    private var range: UInt32 = 255
    private var shifted = 0

    init(_ bytes: UnsafeRawBufferPointer) {
        self.bytes = bytes
        self.value = 0
        for index in 0..<2 { self.value = self.value << 8 | (index < bytes.count ? UInt32(bytes[index]) : 0) }
    }

    mutating func flag() -> Bool {
        let split = 1 + ((self.range - 1) * 128) >> 8
        let isSet = self.value >= split << 8
        if isSet {
            self.range -= split
            self.value -= split << 8
        } else {
            self.range = split
        }
        while self.range < 128 {
            self.value <<= 1
            self.range <<= 1
            self.shifted += 1
            guard self.shifted == 8 else { continue }
            self.shifted = 0
            if self.position < self.bytes.count { self.value |= UInt32(self.bytes[self.position]) }
            self.position += 1
        }
        return isSet
    }

    mutating func read(_ count: Int) -> Int {
        (0..<count).reduce(0) { value, _ in value << 1 | (self.flag() ? 1 : 0) }
    }

    mutating func skip(_ count: Int) {
        for _ in 0..<count { _ = self.flag() }
    }
}
