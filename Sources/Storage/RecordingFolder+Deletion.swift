// SPDX-License-Identifier: Apache-2.0

extension RecordingFolder {
    private static let deletionPrefix = ".deleting-"
    /// Deeper trees than this were not made by us; they are left alone.
    private static let maximumDeletionDepth = 16
    /// Names that are removed in one go; what is left is taken in the next.
    private static let batch = 4096

    /// Deletes the recording with everything in its folder; no symbolic link is followed.
    ///
    /// The folder first gets a hidden name, which is brought to the disk: from one instant on the recording is gone, however
    /// far the removal then comes. `removeLeftovers(storage:)` ends it. Throws `notFound` if the folder is gone or a link.
    ///
    /// - Parameter isDurable: whether it returns only when a power cut does not bring the recording back.
    public func delete(isDurable: Bool = true) throws(StorageError) {
        let (room, name) = try Directory.room(of: self)
        // Refuses a link, and whatever is not a directory.
        _ = try Directory(name, in: room)
        let hidden = Directory.Name("\(Self.deletionPrefix)\(self.compactStart)-\(self.id)-\(RecordingID.random())")
        try room.rename(name, to: hidden)
        if isDurable { try room.synchronise() }
        try Self.remove(hidden, in: room, depth: 1)
    }

    /// Removes what interrupted deletions and killed exports left behind; returns how many folders and files that were.
    ///
    /// One that cannot be removed keeps no other; the first such failure is thrown at the end.
    public static func removeLeftovers(storage: String) throws(StorageError) -> Int {
        var removed = 0
        var failure: StorageError?
        do throws(StorageError) {
            let root = try Directory(path: storage + "/recordings")
            for room in try root.names(limit: .max) {
                do throws(StorageError) {
                    guard case .directory = try root.kind(of: room) else { continue }
                    removed += try Self.removeLeftovers(in: try Directory(room, in: root), &failure)
                } catch {
                    Self.keep(error, &failure)
                }
            }
        } catch {
            Self.keep(error, &failure)
        }
        if let failure { throw failure }
        return removed
    }

    private static func removeLeftovers(
        in room: Directory,
        _ failure: inout StorageError?
    ) throws(StorageError) -> Int {
        var removed = 0
        for name in try room.names(limit: .max) {
            guard let text = name.text else { continue }
            do throws(StorageError) {
                guard case .directory = try room.kind(of: name) else { continue }
                if text.hasPrefix(Self.deletionPrefix) {
                    try Self.remove(name, in: room, depth: 1)
                    removed += 1
                } else if RecordingFolder(named: room.path + "/" + text) != nil {
                    removed += try Self.removePartialFiles(in: try Directory(name, in: room))
                }
            } catch {
                Self.keep(error, &failure)
            }
        }
        return removed
    }

    /// Removes unfinished files of exports that no process makes any more: a process that makes one holds the lock of
    /// its hidden file.
    private static func removePartialFiles(in folder: Directory) throws(StorageError) -> Int {
        var removed = 0
        for name in try folder.names(limit: .max) {
            guard let text = name.text, let guards = PartialFile.guards(of: text) else { continue }
            guard case .regular = try folder.kind(of: name) else { continue }
            var locks: [File] = []
            var isHeld = false
            for guarding in guards {
                // A lock file that is absent protects nothing.
                guard let lock = try? File(folder.path + "/" + guarding, .read) else { continue }
                isHeld = try !lock.lock() || isHeld
                locks.append(lock)
            }
            guard !isHeld else { continue }
            try withExtendedLifetime(locks) { () throws(StorageError) in
                try folder.remove(name, isDirectory: false)
            }
            removed += 1
        }
        return removed
    }

    /// Keeps the first failure; an entry that is already gone is no failure.
    private static func keep(_ error: StorageError, _ failure: inout StorageError?) {
        if failure == nil, error.code != .notFound { failure = error }
    }

    private static func remove(_ name: Directory.Name, in parent: Directory, depth: Int) throws(StorageError) {
        guard depth <= Self.maximumDeletionDepth else {
            throw StorageError(.invalid, "\(parent.path) is nested too deep to be a recording", path: parent.path)
        }
        let directory = try Directory(name, in: parent)
        while true {
            let names = try directory.names(limit: Self.batch)
            if names.isEmpty { break }
            for inner in names {
                let isDirectory = if case .directory = try directory.kind(of: inner) { true } else { false }
                if isDirectory {
                    try Self.remove(inner, in: directory, depth: depth + 1)
                } else {
                    try directory.remove(inner, isDirectory: false)
                }
            }
        }
        try parent.remove(name, isDirectory: true)
    }
}
