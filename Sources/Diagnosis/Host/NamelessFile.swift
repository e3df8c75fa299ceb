// SPDX-License-Identifier: Apache-2.0

internal import Glibc

/// Files to try a directory with.
enum NamelessFile {
    /// The descriptor of a new file in the directory, whose name is gone already; negative, with `errno`, if there can be none.
    static func open(in directory: String) -> Int32 {
        var path = Array("\(directory)/.tapedeck-doctor-XXXXXX".utf8CString)
        let descriptor = mkstemp(&path)
        if descriptor >= 0 { unlink(path) }
        return descriptor
    }
}
