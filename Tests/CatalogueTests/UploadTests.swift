// SPDX-License-Identifier: Apache-2.0

import Basics
import Catalogue
import Model
import Storage
import Testing

@Suite struct CataloguedUploadTests {
    private let storage: CatalogueStorage
    private let catalogue: Catalogue
    private let recording: RecordingEntry

    init() async throws {
        self.storage = try CatalogueStorage()
        self.catalogue = try self.storage.open()
        self.recording = self.storage.entry(1)
        try await self.catalogue.save(self.recording)
    }

    private static func object(_ name: String, rank: Int = 0, second: Int = 0) -> UploadObject {
        let file = UploadObject.File(name: name, bytes: 100, modified: 7, rank: rank)
        return UploadObject(file, due: CatalogueStorage.time(second))
    }

    private func upload(_ objects: UploadObject...) -> UploadEntry {
        UploadEntry(
            recording: self.recording.id,
            place: "arc:x/y",
            planned: CatalogueStorage.time(2),
            objects: objects
        )
    }

    @Test func whatIsSavedIsRead() async throws {
        var object = Self.object("tracks/ä +.mkv", rank: 2, second: 9)
        (object.attempts, object.error) = (3, "the remote does not answer")
        let upload = self.upload(object)
        try await self.catalogue.save(upload, due: CatalogueStorage.time(9))
        #expect(try await self.catalogue.upload(of: self.recording.id) == upload)
        let next = try #require(try await self.catalogue.nextUpload())
        #expect(next.recording == self.recording.id && next.due == CatalogueStorage.time(9))
    }

    @Test func anUploadIsFinishedWithItsLastFile() async throws {
        var (one, two) = (Self.object("a"), Self.object("b"))
        try await self.catalogue.save(self.upload(one, two), due: CatalogueStorage.time(0))
        one.checksum = "md5:1"
        let (due, now) = (CatalogueStorage.time(20), CatalogueStorage.time(10))
        #expect(try await self.catalogue.update(one, of: self.recording.id, at: "arc:x/y", due: due, now: now) == false)
        #expect(try await self.catalogue.nextUpload()?.due == due)
        #expect(try await self.catalogue.unuploadedRecordings() == [self.recording.id])
        two.checksum = "md5:2"
        #expect(try await self.catalogue.update(two, of: self.recording.id, at: "arc:x/y", due: due, now: now))
        #expect(try await self.catalogue.upload(of: self.recording.id)?.finished == now)
        #expect(try await self.catalogue.nextUpload() == nil)
        #expect(try await self.catalogue.unuploadedRecordings().isEmpty)
    }

    /// It was looked at while the old one went out.
    @Test func whatBecameOfAFileThatWasWrittenAgainDoesNotCount() async throws {
        var old = Self.object("a")
        var new = old
        new.file.modified += 1
        try await self.catalogue.save(self.upload(new), due: CatalogueStorage.time(0))
        old.checksum = "md5:1"
        let now = CatalogueStorage.time(10)
        #expect(try await self.catalogue.update(old, of: self.recording.id, at: "arc:x/y", due: now, now: now) == false)
        #expect(try await self.catalogue.upload(of: self.recording.id)?.objects == [new])
    }

    /// The configuration was changed while it went out.
    @Test func whatBecameOfAFileAtAnotherPlaceDoesNotCount() async throws {
        var object = Self.object("a")
        try await self.catalogue.save(self.upload(object), due: CatalogueStorage.time(0))
        object.checksum = "md5:1"
        let now = CatalogueStorage.time(10)
        let isFinished = try await self.catalogue.update(
            object,
            of: self.recording.id,
            at: "arc:before/y",
            due: now,
            now: now
        )
        #expect(!isFinished)
        #expect(try await self.catalogue.upload(of: self.recording.id)?.objects == [Self.object("a")])
    }

    @Test func aRecordingWaitsForItsExports() async throws {
        #expect(try await self.catalogue.recordingsToUpload() == [self.recording.id])
        var export = ExportEntry(recording: self.recording.id, created: CatalogueStorage.time(1))
        for (state, isWanted) in [(ExportState.queued, false), (.running, false), (.failed, true), (.done, true)] {
            export.state = state
            export.finished = CatalogueStorage.time(3)
            try await self.catalogue.save(export)
            #expect(try await self.catalogue.recordingsToUpload().isEmpty != isWanted, "\(state)")
        }
        // Planned before the export was done, and after it.
        for (second, isWanted) in [(2, true), (4, false)] {
            var upload = self.upload(Self.object("a"))
            upload.planned = CatalogueStorage.time(second)
            try await self.catalogue.save(upload, due: nil)
            #expect(try await self.catalogue.recordingsToUpload().isEmpty != isWanted, "\(second)")
        }
    }

    @Test func whatGoesOnIsNotUploaded() async throws {
        try await self.catalogue.update(self.recording.id, bytes: 1, state: .recording)
        #expect(try await self.catalogue.recordingsToUpload().isEmpty)
        #expect(try await self.catalogue.unuploadedRecordings().isEmpty)
    }

    @Test func progressIsToldBesideTheDaemon() async throws {
        var (done, failed) = (Self.object("a"), Self.object("b", second: 5))
        done.checksum = "md5:1"
        (failed.attempts, failed.error) = (1, "refused")
        try await self.catalogue.save(self.upload(done, failed, Self.object("c")), due: nil)
        let progress = try await self.catalogue.uploadProgress(of: [self.recording.id, .random()])
        let found = try #require(progress[self.recording.id])
        #expect(progress.count == 1 && found.place == "arc:x/y" && found.finished == nil)
        #expect(found.files == 3 && found.verifiedFiles == 1 && found.bytes == 300 && found.verifiedBytes == 100)
        #expect(found.error == "refused" && found.nextAttempt == CatalogueStorage.time(5))
        #expect(Catalogue.uploadProgress(storage: self.storage.path) == progress)
        #expect(Catalogue.uploadProgress(storage: self.storage.path + "/none").isEmpty)
    }

    @Test func aRecordingTakesItsUploadWithIt() async throws {
        let upload = self.upload(Self.object("a"))
        try await self.catalogue.save(upload, due: CatalogueStorage.time(0))
        try await self.catalogue.remove(self.recording.id)
        #expect(try await self.catalogue.nextUpload() == nil)
        // An attempt that ends later brings nothing back.
        try await self.catalogue.save(upload, due: CatalogueStorage.time(0))
        let now = CatalogueStorage.time(1)
        let update = try await self.catalogue.update(
            Self.object("a"),
            of: self.recording.id,
            at: "arc:x/y",
            due: now,
            now: now
        )
        #expect(!update)
        #expect(try await self.catalogue.upload(of: self.recording.id) == nil)
    }

    @Test func theOldestThatWaitsIsKnown() async throws {
        try await self.catalogue.save(self.storage.entry(0))
        let figures = try await self.catalogue.uploadFigures()
        #expect(figures.recordings == 2 && figures.oldest == CatalogueStorage.time(0))
    }
}
