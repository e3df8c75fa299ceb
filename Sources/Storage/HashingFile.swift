// SPDX-License-Identifier: Apache-2.0

public import Matroska
internal import Platform

/// A file that is hashed while it is read: a reader that walks over it from beginning to end gets its SHA-256 at no
/// extra cost.
///
/// Keeps no bytes. For one thread at a time.
public final class HashingFile: Source {
    /// The size when it was opened, in bytes.
    public let count: UInt64

    private let file: File
    private let hash = SHA256Hash()
    /// How many bytes are hashed, from the beginning on.
    private var hashed: UInt64 = 0

    private static let blockSize = 1 << 20

    /// Hashes an open file.
    public init(_ file: File) {
        self.file = file
        self.count = file.count
    }

    /// How many bytes at its end nothing has read.
    public var unread: UInt64 { self.count - self.hashed }

    /// Exactly `count` bytes from `offset`, both within the file; fewer if the file was cut in between.
    public func read(offset: UInt64, count: Int) throws -> [UInt8] {
        guard offset < self.count, count > 0 else { return [] }
        try self.advance(to: offset)
        let bytes = try self.file.read(offset: offset, count: Int(min(UInt64(count), self.count - offset)))
        let known = Int(clamping: self.hashed - offset)
        if known < bytes.count {
            bytes.withUnsafeBytes { self.hash.update(UnsafeRawBufferPointer(rebasing: $0[known...])) }
            self.hashed = offset + UInt64(bytes.count)
        }
        return bytes
    }

    /// The SHA-256 of the whole file, in 64 hexadecimal digits.
    public func sha256() throws -> String {
        try self.advance(to: self.count)
        return self.hash.digest.hexadecimal
    }

    /// Hashes what nothing has read yet, up to an offset.
    private func advance(to end: UInt64) throws {
        while self.hashed < end {
            let wanted = Int(min(UInt64(Self.blockSize), end - self.hashed))
            let bytes = try self.file.read(offset: self.hashed, count: wanted)
            guard !bytes.isEmpty else {
                throw StorageError(.inputOutput, "\(self.file.path) was cut while it was read", path: self.file.path)
            }
            self.hash.update(bytes)
            self.hashed += UInt64(bytes.count)
        }
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
