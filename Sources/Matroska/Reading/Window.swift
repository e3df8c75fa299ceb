// SPDX-License-Identifier: Apache-2.0

/// A buffered view of a source: reads it in chunks and keeps one.
struct Window<S: Source> {
    private static var chunkSize: Int { 256 << 10 }

    let source: S
    let count: UInt64
    private var start: UInt64 = 0
    private var bytes: [UInt8] = []

    init(_ source: S) {
        self.source = source
        self.count = min(source.count, UInt64(Int64.max))
    }

    /// Up to `limit` bytes at `offset`: fewer only at the end of the source.
    ///
    /// The slice keeps its own storage alive.
    mutating func peek(offset: UInt64, limit: Int) throws(MatroskaError) -> ArraySlice<UInt8> {
        guard offset < self.count else { return [] }
        let wanted = Int(min(UInt64(limit), self.count - offset))
        if offset < self.start || offset + UInt64(wanted) > self.start + UInt64(self.bytes.count) {
            try self.load(offset: offset, count: Int(min(UInt64(max(wanted, Self.chunkSize)), self.count - offset)))
        }
        let position = Int(offset - self.start)
        return self.bytes[position..<(position + wanted)]
    }

    private mutating func load(offset: UInt64, count: Int) throws(MatroskaError) {
        let bytes: [UInt8]
        do {
            bytes = try self.source.read(offset: offset, count: count)
        } catch {
            throw MatroskaError(.sourceFailed, "the file could not be read", offset: offset, cause: error)
        }
        guard bytes.count == count else {
            throw MatroskaError(.sourceFailed, "the file ended while it was read", offset: offset)
        }
        self.start = offset
        self.bytes = bytes
    }
}
