// SPDX-License-Identifier: Apache-2.0

internal import Basics
internal import FoundationEssentials
internal import Storage

/// The one text that the machine of a room keeps beyond a crash: one small file.
///
/// Clients of the same room, in any process, each hold the lock of a separate file, and none takes the note of another
/// one that is alive; the kernel releases the lock of one that died. Used by one task.
final class RoomNotes {
    /// Longest text kept, in bytes.
    static let maximumBytes = 4096
    /// Most clients of one room that keep notes at the same time.
    static let maximumClients = 8

    private let folder: String?
    private let name: String
    /// Locked while it is open.
    private var file: File?

    /// - Parameters:
    ///   - directory: The folder; nil keeps nothing.
    ///   - room: The room's URL; its hash is the file's name, because URLs may hold what lets people in.
    init(directory: String?, room: String) {
        self.folder = directory
        self.name = String(fnv1a(room.utf8), radix: 16)
    }

    /// The text that we kept, or one that was kept by a client that is no more; nil if there is none that can be read.
    func read() -> String? {
        if self.file == nil {
            self.file =
                self.paths.lazy.filter { FileManager.default.fileExists(atPath: $0) }.compactMap { path in
                    (try? self.open(path)).flatMap { $0.count > 0 ? $0 : nil }
                }.first
        }
        guard let file = self.file, let bytes = try? file.read(offset: 0, count: Self.maximumBytes + 1),
            bytes.count <= Self.maximumBytes
        else { return nil }
        return String(validating: bytes, as: UTF8.self)
    }

    /// Keeps a text in place of the earlier one; nil forgets it.
    func write(_ text: String?) throws {
        guard let text, text.utf8.count <= Self.maximumBytes else { return try self.forget() }
        guard let folder = self.folder else { return }
        if self.file == nil {
            try FileManager.default.createDirectory(
                atPath: folder,
                withIntermediateDirectories: true,
                attributes: [.posixPermissions: 0o750]
            )
            for path in self.paths where self.file == nil { self.file = try self.open(path) }
        }
        // More clients than files: the rest go without.
        guard let file = self.file else { return }
        try file.write(Array(text.utf8), at: 0)
        try file.truncate(to: UInt64(text.utf8.count))
    }

    private func forget() throws {
        guard let file = self.file else { return }
        try file.truncate(to: 0)
        // While we hold the lock no other process can have taken the file.
        try FileManager.default.removeItem(atPath: file.path)
        self.file = nil
    }

    private var paths: [String] {
        guard let folder = self.folder else { return [] }
        return (0..<Self.maximumClients).map { "\(folder)/\(self.name)-\($0).note" }
    }

    /// Opens a file that no other client holds; nil if one does.
    private func open(_ path: String) throws -> File? {
        let file = try File(path, .overwrite)
        return try file.lock() && file.isStillAtPath() ? file : nil
    }
}
