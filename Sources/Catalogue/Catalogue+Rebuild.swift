// SPDX-License-Identifier: Apache-2.0

import GRDB
public import Storage

/// How far a rebuild is.
public struct RebuildProgress: Sendable, Hashable {
    /// Folders looked at.
    public var done: Int
    /// Folders there are.
    public var total: Int
}

/// The result of a rebuild.
public struct RebuildReport: Sendable, Hashable {
    /// A folder that could not be read; it was left as it is.
    public struct Unreadable: Sendable, Hashable {
        /// The folder's path.
        public var path: String
        /// Why, one sentence.
        public var reason: String
    }

    /// Recordings that were read from their folders.
    public var read = 0
    /// Recordings that were known already and were not read.
    public var kept = 0
    /// Recordings that were forgotten because their folders are gone.
    public var forgotten = 0
    /// Folders that could not be read, the first hundred.
    public var unreadable: [Unreadable] = []
    /// How many folders could not be read.
    public var unreadableCount = 0
}

extension Catalogue {
    /// Which folders a rebuild reads.
    public enum RebuildScope: Sendable, Hashable {
        /// Those that the catalogue does not know, those that it does not know as finished, and those that an earlier version
        /// of this program read, which took less from them.
        case changes
        /// All of them.
        case everything
    }

    private static let batch = 100
    private static let maximumReported = 100

    /// Brings the catalogue in line with the recordings' folders.
    ///
    /// Folders are read and never changed. Recordings found finished are listed by `recordingsToExport()`, if they were
    /// known or have no export of the whole in their folders. Folders whose journal is held are not read. Other
    /// recordings in progress must be named in `active`: their folders do not show it. Idempotent; may be interrupted
    /// by cancelling its task, and called again.
    ///
    /// - Parameters:
    ///   - scope: Which folders are read.
    ///   - active: Recordings that are being written now; they are not read.
    ///   - progress: Called after each hundred folders and at the end.
    /// - Throws: `StorageError` if the storage directory cannot be listed.
    public func rebuild(
        _ scope: RebuildScope = .changes,
        active: Set<RecordingID> = [],
        progress: @Sendable (RebuildProgress) -> Void = { _ in }
    ) async throws -> RebuildReport {
        // Before the folders: what is noted in between is none whose folder is gone.
        let known = try await self.areCurrent()
        let folders = try RecordingFolder.list(storage: self.storage)
        var report = RebuildReport()
        var done = 0
        while done < folders.count {
            try Task.checkCancellation()
            var summaries: [RecordingSummary] = []
            for folder in folders[done..<min(done + Self.batch, folders.count)] {
                let isCurrent = scope == .changes && known[folder.id] == true
                if isCurrent || active.contains(folder.id) || folder.isHeld {
                    report.kept += 1
                    continue
                }
                do throws(StorageError) {
                    summaries.append(try RecordingSummary.read(folder))
                } catch {
                    report.note(.init(path: folder.path, reason: error.message), limit: Self.maximumReported)
                }
            }
            try await self.take(summaries)
            report.read += summaries.count
            done = min(done + Self.batch, folders.count)
            progress(RebuildProgress(done: done, total: folders.count))
        }
        let present = Set(folders.map(\.id))
        let gone = known.keys.filter { !present.contains($0) && !active.contains($0) }
        report.forgotten = gone.count
        try await self.write { database in
            for id in gone { try Self.remove(id, database) }
            try Self.firstRebuildDone(database)
        }
        return report
    }

    private func take(_ summaries: [RecordingSummary]) async throws {
        guard !summaries.isEmpty else { return }
        let storage = self.storage
        try await self.write { database in
            for summary in summaries {
                try Self.take(RecordingEntry(summary, storage: storage), summary, database)
            }
        }
    }

    /// The known recordings, and whether the catalogue has all that this version takes from their folders.
    private func areCurrent() async throws -> [RecordingID: Bool] {
        try await self.read { database in
            var known: [RecordingID: Bool] = [:]
            let sql = "SELECT id, state = 'finished' AND tags IS NOT NULL AS is_current FROM recordings"
            let rows = try Row.fetchCursor(database, sql: sql)
            while let row = try rows.next() {
                guard let id = RecordingID(rawValue: row["id"]) else { continue }
                known[id] = row["is_current"]
            }
            return known
        }
    }
}

extension RebuildReport {
    fileprivate mutating func note(_ folder: Unreadable, limit: Int) {
        self.unreadableCount += 1
        if self.unreadable.count < limit { self.unreadable.append(folder) }
    }
}
