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
            for export in exports where self.turn(export) == .begins { begun.append(export.id) }
            return begun
        }

        /// What becomes of an export on a disk that has space for a thousand bytes.
        mutating func turn(_ export: ExportEntry, bytes: Int64? = nil) -> ExportQueue.Turn {
            let disk = DiskUsage(freeBytes: 1500, minimumFreeBytes: 1000)
            return self.queue.begin(export, bytes: bytes, on: disk, at: self.now)
        }
    }

    /// Exports that wait, oldest first, and what one turn makes of them: two may run, and a thousand bytes are free.
    struct Row: Sendable, CustomTestStringConvertible {
        struct Export: Sendable {
            var recording = RecordingID.random()
            var bytes: Int64? = 100
            var due: Int?
            var isCancelled = false
        }

        var testDescription: String
        var disk: DiskUsage? = DiskUsage(freeBytes: 1000)
        var exports: [Export]
        var turns: [ExportQueue.Turn]
    }

    private static let same = RecordingID.random()
    private static let rows = [
        Row(
            testDescription: "as many as may run",
            exports: [.init(), .init(), .init()],
            turns: [.begins, .begins, .waits]
        ),
        Row(
            testDescription: "one of each recording",
            exports: [.init(recording: Self.same), .init(recording: Self.same), .init()],
            turns: [.begins, .waits, .begins]
        ),
        Row(
            testDescription: "a smaller one behind one that is too large",
            exports: [.init(bytes: 1500), .init(bytes: 400)],
            turns: [.isPutOff(missing: 500), .begins]
        ),
        Row(
            testDescription: "space beside those that run",
            exports: [.init(bytes: 800), .init(bytes: 800), .init(bytes: 100)],
            turns: [.begins, .isPutOff(missing: 600), .begins]
        ),
        Row(
            testDescription: "half of what is to stay free",
            disk: DiskUsage(freeBytes: 1000, minimumFreeBytes: 1000),
            exports: [.init(bytes: 501), .init(bytes: 500)],
            turns: [.isPutOff(missing: 1), .begins]
        ),
        Row(testDescription: "an unmeasured disk", disk: nil, exports: [.init(bytes: 5000)], turns: [.begins]),
        Row(testDescription: "an unknown size", disk: DiskUsage(), exports: [.init(bytes: nil)], turns: [.begins]),
        Row(
            testDescription: "cancelled, due later, and noted before the clock was set back",
            exports: [.init(isCancelled: true), .init(due: 10), .init(due: 86_400)],
            turns: [.waits, .waits, .begins]
        ),
    ]

    @Test(arguments: Self.rows) func oneTurnBeginsAndPutsOff(_ row: Row) {
        var bench = Bench(limit: 2)
        let exports = row.exports.map { bench.export(of: $0.recording, due: $0.due) }
        for (export, plan) in zip(exports, row.exports) where plan.isCancelled { bench.queue.cancel(export.id) }
        bench.queue.wasRead(exports)
        var turns: [ExportQueue.Turn] = []
        for (export, plan) in zip(exports, row.exports) {
            turns.append(bench.queue.begin(export, bytes: plan.bytes, on: row.disk, at: bench.now))
        }
        #expect(turns == row.turns)
        let begun = zip(exports, turns).filter { $1 == .begins }.map(\.0.id)
        #expect(bench.queue.runningExports == Set(begun))
        // The others do not begin again in the next turn, but for those that wait for their place.
        for (export, turn) in zip(exports, turns) where turn != .waits {
            #expect(!bench.queue.mayBegin(export, at: bench.now))
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
        #expect(bench.turn(first, bytes: 800) == .begins)
        #expect(bench.turn(second, bytes: 800) == .isPutOff(missing: 600))
        #expect(bench.queue.waitingExports == [second.id])
        let interval = bench.queue.policy.spaceInterval
        #expect(!bench.queue.mayBegin(second, at: bench.now))
        #expect(bench.queue.nextDue(of: [first, second], at: bench.now) == bench.now.adding(interval))
        // Told once.
        bench.now = bench.now.adding(interval)
        #expect(bench.queue.mayBegin(second, at: bench.now) && bench.turn(second, bytes: 800) == .waits)
        #expect(bench.queue.nextDue(of: [first, second], at: bench.now) == bench.now.adding(interval))
        bench.queue.ended(first.id)
        bench.now = bench.now.adding(interval)
        #expect(bench.turn(second, bytes: 800) == .begins)
        #expect(bench.queue.waitingExports.isEmpty)
    }

    @Test func whatTheCatalogueDidNotTakeIsPutOffAsLongAsItIsThere() {
        var bench = Bench()
        let export = bench.export()
        let until = bench.queue.putOff(export.id, at: bench.now)
        #expect(until > bench.now && bench.queue.due(export, at: bench.now) == until)
        bench.queue.wasRead([export])
        #expect(bench.queue.waitingExports == [export.id] && bench.begin(export).isEmpty)
        bench.queue.wasRead([])
        #expect(bench.queue.waitingExports.isEmpty && bench.queue.due(export, at: bench.now) == nil)
    }
}
