// SPDX-License-Identifier: Apache-2.0

import Basics
import FoundationEssentials
import Storage
import TestSupport
import Testing
import Timeline

@Suite struct JournalTests {
    private let storage: TemporaryStorage
    private let folder: RecordingFolder

    init() throws {
        self.storage = try TemporaryStorage()
        self.folder = try self.storage.makeFolder()
    }

    private func append(_ bytes: [UInt8]) throws {
        let old = FileManager.default.contents(atPath: self.folder.journalPath) ?? Data()
        try (old + Data(bytes)).write(to: URL(filePath: self.folder.journalPath))
    }

    @Test func readsWhatWasWritten() throws {
        let writer = try JournalWriter(folder: self.folder)
        for number in 0..<100 { try writer.append(JournalRecord.anchor(number), monotonicNanoseconds: Int64(number)) }
        var entries: [JournalEntry] = []
        let journal = try Journal.read(self.folder) { entries.append($0) }
        let written = (0..<100).map { JournalEntry(JournalRecord.anchor($0), monotonicNanoseconds: Int64($0)) }
        #expect(entries == written)
        #expect(journal.skippedLines == 0)
    }

    @Test func theEndIsFoundWithoutTheRest() throws {
        #expect(Journal.end(of: self.folder) == nil)
        let writer = try JournalWriter(folder: self.folder)
        for number in 0..<3 { try writer.append(JournalRecord.anchor(number), monotonicNanoseconds: Int64(number)) }
        #expect(Journal.end(of: self.folder)?.monotonicNanoseconds == 2)
        // Behind it a torn line, in front of it what is no journal.
        try self.append(Array(#"{"v":1,"at":5,"ki"#.utf8))
        #expect(Journal.end(of: self.folder)?.monotonicNanoseconds == 2)
        let whole = try #require(FileManager.default.contents(atPath: self.folder.journalPath))
        let front = Data(repeating: 0, count: 1 << 20) + Data("\n".utf8)
        try (front + whole).write(to: URL(filePath: self.folder.journalPath))
        #expect(Journal.end(of: self.folder)?.monotonicNanoseconds == 2)
    }

    @Test func isReadableAtEachByte() throws {
        let writer = try JournalWriter(folder: self.folder)
        for number in 0..<3 { try writer.append(JournalRecord.anchor(number), monotonicNanoseconds: Int64(number)) }
        let whole = [UInt8](try #require(FileManager.default.contents(atPath: self.folder.journalPath)))
        for length in 0...whole.count {
            try Data(whole.prefix(length)).write(to: URL(filePath: self.folder.journalPath))
            let lines = whole.prefix(length).filter { $0 == UInt8(ascii: "\n") }.count
            let entries = try Journal.entries(of: self.folder)
            // A line whose newline alone is missing is whole.
            #expect(entries.count == lines || entries.count == lines + 1 && whole[length] == UInt8(ascii: "\n"))
        }
    }

    @Test func continuesAfterATornLine() throws {
        try JournalWriter(folder: self.folder).append(JournalRecord.anchor(1), monotonicNanoseconds: 1)
        try self.append(Array(#"{"v":1,"at":5,"ki"#.utf8))
        try JournalWriter(folder: self.folder).append(JournalRecord.anchor(2), monotonicNanoseconds: 2)
        var entries: [JournalEntry] = []
        let journal = try Journal.read(self.folder) { entries.append($0) }
        #expect(entries.map(\.monotonicNanoseconds) == [1, 2])
        #expect(journal.skippedLines == 1)
    }

    @Test func skipsWhatItDoesNotKnow() throws {
        let writer = try JournalWriter(folder: self.folder)
        try writer.append(JournalRecord.anchor(1), monotonicNanoseconds: 1)
        try self.append(Array("{\"v\":1,\"at\":3,\"kind\":\"hologram-opened\"}\nnonsense\n\n".utf8) + [0xFF, 0, 0x0A])
        try writer.append(JournalRecord.anchor(2), monotonicNanoseconds: 2)
        var entries: [JournalEntry] = []
        let journal = try Journal.read(self.folder) { entries.append($0) }
        #expect(entries.map(\.monotonicNanoseconds) == [1, 2])
        #expect(journal.skippedLines == 3)
    }

    @Test func skipsAnEndlessLine() throws {
        try self.append([UInt8](repeating: UInt8(ascii: "{"), count: 5 << 20) + [0x0A])
        try JournalWriter(folder: self.folder).append(JournalRecord.anchor(2), monotonicNanoseconds: 2)
        var entries: [JournalEntry] = []
        let journal = try Journal.read(self.folder) { entries.append($0) }
        #expect(entries.count == 1)
        #expect(journal.skippedLines == 1)
    }

    @Test func refusesARecordThatIsTooLong() throws {
        let writer = try JournalWriter(folder: self.folder)
        let marker = JournalRecord.marker(Marker(name: String(repeating: "x", count: 2 << 20)))
        #expect(throws: StorageError.self) { try writer.append(marker, monotonicNanoseconds: 0) }
        #expect(try Journal.entries(of: self.folder).isEmpty)
    }

    @Test func takesRecordsFromManyThreads() async throws {
        let writer = try JournalWriter(folder: self.folder)
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in 0..<8 {
                group.addTask {
                    for _ in 0..<200 { try writer.append(JournalRecord.anchor(number), monotonicNanoseconds: 0) }
                }
            }
            try await group.waitForAll()
        }
        var entries: [JournalEntry] = []
        let journal = try Journal.read(self.folder) { entries.append($0) }
        #expect(entries.count == 1600)
        #expect(journal.skippedLines == 0)
    }

    @Test func isEmptyWithoutAFile() throws {
        #expect(try Journal.read(self.folder) { _ in } == Journal())
        try Journal.events(of: self.folder) { _ in Issue.record("there is no journal") }
    }
}

@Suite struct ManifestTests {
    private let storage: TemporaryStorage
    private let folder: RecordingFolder

    init() throws {
        self.storage = try TemporaryStorage()
        self.folder = try self.storage.makeFolder()
    }

    private var manifest: Manifest {
        var manifest = Manifest(
            room: "a/b",
            id: self.folder.id,
            start: UTCTime(nanosecondsSince1970: 5),
            host: "h",
            verdict: .complete
        )
        manifest.participants = [Participant(id: "p", name: "Zoë")]
        manifest.tracks = [
            RecordedTrack(
                number: 1,
                participant: "p",
                codec: .opus,
                file: "tracks/f",
                units: 1,
                bytes: 2,
                keyframes: 1
            )
        ]
        manifest.exports = [Manifest.Export(file: "call.mkv", layout: "tracks", durationNanoseconds: 7, bytes: 8)]
        return manifest
    }

    @Test func returnsFromDisk() throws {
        #expect(try Manifest.read(self.folder) == nil)
        try self.manifest.write(self.folder)
        #expect(try Manifest.read(self.folder) == self.manifest)
    }

    @Test func replacesAnOlderOneAndLeavesNothingElse() throws {
        try self.manifest.write(self.folder)
        var newer = self.manifest
        newer.verdict = .damaged
        try newer.write(self.folder)
        #expect(try Manifest.read(self.folder)?.verdict == .damaged)
        #expect(
            try FileManager.default.contentsOfDirectory(atPath: self.folder.path).sorted() == [
                "manifest.json", "tracks",
            ]
        )
    }

    @Test(arguments: ["", "{}", "[1,2", "{\"version\":99}"])
    func refuses(text: String) throws {
        try Data(text.utf8).write(to: URL(filePath: self.folder.manifestPath))
        #expect(throws: StorageError.self) { try Manifest.read(self.folder) }
    }
}
