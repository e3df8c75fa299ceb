// SPDX-License-Identifier: Apache-2.0

import Glibc

extension RecordingFolder {
    /// Entries that the kernel shows there are no files (`hier(7)`).
    private static let kernelDirectories = ["/proc", "/sys"]

    /// Throws what keeps a path from being a storage directory, in words for the operator; makes nothing.
    ///
    /// Directories that are missing can be made. Throws `system` for a link to nothing: its disk may be mounted later.
    public static func checkStorage(_ path: String) throws(StorageError) {
        guard !path.isEmpty else { throw StorageError(.invalid, "the storage directory has no name", path: path) }
        var existing = path.hasPrefix("/") ? "/" : "."
        var index = path.startIndex
        while index < path.endIndex {
            index = path[path.index(after: index)...].firstIndex(of: "/") ?? path.endIndex
            let part = String(path[..<index])
            guard try Self.isDirectory(part) else { break }
            existing = part
        }
        try Self.requireWritable(existing)
        // Whatever has the place of what is in it.
        if try Self.isDirectory(path), try Self.isDirectory(path + "/recordings") {
            try Self.requireWritable(path + "/recordings")
        }
    }

    /// Throws unless a path is a directory, in words for the operator.
    public static func requireStorage(_ path: String) throws(StorageError) {
        guard try Self.isDirectory(path) else {
            throw StorageError(.notFound, "there is no directory \(path): name the storage directory", path: path)
        }
    }

    /// Whether there is a directory, or nothing; throws if something else is there, or if it cannot be found out.
    private static func isDirectory(_ path: String) throws(StorageError) -> Bool {
        var status = stat()
        guard stat(path, &status) != 0 else {
            if status.st_mode & S_IFMT == S_IFDIR { return true }
            let kind = status.st_mode & S_IFMT == S_IFREG ? "a file" : "neither a directory nor a file"
            let remedy = "move it away, or name another storage directory"
            throw StorageError(.invalid, "\(path) is \(kind), where a directory must be: \(remedy)", path: path)
        }
        let number = errno
        if number == ELOOP {
            throw StorageError(.invalid, "\(path) is a link that leads back to itself: remove it", path: path)
        }
        guard number == ENOENT else { throw StorageError(errorNumber: number, action: "open", path: path) }
        guard let target = Self.target(ofLink: path) else { return false }
        throw StorageError(
            .system,
            "\(path) is a link to \(target), where nothing is: mount its disk, make that directory, or name another "
                + "storage directory",
            path: path
        )
    }

    /// The target of a link; nil if a path is none.
    private static func target(ofLink path: String) -> String? {
        var text = [CChar](repeating: 0, count: Int(PATH_MAX))
        let count = readlink(path, &text, text.count)
        guard count >= 0 else { return nil }
        return String(decoding: text.prefix(count).map(UInt8.init(bitPattern:)), as: UTF8.self)
    }

    private static func requireWritable(_ directory: String) throws(StorageError) {
        guard access(directory, R_OK | W_OK | X_OK) == 0 else {
            let number = errno
            var error = StorageError(errorNumber: number, action: "write to", path: directory)
            if error.code == .denied {
                let right = "give the account with the number \(geteuid()) the right to"
                let remedy = number == EROFS ? "mount it so that it can be written" : right
                error.message += ": \(remedy), or name another storage directory"
            }
            throw error
        }
        let path = try realPath(directory)
        if Self.kernelDirectories.contains(where: { path == $0 || path.hasPrefix($0 + "/") }) {
            throw StorageError(
                .invalid,
                "\(directory) is of the kernel and holds no recordings: name another storage directory",
                path: directory
            )
        }
    }
}
