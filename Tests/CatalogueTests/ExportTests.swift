// SPDX-License-Identifier: Apache-2.0

import Basics
import Catalogue
import Model
import Storage
import Testing

@Suite struct CataloguedExportTests {
    private let storage: CatalogueStorage
    private let catalogue: Catalogue
    private let recording: RecordingEntry

    init() async throws {
        self.storage = try CatalogueStorage()
        self.catalogue = try self.storage.open()
        var recording = self.storage.entry(1)
        recording.tracks = [CatalogueStorage.track]
        self.recording = recording
        try await self.catalogue.save(self.recording)
    }

    private func export(_ second: Int = 0, _ spec: ExportSpec = ExportSpec()) -> ExportEntry {
        ExportEntry(recording: self.recording.id, spec: spec, created: CatalogueStorage.time(second))
    }

    @Test func goesFromQueuedToDone() async throws {
        let grid = ExportSpec.Grid(size: VideoSize(width: 640, height: 360), codec: .vp8, loudness: -23)
        var export = self.export(
            0,
            ExportSpec(.grid(grid), participant: "alice", from: .milliseconds(1050), to: .seconds(20))
        )
        (export.attempts, export.due) = (2, CatalogueStorage.time(30))
        try await self.catalogue.save(export)
        #expect(try await self.catalogue.pendingExports() == [export])
        export.state = .running
        export.started = CatalogueStorage.time(1)
        export.progress = 7
        try await self.catalogue.save(export)
        export.progress = 1
        #expect(try await self.catalogue.export(export.id) == export)
        export.state = .done
        export.finished = CatalogueStorage.time(2)
        export.file = "call.mkv"
        try await self.catalogue.save(export)
        #expect(try await self.catalogue.pendingExports().isEmpty)
        #expect(try await self.catalogue.exports(of: self.recording.id) == [export])
    }

    @Test(arguments: ExportState.allCases)
    func forgetsOnlyWhatWaitsWhenItIsAsked(_ state: ExportState) async throws {
        var export = self.export()
        export.state = state
        try await self.catalogue.save(export)
        let other = self.storage.entry(2)
        try await self.catalogue.save(other)
        for (id, recording) in [("x", self.recording.id), (export.id, other.id)] {
            let error = await #expect(throws: CatalogueError.self) {
                try await self.catalogue.removeQueuedExport(id, of: recording)
            }
            #expect(error?.code == .notFound)
        }
        #expect(try await self.catalogue.removeQueuedExport(export.id, of: self.recording.id) == state)
        #expect(try await self.catalogue.exports(of: self.recording.id).isEmpty == (state == .queued))
    }

    @Test func beginsAgainWhatWasCutOff() async throws {
        var running = self.export()
        running.state = .running
        running.started = CatalogueStorage.time(1)
        running.progress = 0.5
        var failed = self.export(1)
        failed.state = .failed
        failed.error = "disk full"
        for export in [running, failed] { try await self.catalogue.save(export) }
        #expect(try await self.catalogue.requeueInterruptedExports() == 1)
        #expect(try await self.catalogue.requeueInterruptedExports() == 0)
        let pending = try #require(try await self.catalogue.pendingExports().first)
        #expect(pending.id == running.id && pending.state == .queued && pending.progress == 0 && pending.started == nil)
        #expect(try await self.catalogue.export(failed.id) == failed)
    }

    @Test func knowsNoExportsOfUnknownRecordings() async throws {
        let stranger = ExportEntry(recording: .random(), created: CatalogueStorage.time(0))
        await #expect { try await self.catalogue.save(stranger) } throws: { ($0 as? CatalogueError)?.code == .notFound }
        await #expect { try await self.catalogue.exports(of: .random()) } throws: {
            ($0 as? CatalogueError)?.code == .notFound
        }
        await #expect { try await self.catalogue.export("nothing") } throws: {
            ($0 as? CatalogueError)?.code == .notFound
        }
    }

    @Test func keepsTheNewestThatAreOver() async throws {
        for second in 0..<210 {
            var export = self.export(second)
            export.state = .done
            try await self.catalogue.save(export)
        }
        let kept = try await self.catalogue.exports(of: self.recording.id)
        #expect(kept.count == 200)
        #expect(kept.first?.created == CatalogueStorage.time(10))
    }

    @Test func refusesAQueueWithoutEnd() async throws {
        for second in 0..<200 { try await self.catalogue.save(self.export(second)) }
        await #expect { try await self.catalogue.save(self.export(200)) } throws: {
            ($0 as? CatalogueError)?.code == .invalid
        }
        #expect(try await self.catalogue.pendingExports().count == 200)
    }

    /// The fates of the exports of one layout, and whether the recording then has one to make.
    static let fates: [([ExportState], Bool)] = [
        ([], false), ([.queued], false), ([.running], false), ([.done], false), ([.failed], true),
        ([.failed, .failed], true), ([.failed, .queued], true), ([.failed, .done], false), ([.done, .failed], false),
    ]

    @Test(arguments: Self.fates)
    func tellsWhatWasNeverExported(states: [ExportState], isUnexported: Bool) async throws {
        for state in states {
            var export = self.export()
            export.state = state
            try await self.catalogue.save(export)
        }
        let expected: Set<RecordingID> = isUnexported ? [self.recording.id] : []
        #expect(try await self.catalogue.unexportedRecordings() == expected)
        // Another layout is no substitute.
        var grid = self.export(0, ExportSpec(.init(.grid)))
        grid.state = .done
        try await self.catalogue.save(grid)
        #expect(try await self.catalogue.unexportedRecordings() == expected)
    }

    /// No participant sent anything: every export of it fails, and nothing is lost with it.
    @Test func aRecordingWithoutTracksHasNothingToBeExported() async throws {
        var empty = self.recording
        empty.tracks = []
        try await self.catalogue.save(empty)
        var export = self.export()
        export.state = .failed
        try await self.catalogue.save(export)
        #expect(try await self.catalogue.unexportedRecordings().isEmpty)
    }

    @Test func aPartThatFailedIsNoRecordingThatWasNotExported() async throws {
        let parts = [
            ExportSpec(participant: "alice"), ExportSpec(from: .seconds(1)), ExportSpec(to: .seconds(2)),
            ExportSpec(.browser),
        ]
        for spec in parts {
            var part = self.export(0, spec)
            part.state = .failed
            try await self.catalogue.save(part)
        }
        #expect(try await self.catalogue.unexportedRecordings().isEmpty)
        var whole = self.export()
        whole.state = .failed
        try await self.catalogue.save(whole)
        var part = self.export(0, ExportSpec(participant: "alice"))
        part.state = .done
        try await self.catalogue.save(part)
        // Requested while the recording was in progress.
        var beginning = self.export()
        (beginning.isOfWhole, beginning.state) = (false, .done)
        try await self.catalogue.save(beginning)
        #expect(try await self.catalogue.export(beginning.id) == beginning)
        #expect(try await self.catalogue.unexportedRecordings() == Set([self.recording.id]))
    }

    @Test func anExportOfTheRecordingAloneIsNoneOfItsSeries() async throws {
        var series = self.export(0, ExportSpec(series: true))
        series.state = .failed
        try await self.catalogue.save(series)
        var alone = self.export()
        alone.state = .done
        try await self.catalogue.save(alone)
        #expect(try await self.catalogue.unexportedSeries() == [self.recording.id])
        #expect(try await self.catalogue.unexportedRecordings().isEmpty)
        var again = self.export(0, ExportSpec(.tracks(.init(container: .webm)), series: true))
        again.state = .done
        try await self.catalogue.save(again)
        #expect(try await self.catalogue.unexportedSeries().isEmpty)
    }

    @Test func savingTheRecordingAgainKeepsItsExports() async throws {
        let export = self.export()
        try await self.catalogue.save(export)
        var changed = self.recording
        changed.state = .unfinished
        try await self.catalogue.save(changed)
        #expect(try await self.catalogue.exports(of: self.recording.id) == [export])
    }
}
