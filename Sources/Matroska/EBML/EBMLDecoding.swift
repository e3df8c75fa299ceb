// SPDX-License-Identifier: Apache-2.0

/// The id and size before an element's content (RFC 8794 sections 5 and 6).
struct ElementHead: Equatable {
    /// The most bytes that a head takes: 4 of id, 8 of size.
    static let maximumLength = 12

    var id: UInt32
    /// Content size in bytes; nil if it is unknown.
    var size: UInt64?
    var idLength: Int
    var sizeWidth: Int

    var length: Int { self.idLength + self.sizeWidth }

    /// Decodes the head at the start of `bytes`; nil if it is cut off or not valid.
    init?(_ bytes: ArraySlice<UInt8>) {
        guard let first = bytes.first else { return nil }
        let idLength = first.leadingZeroBitCount + 1
        guard idLength <= 4, bytes.count > idLength else { return nil }
        let id = bytes.prefix(idLength).reduce(UInt32(0)) { $0 << 8 | UInt32($1) }
        let idMask = (UInt32(1) << UInt32(7 * idLength)) - 1
        // All zeros is reserved too, and yet 0x80 is ChapterDisplay.
        guard id & idMask != 0 || idLength == 1, id & idMask != idMask else { return nil }
        let rest = bytes.dropFirst(idLength)
        guard let size = VariableInteger(rest) else { return nil }
        self.id = id
        self.size = size.isAllOnes ? nil : size.value
        self.idLength = idLength
        self.sizeWidth = size.width
    }
}

/// A number with its width in its leading zero bits (RFC 8794 section 4).
struct VariableInteger: Equatable {
    var value: UInt64
    var width: Int

    /// Decodes the number at the start of `bytes`; nil if it is cut off or longer than 8 bytes.
    init?(_ bytes: ArraySlice<UInt8>) {
        guard let first = bytes.first else { return nil }
        let width = first.leadingZeroBitCount + 1
        guard width <= 8, bytes.count >= width else { return nil }
        var value: UInt64 = 0
        for byte in bytes.prefix(width) { value = value << 8 | UInt64(byte) }
        self.value = value & ((1 << UInt64(7 * width)) - 1)
        self.width = width
    }

    /// Whether all data bits are one, which means "unknown" in a size.
    var isAllOnes: Bool { self.value == (1 << UInt64(7 * self.width)) - 1 }

    /// The signed number of EBML lacing (RFC 9559 section 10.3.2): the middle of the range is zero.
    var signed: Int64 { Int64(self.value) - ((1 << Int64(7 * self.width - 1)) - 1) }
}

/// Decodes element contents (RFC 8794 section 7); nil if the size does not suit the type.
extension ArraySlice<UInt8> {
    var ebmlUnsigned: UInt64? {
        guard self.count <= 8 else { return nil }
        return self.reduce(0) { $0 << 8 | UInt64($1) }
    }

    var ebmlSigned: Int64? {
        guard let value = self.ebmlUnsigned, let first = self.first else { return self.isEmpty ? 0 : nil }
        let isNegative = first & 0x80 != 0 && self.count < 8
        return Int64(bitPattern: isNegative ? value | ~0 << UInt64(8 * self.count) : value)
    }

    var ebmlFloat: Double? {
        switch self.count {
        case 0: 0
        case 4: self.ebmlUnsigned.map { Double(Float(bitPattern: UInt32(truncatingIfNeeded: $0))) }
        case 8: self.ebmlUnsigned.map { Double(bitPattern: $0) }
        default: nil
        }
    }

    /// Text up to the first zero byte; bytes that are not UTF-8 become U+FFFD.
    var ebmlString: String { String(decoding: self.prefix { $0 != 0 }, as: UTF8.self) }
}

/// Walks the children of an element that is in memory; ends at the first one that does not fit.
struct ElementCursor {
    private var rest: ArraySlice<UInt8>

    init(_ content: ArraySlice<UInt8>) {
        self.rest = content
    }

    mutating func next() -> (id: UInt32, content: ArraySlice<UInt8>)? {
        guard let head = ElementHead(self.rest), let size = head.size else { return nil }
        let body = self.rest.dropFirst(head.length)
        guard size <= UInt64(body.count) else { return nil }
        self.rest = body.dropFirst(Int(size))
        return (head.id, body.prefix(Int(size)))
    }
}
