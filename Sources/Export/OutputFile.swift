// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Matroska
import Storage

/// An export while it is written: a hidden file next to its final path, locked against a second export.
///
/// Bytes are gathered and written a megabyte at a time. A process that is killed leaves a file that the next export to
/// the same path takes over.
final class OutputFile {
    let path: String
    let partialPath: String
    let file: File
    private var buffer: [UInt8] = []
    private var offset: UInt64 = 0
    /// Up to here it is on the disk.
    private var synchronised: UInt64 = 0
    private var isCommitted = false

    private static let bufferSize = 1 << 20
    /// Written data are forced to the disk each time this many have gathered: gigabytes at once would hold up the
    /// recordings on the same disk.
    private static let synchroniseEvery: UInt64 = 64 << 20

    /// Takes the hidden file; throws `busy` when another export holds it.
    init(path: String) throws(ExportError) {
        var components = path.split(separator: "/", omittingEmptySubsequences: false)
        guard let name = components.popLast(), !name.isEmpty else {
            throw ExportError(.storage, "\(path) is not the path of a file")
        }
        self.path = path
        self.partialPath = (components + [Substring(PartialFile.name(of: name))]).joined(separator: "/")
        do throws(StorageError) {
            while true {
                let file = try File(self.partialPath, .overwrite)
                guard try file.lock() else {
                    throw StorageError(.exists, "another export to \(path) is under way", path: path)
                }
                // Between opening and locking, its last owner may have put it in place or thrown it away.
                guard file.isStillAtPath() else { continue }
                try file.truncate(to: 0)
                self.file = file
                break
            }
        } catch {
            throw error.code == .exists ? ExportError(.busy, error.message, cause: error) : ExportError(error)
        }
    }

    deinit {
        if !self.isCommitted { try? FileManager.default.removeItem(atPath: self.partialPath) }
    }

    /// Appends bytes; true when they went to the file and not only into the buffer.
    func append(_ bytes: [UInt8], _ more: [UInt8] = []) throws(ExportError) -> Bool {
        self.buffer += bytes
        self.buffer += more
        guard self.buffer.count >= Self.bufferSize else { return false }
        try self.flush()
        return true
    }

    /// Writes what is buffered, then the patches.
    func finish(_ patches: [Patch]) throws(ExportError) {
        try self.flush()
        do throws(StorageError) {
            for patch in patches { try self.file.write(patch.bytes, at: patch.offset) }
        } catch {
            throw ExportError(error)
        }
    }

    /// Moves the file to its final path, over an older one; returns when it is on the disk under its name.
    ///
    /// - Parameter path: its place, if that was not known before.
    func commit(as path: String? = nil) throws(ExportError) {
        do throws(StorageError) {
            try File.rename(self.partialPath, to: path ?? self.path)
        } catch {
            throw ExportError(error)
        }
        self.isCommitted = true
    }

    private func flush() throws(ExportError) {
        do throws(StorageError) {
            try self.file.write(self.buffer, at: self.offset)
            self.offset += UInt64(self.buffer.count)
            self.buffer.removeAll(keepingCapacity: true)
            guard self.offset - self.synchronised >= Self.synchroniseEvery else { return }
            try self.file.synchronise()
            self.synchronised = self.offset
        } catch {
            throw ExportError(error)
        }
    }
}
