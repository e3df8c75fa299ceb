// SPDX-License-Identifier: Apache-2.0

import Glibc

/// The room on the file system of a path.
public struct DiskSpace: Sendable, Hashable {
    /// Bytes that we may still write.
    public var freeBytes: Int64
    /// Bytes of the whole file system.
    public var totalBytes: Int64

    /// Measures; may block as long as the file system does.
    public static func measure(_ path: String) throws(StorageError) -> DiskSpace {
        var status = statvfs()
        guard statvfs(path, &status) == 0 else { throw StorageError(errorNumber: errno, action: "measure", path: path) }
        return DiskSpace(
            freeBytes: bytes(status.f_bavail, status.f_frsize),
            totalBytes: bytes(status.f_blocks, status.f_frsize)
        )
    }

    private static func bytes(_ blocks: UInt, _ size: UInt) -> Int64 {
        let (product, overflow) = blocks.multipliedReportingOverflow(by: size)
        return overflow ? .max : Int64(clamping: product)
    }
}
