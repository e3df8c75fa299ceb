-- A catalogue of schema 8, which `tapedeck repair` made at 4690548a, with rows as that version wrote them.
PRAGMA application_id = 1414546507;
CREATE TABLE grdb_migrations (identifier TEXT NOT NULL PRIMARY KEY);
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
, tags TEXT, notes TEXT);
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
, options TEXT, attempts INTEGER NOT NULL DEFAULT 0, due_ns INTEGER, lacks_part INTEGER NOT NULL DEFAULT 0);
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
CREATE TABLE to_export (
    recording TEXT PRIMARY KEY REFERENCES recordings (id) ON DELETE CASCADE
) WITHOUT ROWID;
CREATE TABLE reported_ends (recording TEXT PRIMARY KEY) WITHOUT ROWID;
CREATE TABLE facts (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE INDEX recordings_by_room ON recordings (room, position);
CREATE INDEX recordings_not_finished ON recordings (state) WHERE state <> 'finished';
CREATE INDEX exports_by_recording ON exports (recording, number);
CREATE INDEX exports_pending ON exports (number) WHERE state IN ('queued', 'running');
CREATE INDEX deliveries_by_webhook ON deliveries (webhook, state, number);
CREATE INDEX deliveries_due ON deliveries (webhook, state, due_ns);
CREATE INDEX exports_failed ON exports (recording) WHERE state = 'failed';
CREATE INDEX recordings_finished ON recordings (id) WHERE state = 'finished';
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
INSERT INTO grdb_migrations (identifier) VALUES ('1 recordings');
INSERT INTO grdb_migrations (identifier) VALUES ('1 exports');
INSERT INTO grdb_migrations (identifier) VALUES ('1 deliveries');
INSERT INTO grdb_migrations (identifier) VALUES ('2 export options');
INSERT INTO grdb_migrations (identifier) VALUES ('3 export attempts');
INSERT INTO grdb_migrations (identifier) VALUES ('4 recordings to export');
INSERT INTO grdb_migrations (identifier) VALUES ('5 failed exports');
INSERT INTO grdb_migrations (identifier) VALUES ('6 tags and notes');
INSERT INTO grdb_migrations (identifier) VALUES ('7 exports that lack a part');
INSERT INTO grdb_migrations (identifier) VALUES ('8 ends that were reported');
INSERT INTO recordings (position, id, room, start_ns, end_ns, duration_seconds, bytes, state, verdict, host, parts, folder, search, tags, notes) VALUES (1795230747000000,'aaaaaaaaaaaaaaaa','standup',1795230747000000000,1795230807000000000,60.0,1000,'finished','complete','recorder-1',1,'recordings/standup/2026-aaaaaaaaaaaaaaaa','standup aaaaaaaaaaaaaaaa alice','["weekly"]',NULL);
INSERT INTO recordings (position, id, room, start_ns, end_ns, duration_seconds, bytes, state, verdict, host, parts, folder, search, tags, notes) VALUES (1795230748000000,'bbbbbbbbbbbbbbbb','standup',1795230748000000000,1795230808000000000,60.0,2000,'finished','complete','recorder-1',1,'recordings/standup/2026-bbbbbbbbbbbbbbbb','standup bbbbbbbbbbbbbbbb alice','["weekly"]',NULL);
INSERT INTO participants (recording, number, id, name) VALUES (1795230747000000,0,'alice','Alice');
INSERT INTO participants (recording, number, id, name) VALUES (1795230748000000,0,'alice','Alice');
INSERT INTO tracks (recording, position, number, participant, media, codec, file, units, bytes) VALUES (1795230747000000,0,1,'alice','audio','opus','tracks/001-alice-audio.mka',50,4000);
INSERT INTO tracks (recording, position, number, participant, media, codec, file, units, bytes) VALUES (1795230748000000,0,1,'alice','audio','opus','tracks/001-alice-audio.mka',50,4000);
INSERT INTO exports (number, id, recording, layout, participant, from_seconds, to_seconds, state, progress, file, error, created_ns, started_ns, finished_ns, options, attempts, due_ns, lacks_part) VALUES (1,'0000000000000001','aaaaaaaaaaaaaaaa','tracks',NULL,NULL,NULL,'done',1.0,'call.mkv',NULL,1795230816000000000,NULL,NULL,NULL,0,NULL,0);
INSERT INTO exports (number, id, recording, layout, participant, from_seconds, to_seconds, state, progress, file, error, created_ns, started_ns, finished_ns, options, attempts, due_ns, lacks_part) VALUES (2,'0000000000000002','aaaaaaaaaaaaaaaa','tracks',NULL,NULL,NULL,'queued',0.0,NULL,NULL,1795230816000000000,NULL,NULL,'{"container":"mp4","keep-damaged":"true","project":"true","separate-tracks":"true"}',0,NULL,0);
INSERT INTO exports (number, id, recording, layout, participant, from_seconds, to_seconds, state, progress, file, error, created_ns, started_ns, finished_ns, options, attempts, due_ns, lacks_part) VALUES (3,'0000000000000003','aaaaaaaaaaaaaaaa','tracks',NULL,NULL,NULL,'failed',0.0,NULL,'disk full',1795230816000000000,NULL,NULL,'{"container":"webm","series":"true"}',0,NULL,0);
INSERT INTO exports (number, id, recording, layout, participant, from_seconds, to_seconds, state, progress, file, error, created_ns, started_ns, finished_ns, options, attempts, due_ns, lacks_part) VALUES (4,'0000000000000004','aaaaaaaaaaaaaaaa','grid','Zoë "z" -x',1.05,90.0,'queued',0.0,NULL,NULL,1795230816000000000,NULL,NULL,'{"codec":"vp8","fps":"30","loudness":"-23.0","size":"640x360"}',0,NULL,0);
INSERT INTO exports (number, id, recording, layout, participant, from_seconds, to_seconds, state, progress, file, error, created_ns, started_ns, finished_ns, options, attempts, due_ns, lacks_part) VALUES (5,'0000000000000005','aaaaaaaaaaaaaaaa','audio',NULL,0.0,NULL,'running',0.0,NULL,NULL,1795230816000000000,NULL,NULL,'{"format":"wav","loudness":"-16.5"}',0,NULL,0);
INSERT INTO exports (number, id, recording, layout, participant, from_seconds, to_seconds, state, progress, file, error, created_ns, started_ns, finished_ns, options, attempts, due_ns, lacks_part) VALUES (6,'0000000000000006','aaaaaaaaaaaaaaaa','browser',NULL,NULL,NULL,'done',1.0,'browser.webm',NULL,1795230816000000000,NULL,NULL,NULL,0,NULL,0);
INSERT INTO exports (number, id, recording, layout, participant, from_seconds, to_seconds, state, progress, file, error, created_ns, started_ns, finished_ns, options, attempts, due_ns, lacks_part) VALUES (7,'0000000000000007','bbbbbbbbbbbbbbbb','tracks',NULL,NULL,NULL,'failed',0.0,NULL,'no space',1795230816000000000,NULL,NULL,NULL,0,NULL,1);
INSERT INTO exports (number, id, recording, layout, participant, from_seconds, to_seconds, state, progress, file, error, created_ns, started_ns, finished_ns, options, attempts, due_ns, lacks_part) VALUES (8,'0000000000000008','bbbbbbbbbbbbbbbb','audio',NULL,NULL,NULL,'failed',0.0,NULL,NULL,1795230816000000000,NULL,NULL,NULL,0,NULL,0);
INSERT INTO exports (number, id, recording, layout, participant, from_seconds, to_seconds, state, progress, file, error, created_ns, started_ns, finished_ns, options, attempts, due_ns, lacks_part) VALUES (9,'0000000000000009','bbbbbbbbbbbbbbbb','grid',NULL,NULL,1000000000000.0,'done',1.0,'call-grid.mp4',NULL,1795230816000000000,NULL,NULL,NULL,0,NULL,0);
INSERT INTO to_export (recording) VALUES ('bbbbbbbbbbbbbbbb');
