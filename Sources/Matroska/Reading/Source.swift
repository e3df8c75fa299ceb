// SPDX-License-Identifier: Apache-2.0

/// Bytes to read from: a file, or memory.
public protocol Source {
    /// The number of bytes there are.
    ///
    /// A reader asks once, so a file that still grows is read up to where it was.
    var count: UInt64 { get }

    /// Reads exactly `count` bytes at `offset`, both within the source; may block.
    func read(offset: UInt64, count: Int) throws -> [UInt8]
}

/// Bytes in memory.
public struct MemorySource: Source, Sendable {
    /// The bytes.
    public var bytes: [UInt8]

    /// A source of these bytes.
    public init(_ bytes: [UInt8]) {
        self.bytes = bytes
    }

    /// The number of bytes.
    public var count: UInt64 { UInt64(self.bytes.count) }

    /// Copies a part of the bytes; what is beyond the end is left out.
    public func read(offset: UInt64, count: Int) -> [UInt8] {
        let start = Int(clamping: offset)
        guard start < self.bytes.count, count > 0 else { return [] }
        return Array(self.bytes[start...].prefix(count))
    }
}
