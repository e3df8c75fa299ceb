// SPDX-License-Identifier: Apache-2.0

import Glibc

/// An open directory, below which names are looked up without ever following a symbolic link.
final class Directory {
    /// The kind of a directory entry.
    enum Kind {
        case regular(bytes: Int64)
        case directory
        case other
    }

    /// A name in the directory, as the system has it: any bytes but zero and `/`.
    struct Name {
        fileprivate let characters: [CChar]

        /// The name as text; `nil` if it is not UTF-8.
        var text: String? { String(validating: self.characters.dropLast().map(UInt8.init(bitPattern:)), as: UTF8.self) }

        /// A name given as text, zero-terminated for the system.
        init(_ text: some StringProtocol) { self.characters = text.utf8.map(CChar.init(bitPattern:)) + [0] }

        fileprivate init(_ pointer: UnsafePointer<CChar>) {
            self.characters = Array(UnsafeBufferPointer(start: pointer, count: strlen(pointer) + 1))
        }
    }

    let path: String
    private let descriptor: Int32

    private static let flags = O_RDONLY | O_DIRECTORY | O_CLOEXEC

    /// Opens the directory that a trusted path leads to; links on the way are followed.
    init(path: String) throws(StorageError) {
        self.path = path
        self.descriptor = Glibc.open(path, Self.flags)
        guard self.descriptor >= 0 else { throw StorageError(errorNumber: errno, action: "open", path: path) }
    }

    /// Opens a directory in this one; a link is refused.
    init(_ name: Name, in parent: Directory) throws(StorageError) {
        self.path = parent.path + "/" + (name.text ?? "?")
        self.descriptor = openat(parent.descriptor, name.characters, Self.flags | O_NOFOLLOW)
        guard self.descriptor >= 0 else {
            // The kernel's answer for a link.
            let error = errno == ELOOP ? ENOTDIR : errno
            throw StorageError(errorNumber: error, action: "open", path: self.path)
        }
    }

    deinit {
        if self.descriptor >= 0 { _ = Glibc.close(self.descriptor) }
    }

    /// Opens a recording's folder: neither its own name nor its room's may be a link.
    static func of(_ folder: RecordingFolder) throws(StorageError) -> Directory {
        let (room, name) = try Self.room(of: folder)
        return try Directory(name, in: room)
    }

    /// The folder above a recording's, and the recording's name in it.
    static func room(of folder: RecordingFolder) throws(StorageError) -> (Directory, Name) {
        let parts = folder.path.split(separator: "/")
        guard let name = parts.last, folder.path.hasPrefix("/") || parts.count > 1 else {
            throw StorageError(.invalid, "\(folder.path) is not a recording's folder", path: folder.path)
        }
        let root = folder.path.hasPrefix("/") ? "/" : ""
        guard parts.count > 2 else {
            return (try Directory(path: root + parts.dropLast().joined(separator: "/")), Name(name))
        }
        let above = try Directory(path: root + parts.dropLast(2).joined(separator: "/"))
        return (try Directory(Name(parts[parts.count - 2]), in: above), Name(name))
    }

    /// Every name but `.` and `..`, in no order; at most `limit`.
    func names(limit: Int) throws(StorageError) -> [Name] {
        // A separate descriptor: reading moves the position that duplicates share.
        let own = openat(self.descriptor, ".", Self.flags)
        guard own >= 0, let stream = fdopendir(own) else {
            let error = errno
            if own >= 0 { _ = Glibc.close(own) }
            throw StorageError(errorNumber: error, action: "list", path: self.path)
        }
        defer { closedir(stream) }
        var names: [Name] = []
        while names.count < limit {
            errno = 0
            guard let entry = readdir(stream) else {
                // The end, unless there is a number.
                guard errno == 0 else { throw StorageError(errorNumber: errno, action: "list", path: self.path) }
                break
            }
            let name = withUnsafePointer(to: &entry.pointee.d_name) { pointer in
                pointer.withMemoryRebound(to: CChar.self, capacity: 256) { Name($0) }
            }
            if name.text != ".", name.text != ".." { names.append(name) }
        }
        return names
    }

    /// The kind of the entry with a name; links are not followed.
    func kind(of name: Name) throws(StorageError) -> Kind {
        var status = stat()
        guard fstatat(self.descriptor, name.characters, &status, AT_SYMLINK_NOFOLLOW) == 0 else {
            throw StorageError(errorNumber: errno, action: "open", path: self.path + "/" + (name.text ?? "?"))
        }
        return switch status.st_mode & S_IFMT {
        case S_IFREG: .regular(bytes: Int64(status.st_size))
        case S_IFDIR: .directory
        default: .other
        }
    }

    /// Removes a name; an empty directory if `isDirectory`.
    ///
    /// A name that is gone already is as good.
    func remove(_ name: Name, isDirectory: Bool) throws(StorageError) {
        guard unlinkat(self.descriptor, name.characters, isDirectory ? AT_REMOVEDIR : 0) == 0 || errno == ENOENT else {
            throw StorageError(errorNumber: errno, action: "delete", path: self.path + "/" + (name.text ?? "?"))
        }
    }

    /// Returns when the names in it are on the disk, where the file system knows how.
    func synchronise() throws(StorageError) {
        guard retrying({ fsync(self.descriptor) }) != 0 else { return }
        switch errno {
        case EINVAL, ENOTSUP, ENOSYS, EROFS: return
        case let error: throw StorageError(errorNumber: error, action: "synchronise", path: self.path)
        }
    }

    /// Gives a name another one in the same directory.
    func rename(_ name: Name, to other: Name) throws(StorageError) {
        guard renameat(self.descriptor, name.characters, self.descriptor, other.characters) == 0 else {
            throw StorageError(errorNumber: errno, action: "rename", path: self.path + "/" + (name.text ?? "?"))
        }
    }
}
