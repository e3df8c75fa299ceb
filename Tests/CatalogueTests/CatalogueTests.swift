// SPDX-License-Identifier: Apache-2.0

import Basics
import Catalogue
import FoundationEssentials
import GRDB
import Glibc
import Storage
import Testing
import Timeline

@Suite struct CatalogueTests {
    private let storage: CatalogueStorage

    init() throws {
        self.storage = try CatalogueStorage()
    }

    @Test func createsAFileForOwnerAndGroup() async throws {
        let catalogue = try self.storage.open()
        try await catalogue.save(self.storage.entry(1))
        for suffix in ["", "-wal", "-shm"] {
            var status = stat()
            #expect(stat(Catalogue.path(in: self.storage.path) + suffix, &status) == 0)
            #expect(status.st_mode & 0o777 == 0o640)
        }
        #expect(catalogue.setAside == nil)
    }

    @Test func keepsWhatWasSaved() async throws {
        var entry = self.storage.entry(7, room: "sälar", participants: ["alice", "bob"])
        entry.end = UTCTime(nanosecondsSince1970: entry.start.nanosecondsSince1970 + 61_500_000_000)
        entry.durationSeconds = 61.5
        entry.verdict = .damaged
        entry.host = "recorder-2"
        entry.parts = 3
        entry.tags = ["weekly", "\"späť\", [x]"]
        entry.notes = "With guests"
        entry.tracks = [
            RecordedTrack(
                number: nil,
                participant: "alice",
                codec: .vp8,
                file: "tracks/a.mkv",
                units: 12,
                bytes: .max
            )
        ]
        let catalogue = try self.storage.open()
        try await catalogue.save(entry)
        try catalogue.close()
        let again = try self.storage.open()
        entry.tracks[0].bytes = UInt64(Int64.max)
        #expect(try await again.recording(entry.id) == entry)
        entry.tracks = []
        #expect(try await again.list(RecordingFilter()).recordings == [entry])
    }

    @Test func aCatalogueOfAnEarlierVersionIsTakenOver() async throws {
        let catalogue = try self.storage.open()
        var entry = self.storage.entry(1, participants: ["alice"])
        entry.tracks = [CatalogueStorage.track]
        try await catalogue.save(entry)
        var export = ExportEntry(recording: entry.id, layout: "tracks", created: entry.start)
        export.state = .failed
        try await catalogue.save(export)
        try catalogue.close()
        // As the last version before tags and notes made it.
        let sql = """
            ALTER TABLE recordings DROP COLUMN tags;
            ALTER TABLE recordings DROP COLUMN notes;
            ALTER TABLE exports DROP COLUMN lacks_part;
            DROP INDEX exports_failed;
            DELETE FROM grdb_migrations
                WHERE identifier IN ('5 failed exports', '6 tags and notes', '7 exports that lack a part');
            """
        try self.storage.execute(sql, at: Catalogue.path(in: self.storage.path))
        let again = try self.storage.open()
        #expect(again.setAside == nil)
        #expect(try await again.recording(entry.id) == entry)
        #expect(try await again.exports(of: entry.id) == [export])
        #expect(try await again.list(RecordingFilter(text: "alice")).recordings.map(\.id) == [entry.id])
        #expect(try await again.unexportedRecordings() == Set([entry.id]))
    }

    @Test func replacesWhatIsKnown() async throws {
        let catalogue = try self.storage.open()
        var entry = self.storage.entry(1, participants: ["alice"])
        entry.state = .recording
        try await catalogue.save(entry)
        entry.state = .finished
        entry.participants = [Participant(id: "carol", name: "Carol")]
        try await catalogue.save(entry)
        #expect(try await catalogue.recording(entry.id) == entry)
        #expect(try await catalogue.list(RecordingFilter(text: "alice")).recordings.isEmpty)
        #expect(try await catalogue.list(RecordingFilter(text: "CAROL")).recordings == [entry])
        #expect(try await catalogue.totals() == (recordings: 1, bytes: entry.bytes))
    }

    @Test func updatesWhatGoesOn() async throws {
        let catalogue = try self.storage.open()
        var entry = self.storage.entry(1)
        entry.state = .recording
        try await catalogue.save(entry)
        #expect(try await catalogue.recordings(in: .recording).map(\.id) == [entry.id])
        try await catalogue.update(entry.id, bytes: 77, state: .unfinished)
        #expect(try await catalogue.recording(entry.id).bytes == 77)
        #expect(try await catalogue.recordings(in: .recording).isEmpty)
        #expect(try await catalogue.recordings(in: .unfinished).map(\.id) == [entry.id])
    }

    @Test func forgetsWithEverythingThatBelongsToIt() async throws {
        let catalogue = try self.storage.open()
        let entry = self.storage.entry(1, participants: ["alice"])
        try await catalogue.save(entry)
        let export = ExportEntry(recording: entry.id, layout: "tracks", created: entry.start)
        try await catalogue.save(export)
        #expect(try await catalogue.remove(entry.id))
        #expect(try await !catalogue.remove(entry.id))
        await #expect { try await catalogue.recording(entry.id) } throws: { ($0 as? CatalogueError)?.code == .notFound }
        await #expect { try await catalogue.export(export.id) } throws: { ($0 as? CatalogueError)?.code == .notFound }
        #expect(try await catalogue.list(RecordingFilter(text: "alice")).recordings.isEmpty)
    }

    /// What stands in the catalogue's place before it is opened.
    enum Obstacle: String, CaseIterable {
        case text, directory, link, otherDatabase, laterVersion, cut, overwritten
    }

    @Test(arguments: Obstacle.allCases)
    func putsAsideWhatItCannotUse(obstacle: Obstacle) async throws {
        let path = Catalogue.path(in: self.storage.path)
        try await self.storage.place(obstacle, at: path)
        let catalogue = try self.storage.open()
        let aside = try #require(catalogue.setAside)
        #expect(aside.path.hasPrefix(path + ".aside-"))
        #expect(!aside.reason.isEmpty)
        var status = stat()
        #expect(lstat(aside.path, &status) == 0)
        #expect(try await catalogue.list(RecordingFilter()).recordings.isEmpty)
        try await catalogue.save(self.storage.entry(2))
        try catalogue.close()
        #expect(try self.storage.open().setAside == nil)
    }

    @Test func saysSoWhenThereIsNoPlaceForIt() {
        #expect { try Catalogue.open(storage: "/nonexistent/storage") } throws: {
            ($0 as? CatalogueError)?.code == .storage && "\($0)".contains("/nonexistent/storage")
        }
    }
}
