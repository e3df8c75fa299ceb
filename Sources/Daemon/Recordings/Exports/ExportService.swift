// SPDX-License-Identifier: Apache-2.0

import Basics
import Catalogue
import Control
import Logging
import Model
import Observability
import Storage
import Synchronization

/// Runs the exports that the catalogue's queue has: `ExportQueue` decides which, an `ExportRun` makes each.
actor ExportService {
    private let context: StoreContext
    private var queue: ExportQueue
    /// The jobs of exports that run, each once it has begun.
    private var jobs: [String: Task<JobFailure?, Never>] = [:]
    private let wakes: AsyncStream<Void>
    private let wake: AsyncStream<Void>.Continuation
    private nonisolated let shared = Mutex(Shared())

    /// Others read and write this without waiting for the disk.
    private struct Shared {
        var figures = StoreFigures()
        /// When the next export that waits for a time or for space is due.
        var nextDue: UTCTime?
    }

    nonisolated var unownedExecutor: UnownedSerialExecutor { self.context.thread.asUnownedSerialExecutor() }

    /// The figures of the queue and of the disk.
    nonisolated var figures: StoreFigures { self.shared.withLock { $0.figures } }

    /// The ids of exports that wait for space.
    var waiting: Set<String> { self.queue.waitingExports }

    init(_ context: StoreContext, limit: Int) {
        self.context = context
        self.queue = ExportQueue(limit: limit)
        (self.wakes, self.wake) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
        self.wake.yield()
    }

    /// About once a second; never waits.
    nonisolated func note(_ disk: DiskUsage) {
        let isWanted = self.shared.withLock { shared in
            defer { (shared.figures.disk, shared.figures.measured) = (disk, .now) }
            return shared.figures.disk == nil || shared.nextDue.map { Catalogue.isDue($0, at: .now()) } == true
        }
        if isWanted { self.wake.yield() }
    }

    // MARK: Queue

    /// Counts the exports that wait, before the first of them begins.
    func count() async {
        await self.context.attempt("count exports") {
            let count = try await self.context.catalogue.pendingExports().count
            self.shared.withLock { $0.figures.pendingExports = count }
        }
    }

    /// Queues the exports of a finished recording; if the disk takes none of them, they are ordered after the next start.
    ///
    /// - Returns: whether all of that is noted.
    @discardableResult
    func order(_ orders: [ExportSpec], of id: RecordingID) async -> Bool {
        await self.queue(orders, of: id) ? await self.noteOrdered(id) : false
    }

    /// Notes that every export of a recording is queued; false if that could not be noted.
    func noteOrdered(_ id: RecordingID) async -> Bool {
        await self.context.attempt("note ordered exports") {
            try await self.context.catalogue.exportsOrdered(of: id)
        }
    }

    /// Queues those of a recording's exports that it does not have; false if one could not be queued.
    func queue(_ orders: [ExportSpec], of id: RecordingID) async -> Bool {
        guard !orders.isEmpty else { return true }
        // The daemon may have died after it had queued some.
        let read = await self.context.attempt("read exports") { try await self.context.catalogue.exports(of: id) }
        guard let known = read else { return false }
        var isQueued = true
        for order in orders where !known.contains(where: { order.isMet(by: $0) }) {
            if await self.enqueue(id, order) == nil { isQueued = false }
        }
        return isQueued
    }

    /// Queues an export.
    @discardableResult
    func enqueue(_ id: RecordingID, _ order: ExportSpec) async -> ExportEntry? {
        let export = ExportEntry(recording: id, spec: order, created: .now())
        return await self.enqueue(export) ? export : nil
    }

    func enqueue(_ export: ExportEntry) async -> Bool {
        var export = export
        // What of it is recorded until then may be its beginning only.
        export.isOfWhole = export.isOfWhole && !self.context.ledger.isActive(export.recording)
        let isQueued = await self.context.attempt("queue an export") { [export] in
            try await self.context.catalogue.save(export)
        }
        guard isQueued else { return false }
        self.shared.withLock { $0.figures.pendingExports += 1 }
        self.wake.yield()
        return true
    }

    /// Takes an export that waits out of the queue; throws `notFound`, and `conflict` for one that runs or is over.
    func cancel(_ id: String, of recording: RecordingID) async throws {
        guard !self.queue.runs(id) else { throw ControlError(.conflict, "the export \(id) runs") }
        // Before the catalogue answers: a turn that has read the queue already must not begin it.
        self.queue.cancel(id)
        // A turn may have left it out since.
        defer { self.wake.yield() }
        do {
            let state = try await self.context.catalogue.removeQueuedExport(id, of: recording)
            guard state == .queued else {
                throw ControlError(.conflict, "the export \(id) does not wait: it is \(state.rawValue)")
            }
        } catch {
            self.queue.takeBackCancel(id)
            throw error
        }
    }

    /// Ends the jobs of a recording's exports at once.
    func endJobs(of recording: RecordingID) {
        for export in self.queue.exportsRunning(of: recording) { self.jobs[export]?.cancel() }
    }

    // MARK: Turns

    /// Begins exports as they are due, until `finish(within:)` or the end of the task, which ends those that run.
    func run() async {
        await withDiscardingTaskGroup { group in
            for await _ in self.wakes {
                for export in await self.turn() {
                    group.addTask { await self.perform(export) }
                }
            }
            group.cancelAll()
        }
    }

    /// Works on exports that are due for a while, then ends `run()`.
    func finish(within limit: Duration) async {
        let deadline = ContinuousClock.now + limit
        while ContinuousClock.now < deadline, await self.hasExports() {
            try? await Task.sleep(for: .milliseconds(100))
        }
        self.wake.finish()
    }

    private func hasExports() async -> Bool {
        guard self.queue.isIdle else { return true }
        let pending = (try? await self.context.catalogue.pendingExports()) ?? []
        return pending.contains { self.queue.due($0, at: .now()) == nil }
    }

    /// Reads the queue; the exports that begin now.
    private func turn() async -> [ExportEntry] {
        // One of these may end after the queue was read, which then still says that it runs.
        let begun = self.queue.runningExports
        let read = await self.context.attempt("read the export queue") {
            try await self.context.catalogue.pendingExports()
        }
        guard let pending = read else {
            let next = UTCTime.now().adding(self.queue.policy.spaceInterval)
            self.shared.withLock { $0.nextDue = next }
            return []
        }
        self.context.metrics.exportQueue(length: pending.count)
        self.shared.withLock { $0.figures.pendingExports = pending.count }
        let now = UTCTime.now()
        self.queue.wasRead(pending)
        var next: [ExportEntry] = []
        for export in pending where !begun.contains(export.id) && self.queue.mayBegin(export, at: now) {
            let disk = self.figures.disk
            let bytes = disk == nil ? nil : await self.mostBytes(of: export)
            // The queue looks again: the export may have been cancelled while it was measured.
            switch self.queue.begin(export, bytes: bytes, on: disk, at: now) {
            case .begins: next.append(export)
            case .isPutOff(let missing): await self.tell(export, waitsFor: missing)
            case .waits: break
            }
        }
        self.shared.withLock { [due = self.queue.nextDue(of: pending, at: now)] in $0.nextDue = due }
        return next
    }

    private func tell(_ export: ExportEntry, waitsFor missing: Int64) async {
        var waiting = export
        waiting.error = "it waits for free space: \(missing) bytes more are needed"
        self.context.logger.warning(
            "an export waits for free space",
            metadata: .tagged([.recordingID: "\(export.recording)", .detail: "\(missing) bytes more are needed"])
        )
        await self.context.attempt("put an export off") { [waiting] in try await self.context.catalogue.save(waiting) }
    }

    /// How many bytes an export has on the disk at most, as far as can be known before; nil if its recording is not there.
    private func mostBytes(of export: ExportEntry) async -> Int64? {
        let catalogue = self.context.catalogue
        guard let recording = try? await catalogue.recording(export.recording) else { return nil }
        let folders = try? await self.context.sources(of: export)
        // The catalogue may not know yet how large it has become.
        let files = try? folders?.flatMap { try $0.files() }.filter { $0.name.hasPrefix("tracks/") }
        var times: [(start: UTCTime, end: UTCTime?)] = []
        for folder in folders ?? [] where export.spec.from != nil || export.spec.to != nil {
            guard let entry = try? await catalogue.recording(folder.id) else { continue }
            times.append((entry.start, entry.end))
        }
        return export.mostBytes(ofBytes: files?.reduce(0) { $0 + $1.bytes } ?? recording.bytes, recorded: times)
    }

    private func perform(_ export: ExportEntry) async {
        defer {
            self.queue.ended(export.id)
            self.jobs[export.id] = nil
            self.wake.yield()
        }
        let run = ExportRun(export, policy: self.queue.policy, self.context)
        guard var end = await run.perform({ self.jobs[export.id] = $0 }) else { return }
        // The queue has it as it was: begun again at once, it would fail without a pause.
        if !end.isNoted { end.export.due = self.queue.putOff(export.id, at: .now()) }
        run.tell(end.export)
    }
}
