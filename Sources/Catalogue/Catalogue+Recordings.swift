// SPDX-License-Identifier: Apache-2.0

import Basics
import GRDB
public import Storage
import Timeline

extension Catalogue {
    /// Inserts a recording, or replaces the known one; its exports stay.
    ///
    /// Zero characters in names, tags and notes become U+FFFD.
    public func save(_ entry: RecordingEntry) async throws {
        try await self.write { _ = try Self.save(entry, $0) }
    }

    /// Takes the facts in a recording's folder, for example after its worker has closed it or an export is done.
    ///
    /// Reads files; returns what is known then. A recording that is found finished, and was not before, is listed by
    /// `recordingsToExport()` until `exportsOrdered(of:)`. Throws `StorageError` if the folder cannot be read.
    ///
    /// - Parameter state: where its life is, if the caller knows better than the folder.
    @discardableResult
    public func refresh(
        _ folder: RecordingFolder,
        as state: RecordingEntry.State? = nil
    ) async throws -> RecordingEntry {
        let summary = try self.summaries.read(folder)
        var entry = RecordingEntry(summary, storage: self.storage)
        entry.state = state ?? entry.state
        try await self.write { [entry] in try Self.take(entry, summary, $0) }
        return entry
    }

    /// One recording with its tracks; throws `notFound`.
    public func recording(_ id: RecordingID) async throws -> RecordingEntry {
        try await self.read { database in
            guard
                let row = try Row.fetchOne(
                    database,
                    sql: "SELECT * FROM recordings WHERE id = ?",
                    arguments: [id.rawValue]
                )
            else { throw Self.noRecording(id) }
            var entry = try RecordingEntry(row)
            let position: Int64 = row["position"]
            entry.participants = try Self.participants(of: [position], database)[position] ?? []
            entry.tracks = try Row.fetchAll(
                database,
                sql: "SELECT * FROM tracks WHERE recording = ? ORDER BY position",
                arguments: [position]
            ).compactMap(RecordedTrack.init)
            return entry
        }
    }

    /// Sets the bytes and state of a recording in progress; nothing happens if it is not known.
    public func update(_ id: RecordingID, bytes: Int64, state: RecordingEntry.State) async throws {
        try await self.write { database in
            try database.execute(
                sql: "UPDATE recordings SET bytes = ?, state = ? WHERE id = ?",
                arguments: [bytes, state.rawValue, id.rawValue]
            )
        }
    }

    /// Forgets a recording with its exports.
    ///
    /// Its files are the caller's. False if it was not known.
    @discardableResult
    public func remove(_ id: RecordingID) async throws -> Bool {
        try await self.write { database in
            try Self.remove(id, database)
            return database.changesCount > 0
        }
    }

    /// Recordings in a state, oldest first, without participants and tracks: for example those in progress, or those
    /// that need repair.
    ///
    /// - Parameter limit: The most that are returned.
    public func recordings(in state: RecordingEntry.State, limit: Int = 10_000) async throws -> [RecordingEntry] {
        try await self.read { database in
            try Row.fetchAll(
                database,
                sql: "SELECT * FROM recordings WHERE state = ? ORDER BY position LIMIT ?",
                arguments: [state.rawValue, max(0, limit)]
            ).map(RecordingEntry.init)
        }
    }

    /// How many recordings there are, and their bytes together; of those in a state, or of all.
    public func totals(in state: RecordingEntry.State? = nil) async throws -> (recordings: Int, bytes: Int64) {
        try await self.read { database in
            let row = try Row.fetchOne(
                database,
                sql: """
                    SELECT count(*) AS number, CAST(total(bytes) AS INTEGER) AS bytes FROM recordings
                    WHERE ?1 IS NULL OR state = ?1
                    """,
                arguments: [state?.rawValue]
            )
            return (row?["number"] ?? 0, row?["bytes"] ?? 0)
        }
    }

    static func noRecording(_ id: RecordingID) -> CatalogueError {
        CatalogueError(.notFound, "there is no recording \(id)")
    }

    /// Takes the facts in a folder, and notes a recording that is found finished, and was not before, as to be
    /// exported.
    static func take(_ entry: RecordingEntry, _ summary: RecordingSummary, _ database: Database) throws {
        let before = try Self.save(entry, database)
        try Self.saveExports(of: summary, database)
        guard entry.state == .finished, before != .finished else { return }
        if before == nil { try Self.takeFound(entry.id, database) }
        try Self.wantExports(of: entry.id, isKnown: before != nil, database)
    }

    /// Saves a recording; the state that it had before, `nil` for one that was not known.
    static func save(_ entry: RecordingEntry, _ database: Database) throws -> RecordingEntry.State? {
        let known = try Row.fetchOne(
            database,
            sql: "SELECT position, state FROM recordings WHERE id = ?",
            arguments: [entry.id.rawValue]
        )
        let position = try known.map { $0["position"] as Int64 } ?? Self.freePosition(entry.start, database)
        try database.execute(
            sql: """
                INSERT INTO recordings (position, id, room, start_ns, end_ns, duration_seconds, bytes, state, verdict,
                    host, parts, folder, search, tags, notes)
                VALUES (:position, :id, :room, :start, :end, :duration, :bytes, :state, :verdict, :host, :parts, :folder,
                    :search, :tags, :notes)
                ON CONFLICT (position) DO UPDATE SET room = :room, start_ns = :start, end_ns = :end,
                    duration_seconds = :duration, bytes = :bytes, state = :state, verdict = :verdict, host = :host,
                    parts = :parts, folder = :folder, search = :search, tags = :tags, notes = :notes
                """,
            arguments: [
                "position": position, "id": entry.id.rawValue, "room": SearchText.storable(entry.room),
                "start": entry.start.nanosecondsSince1970, "end": entry.end?.nanosecondsSince1970,
                "duration": entry.durationSeconds, "bytes": entry.bytes, "state": entry.state.rawValue,
                "verdict": entry.verdict?.rawValue, "host": entry.host, "parts": entry.parts, "folder": entry.folder,
                "search": SearchText.stored(entry), "tags": try JSONColumn.text(entry.tags.map(SearchText.storable)),
                "notes": entry.notes.map(SearchText.storable),
            ]
        )
        if known != nil {
            try database.execute(sql: "DELETE FROM participants WHERE recording = ?", arguments: [position])
            try database.execute(sql: "DELETE FROM tracks WHERE recording = ?", arguments: [position])
        }
        let participants = try database.cachedStatement(
            sql: "INSERT INTO participants (recording, number, id, name) VALUES (?, ?, ?, ?)"
        )
        for (number, participant) in entry.participants.enumerated() {
            try participants.execute(arguments: [
                position, number, SearchText.storable(participant.id), participant.name.map(SearchText.storable),
            ])
        }
        let tracks = try database.cachedStatement(
            sql: """
                INSERT INTO tracks (recording, position, number, participant, media, codec, file, units, bytes)
                VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
                """
        )
        for (place, track) in entry.tracks.enumerated() {
            try tracks.execute(arguments: [
                position, place, track.number, SearchText.storable(track.participant), track.media.rawValue,
                track.codec.rawValue, track.file, Int64(clamping: track.units), Int64(clamping: track.bytes),
            ])
        }
        return known.flatMap { RecordingEntry.State(rawValue: $0["state"]) }
    }

    /// The first free position from a start on.
    private static func freePosition(_ start: UTCTime, _ database: Database) throws -> Int64 {
        let wanted = start.position
        let taken = try Bool.fetchOne(
            database,
            sql: "SELECT EXISTS (SELECT 1 FROM recordings WHERE position = ?)",
            arguments: [wanted]
        )
        guard taken == true else { return wanted }
        return try Int64.fetchOne(
            database,
            sql: """
                SELECT position + 1 FROM recordings AS taken
                WHERE position >= ? AND NOT EXISTS (SELECT 1 FROM recordings WHERE position = taken.position + 1)
                ORDER BY position LIMIT 1
                """,
            arguments: [wanted]
        ) ?? wanted
    }

    static func participants(
        of positions: [Int64],
        _ database: Database
    ) throws -> [Int64: [Participant]] {
        guard !positions.isEmpty else { return [:] }
        let marks = databaseQuestionMarks(count: positions.count)
        let rows = try Row.fetchAll(
            database,
            sql: "SELECT * FROM participants WHERE recording IN (\(marks)) ORDER BY recording, number",
            arguments: StatementArguments(positions)
        )
        return Dictionary(grouping: rows) { $0["recording"] as Int64 }
            .mapValues { $0.map { Participant(id: $0["id"], name: $0["name"]) } }
    }
}

extension UTCTime {
    /// The place in the order of recordings: microseconds.
    var position: Int64 {
        let (quotient, remainder) = self.nanosecondsSince1970.quotientAndRemainder(dividingBy: 1000)
        return remainder < 0 ? quotient - 1 : quotient
    }
}

extension RecordingEntry {
    /// A recording without participants and tracks.
    init(_ row: Row) throws {
        guard let id = RecordingID(rawValue: row["id"]), let state = State(rawValue: row["state"]) else {
            throw CatalogueError(.storage, "the catalogue holds a recording that no version of this program wrote")
        }
        self.init(
            id: id,
            room: row["room"],
            start: UTCTime(nanosecondsSince1970: row["start_ns"]),
            end: (row["end_ns"] as Int64?).map(UTCTime.init(nanosecondsSince1970:)),
            durationSeconds: row["duration_seconds"],
            bytes: row["bytes"],
            state: state,
            verdict: (row["verdict"] as String?).flatMap(Manifest.Verdict.init(stored:)),
            host: row["host"],
            parts: row["parts"],
            folder: row["folder"],
            tags: Self.storedTags(row["tags"]),
            notes: row["notes"]
        )
    }

    /// Tags as they are stored; most recordings have none.
    private static func storedTags(_ text: String?) -> [String] {
        text == "[]" ? [] : JSONColumn.value(text) ?? []
    }
}

extension RecordedTrack {
    /// A track of a codec that is known.
    fileprivate init?(_ row: Row) {
        guard let codec = MediaCodec(rawValue: row["codec"]) else { return nil }
        self.init(
            number: row["number"],
            participant: row["participant"],
            codec: codec,
            file: row["file"],
            units: UInt64(clamping: row["units"] as Int64),
            bytes: UInt64(clamping: row["bytes"] as Int64)
        )
    }
}
