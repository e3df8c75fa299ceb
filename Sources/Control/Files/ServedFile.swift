// SPDX-License-Identifier: Apache-2.0

import Glibc

/// Bytes of a known length, of which a client may ask for a part.
protocol ServedContent: Sendable {
    /// Its length in bytes.
    var size: Int64 { get }
    /// Seconds since 1970 of the last change.
    var modified: Int64 { get }
    /// A strong entity tag (RFC 9110 section 8.8.3).
    var entityTag: String { get }
    /// Up to `count` bytes from `offset`, which is before the end; none if the content is not what it was.
    ///
    /// Blocks the calling thread.
    func read(offset: Int64, count: Int) throws(ServedFile.Failure) -> [UInt8]
}

/// A regular file that is open for reading.
///
/// No symbolic link is followed inside the folder that the file is looked up in. Closed when the last owner goes.
final class ServedFile: ServedContent {
    /// Why a file is not served.
    enum Failure: Error, Sendable, Hashable {
        /// There is no such regular file.
        case missing
        /// The system refuses; its error number.
        case system(Int32)
    }

    /// Size in bytes at the time of opening.
    let size: Int64
    /// Seconds since 1970 of the last change.
    let modified: Int64
    /// A strong entity tag (RFC 9110 section 8.8.3) of the content at the time of opening.
    let entityTag: String
    private let descriptor: Int32

    /// Opens a file by its folder and its parts below that, none of them empty, `.` or `..`.
    init(folder: String, parts: [String]) throws(Failure) {
        var current = try Self.open(AT_FDCWD, folder, O_DIRECTORY)
        for (index, part) in parts.enumerated() {
            let isLast = index == parts.count - 1
            let next: Int32
            do throws(Failure) {
                // Without O_NONBLOCK opening a FIFO would wait for its writer.
                next = try Self.open(current, part, isLast ? O_NONBLOCK : O_DIRECTORY)
            } catch {
                _ = Glibc.close(current)
                throw error
            }
            _ = Glibc.close(current)
            current = next
        }
        var status = stat()
        guard fstat(current, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
            _ = Glibc.close(current)
            throw .missing
        }
        self.descriptor = current
        self.size = Int64(status.st_size)
        self.modified = Int64(status.st_mtim.tv_sec)
        let numbers = [UInt64(status.st_ino), UInt64(clamping: status.st_size)]
        let time = [Int64(status.st_mtim.tv_sec), Int64(status.st_mtim.tv_nsec)].map { UInt64(bitPattern: $0) }
        self.entityTag = "\"" + (numbers + time).map { String($0, radix: 36) }.joined(separator: "-") + "\""
    }

    deinit {
        _ = Glibc.close(self.descriptor)
    }

    /// Up to `count` bytes from `offset`; fewer only at the end of the file.
    ///
    /// Blocks the calling thread.
    func read(offset: Int64, count: Int) throws(Failure) -> [UInt8] {
        var failure: Int32 = 0
        let bytes = [UInt8](unsafeUninitializedCapacity: count) { buffer, filled in
            while filled < count {
                let rest = UnsafeMutableRawBufferPointer(rebasing: UnsafeMutableRawBufferPointer(buffer)[filled...])
                let got = pread(self.descriptor, rest.baseAddress, rest.count, off_t(offset) + off_t(filled))
                if got < 0, errno == EINTR { continue }
                if got < 0 { failure = errno }
                guard got > 0 else { return }
                filled += got
            }
        }
        guard failure == 0 else { throw .system(failure) }
        return bytes
    }

    private static func open(_ folder: Int32, _ name: String, _ flags: Int32) throws(Failure) -> Int32 {
        while true {
            let descriptor = openat(folder, name, flags | O_RDONLY | O_NOFOLLOW | O_CLOEXEC)
            if descriptor >= 0 { return descriptor }
            switch errno {
            case EINTR: continue
            // ELOOP: a symbolic link. ENXIO: a socket.
            case ENOENT, ENOTDIR, ELOOP, ENAMETOOLONG, ENXIO: throw .missing
            default: throw .system(errno)
            }
        }
    }
}
