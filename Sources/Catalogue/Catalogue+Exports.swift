// SPDX-License-Identifier: Apache-2.0

import Basics
import GRDB
public import Model
public import Storage

extension Catalogue {
    /// The exports of one recording that are remembered; older ones that are over are forgotten.
    static let maximumExportsPerRecording = 200
    /// `ExportSpec.series`, of a row of `exports`.
    private static let isOfSeries = "ifnull(json_extract(spec, '$.series'), 0)"
    /// `ExportEntry.isInPlace`, of a row of `exports`.
    private static let isInPlace =
        "state = 'done' AND layout <> 'browser' AND (file IS NULL OR instr(file, '/') = 0) AND is_whole"

    /// Inserts an export, or replaces the known one.
    ///
    /// Throws `notFound` if the recording is not known, `invalid` if it has too many exports that wait.
    public func save(_ export: ExportEntry) async throws {
        try await self.write { database in
            guard try Self.isKnown(export.recording, database) else { throw Self.noRecording(export.recording) }
            try Self.save(export, database)
            try Self.forgetExports(of: export.recording, database)
        }
    }

    /// One export; throws `notFound`.
    public func export(_ id: String) async throws -> ExportEntry {
        try await self.read { database in
            guard let row = try Row.fetchOne(database, sql: "SELECT * FROM exports WHERE id = ?", arguments: [id])
            else { throw CatalogueError(.notFound, "there is no such export") }
            return try ExportEntry(row)
        }
    }

    /// Every export of a recording, oldest first; throws `notFound` if the recording is not known.
    public func exports(of recording: RecordingID) async throws -> [ExportEntry] {
        try await self.read { database in
            guard try Self.isKnown(recording, database) else { throw Self.noRecording(recording) }
            return try Row.fetchAll(
                database,
                sql: "SELECT * FROM exports WHERE recording = ? ORDER BY number",
                arguments: [recording.rawValue]
            ).map(ExportEntry.init)
        }
    }

    /// Exports that wait or run, oldest first.
    public func pendingExports() async throws -> [ExportEntry] {
        try await self.read { database in
            try Row.fetchAll(
                database,
                sql: "SELECT * FROM exports WHERE state IN ('queued', 'running') ORDER BY number"
            ).map(ExportEntry.init)
        }
    }

    /// Recordings with a wanted export that was not made.
    ///
    /// It failed for good, and none of its layout was made of the whole recording in its folder; or it was not ordered
    /// yet. Three kinds of exports do not count: those of a part or to another path, those requested while the
    /// recording was in progress, and those for a player on a page. A recording without tracks has nothing to be
    /// exported. Exports of a series are not looked at: `unexportedSeries()`.
    public func unexportedRecordings() async throws -> Set<RecordingID> {
        try await self.read { database in
            let ids = try String.fetchAll(
                database,
                sql: """
                    SELECT recording FROM exports AS failed
                    WHERE state = 'failed' AND layout <> 'browser' AND is_whole AND NOT \(Self.isOfSeries)
                        AND EXISTS (
                            SELECT 1 FROM recordings JOIN tracks ON tracks.recording = recordings.position
                            WHERE recordings.id = failed.recording
                        )
                        AND NOT EXISTS (
                            SELECT 1 FROM exports
                            WHERE recording = failed.recording AND layout = failed.layout AND \(Self.isInPlace)
                        )
                    UNION
                    SELECT recording FROM to_export
                    WHERE NOT EXISTS (
                        SELECT 1 FROM exports WHERE recording = to_export.recording AND \(Self.isInPlace)
                    )
                    """
            )
            return Set(ids.compactMap { RecordingID(rawValue: $0) })
        }
    }

    /// Recordings whose series was to be exported as a whole, and was not: that failed for good, and no other export of it is done.
    ///
    /// An export of one recording alone does not replace that of its series.
    public func unexportedSeries() async throws -> Set<RecordingID> {
        try await self.read { database in
            let ids = try String.fetchAll(
                database,
                sql: """
                    SELECT recording FROM exports AS failed
                    WHERE state = 'failed' AND is_whole AND \(Self.isOfSeries)
                        AND NOT EXISTS (
                            SELECT 1 FROM exports
                            WHERE recording = failed.recording AND layout = failed.layout AND \(Self.isInPlace)
                                AND \(Self.isOfSeries)
                        )
                    """
            )
            return Set(ids.compactMap { RecordingID(rawValue: $0) })
        }
    }

    /// Forgets an export of a recording if it waits; returns the state that it was in.
    ///
    /// Throws `notFound` if there is none.
    public func removeQueuedExport(_ id: String, of recording: RecordingID) async throws -> ExportState {
        try await self.write { database in
            let row = try Row.fetchOne(
                database,
                sql: "SELECT * FROM exports WHERE id = ? AND recording = ?",
                arguments: [id, recording.rawValue]
            )
            guard let row else { throw CatalogueError(.notFound, "there is no such export") }
            let state = try ExportEntry(row).state
            if state == .queued {
                try database.execute(sql: "DELETE FROM exports WHERE id = ?", arguments: [id])
            }
            return state
        }
    }

    /// Queues again what ran when the daemon ended; returns how many.
    @discardableResult
    public func requeueInterruptedExports() async throws -> Int {
        try await self.write { database in
            try database.execute(
                sql: "UPDATE exports SET state = 'queued', progress = 0, started_ns = NULL WHERE state = 'running'"
            )
            return database.changesCount
        }
    }

    /// Recordings that were taken over as finished and whose exports were not ordered yet, oldest first, without participants
    /// and tracks.
    ///
    /// They are listed until `exportsOrdered(of:)`: an export ordered by an operator does not replace those that the
    /// room gets.
    public func recordingsToExport() async throws -> [RecordingEntry] {
        try await self.read { database in
            try Row.fetchAll(
                database,
                sql: """
                    SELECT recordings.* FROM recordings JOIN to_export ON id = recording
                    WHERE state = 'finished' ORDER BY position
                    """
            ).map(RecordingEntry.init)
        }
    }

    /// A recording's exports were ordered, or it gets none: `recordingsToExport()` no longer lists it.
    public func exportsOrdered(of recording: RecordingID) async throws {
        try await self.write { database in
            try database.execute(sql: "DELETE FROM to_export WHERE recording = ?", arguments: [recording.rawValue])
        }
    }

    /// Notes that the exports of a recording, finished by now, are yet to be ordered.
    ///
    /// If the recording was unknown and an export of the whole is in its folder, nothing is to be ordered: it is an old
    /// one.
    static func wantExports(of recording: RecordingID, isKnown: Bool, _ database: Database) throws {
        try database.execute(
            sql: """
                INSERT OR IGNORE INTO to_export (recording)
                SELECT :id WHERE :known OR NOT EXISTS (
                    SELECT 1 FROM exports WHERE recording = :id AND \(Self.isInPlace)
                )
                """,
            arguments: ["id": recording.rawValue, "known": isKnown]
        )
    }

    /// Notes the exports that a manifest knows and the catalogue does not.
    static func saveExports(of summary: RecordingSummary, _ database: Database) throws {
        for done in summary.exports.suffix(Self.maximumExportsPerRecording) {
            // Its file may have been made again since it was noted.
            try database.execute(
                sql: """
                    UPDATE exports SET is_whole = is_whole OR ? WHERE recording = ? AND file = ? AND state = 'done'
                    """,
                arguments: [done.isOfWhole, summary.folder.id.rawValue, done.file]
            )
            guard database.changesCount == 0, let layout = ExportSpec.Layout.Name(rawValue: done.layout) else {
                continue
            }
            var export = ExportEntry(
                recording: summary.folder.id,
                spec: ExportSpec(.init(layout)),
                created: summary.end ?? summary.start
            )
            export.state = .done
            export.progress = 1
            export.file = done.file
            export.isOfWhole = done.isOfWhole
            try Self.save(export, database)
        }
        try Self.forgetExports(of: summary.folder.id, database)
    }

    private static func isKnown(_ recording: RecordingID, _ database: Database) throws -> Bool {
        try Bool.fetchOne(
            database,
            sql: "SELECT EXISTS (SELECT 1 FROM recordings WHERE id = ?)",
            arguments: [recording.rawValue]
        ) ?? false
    }

    private static func save(_ export: ExportEntry, _ database: Database) throws {
        try database.execute(
            sql: """
                INSERT INTO exports (id, recording, layout, is_whole, spec, state, progress, file, error, attempts, due_ns,
                    created_ns, started_ns, finished_ns)
                VALUES (:id, :recording, :layout, :isWhole, :spec, :state, :progress, :file, :error, :attempts, :due,
                    :created, :started, :finished)
                ON CONFLICT (id) DO UPDATE SET state = :state, progress = :progress, file = :file, error = :error,
                    attempts = :attempts, due_ns = :due, started_ns = :started, finished_ns = :finished
                """,
            arguments: [
                "id": export.id, "recording": export.recording.rawValue,
                "layout": export.spec.layout.name.rawValue, "isWhole": export.isOfWhole,
                "spec": try JSONColumn.text(export.spec), "state": export.state.rawValue,
                "progress": min(max(export.progress, 0), 1), "file": export.file,
                "error": export.error, "attempts": export.attempts, "due": export.due?.nanosecondsSince1970,
                "created": export.created.nanosecondsSince1970,
                "started": export.started?.nanosecondsSince1970, "finished": export.finished?.nanosecondsSince1970,
            ]
        )
    }

    /// Keeps the newest of what is over; what waits is never forgotten, and its number has the same bound.
    private static func forgetExports(of recording: RecordingID, _ database: Database) throws {
        let limit = Self.maximumExportsPerRecording
        let pending = try Int.fetchOne(
            database,
            sql: "SELECT count(*) FROM exports WHERE recording = ? AND state IN ('queued', 'running')",
            arguments: [recording.rawValue]
        )
        guard (pending ?? 0) <= limit else {
            throw CatalogueError(.invalid, "\(limit) exports of recording \(recording) wait already")
        }
        try database.execute(
            sql: """
                DELETE FROM exports WHERE number IN (
                    SELECT number FROM exports WHERE recording = ? AND state IN ('done', 'failed')
                    ORDER BY number DESC LIMIT -1 OFFSET ?
                )
                """,
            arguments: [recording.rawValue, limit]
        )
    }
}

extension ExportEntry {
    fileprivate init(_ row: Row) throws {
        guard let recording = RecordingID(rawValue: row["recording"]), let state = ExportState(rawValue: row["state"]),
            let spec: ExportSpec = JSONColumn.value(row["spec"])
        else {
            throw CatalogueError(.storage, "the catalogue holds an export that no version of this program wrote")
        }
        self.init(
            id: row["id"],
            recording: recording,
            spec: spec,
            created: UTCTime(nanosecondsSince1970: row["created_ns"])
        )
        self.isOfWhole = row["is_whole"]
        self.state = state
        self.progress = row["progress"]
        self.file = row["file"]
        self.error = row["error"]
        self.attempts = row["attempts"]
        self.due = (row["due_ns"] as Int64?).map(UTCTime.init(nanosecondsSince1970:))
        self.started = (row["started_ns"] as Int64?).map(UTCTime.init(nanosecondsSince1970:))
        self.finished = (row["finished_ns"] as Int64?).map(UTCTime.init(nanosecondsSince1970:))
    }
}
