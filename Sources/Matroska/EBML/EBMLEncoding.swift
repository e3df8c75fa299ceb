// SPDX-License-Identifier: Apache-2.0

/// EBML coding (RFC 8794): each function appends one element, or a part of one, to a byte array.
extension [UInt8] {
    /// The largest size that an EBML element can state (RFC 8794 section 6): 2^56 - 2.
    static let maximumElementSize: UInt64 = (1 << 56) - 2

    /// The number of bytes of the shortest size field for `size`; all ones is reserved (RFC 8794 section 6.2).
    static func elementSizeWidth(_ size: UInt64) -> Int {
        var width = 1
        while width < 8, size >= (1 << UInt64(7 * width)) - 1 { width += 1 }
        return width
    }

    mutating func appendElementID(_ id: UInt32) {
        if id > 0xFF_FFFF { self.append(UInt8(truncatingIfNeeded: id >> 24)) }
        if id > 0xFFFF { self.append(UInt8(truncatingIfNeeded: id >> 16)) }
        if id > 0xFF { self.append(UInt8(truncatingIfNeeded: id >> 8)) }
        self.append(UInt8(truncatingIfNeeded: id))
    }

    /// Appends a size field of `width` bytes (1…8), or of the shortest width that holds `size`.
    mutating func appendElementSize(_ size: UInt64, width: Int? = nil) {
        let width = Swift.max(width ?? 1, Self.elementSizeWidth(size))
        self.appendBigEndian(size | 1 << UInt64(7 * width), count: width)
    }

    /// Appends the reserved size "unknown": all data bits one (RFC 8794 section 6.2).
    mutating func appendUnknownElementSize(width: Int = 8) {
        self.appendBigEndian((1 << UInt64(7 * width + 1)) - 1, count: width)
    }

    /// Appends the `count` (0…8) low bytes of `value`, the most significant first.
    mutating func appendBigEndian(_ value: UInt64, count: Int) {
        var shift = UInt64(8 * count)
        while shift > 0 {
            shift -= 8
            self.append(UInt8(truncatingIfNeeded: value >> shift))
        }
    }

    mutating func appendLittleEndian(_ value: UInt64, count: Int) {
        for index in 0..<UInt64(count) { self.append(UInt8(truncatingIfNeeded: value >> (8 * index))) }
    }

    /// Appends an unsigned integer in the fewest bytes, at least `minimumWidth` (RFC 8794 section 7.2).
    mutating func appendUnsigned(_ id: UInt32, _ value: UInt64, minimumWidth: Int = 1) {
        let width = Swift.max(minimumWidth, (71 - value.leadingZeroBitCount) / 8)
        self.appendElementID(id)
        self.appendElementSize(UInt64(width))
        self.appendBigEndian(value, count: width)
    }

    /// Appends a two's complement integer in the fewest bytes (RFC 8794 section 7.1).
    mutating func appendSigned(_ id: UInt32, _ value: Int64) {
        let significant = 65 - (value < 0 ? ~value : value).leadingZeroBitCount
        let width = Swift.max(1, (significant + 7) / 8)
        self.appendElementID(id)
        self.appendElementSize(UInt64(width))
        self.appendBigEndian(UInt64(bitPattern: value), count: width)
    }

    /// Appends an IEEE 754 number of 8 bytes (RFC 8794 section 7.3).
    mutating func appendFloat(_ id: UInt32, _ value: Double) {
        self.appendElementID(id)
        self.appendElementSize(8)
        self.appendBigEndian(value.bitPattern, count: 8)
    }

    /// Appends nanoseconds since 2001-01-01T00:00:00 UTC in 8 bytes (RFC 8794 section 7.6).
    mutating func appendDate(_ id: UInt32, nanosecondsSince2001 value: Int64) {
        self.appendElementID(id)
        self.appendElementSize(8)
        self.appendBigEndian(UInt64(bitPattern: value), count: 8)
    }

    mutating func appendString(_ id: UInt32, _ value: String) {
        self.appendElementID(id)
        self.appendElementSize(UInt64(value.utf8.count))
        self.append(contentsOf: value.utf8)
    }

    mutating func appendBinary(_ id: UInt32, _ value: [UInt8]) {
        self.appendElementID(id)
        self.appendElementSize(UInt64(value.count))
        self.append(contentsOf: value)
    }

    /// Appends a master element whose children `body` appends.
    mutating func appendMaster(_ id: UInt32, sizeWidth: Int? = nil, _ body: (inout [UInt8]) -> Void) {
        var children: [UInt8] = []
        body(&children)
        self.appendElementID(id)
        self.appendElementSize(UInt64(children.count), width: sizeWidth)
        self.append(contentsOf: children)
    }

    /// Appends a Void element that takes exactly `total` bytes, head included; `total` is at least 2.
    mutating func appendVoid(total: Int) {
        self.appendElementID(ElementID.void)
        if total <= 128 {
            self.appendElementSize(UInt64(Swift.max(0, total - 2)))
            self.append(contentsOf: repeatElement(0, count: Swift.max(0, total - 2)))
        } else {
            self.appendElementSize(UInt64(total - 9), width: 8)
            self.append(contentsOf: repeatElement(0, count: total - 9))
        }
    }
}
