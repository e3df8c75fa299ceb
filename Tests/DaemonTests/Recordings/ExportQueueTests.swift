// SPDX-License-Identifier: Apache-2.0

import Basics
import Catalogue
import Model
import Storage
import Testing

@testable import Daemon

@Suite struct ExportQueueTests {
    /// A queue with its clock.
    private struct Bench {
        var queue: ExportQueue
        var now = UTCTime(nanosecondsSince1970: 1_795_230_746_000_000_000)

        init(limit: Int = 1) {
            self.queue = ExportQueue(limit: limit)
        }

        /// An export that waits, until in so many seconds if that is given.
        func export(of recording: RecordingID = .random(), due: Int? = nil) -> ExportEntry {
            var export = ExportEntry(recording: recording, created: self.now)
            export.due = due.map { self.now.adding(.seconds($0)) }
            return export
        }

        /// Which of these begin now.
        mutating func begin(_ exports: ExportEntry...) -> [String] {
            var begun: [String] = []
            for export in exports where self.queue.begin(export, at: self.now) { begun.append(export.id) }
            return begun
        }

        /// What comes of so many bytes on a disk on which there are a thousand.
        mutating func takeSpace(_ bytes: Int64, for export: ExportEntry) -> ExportQueue.Space {
            let disk = DiskUsage(freeBytes: 1500, minimumFreeBytes: 1000)
            return self.queue.takeSpace(bytes, for: export.id, on: disk, at: self.now)
        }
    }

    @Test func asManyRunAsMayAndOneOfEachRecording() {
        var bench = Bench(limit: 2)
        let first = bench.export()
        let (same, second, third) = (bench.export(of: first.recording), bench.export(), bench.export())
        #expect(bench.queue.isIdle && !bench.queue.isFull)
        #expect(bench.begin(first, same, second, third) == [first.id, second.id])
        #expect(bench.queue.isFull && !bench.queue.isIdle)
        #expect(bench.queue.runningExports == [first.id, second.id])
        #expect(bench.queue.exportsRunning(of: first.recording) == [first.id])
        #expect(bench.queue.runs(first.id) && !bench.queue.runs(same.id))
        bench.queue.ended(first.id)
        #expect(bench.begin(third, same) == [third.id])
        for export in [second, third] { bench.queue.ended(export.id) }
        #expect(bench.queue.isIdle && bench.queue.exportsRunning(of: first.recording).isEmpty)
        #expect(bench.begin(same) == [same.id])
    }

    @Test func whatIsCancelledDoesNotBegin() {
        var bench = Bench()
        let export = bench.export()
        bench.queue.cancel(export.id)
        // The catalogue was read before.
        bench.queue.wasRead([export])
        #expect(bench.begin(export).isEmpty && bench.queue.isIdle)
        var other = bench
        other.queue.takeBackCancel(export.id)
        #expect(other.begin(export) == [export.id])
        // It has it no more.
        bench.queue.wasRead([])
        #expect(bench.begin(export) == [export.id])
    }

    @Test func whatIsDueLaterBeginsLater() {
        var bench = Bench(limit: 2)
        let exports = [bench.export(due: 20), bench.export(due: 10)]
        // It was noted before the clock was set back.
        let misplaced = bench.export(due: 86_400)
        #expect(bench.begin(exports[0], exports[1], misplaced) == [misplaced.id])
        #expect(bench.queue.nextDue(of: exports + [misplaced], at: bench.now) == exports[1].due)
        bench.now = bench.now.adding(.seconds(10))
        #expect(bench.begin(exports[0], exports[1]) == [exports[1].id])
        #expect(bench.queue.nextDue(of: exports, at: bench.now) == exports[0].due)
        #expect(bench.queue.nextDue(of: [exports[1]], at: bench.now) == nil)
    }

    @Test func anExportWaitsUntilThereIsSpaceBesideThoseThatRun() {
        var bench = Bench(limit: 2)
        let (first, second) = (bench.export(), bench.export())
        #expect(bench.begin(first, second) == [first.id, second.id])
        #expect(bench.takeSpace(800, for: first) == .enough)
        #expect(bench.takeSpace(800, for: second) == .missing(600))
        bench.queue.ended(second.id)
        #expect(bench.queue.waits(second.id) && !bench.queue.waits(first.id))
        let interval = bench.queue.policy.spaceInterval
        #expect(bench.begin(second).isEmpty)
        #expect(bench.queue.nextDue(of: [first, second], at: bench.now) == bench.now.adding(interval))
        // Told once.
        bench.now = bench.now.adding(interval)
        #expect(bench.begin(second) == [second.id])
        #expect(bench.takeSpace(800, for: second) == .stillMissing)
        for export in [first, second] { bench.queue.ended(export.id) }
        bench.now = bench.now.adding(interval)
        #expect(bench.begin(second) == [second.id])
        #expect(bench.takeSpace(800, for: second) == .enough)
        #expect(!bench.queue.waits(second.id))
    }

    @Test func whatTheCatalogueDidNotTakeIsPutOffAsLongAsItIsThere() {
        var bench = Bench()
        let export = bench.export()
        let until = bench.queue.putOff(export.id, at: bench.now)
        #expect(until > bench.now && bench.queue.due(export, at: bench.now) == until)
        bench.queue.wasRead([export])
        #expect(bench.queue.waits(export.id) && bench.begin(export).isEmpty)
        bench.queue.wasRead([])
        #expect(!bench.queue.waits(export.id) && bench.queue.due(export, at: bench.now) == nil)
    }
}
