// SPDX-License-Identifier: Apache-2.0

import Glibc

/// Why something could not be stored or read.
public struct StorageError: Error, Sendable, Hashable, CustomStringConvertible {
    /// The kinds of failure.
    public enum Code: String, Sendable, Hashable, CaseIterable {
        /// No space left, or over quota.
        case noSpace
        /// The device failed.
        case inputOutput
        /// Permission denied, or a read-only file system.
        case denied
        /// It is not there.
        case notFound
        /// It is there already.
        case exists
        /// It is not what it should be: a name, a file's content, an argument.
        case invalid
        /// It was closed before.
        case closed
        /// Any other answer of the operating system.
        case system
    }

    /// The party at fault.
    public enum Blame: String, Sendable, Hashable {
        /// Ours.
        case ours
        /// The disk's, its size, or its permissions.
        case destination
        /// The operator's settings or arguments.
        case configuration
    }

    /// The kind of failure.
    public var code: Code
    /// One sentence for a person.
    public var message: String
    /// The file or folder.
    public var path: String
    /// The operating system's number, if it said no.
    public var errorNumber: Int32?

    /// An error with each part given.
    public init(_ code: Code, _ message: String, path: String, errorNumber: Int32? = nil) {
        self.code = code
        self.message = message
        self.path = path
        self.errorNumber = errorNumber
    }

    /// The error for what a source of bytes threw.
    init(_ error: any Error, reading path: String) {
        self = error as? StorageError ?? StorageError(.inputOutput, "cannot read \(path): \(error)", path: path)
    }

    /// The error for an `errno` after doing `action` (for example "write") to `path`.
    init(errorNumber: Int32, action: String, path: String) {
        self.code =
            switch errorNumber {
            case ENOSPC, EDQUOT, EFBIG: .noSpace
            case EIO: .inputOutput
            case EACCES, EPERM, EROFS: .denied
            case ENOENT, ENOTDIR: .notFound
            case EEXIST: .exists
            // The kernel's answer where a link is not to be followed.
            case ELOOP: .invalid
            default: .system
            }
        let reason = errorNumber == ELOOP ? "it is a symbolic link" : String(cString: strerror(errorNumber))
        self.message = "cannot \(action) \(path): \(reason)"
        self.path = path
        self.errorNumber = errorNumber
    }

    /// The party at fault.
    public var blame: Blame {
        switch self.code {
        case .noSpace, .inputOutput, .denied, .system: .destination
        case .notFound, .exists, .invalid: .configuration
        case .closed: .ours
        }
    }

    /// Whether the same attempt may succeed later: disks come back, and file systems that turned read-only are mounted
    /// again.
    public var isRetriable: Bool {
        switch self.code {
        case .noSpace, .inputOutput, .denied, .system: true
        case .notFound, .exists, .invalid, .closed: false
        }
    }

    /// The message.
    public var description: String { self.message }
}
