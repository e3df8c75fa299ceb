// SPDX-License-Identifier: Apache-2.0

import Glibc
public import Matroska

/// An open file, read and written at explicit offsets without a buffer.
///
/// Every call is one or more system calls on the calling thread; interrupted and short ones are continued. Different
/// ranges may be used from different threads.
public final class File: Sendable, Source {
    /// The access for which a file is opened.
    public enum Mode: Sendable, Hashable {
        /// To read what is there.
        case read
        /// To write a file that must not exist yet.
        case create
        /// To continue or create a file; `append` then writes at its end.
        case append
        /// To write a file from its beginning; it keeps its content until `truncate`.
        case overwrite
    }

    /// The path it was opened with.
    public let path: String
    /// For system calls of others, while they have the file.
    public let descriptor: Int32

    /// A path that leads to this file in this process, also when it has no name any more (proc(5), `/proc/self/fd`).
    public var namelessPath: String { "/proc/self/fd/\(self.descriptor)" }

    /// Opens a file; a new one is readable by its owner and group only.
    ///
    /// A symbolic link at the path is refused as `invalid`: it would lead out of the storage. Opening a pipe does not
    /// block.
    public init(_ path: String, _ mode: Mode) throws(StorageError) {
        let flags =
            switch mode {
            case .read: O_RDONLY
            case .create: O_RDWR | O_CREAT | O_EXCL
            case .append: O_RDWR | O_CREAT | O_APPEND
            case .overwrite: O_RDWR | O_CREAT
            }
        let descriptor = retrying { Glibc.open(path, flags | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0o640) }
        guard descriptor >= 0 else {
            throw StorageError(errorNumber: errno, action: mode == .read ? "open" : "create", path: path)
        }
        self.path = path
        self.descriptor = descriptor
    }

    deinit {
        // Nothing is buffered here, so nothing that close reports can be acted on.
        _ = Glibc.close(self.descriptor)
    }

    /// The size in bytes at this moment; zero when the system does not say.
    public var count: UInt64 {
        var status = stat()
        guard fstat(self.descriptor, &status) == 0 else { return 0 }
        return UInt64(clamping: status.st_size)
    }

    /// What distinguishes one content of a path from another without reading either.
    public struct State: Sendable, Hashable {
        fileprivate let device: UInt64
        fileprivate let inode: UInt64
        fileprivate let size: Int64
        fileprivate let changed: Duration
    }

    /// The state of the content at this moment: whatever changes from now on changes it as well.
    ///
    /// `nil` if that is not certain: the file changed just now, and the system may give a later change the same time, or the
    /// system does not say.
    public var state: State? {
        var (status, now) = (stat(), timespec())
        guard fstat(self.descriptor, &status) == 0, clock_gettime(CLOCK_REALTIME, &now) == 0 else { return nil }
        return State(status, now: Duration(now))
    }

    /// Up to `count` bytes from `offset`; fewer only at the end of the file.
    public func read(offset: UInt64, count: Int) throws -> [UInt8] {
        guard let start = off_t(exactly: offset), count > 0 else { return [] }
        let wanted = Int(min(UInt64(count), self.count >= offset ? self.count - offset : 0))
        var failure: Int32 = 0
        let bytes = [UInt8](unsafeUninitializedCapacity: wanted) { buffer, filled in
            while filled < wanted {
                let rest = UnsafeMutableRawBufferPointer(rebasing: UnsafeMutableRawBufferPointer(buffer)[filled...])
                let got = retrying { pread(self.descriptor, rest.baseAddress, rest.count, start + off_t(filled)) }
                if got < 0 { failure = errno }
                guard got > 0 else { return }
                filled += got
            }
        }
        guard failure == 0 else { throw StorageError(errorNumber: failure, action: "read", path: self.path) }
        return bytes
    }

    /// Everything from the beginning to the end, at most `limit` bytes; also of files whose size the system does not
    /// say, such as those of /proc.
    func readAll(limit: Int) throws(StorageError) -> [UInt8] {
        var bytes: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: min(limit, 1 << 16))
        while bytes.count < limit {
            let got = chunk.withUnsafeMutableBytes { buffer in
                retrying { pread(self.descriptor, buffer.baseAddress, buffer.count, off_t(bytes.count)) }
            }
            guard got >= 0 else { throw StorageError(errorNumber: errno, action: "read", path: self.path) }
            if got == 0 { break }
            bytes += chunk.prefix(min(got, limit - bytes.count))
        }
        return bytes
    }

    /// Writes two buffers one after the other at an offset, in one system call if the system takes all.
    public func write(
        _ head: UnsafeRawBufferPointer,
        _ body: UnsafeRawBufferPointer,
        at offset: UInt64
    ) throws(StorageError) {
        let total = head.count + body.count
        guard let start = off_t(exactly: offset) else {
            throw StorageError(errorNumber: EFBIG, action: "write", path: self.path)
        }
        var done = 0
        while done < total {
            let headRest = UnsafeRawBufferPointer(rebasing: head.dropFirst(done))
            let bodyRest = UnsafeRawBufferPointer(rebasing: body.dropFirst(max(0, done - head.count)))
            var parts = (iovec(headRest), iovec(bodyRest))
            let written = withUnsafeBytes(of: &parts) { bytes in
                retrying {
                    pwritev(
                        self.descriptor,
                        bytes.assumingMemoryBound(to: iovec.self).baseAddress,
                        2,
                        start + off_t(done)
                    )
                }
            }
            guard written > 0 else {
                throw StorageError(errorNumber: written < 0 ? errno : EIO, action: "write", path: self.path)
            }
            done += written
        }
    }

    /// Writes bytes at an offset.
    public func write(_ bytes: [UInt8], at offset: UInt64) throws(StorageError) {
        try withRawBytes(bytes) { buffer throws(StorageError) in
            try self.write(buffer, UnsafeRawBufferPointer(start: nil, count: 0), at: offset)
        }
    }

    /// Appends bytes with a single system call; returns how many the system took.
    func append(_ bytes: [UInt8]) throws(StorageError) -> Int {
        let written = bytes.withUnsafeBytes { buffer in
            retrying { Glibc.write(self.descriptor, buffer.baseAddress, buffer.count) }
        }
        guard written >= 0 else { throw StorageError(errorNumber: errno, action: "write", path: self.path) }
        return written
    }

    /// Cuts the file to a size.
    public func truncate(to size: UInt64) throws(StorageError) {
        guard retrying({ ftruncate(self.descriptor, off_t(clamping: size)) }) == 0 else {
            throw StorageError(errorNumber: errno, action: "truncate", path: self.path)
        }
    }

    /// Removes the file if it is still at its path; best effort.
    public func remove() {
        if self.isStillAtPath() { _ = unlink(self.path) }
    }

    /// Returns when the content is on the disk; `synchroniseFolder` does the same for the file's name.
    public func synchronise() throws(StorageError) {
        let number = retrying({ fdatasync(self.descriptor) }) == 0 ? 0 : errno
        if let failure = self.failure(ofSynchronisation: number) { throw failure }
    }

    /// The failure that an error number of a synchronisation by another says; nil for 0, which is none.
    public func failure(ofSynchronisation number: Int32) -> StorageError? {
        number == 0 ? nil : StorageError(errorNumber: number, action: "synchronise", path: self.path)
    }

    /// Takes the file's exclusive lock, held until the file is closed; false when another process holds it.
    public func lock() throws(StorageError) -> Bool {
        guard retrying({ flock(self.descriptor, LOCK_EX | LOCK_NB) }) != 0 else { return true }
        guard errno == EWOULDBLOCK else { throw StorageError(errorNumber: errno, action: "lock", path: self.path) }
        return false
    }

    /// Whether another process holds the file's exclusive lock; takes a shared one for the moment.
    public func isLocked() -> Bool {
        guard retrying({ flock(self.descriptor, LOCK_SH | LOCK_NB) }) == 0 else { return errno == EWOULDBLOCK }
        _ = flock(self.descriptor, LOCK_UN)
        return false
    }

    /// Whether the path still leads to this very file, and not to one that took its place.
    public func isStillAtPath() -> Bool {
        var (here, there) = (stat(), stat())
        return fstat(self.descriptor, &here) == 0 && stat(self.path, &there) == 0
            && here.st_ino == there.st_ino && here.st_dev == there.st_dev
    }

    /// Whether the path leads to this file no longer: it was deleted, or it or a folder above it was renamed or replaced.
    ///
    /// False where the system does not know at the moment.
    public func isGone() -> Bool {
        var (here, there) = (stat(), stat())
        guard fstat(self.descriptor, &here) == 0 else { return false }
        guard here.st_nlink > 0 else { return true }
        guard stat(self.path, &there) == 0 else { return errno == ENOENT || errno == ENOTDIR }
        return here.st_ino != there.st_ino || here.st_dev != there.st_dev
    }

    /// Replaces a small file atomically: readers see the old or the new one.
    ///
    /// Returns when it is on the disk, under its name.
    public static func replace(_ path: String, with bytes: [UInt8]) throws(StorageError) {
        let parts = path.split(separator: "/", omittingEmptySubsequences: false)
        // A separate name for each writer: two at once must not share a half-written file.
        let name = ".\(parts.last ?? "")-\(RecordingID.random())"
        let temporary = (parts.dropLast() + [Substring(name)]).joined(separator: "/")
        do throws(StorageError) {
            let file = try File(temporary, .create)
            try file.write(bytes, at: 0)
            try Self.rename(temporary, to: path)
        } catch {
            _ = unlink(temporary)
            throw error
        }
    }

    /// Renames a file over another in the same folder, atomically.
    ///
    /// Returns when its content and its name are on the disk: the content comes first, so that a power cut leaves the
    /// old file or the new one.
    public static func rename(_ path: String, to target: String) throws(StorageError) {
        do throws(StorageError) {
            try File(path, .read).synchronise()
        } catch {
            // A link has no content.
            guard error.code == .invalid else { throw error }
        }
        guard Glibc.rename(path, target) == 0 else {
            throw StorageError(errorNumber: errno, action: "rename \(path) to", path: target)
        }
        try Self.synchroniseFolder(Self.folder(of: target))
    }

    /// Returns when the names in a folder are on the disk.
    ///
    /// Some file systems know no such call; their names are as safe as they get.
    static func synchroniseFolder(_ path: String) throws(StorageError) {
        try Directory(path: path).synchronise()
    }

    /// The folder that a path's last name is in.
    static func folder(of path: String) -> String {
        let parts = path.split(separator: "/", omittingEmptySubsequences: false).dropLast()
        return parts.isEmpty ? "." : parts == [""] ? "/" : parts.joined(separator: "/")
    }
}

/// Repeats a system call that a signal interrupted.
func retrying<Result: SignedInteger>(_ call: () -> Result) -> Result {
    while true {
        let result = call()
        if result >= 0 || errno != EINTR { return result }
    }
}

/// `withUnsafeBytes` that keeps the type of the error.
func withRawBytes<Value>(
    _ bytes: [UInt8],
    _ body: (UnsafeRawBufferPointer) throws(StorageError) -> Value
) throws(StorageError) -> Value {
    let result = bytes.withUnsafeBytes { buffer -> Result<Value, StorageError> in
        do throws(StorageError) {
            return .success(try body(buffer))
        } catch {
            return .failure(error)
        }
    }
    return try result.get()
}

extension File.State {
    /// The system counts the time of a change in ticks of up to 10 ms, and some file systems in seconds, or in two.
    private static let (tick, coarsest) = (Duration.milliseconds(10), Duration.seconds(2))

    init?(_ status: stat, now: Duration) {
        self.changed = Duration(status.st_ctim)
        guard self.changed + (status.st_ctim.tv_nsec == 0 ? Self.coarsest : Self.tick) < now else { return nil }
        self.device = UInt64(status.st_dev)
        self.inode = UInt64(status.st_ino)
        self.size = Int64(status.st_size)
    }
}

extension Duration {
    fileprivate init(_ time: timespec) {
        self = .seconds(time.tv_sec) + .nanoseconds(time.tv_nsec)
    }
}

extension iovec {
    fileprivate init(_ buffer: UnsafeRawBufferPointer) {
        self.init(iov_base: UnsafeMutableRawPointer(mutating: buffer.baseAddress), iov_len: buffer.count)
    }
}
