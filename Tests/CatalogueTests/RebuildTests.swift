// SPDX-License-Identifier: Apache-2.0

import Dispatch
import FoundationEssentials
import GRDB
import Glibc
import Storage
import Synchronization
import Testing
import Timeline

@testable import Catalogue

@Suite struct RebuildTests {
    private let storage: CatalogueStorage
    private let catalogue: Catalogue

    init() throws {
        self.storage = try CatalogueStorage()
        self.catalogue = try self.storage.open()
    }

    @discardableResult
    private func makeRecording(
        _ second: Int,
        room: String = "standup",
        isFinished: Bool = true,
        tags: [String]? = nil,
        notes: String? = nil
    ) throws -> RecordingFolder {
        let start = CatalogueStorage.time(second)
        let folder = try RecordingFolder.create(storage: self.storage.path, room: room, start: start)
        let journal = try JournalWriter(folder: folder)
        let started = RecordingStarted(
            room: room,
            id: folder.id.rawValue,
            host: "here",
            utc: start,
            tags: tags,
            notes: notes
        )
        try journal.append(.recordingStarted(started), monotonicNanoseconds: 0)
        try journal.append(
            .participantJoined(ParticipantJoined(participant: "peer-\(second)")),
            monotonicNanoseconds: 1_000_000_000
        )
        guard isFinished else { return folder }
        try journal.append(
            .recordingFinished(RecordingFinished(reason: "stopped")),
            monotonicNanoseconds: 2_000_000_000
        )
        var manifest = Manifest(room: room, id: folder.id, start: start, host: "here", verdict: .complete)
        manifest.participants = [Participant(id: "peer-\(second)")]
        manifest.exports = [
            Manifest.Export(file: "call.mkv", layout: "tracks", durationNanoseconds: 2_000_000_000, bytes: 9)
        ]
        try manifest.write(folder)
        return folder
    }

    @Test func findsWhatTheFoldersHold() async throws {
        let finished = try self.makeRecording(1)
        let cut = try self.makeRecording(2, room: "../evil/room", isFinished: false)
        let report = try await self.catalogue.rebuild()
        #expect(report.read == 2 && report.kept == 0 && report.forgotten == 0 && report.unreadableCount == 0)
        let entry = try await self.catalogue.recording(finished.id)
        #expect(entry.state == .finished && entry.verdict == .complete && entry.durationSeconds == 2)
        #expect(self.storage.path + "/" + entry.folder == finished.path)
        #expect(try await self.catalogue.exports(of: finished.id).map(\.file) == ["call.mkv"])
        let other = try await self.catalogue.recording(cut.id)
        #expect(other.state == .unfinished && other.room == "../evil/room" && other.durationSeconds == 1)
        #expect(try await self.catalogue.list(RecordingFilter(text: "peer-2")).recordings.map(\.id) == [cut.id])
    }

    @Test func changesNothingTheSecondTime() async throws {
        for second in 0..<5 { try self.makeRecording(second, isFinished: second != 3) }
        _ = try await self.catalogue.rebuild()
        let before = try await self.catalogue.list(RecordingFilter()).recordings
        let exports = try await self.catalogue.exports(of: before[0].id)
        let again = try await self.catalogue.rebuild()
        #expect(again.read == 1 && again.kept == 4)
        let everything = try await self.catalogue.rebuild(.everything)
        #expect(everything.read == 5 && everything.kept == 0)
        #expect(try await self.catalogue.list(RecordingFilter()).recordings == before)
        #expect(try await self.catalogue.exports(of: before[0].id) == exports)
    }

    @Test func readsAgainWhatAnEarlierVersionTookLessFrom() async throws {
        let folder = try self.makeRecording(1, tags: ["weekly"], notes: "With guests")
        try self.makeRecording(2)
        _ = try await self.catalogue.rebuild()
        #expect(try await self.catalogue.list(RecordingFilter(text: "weekly")).recordings.map(\.id) == [folder.id])
        let before = try await self.catalogue.recording(folder.id)
        #expect(before.tags == ["weekly"] && before.notes == "With guests")
        let exports = try await self.catalogue.exports(of: folder.id)
        let sql = "UPDATE recordings SET tags = NULL, notes = NULL, search = 'standup' WHERE id = '\(folder.id)'"
        try self.storage.execute(sql, at: Catalogue.path(in: self.storage.path))
        #expect(try await self.catalogue.list(RecordingFilter(text: "weekly")).recordings.isEmpty)
        let report = try await self.catalogue.rebuild()
        #expect(report.read == 1 && report.kept == 1)
        #expect(try await self.catalogue.recording(folder.id) == before)
        #expect(try await self.catalogue.list(RecordingFilter(text: "weekly")).recordings.map(\.id) == [folder.id])
        #expect(try await self.catalogue.exports(of: folder.id) == exports)
        #expect(try await self.catalogue.recordingsToExport().isEmpty)
        #expect(try await self.catalogue.rebuild().kept == 2)
    }

    @Test func tellsWhatHasNoExportUntilItIsOrdered() async throws {
        try self.makeRecording(1)
        try self.makeRecording(2, isFinished: false)
        let bare = try self.makeRecording(3)
        var manifest = try #require(try Manifest.read(bare))
        manifest.exports = []
        try manifest.write(bare)
        _ = try await self.catalogue.rebuild()
        #expect(try await self.catalogue.recordingsToExport().map(\.id) == [bare.id])
        try await self.catalogue.exportsOrdered(of: bare.id)
        // Also not where everything is read again: it may be a recording that gets none.
        _ = try await self.catalogue.rebuild(.everything)
        #expect(try await self.catalogue.recordingsToExport().isEmpty)
    }

    @Test func aPartIsNoExportOfTheWhole() async throws {
        let folder = try self.makeRecording(1)
        var manifest = try #require(try Manifest.read(folder))
        manifest.exports = [
            Manifest.Export(
                file: "call-alice.mkv",
                layout: "tracks",
                durationNanoseconds: 1_000_000_000,
                bytes: 9,
                isPart: true
            )
        ]
        try manifest.write(folder)
        _ = try await self.catalogue.rebuild()
        #expect(try await self.catalogue.recording(folder.id).durationSeconds == 2)
        #expect(try await self.catalogue.exports(of: folder.id).map(\.file) == ["call-alice.mkv"])
        #expect(try await self.catalogue.recordingsToExport().map(\.id) == [folder.id])
        #expect(try await self.catalogue.unexportedRecordings() == [folder.id])
        // Made again by hand, as a whole and under that name.
        manifest.exports[0].isPart = nil
        try manifest.write(folder)
        _ = try await self.catalogue.rebuild(.everything)
        #expect(try await self.catalogue.exports(of: folder.id).map(\.isOfWhole) == [true])
        #expect(try await self.catalogue.unexportedRecordings().isEmpty)
    }

    /// An export that an operator made in between does not count: it is not the one that the room orders.
    @Test func tellsOfWhatIsNotOrderedYet() async throws {
        let folder = try self.makeRecording(3)
        var manifest = try #require(try Manifest.read(folder))
        manifest.exports = []
        try manifest.write(folder)
        _ = try await self.catalogue.rebuild()
        try await self.catalogue.save(ExportEntry(recording: folder.id, created: CatalogueStorage.time(9)))
        #expect(try await self.catalogue.recordingsToExport().map(\.id) == [folder.id])
        try await self.catalogue.exportsOrdered(of: folder.id)
        #expect(try await self.catalogue.recordingsToExport().isEmpty)
    }

    @Test func forgetsWhatIsGone() async throws {
        let gone = try self.makeRecording(1)
        let kept = try self.makeRecording(2)
        _ = try await self.catalogue.rebuild()
        try gone.delete()
        let report = try await self.catalogue.rebuild()
        #expect(report.forgotten == 1 && report.kept == 1)
        #expect(try await self.catalogue.list(RecordingFilter()).recordings.map(\.id) == [kept.id])
    }

    @Test func leavesAloneWhatGoesOn() async throws {
        let active = try self.makeRecording(1, isFinished: false)
        var entry = self.storage.entry(1)
        entry.id = active.id
        entry.state = .recording
        try await self.catalogue.save(entry)
        var unborn = self.storage.entry(2)
        unborn.state = .recording
        try await self.catalogue.save(unborn)
        let report = try await self.catalogue.rebuild(.everything, active: [active.id, unborn.id])
        #expect(report.kept == 1 && report.forgotten == 0)
        #expect(try await self.catalogue.recordings(in: .recording).count == 2)
        _ = try await self.catalogue.rebuild()
        #expect(try await self.catalogue.recording(active.id).state == .unfinished)
        #expect(try await self.catalogue.recordings(in: .recording).isEmpty)
    }

    @Test func leavesAloneWhatIsHeld() async throws {
        let folder = try self.makeRecording(1, isFinished: false)
        try await self.catalogue.refresh(folder, as: .recording)
        var journal: JournalWriter? = try JournalWriter(folder: folder)
        try #require(try journal?.lock() == true)
        let report = try await self.catalogue.rebuild(.everything)
        #expect(report.read == 0 && report.kept == 1 && report.forgotten == 0)
        #expect(try await self.catalogue.recording(folder.id).state == .recording)
        withExtendedLifetime(journal) {}
        journal = nil
        #expect(try await self.catalogue.rebuild().read == 1)
        #expect(try await self.catalogue.recording(folder.id).state == .unfinished)
    }

    /// The catalogue may know more than the list of the folders.
    @Test func keepsWhatIsNotedMeanwhile() async throws {
        let go = DispatchSemaphore(value: 0)
        let (begun, begins) = AsyncStream.makeStream(of: Void.self)
        let rebuilding = try await withThrowingTaskGroup(
            of: Void.self,
            returning: Task<RebuildReport, any Error>.self
        ) { group in
            // As many as read at a time.
            let readers = 3
            defer { for _ in 0..<readers { go.signal() } }
            for _ in 0..<readers {
                group.addTask {
                    try await self.catalogue.read { _ in
                        begins.yield()
                        go.wait()
                    }
                }
            }
            var left = readers
            for await _ in begun {
                left -= 1
                if left == 0 { break }
            }
            let rebuilding = Task { try await self.catalogue.rebuild() }
            // Until it waits for the catalogue.
            try await Task.sleep(for: .milliseconds(300))
            let folder = try self.makeRecording(1)
            var entry = self.storage.entry(1)
            entry.id = folder.id
            try await self.catalogue.save(entry)
            return rebuilding
        }
        #expect(try await rebuilding.value.forgotten == 0)
        #expect(try await self.catalogue.totals().recordings == 1)
    }

    @Test func reportsWhatItCannotReadAndLeavesIt() async throws {
        let fine = try self.makeRecording(1)
        let damaged = try self.makeRecording(2)
        try Data("{".utf8).write(to: URL(filePath: damaged.manifestPath))
        let link = self.storage.path + "/recordings/standup/20261121T031226Z-0123456789abcdef"
        #expect(symlink(fine.path, link) == 0)
        let report = try await self.catalogue.rebuild()
        #expect(report.read == 1 && report.unreadableCount == 1)
        #expect(report.unreadable.map(\.path) == [damaged.path], "a link is no recording")
        #expect(report.unreadable.allSatisfy { !$0.reason.isEmpty })
        #expect(access(damaged.manifestPath, F_OK) == 0)
        #expect(try await self.catalogue.list(RecordingFilter()).recordings.map(\.id) == [fine.id])
    }

    @Test func tellsHowFarItIs() async throws {
        for second in 0..<120 { try self.makeRecording(second) }
        let steps = Mutex<[RebuildProgress]>([])
        _ = try await self.catalogue.rebuild { step in steps.withLock { $0.append(step) } }
        #expect(steps.withLock { $0.map(\.done) } == [100, 120])
        #expect(steps.withLock { $0.allSatisfy { $0.total == 120 } })
    }

    @Test func anEmptyStorageGivesAnEmptyCatalogue() async throws {
        try await self.catalogue.save(self.storage.entry(1))
        #expect(try await self.catalogue.rebuild().forgotten == 1)
        #expect(try await self.catalogue.totals() == (recordings: 0, bytes: 0))
    }

    @Test func aCancelledRebuildEndsEarly() async throws {
        try self.makeRecording(1)
        await withTaskGroup(of: Void.self) { group in
            group.cancelAll()
            group.addTask {
                await #expect(throws: CancellationError.self) { try await self.catalogue.rebuild() }
            }
        }
    }

    @Test func refreshTakesOneFolder() async throws {
        let folder = try self.makeRecording(4)
        let entry = try await self.catalogue.refresh(folder)
        #expect(try await self.catalogue.recording(folder.id) == entry)
        try folder.delete()
        await #expect(throws: StorageError.self) { try await self.catalogue.refresh(folder) }
    }

    @Test func refreshTakesWhatTheCallerKnowsOfItsLife() async throws {
        let folder = try self.makeRecording(4)
        var manifest = try #require(try Manifest.read(folder))
        manifest.exports = []
        try manifest.write(folder)
        #expect(try await self.catalogue.refresh(folder, as: .recording).state == .recording)
        #expect(try await self.catalogue.recordings(in: .recording).map(\.id) == [folder.id])
        #expect(try await self.catalogue.unexportedRecordings().isEmpty)
        try await self.catalogue.refresh(folder, as: .finished)
        #expect(try await self.catalogue.recordingsToExport().map(\.id) == [folder.id])
    }

    @Test func whatIsFoundFinishedIsUnexportedUntilItIsOrdered() async throws {
        let exported = try self.makeRecording(1)
        let bare = try self.makeRecording(2)
        var manifest = try #require(try Manifest.read(bare))
        manifest.exports = []
        try manifest.write(bare)
        let goesOn = try self.makeRecording(3, isFinished: false)
        for folder in [exported, bare, goesOn] { try await self.catalogue.refresh(folder) }
        #expect(try await self.catalogue.recordingsToExport().map(\.id) == [bare.id])
        #expect(try await self.catalogue.unexportedRecordings() == Set([bare.id]))
        try await self.catalogue.exportsOrdered(of: bare.id)
        try await self.catalogue.refresh(bare)
        #expect(try await self.catalogue.unexportedRecordings().isEmpty)
    }

    /// By a path elsewhere.
    @Test func whatWasExportedElsewhereIsUnexportedUntilItIsOrdered() async throws {
        let folder = try self.makeRecording(1)
        var manifest = try #require(try Manifest.read(folder))
        manifest.exports = [
            Manifest.Export(file: "/tmp/call.mkv", layout: "tracks", durationNanoseconds: 1_000_000_000, bytes: 9)
        ]
        try manifest.write(folder)
        _ = try await self.catalogue.rebuild()
        #expect(try await self.catalogue.recordingsToExport().map(\.id) == [folder.id])
        #expect(try await self.catalogue.unexportedRecordings() == [folder.id])
    }

    // MARK: Ends

    @Test func knowsWhichEndsWereReported() async throws {
        let old = try self.makeRecording(1)
        let goesOn = try self.makeRecording(2, isFinished: false)
        _ = try await self.catalogue.rebuild()
        // Ends from before the catalogue were reported before it.
        #expect(try await self.catalogue.unreportedEnds().isEmpty)
        #expect(try await self.catalogue.isEndReported(of: old.id))
        let new = try self.makeRecording(3)
        _ = try await self.catalogue.rebuild()
        #expect(try await self.catalogue.unreportedEnds().map(\.id) == [new.id])
        #expect(try await self.catalogue.reportEnd(of: new.id, by: [], limit: 1) == [:])
        #expect(try await self.catalogue.reportEnd(of: new.id, by: [], limit: 1) == nil)
        #expect(try await self.catalogue.unreportedEnds().isEmpty)
        #expect(try await !self.catalogue.isEndReported(of: goesOn.id))
        // Nothing is kept of what is forgotten.
        try await self.catalogue.remove(new.id)
        #expect(try await !self.catalogue.isEndReported(of: new.id))
    }
}
