// SPDX-License-Identifier: Apache-2.0

public import Basics
import GRDB
public import Model
public import Storage

extension Catalogue {
    /// A recording that is over: its exports are made, or failed for good.
    private static let isOver = """
        state = 'finished' AND NOT EXISTS (SELECT 1 FROM to_export WHERE to_export.recording = recordings.id)
            AND NOT EXISTS (SELECT 1 FROM exports WHERE exports.recording = recordings.id AND exports.state IN ('queued', 'running'))
        """

    /// Recordings that are over and whose files were not looked at since, oldest first.
    public func recordingsToUpload(limit: Int = 10_000) async throws -> [RecordingID] {
        try await self.read { database in
            try String.fetchAll(
                database,
                sql: """
                    SELECT id FROM recordings LEFT JOIN uploads ON recording = id
                    WHERE \(Self.isOver) AND (
                        recording IS NULL OR planned_ns <= (
                            SELECT max(exports.finished_ns) FROM exports WHERE exports.recording = recordings.id AND state = 'done'
                        )
                    )
                    ORDER BY position LIMIT ?
                    """,
                arguments: [max(0, limit)]
            ).compactMap { RecordingID(rawValue: $0) }
        }
    }

    /// Recordings whose upload has begun, or waits, and is not finished, oldest first.
    public func unfinishedUploads() async throws -> [RecordingID] {
        try await self.read { database in
            try String.fetchAll(
                database,
                sql: """
                    SELECT id FROM recordings JOIN uploads ON recording = id
                    WHERE uploads.finished_ns IS NULL ORDER BY position
                    """
            ).compactMap { RecordingID(rawValue: $0) }
        }
    }

    /// Finished recordings that are not uploaded, as far as is known.
    public func unuploadedRecordings() async throws -> Set<RecordingID> {
        try await self.read { database in
            let ids = try String.fetchAll(
                database,
                sql: """
                    SELECT id FROM recordings LEFT JOIN uploads ON recording = id
                    WHERE state = 'finished' AND uploads.finished_ns IS NULL
                    """
            )
            return Set(ids.compactMap { RecordingID(rawValue: $0) })
        }
    }

    /// The upload of a recording with its files; `nil` if there is none.
    public func upload(of recording: RecordingID) async throws -> UploadEntry? {
        try await self.read { database in
            let row = try Row.fetchOne(
                database,
                sql: "SELECT * FROM uploads WHERE recording = ?",
                arguments: [recording.rawValue]
            )
            guard let row else { return nil }
            var upload = UploadEntry(
                recording: recording,
                place: row["place"],
                planned: UTCTime(nanosecondsSince1970: row["planned_ns"])
            )
            upload.finished = (row["finished_ns"] as Int64?).map(UTCTime.init(nanosecondsSince1970:))
            upload.objects = try Row.fetchAll(
                database,
                sql: "SELECT * FROM upload_objects WHERE recording = ?",
                arguments: [recording.rawValue]
            ).map(UploadObject.init)
            return upload
        }
    }

    /// Replaces the stored state of a recording's upload, with its files.
    ///
    /// Nothing happens if the recording is not known.
    ///
    /// - Parameter due: when its next file is due; `nil` if none waits.
    public func save(_ upload: UploadEntry, due: UTCTime?) async throws {
        try await self.write { database in
            let id = upload.recording.rawValue
            try database.execute(
                sql: """
                    INSERT INTO uploads (recording, place, planned_ns, finished_ns, due_ns)
                    SELECT :id, :place, :planned, :finished, :due WHERE EXISTS (SELECT 1 FROM recordings WHERE id = :id)
                    ON CONFLICT (recording) DO UPDATE SET place = :place, planned_ns = :planned, finished_ns = :finished,
                        due_ns = :due
                    """,
                arguments: [
                    "id": id, "place": upload.place, "planned": upload.planned.nanosecondsSince1970,
                    "finished": upload.finished?.nanosecondsSince1970, "due": due?.nanosecondsSince1970,
                ]
            )
            guard database.changesCount > 0 else { return }
            try database.execute(sql: "DELETE FROM upload_objects WHERE recording = ?", arguments: [id])
            for object in upload.objects { try Self.insert(object, of: id, database) }
        }
    }

    /// Notes what became of one file; nothing happens if the recording is not known any more, it goes to another place, or the
    /// file was written again.
    ///
    /// - Parameters:
    ///   - place: the recording's folder at the remote.
    ///   - due: when the next file is due, if one waits.
    ///   - now: when the upload is finished if none does.
    /// - Returns: whether every file is verified.
    @discardableResult
    public func update(
        _ object: UploadObject,
        of recording: RecordingID,
        at place: String,
        due: UTCTime,
        now: UTCTime
    ) async throws -> Bool {
        try await self.write { database in
            try database.execute(
                sql: """
                    UPDATE upload_objects SET checksum = :checksum, attempts = :attempts, due_ns = :due, error = :error
                    WHERE recording = :id AND file = :file AND bytes = :bytes AND modified_ns = :modified
                        AND EXISTS (SELECT 1 FROM uploads WHERE recording = :id AND place = :place)
                    """,
                arguments: [
                    "id": recording.rawValue, "file": object.file.name, "checksum": object.checksum,
                    "attempts": object.attempts, "due": object.due.nanosecondsSince1970, "error": object.error,
                    "bytes": object.file.bytes, "modified": object.file.modified, "place": place,
                ]
            )
            guard database.changesCount > 0 else { return false }
            let isFinished =
                try Bool.fetchOne(
                    database,
                    sql: """
                        SELECT NOT EXISTS (SELECT 1 FROM upload_objects WHERE recording = ? AND checksum IS NULL)
                        """,
                    arguments: [recording.rawValue]
                ) ?? false
            try database.execute(
                sql: "UPDATE uploads SET due_ns = ?, finished_ns = ? WHERE recording = ?",
                arguments: [
                    isFinished ? nil : due.nanosecondsSince1970, isFinished ? now.nanosecondsSince1970 : nil,
                    recording.rawValue,
                ]
            )
            return isFinished
        }
    }

    /// The recording whose next file is due first, and when.
    public func nextUpload() async throws -> (recording: RecordingID, due: UTCTime)? {
        try await self.read { database in
            let row = try Row.fetchOne(
                database,
                sql: "SELECT recording, due_ns FROM uploads WHERE due_ns IS NOT NULL ORDER BY due_ns, recording LIMIT 1"
            )
            guard let row, let id = RecordingID(rawValue: row["recording"]) else { return nil }
            return (id, UTCTime(nanosecondsSince1970: row["due_ns"]))
        }
    }

    /// How far the uploads of recordings are; those without one are left out.
    public func uploadProgress(of recordings: [RecordingID]) async throws -> [RecordingID: UploadProgress] {
        try await self.read { try Self.uploadProgress(of: recordings, $0) }
    }

    /// Figures of waiting uploads.
    public func uploadFigures() async throws -> UploadFigures {
        try await self.read { database in
            let row = try Row.fetchOne(
                database,
                sql: """
                    SELECT count(*) AS number, min(ifnull(end_ns, start_ns)) AS oldest
                    FROM recordings LEFT JOIN uploads ON recording = id
                    WHERE state = 'finished' AND uploads.finished_ns IS NULL
                    """
            )
            return UploadFigures(
                recordings: row?["number"] ?? 0,
                oldest: (row?["oldest"] as Int64?).map(UTCTime.init(nanosecondsSince1970:))
            )
        }
    }

    /// How far the uploads of a storage directory's recordings are, whether a daemon runs or not.
    ///
    /// Empty where there is no catalogue of this version, or none that this account can read.
    public static func uploadProgress(storage: String) -> [RecordingID: UploadProgress] {
        var configuration = Configuration()
        configuration.readonly = true
        configuration.busyMode = .timeout(1)
        guard let queue = try? DatabaseQueue(path: Self.path(in: storage), configuration: configuration) else {
            return [:]
        }
        let found = try? queue.read { database in
            let ids = try String.fetchAll(database, sql: "SELECT recording FROM uploads")
            return try Self.uploadProgress(of: ids.compactMap { RecordingID(rawValue: $0) }, database)
        }
        return found ?? [:]
    }

    private static func uploadProgress(
        of recordings: [RecordingID],
        _ database: Database
    ) throws -> [RecordingID: UploadProgress] {
        var progress: [RecordingID: UploadProgress] = [:]
        let statement = try database.cachedStatement(
            sql: """
                SELECT place, finished_ns, count(file) AS files, total(bytes) AS bytes, count(checksum) AS verified_files,
                    total(iif(checksum IS NULL, 0, bytes)) AS verified_bytes,
                    min(iif(checksum IS NULL AND error IS NOT NULL, upload_objects.due_ns, NULL)) AS next_ns
                FROM uploads LEFT JOIN upload_objects USING (recording) WHERE uploads.recording = ?
                """
        )
        for id in recordings {
            guard let row = try Row.fetchOne(statement, arguments: [id.rawValue]), let place = row["place"] as String?
            else {
                continue
            }
            var found = UploadProgress(place: place)
            found.finished = (row["finished_ns"] as Int64?).map(UTCTime.init(nanosecondsSince1970:))
            found.files = row["files"]
            found.verifiedFiles = row["verified_files"]
            found.bytes = Int64(row["bytes"] as Double)
            found.verifiedBytes = Int64(row["verified_bytes"] as Double)
            if let next = row["next_ns"] as Int64? {
                found.nextAttempt = UTCTime(nanosecondsSince1970: next)
                found.error = try String.fetchOne(
                    database,
                    sql: "SELECT error FROM upload_objects WHERE recording = ? AND checksum IS NULL AND due_ns = ?",
                    arguments: [id.rawValue, next]
                )
            }
            progress[id] = found
        }
        return progress
    }

    private static func insert(_ object: UploadObject, of recording: String, _ database: Database) throws {
        try database.cachedStatement(
            sql: """
                INSERT INTO upload_objects (recording, file, rank, bytes, modified_ns, checksum, attempts, due_ns, error)
                VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
                """
        ).execute(arguments: [
            recording, object.file.name, object.file.rank, object.file.bytes, object.file.modified, object.checksum,
            object.attempts, object.due.nanosecondsSince1970, object.error,
        ])
    }
}

extension UploadObject {
    fileprivate init(_ row: Row) {
        let file = File(name: row["file"], bytes: row["bytes"], modified: row["modified_ns"], rank: row["rank"])
        self.init(file, due: UTCTime(nanosecondsSince1970: row["due_ns"]))
        self.checksum = row["checksum"]
        self.attempts = row["attempts"]
        self.error = row["error"]
    }
}
