// SPDX-License-Identifier: Apache-2.0

public import Basics

/// A file of a recording on its way to the remote.
public struct UploadObject: Sendable, Hashable {
    /// A file as it is here: one that differs in this was written again.
    public struct File: Sendable, Hashable {
        /// Its name relative to the recording's folder.
        public var name: String
        /// Its size in bytes.
        public var bytes: Int64
        /// When it was last written, in nanoseconds since 1970, as the file system has it.
        public var modified: Int64
        /// Its place in the order: files of a lower rank go first.
        public var rank: Int

        /// A file with each part given.
        public init(name: String, bytes: Int64, modified: Int64, rank: Int) {
            self.name = name
            self.bytes = bytes
            self.modified = modified
            self.rank = rank
        }
    }

    /// The file.
    public var file: File
    /// The remote's checksum or what was read back, such as `md5:…` or `read:sha256:…`; `nil` for what is not verified.
    public var checksum: String?
    /// How often an attempt began.
    public var attempts = 0
    /// The next attempt does not begin before.
    public var due: UTCTime
    /// Why the last attempt failed; `nil` if it did not.
    public var error: String?

    /// Whether the remote was seen to have the file.
    public var isVerified: Bool { self.checksum != nil }

    /// A file that was not looked for at the remote yet.
    public init(_ file: File, due: UTCTime) {
        self.file = file
        self.due = due
    }
}
