// SPDX-License-Identifier: Apache-2.0

internal import Glibc

/// The directory that takes recordings.
struct StorageFacts: Sendable, Hashable {
    /// As the user wrote it.
    var directory: String
    /// Why nothing can be written there; `nil` if something can.
    var writeError: String?
    /// Bytes that this account may still write; `nil` if unknown.
    var free: UInt64?
    /// Bytes that must stay free.
    var minimumFree: UInt64

    var findings: [Finding] {
        [self.writing, self.space].compactMap(\.self)
    }

    private var writing: Finding {
        guard let error = self.writeError else {
            return Finding(.storage, "directory", .ok, "\(self.directory) can be written")
        }
        return Finding(
            .storage,
            "directory",
            .problem,
            "\(self.directory): \(error)",
            meaning: "nothing can be recorded there",
            remedy: "choose another with --directory, or give this account the right to write there"
        )
    }

    private var space: Finding? {
        guard let free = self.free else { return nil }
        let isEnough = free >= self.minimumFree
        return Finding(
            .storage,
            "free space",
            isEnough ? .ok : .problem,
            "\(amount(free))\(isEnough ? "" : ", less than the \(amount(self.minimumFree)) that have to stay free")",
            meaning: isEnough ? nil : "no recording starts; an hour of one camera is about 0.8 GB"
        )
    }

    /// Makes a file in the directory, which is gone at once, and asks its file system.
    static func probe(directory: String, minimumFree: UInt64) -> StorageFacts {
        var error: String?
        let descriptor = NamelessFile.open(in: directory)
        if descriptor >= 0 {
            close(descriptor)
        } else {
            error = String(cString: strerror(errno))
        }
        var system = statvfs()
        var free: UInt64?
        if statvfs(directory, &system) == 0 {
            free = UInt64(system.f_bavail).multipliedReportingOverflow(by: UInt64(system.f_frsize)).partialValue
        }
        return StorageFacts(directory: directory, writeError: error, free: free, minimumFree: minimumFree)
    }
}
