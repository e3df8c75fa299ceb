// SPDX-License-Identifier: Apache-2.0

import Glibc

/// The absolute path of a file or directory, without symbolic links, `.` and `..`.
///
/// Throws `notFound` if there is nothing.
public func realPath(_ path: String) throws(StorageError) -> String {
    guard let resolved = realpath(path, nil) else {
        throw StorageError(errorNumber: errno, action: "find", path: path)
    }
    defer { free(resolved) }
    return String(cString: resolved)
}
