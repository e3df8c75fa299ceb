// SPDX-License-Identifier: Apache-2.0

internal import Glibc

/// Reads small regular files, whatever is found in their place.
enum BoundedFile {
    /// Why a file was not read.
    struct Failure: Error {
        /// The reason, human-readable.
        var reason: String
        /// Whether the file was read, and what it holds is wrong.
        var isContents = false
    }

    /// The text of a regular file in UTF-8; a byte order mark at its beginning is left out.
    static func text(path: String, maximumBytes: Int) throws(Failure) -> String {
        try Self.text(try Self.bytes(path: path, maximumBytes: maximumBytes))
    }

    /// The text that an open file has left, read to its end, as `text(path:)` reads a file.
    static func text(descriptor: Int32, maximumBytes: Int) throws(Failure) -> String {
        try Self.text(try Self.bytes(descriptor: descriptor, maximumBytes: maximumBytes))
    }

    private static func text(_ bytes: [UInt8]) throws(Failure) -> String {
        if bytes.starts(with: [0xFF, 0xFE]) || bytes.starts(with: [0xFE, 0xFF]) {
            throw Failure(reason: "is UTF-16; UTF-8 is needed", isContents: true)
        }
        guard let text = String(validating: bytes, as: UTF8.self) else {
            throw Failure(reason: "is not UTF-8 text", isContents: true)
        }
        return text.unicodeScalars.first == "\u{FEFF}" ? String(text.unicodeScalars.dropFirst()) : text
    }

    private static func bytes(path: String, maximumBytes: Int) throws(Failure) -> [UInt8] {
        guard !path.utf8.contains(0) else { throw Failure(reason: "has a NUL in its name") }
        // Without waiting: opening a pipe without a writer would block.
        let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard descriptor >= 0 else { throw Failure(reason: "cannot be opened: \(Self.errorText(errno))") }
        defer { close(descriptor) }
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { throw Failure(reason: "cannot be read: \(Self.errorText(errno))") }
        guard status.st_mode & S_IFMT == S_IFREG else {
            throw Failure(reason: status.st_mode & S_IFMT == S_IFDIR ? "is a directory" : "is not a regular file")
        }
        return try Self.bytes(descriptor: descriptor, maximumBytes: maximumBytes)
    }

    private static func bytes(descriptor: Int32, maximumBytes: Int) throws(Failure) -> [UInt8] {
        var bytes: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 16 << 10)
        while true {
            let count = read(descriptor, &buffer, buffer.count)
            if count == 0 { return bytes }
            guard count > 0 else {
                if errno == EINTR { continue }
                throw Failure(reason: "cannot be read: \(Self.errorText(errno))")
            }
            bytes += buffer[..<count]
            guard bytes.count <= maximumBytes else {
                throw Failure(reason: "is longer than \(maximumBytes) bytes", isContents: true)
            }
        }
    }

    private static func errorText(_ code: Int32) -> String {
        strerror(code).map { String(cString: $0) } ?? "error \(code)"
    }
}
