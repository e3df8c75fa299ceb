// SPDX-License-Identifier: Apache-2.0

import GRDB
public import Storage

/// Which recordings' ends were reported: each is reported once, in however many lives of the daemon.
extension Catalogue {
    /// Notes that the end of a recording is reported, and queues the deliveries that report it, both or neither.
    ///
    /// - Parameter limit: The most deliveries of one webhook that wait.
    /// - Returns: How many deliveries of each webhook were dropped to keep the limit; `nil`, with nothing done, if the end was
    ///   reported before.
    public func reportEnd(
        of recording: RecordingID,
        by deliveries: [DeliveryEntry],
        limit: Int
    ) async throws -> [String: Int]? {
        try await self.write { database in
            try database.execute(
                sql: "INSERT OR IGNORE INTO reported_ends (recording) VALUES (?)",
                arguments: [recording.rawValue]
            )
            guard database.changesCount > 0 else { return nil }
            return try Self.enqueue(deliveries, limit: limit, database)
        }
    }

    /// Whether the end of a recording was reported.
    public func isEndReported(of recording: RecordingID) async throws -> Bool {
        try await self.read { database in
            try Bool.fetchOne(
                database,
                sql: "SELECT EXISTS (SELECT 1 FROM reported_ends WHERE recording = ?)",
                arguments: [recording.rawValue]
            ) ?? false
        }
    }

    /// Finished recordings whose end was not reported, oldest first, without participants and tracks.
    ///
    /// - Parameter limit: The most that are returned.
    public func unreportedEnds(limit: Int = 1000) async throws -> [RecordingEntry] {
        try await self.read { database in
            try Row.fetchAll(
                database,
                sql: """
                    SELECT * FROM recordings WHERE id IN (
                        SELECT id FROM recordings WHERE state = 'finished' EXCEPT SELECT recording FROM reported_ends
                    )
                    ORDER BY position LIMIT ?
                    """,
                arguments: [max(0, limit)]
            ).map(RecordingEntry.init)
        }
    }

    /// Takes a recording that is found finished and was not known: where the catalogue itself is new, the recording is an old
    /// one, and its end was reported before the catalogue was.
    static func takeFound(_ recording: RecordingID, _ database: Database) throws {
        try database.execute(
            sql: """
                INSERT OR IGNORE INTO reported_ends (recording)
                SELECT ? WHERE EXISTS (SELECT 1 FROM facts WHERE name = 'first rebuild')
                """,
            arguments: [recording.rawValue]
        )
    }

    /// Takes that every folder was read once.
    static func firstRebuildDone(_ database: Database) throws {
        try database.execute(sql: "DELETE FROM facts WHERE name = 'first rebuild'")
    }

    /// Forgets a recording with all that is known of it.
    static func remove(_ recording: RecordingID, _ database: Database) throws {
        try database.execute(sql: "DELETE FROM reported_ends WHERE recording = ?", arguments: [recording.rawValue])
        try database.execute(sql: "DELETE FROM recordings WHERE id = ?", arguments: [recording.rawValue])
    }
}
