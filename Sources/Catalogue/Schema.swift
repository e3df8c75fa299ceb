// SPDX-License-Identifier: Apache-2.0

import GRDB

/// The tables of the catalogue, and how an older file gets them.
enum Schema {
    /// Distinguishes our files from other SQLite databases: "TPDK".
    static let applicationID: Int32 = 0x5450_444B

    static var migrator: DatabaseMigrator {
        var migrator = DatabaseMigrator()
        migrator.registerMigration("1 recordings") { try $0.execute(sql: Self.recordings) }
        migrator.registerMigration("1 exports") { try $0.execute(sql: Self.exports) }
        migrator.registerMigration("1 deliveries") { try $0.execute(sql: Self.deliveries) }
        migrator.registerMigration("2 export options") {
            try $0.execute(sql: "ALTER TABLE exports ADD COLUMN options TEXT")
        }
        migrator.registerMigration("3 export attempts") {
            try $0.execute(sql: "ALTER TABLE exports ADD COLUMN attempts INTEGER NOT NULL DEFAULT 0")
            try $0.execute(sql: "ALTER TABLE exports ADD COLUMN due_ns INTEGER")
        }
        migrator.registerMigration("4 recordings to export") {
            // Recordings that were found finished: their exports were not ordered yet.
            try $0.execute(
                sql: """
                    CREATE TABLE to_export (
                        recording TEXT PRIMARY KEY REFERENCES recordings (id) ON DELETE CASCADE
                    ) WITHOUT ROWID
                    """
            )
        }
        migrator.registerMigration("5 failed exports") {
            try $0.execute(sql: "CREATE INDEX exports_failed ON exports (recording) WHERE state = 'failed'")
        }
        migrator.registerMigration("6 tags and notes") {
            // For rows that an earlier version read, tags are NULL until a rebuild has read them again.
            try $0.execute(sql: "ALTER TABLE recordings ADD COLUMN tags TEXT")
            try $0.execute(sql: "ALTER TABLE recordings ADD COLUMN notes TEXT")
        }
        migrator.registerMigration("7 exports that lack a part") {
            try $0.execute(sql: "ALTER TABLE exports ADD COLUMN lacks_part INTEGER NOT NULL DEFAULT 0")
        }
        migrator.registerMigration("8 ends that were reported") {
            // Not bound to a recording that is known: an end may be reported while the recording could not be noted.
            try $0.execute(
                sql: """
                    CREATE TABLE reported_ends (recording TEXT PRIMARY KEY) WITHOUT ROWID;
                    INSERT INTO reported_ends SELECT id FROM recordings WHERE state = 'finished';
                    CREATE INDEX recordings_finished ON recordings (id) WHERE state = 'finished';
                    CREATE TABLE facts (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
                    INSERT INTO facts SELECT 'first rebuild', 'to come'
                    WHERE NOT EXISTS (SELECT 1 FROM recordings);
                    """
            )
        }
        migrator.registerMigration("9 one spec of an export") { try $0.execute(sql: Self.exportSpecs) }
        migrator.registerMigration("10 rooms that clients added") {
            try $0.execute(
                sql: "CREATE TABLE rooms (name TEXT PRIMARY KEY, definition TEXT NOT NULL) WITHOUT ROWID"
            )
        }
        migrator.registerMigration("11 uploads") { try $0.execute(sql: Self.uploads) }
        return migrator
    }

    // Numbers and truth values were texts before. A patch leaves out what is NULL.
    private static let exportSpecs = """
        DELETE FROM exports WHERE layout NOT IN ('tracks', 'browser', 'grid', 'audio');
        UPDATE exports SET options = NULL WHERE NOT json_valid(options);
        ALTER TABLE exports ADD COLUMN is_whole INTEGER NOT NULL DEFAULT 0;
        ALTER TABLE exports ADD COLUMN spec TEXT NOT NULL DEFAULT '';
        UPDATE exports SET
            is_whole = NOT lacks_part AND participant IS NULL AND ifnull(from_seconds, 0) = 0 AND to_seconds IS NULL,
            spec = json_patch('{}', json_object(
                'layout', layout, 'participant', participant, 'from', from_seconds, 'to', to_seconds,
                'series', json(iif(options ->> '$.series' = 'true', 'true', NULL)),
                'container', options ->> '$.container',
                'keepDamaged', json(iif(options ->> '$."keep-damaged"' = 'true', 'true', NULL)),
                'separateTracks', json(iif(options ->> '$."separate-tracks"' = 'true', 'true', NULL)),
                'project', json(iif(options ->> '$.project' = 'true', 'true', NULL)),
                'size', options ->> '$.size', 'fps', CAST(options ->> '$.fps' AS INTEGER),
                'codec', options ->> '$.codec', 'format', options ->> '$.format',
                'loudness', CAST(options ->> '$.loudness' AS REAL)
            ));
        ALTER TABLE exports DROP COLUMN participant;
        ALTER TABLE exports DROP COLUMN from_seconds;
        ALTER TABLE exports DROP COLUMN to_seconds;
        ALTER TABLE exports DROP COLUMN options;
        ALTER TABLE exports DROP COLUMN lacks_part;
        """

    // `position` is the start in microseconds, moved on to the next free number: recordings, their index for text and
    // every page are in one order, and a page is a range of it.
    private static let recordings = """
        PRAGMA application_id = \(Self.applicationID);
        CREATE TABLE recordings (
            position INTEGER PRIMARY KEY,
            id TEXT NOT NULL UNIQUE,
            room TEXT NOT NULL,
            start_ns INTEGER NOT NULL,
            end_ns INTEGER,
            duration_seconds REAL,
            bytes INTEGER NOT NULL,
            state TEXT NOT NULL,
            verdict TEXT,
            host TEXT,
            parts INTEGER NOT NULL,
            folder TEXT NOT NULL,
            search TEXT NOT NULL
        );
        CREATE INDEX recordings_by_room ON recordings (room, position);
        CREATE INDEX recordings_not_finished ON recordings (state) WHERE state <> 'finished';
        CREATE TABLE participants (
            recording INTEGER NOT NULL REFERENCES recordings (position) ON DELETE CASCADE,
            number INTEGER NOT NULL,
            id TEXT NOT NULL,
            name TEXT,
            PRIMARY KEY (recording, number)
        ) WITHOUT ROWID;
        CREATE TABLE tracks (
            recording INTEGER NOT NULL REFERENCES recordings (position) ON DELETE CASCADE,
            position INTEGER NOT NULL,
            number INTEGER,
            participant TEXT NOT NULL,
            media TEXT NOT NULL,
            codec TEXT NOT NULL,
            file TEXT NOT NULL,
            units INTEGER NOT NULL,
            bytes INTEGER NOT NULL,
            PRIMARY KEY (recording, position)
        ) WITHOUT ROWID;
        CREATE VIRTUAL TABLE recordings_text USING fts5 (
            search, content = 'recordings', content_rowid = 'position', tokenize = 'trigram case_sensitive 1'
        );
        CREATE TRIGGER recordings_text_insert AFTER INSERT ON recordings BEGIN
            INSERT INTO recordings_text (rowid, search) VALUES (new.position, new.search);
        END;
        CREATE TRIGGER recordings_text_delete AFTER DELETE ON recordings BEGIN
            INSERT INTO recordings_text (recordings_text, rowid, search) VALUES ('delete', old.position, old.search);
        END;
        CREATE TRIGGER recordings_text_update AFTER UPDATE OF search ON recordings WHEN old.search <> new.search BEGIN
            INSERT INTO recordings_text (recordings_text, rowid, search) VALUES ('delete', old.position, old.search);
            INSERT INTO recordings_text (rowid, search) VALUES (new.position, new.search);
        END;
        """

    private static let exports = """
        CREATE TABLE exports (
            number INTEGER PRIMARY KEY AUTOINCREMENT,
            id TEXT NOT NULL UNIQUE,
            recording TEXT NOT NULL REFERENCES recordings (id) ON DELETE CASCADE,
            layout TEXT NOT NULL,
            participant TEXT,
            from_seconds REAL,
            to_seconds REAL,
            state TEXT NOT NULL,
            progress REAL NOT NULL,
            file TEXT,
            error TEXT,
            created_ns INTEGER NOT NULL,
            started_ns INTEGER,
            finished_ns INTEGER
        );
        CREATE INDEX exports_by_recording ON exports (recording, number);
        CREATE INDEX exports_pending ON exports (number) WHERE state IN ('queued', 'running');
        """

    private static let uploads = """
        CREATE TABLE uploads (
            recording TEXT PRIMARY KEY REFERENCES recordings (id) ON DELETE CASCADE,
            place TEXT NOT NULL,
            planned_ns INTEGER NOT NULL,
            finished_ns INTEGER,
            due_ns INTEGER
        ) WITHOUT ROWID;
        CREATE INDEX uploads_due ON uploads (due_ns) WHERE due_ns IS NOT NULL;
        CREATE TABLE upload_objects (
            recording TEXT NOT NULL REFERENCES uploads (recording) ON DELETE CASCADE,
            file TEXT NOT NULL,
            rank INTEGER NOT NULL,
            bytes INTEGER NOT NULL,
            modified_ns INTEGER NOT NULL,
            checksum TEXT,
            attempts INTEGER NOT NULL,
            due_ns INTEGER NOT NULL,
            error TEXT,
            PRIMARY KEY (recording, file)
        ) WITHOUT ROWID;
        """

    private static let deliveries = """
        CREATE TABLE deliveries (
            number INTEGER PRIMARY KEY AUTOINCREMENT,
            id TEXT NOT NULL UNIQUE,
            webhook TEXT NOT NULL,
            event TEXT NOT NULL,
            body BLOB NOT NULL,
            state TEXT NOT NULL,
            created_ns INTEGER NOT NULL,
            attempts INTEGER NOT NULL,
            due_ns INTEGER NOT NULL,
            error TEXT
        );
        CREATE INDEX deliveries_by_webhook ON deliveries (webhook, state, number);
        CREATE INDEX deliveries_due ON deliveries (webhook, state, due_ns);
        """
}
