// SPDX-License-Identifier: Apache-2.0

public import Matroska
internal import Platform

/// A file that is hashed while it is read: a reader that walks over it from beginning to end gets its SHA-256 at no
/// extra cost.
///
/// Reads a megabyte at a time, each byte once as long as the reader goes forward. For one thread at a time.
public final class HashingFile: Source {
    /// The size when it was opened, in bytes.
    public let count: UInt64

    private let file: File
    private let hash = SHA256Hash()
    /// The block that was read last, and where it begins; it ends where the hash is.
    private var block: [UInt8] = []
    private var blockStart: UInt64 = 0

    private static let blockSize = 1 << 20

    /// Hashes an open file.
    public init(_ file: File) {
        self.file = file
        self.count = file.count
    }

    private var hashed: UInt64 { self.blockStart + UInt64(self.block.count) }

    /// Exactly `count` bytes from `offset`, both within the file; fewer if the file was cut in between.
    public func read(offset: UInt64, count: Int) throws -> [UInt8] {
        guard offset < self.count, count > 0 else { return [] }
        let end = offset + min(UInt64(count), self.count - offset)
        guard offset >= self.blockStart else { return try self.file.read(offset: offset, count: Int(end - offset)) }
        while self.hashed < end {
            guard try self.advance(keepingFrom: offset) else { return [] }
        }
        let start = Int(offset - self.blockStart)
        return Array(self.block[start..<(start + Int(end - offset))])
    }

    /// The SHA-256 of the whole file, in 64 hexadecimal digits.
    public func sha256() throws -> String {
        while self.hashed < self.count {
            guard try self.advance(keepingFrom: .max) else {
                throw StorageError(.inputOutput, "\(self.file.path) was cut while it was read", path: self.file.path)
            }
        }
        return self.hash.digest.hexadecimal
    }

    /// Reads and hashes the next block; false at the end.
    private func advance(keepingFrom offset: UInt64) throws -> Bool {
        let start = self.hashed
        let wanted = Int(min(UInt64(Self.blockSize), self.count - min(start, self.count)))
        let next = try self.file.read(offset: start, count: wanted)
        guard !next.isEmpty else { return false }
        self.hash.update(next)
        if offset < start {
            self.block.removeFirst(Int(offset - self.blockStart))
            self.block += next
            self.blockStart = offset
        } else {
            self.block = next
            self.blockStart = start
        }
        return true
    }

    /// The SHA-256 of the first bytes of a file; `nil` if it is shorter.
    public static func sha256(_ path: String, first count: UInt64) throws(StorageError) -> String? {
        let file = try File(path, .read)
        guard file.count >= count else { return nil }
        let hash = SHA256Hash()
        var offset: UInt64 = 0
        while offset < count {
            let bytes: [UInt8]
            do {
                bytes = try file.read(offset: offset, count: Int(min(UInt64(Self.blockSize), count - offset)))
            } catch {
                throw error as? StorageError ?? StorageError(.inputOutput, "\(error)", path: path)
            }
            guard !bytes.isEmpty else { return nil }
            hash.update(bytes)
            offset += UInt64(bytes.count)
        }
        return hash.digest.hexadecimal
    }
}
