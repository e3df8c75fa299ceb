// SPDX-License-Identifier: Apache-2.0

import Basics
import Catalogue
import Foundation
import GRDB
import Glibc
import Model
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

    @Test func keepsRoomsThatClientsAdded() async throws {
        let catalogue = try self.storage.open()
        let record = JSONValue.object(["video": .bool(false)])
        let room = JSONValue.object(["url": "socketio+http://h/a", "secret": "s", "record": record])
        try await catalogue.keepRoom("a") { room }
        try await catalogue.keepRoom("b") { .object(["url": "x"]) }
        try await catalogue.keepRoom("a") { .object(["url": "y", "priority": .integer(7)]) }
        try await catalogue.keepRoom("b") { nil }
        try await catalogue.keepRoom("never") { nil }
        try catalogue.close()
        let again = try self.storage.open()
        #expect(try await again.rooms() == ["a": .object(["url": "y", "priority": .integer(7)])])
        try await again.keepRoom("a") { room }
        #expect(try await again.rooms() == ["a": room])
    }

    /// From a catalogue of schema 8 to one of schema 4, without what came between.
    private static let before = """
        ALTER TABLE recordings DROP COLUMN tags;
        ALTER TABLE recordings DROP COLUMN notes;
        ALTER TABLE exports DROP COLUMN lacks_part;
        DROP INDEX exports_failed;
        DROP INDEX recordings_finished;
        DROP TABLE reported_ends;
        DROP TABLE facts;
        DELETE FROM grdb_migrations WHERE identifier >= '5';
        """

    @Test(arguments: ["", Self.before])
    func aCatalogueOfAnEarlierVersionIsTakenOver(change: String) async throws {
        let fixture = try #require(
            Bundle.module.url(forResource: "catalogue-8", withExtension: "sql", subdirectory: "Fixtures")
        )
        let path = Catalogue.path(in: self.storage.path)
        try self.storage.execute(try String(contentsOf: fixture, encoding: .utf8) + change, at: path)
        let catalogue = try self.storage.open()
        #expect(catalogue.setAside == nil)
        let first = try #require(RecordingID(rawValue: "aaaaaaaaaaaaaaaa"))
        let second = try #require(RecordingID(rawValue: "bbbbbbbbbbbbbbbb"))
        #expect(try await catalogue.list(RecordingFilter(text: "alice")).recordings.map(\.id) == [second, first])
        #expect(try await catalogue.recording(first).tags == (change.isEmpty ? ["weekly"] : []))
        let exports = try await catalogue.exports(of: first)
        #expect(
            exports.map(\.spec) == [
                ExportSpec(),
                ExportSpec(.tracks(.init(container: .mp4, switches: [.keepDamaged, .separateTracks, .project]))),
                ExportSpec(.tracks(.init(container: .webm)), series: true),
                ExportSpec(
                    .grid(
                        .init(
                            size: VideoSize(width: 640, height: 360),
                            framesPerSecond: 30,
                            codec: .vp8,
                            loudness: -23
                        )
                    ),
                    participant: "Zoë \"z\" -x",
                    from: .milliseconds(1050),
                    to: .seconds(90)
                ),
                ExportSpec(.audio(.init(format: .wav, loudness: -16.5)), from: .zero), ExportSpec(.browser),
            ]
        )
        #expect(exports.map(\.isOfWhole) == [true, true, true, false, true, true])
        #expect(exports.map(\.state) == [.done, .queued, .failed, .queued, .running, .done])
        #expect(exports[0].file == "call.mkv" && exports[0].progress == 1 && exports[2].error == "disk full")
        let others = try await catalogue.exports(of: second)
        #expect(others.map(\.spec.layout.name) == [.tracks, .audio, .grid])
        #expect(others.map(\.isOfWhole) == [!change.isEmpty, true, false])
        #expect(others[2].spec.to == .seconds(31_536_000))
        #expect(try await catalogue.pendingExports().count == 3)
        #expect(try await catalogue.unexportedRecordings() == [second])
        #expect(try await catalogue.unexportedSeries() == [first])
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
        let export = ExportEntry(recording: entry.id, created: entry.start)
        try await catalogue.save(export)
        #expect(try await catalogue.remove(entry.id))
        #expect(try await !catalogue.remove(entry.id))
        await #expect { try await catalogue.recording(entry.id) } throws: { ($0 as? CatalogueError)?.code == .notFound }
        await #expect { try await catalogue.export(export.id) } throws: { ($0 as? CatalogueError)?.code == .notFound }
        #expect(try await catalogue.list(RecordingFilter(text: "alice")).recordings.isEmpty)
    }

    /// The object at the catalogue's path before it is opened.
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
