// SPDX-License-Identifier: Apache-2.0

/// Reads numbers in network byte order; nil at the end.
struct ByteReader {
    private var rest: ArraySlice<UInt8>

    init(_ bytes: ArraySlice<UInt8>) {
        self.rest = bytes
    }

    var isAtEnd: Bool { self.rest.isEmpty }
    var count: Int { self.rest.count }
    /// Everything that was not read.
    var remaining: ArraySlice<UInt8> { self.rest }

    mutating func bytes(_ count: Int) -> ArraySlice<UInt8>? {
        guard count >= 0, count <= self.rest.count else { return nil }
        defer { self.rest = self.rest.dropFirst(count) }
        return self.rest.prefix(count)
    }

    mutating func uint8() -> UInt8? { self.number() }
    mutating func uint16() -> UInt16? { self.number() }
    mutating func uint32() -> UInt32? { self.number() }

    private mutating func number<Number: FixedWidthInteger>() -> Number? {
        self.bytes(Number.bitWidth / 8)?.reduce(Number.zero) { $0 << 8 | Number(truncatingIfNeeded: $1) }
    }
}

/// Writes numbers in network byte order.
struct ByteWriter {
    private(set) var bytes: [UInt8] = []

    mutating func append(_ number: some FixedWidthInteger) {
        withUnsafeBytes(of: number.bigEndian) { self.bytes.append(contentsOf: $0) }
    }

    mutating func append(_ bytes: some Sequence<UInt8>) {
        self.bytes.append(contentsOf: bytes)
    }

    /// Fills up to a multiple of four bytes.
    mutating func pad() {
        self.bytes.append(contentsOf: repeatElement(0, count: -self.bytes.count & 3))
    }
}

extension UInt32 {
    /// Whether the number is behind another one in a sequence that wraps (RFC 1982).
    func isBehind(_ other: UInt32) -> Bool {
        self != other && self &- other < 1 << 31
    }
}
