// SPDX-License-Identifier: Apache-2.0

import Basics
import Catalogue
import ConfigurationFile
import Control
import Foundation
import Logging
import Model
import Observability
import ServiceLifecycle
import Storage
import Synchronization
import Timeline

/// Knows every recording: tells the catalogue what begins and ends, repairs what a crash left, and runs exports.
///
/// It reads files, on a thread of its own: whoever must not wait for the disk asks for its `figures`.
actor RecordingStore: Service {
    let catalogue: Catalogue
    let bus: EventBus
    let logger: Logger
    private let jobs: JobLauncher
    private let metrics: DaemonMetrics
    /// Recordings that go on, and their folders.
    private(set) var active: [RecordingID: String] = [:] {
        didSet { self.shared.withLock { [count = self.active.count] in $0.figures.activeRecordings = count } }
    }
    /// The exports that each of them gets.
    private var orders: [RecordingID: [ExportSpec]] = [:]
    /// The exports of what an earlier life recorded, by room.
    private let roomOrders: [String: [ExportSpec]]
    /// Recordings that nobody goes on with.
    private var abandoned: AbandonedRecordings
    /// What is known of exports that run or wait.
    private var queue: ExportQueue
    /// What makes the files of exports that run, once that has begun.
    private var makers: [String: Task<JobFailure?, Never>] = [:]
    /// More than any disk has; sums of it are numbers.
    private static let mostBytes: Int64 = 1 << 50
    /// Recordings that are being deleted.
    private var deleting: Set<RecordingID> = []
    /// Recordings that ended and of which the catalogue did not take everything.
    private var untold: [RecordingID: Untold] = [:]
    /// What retention left to a person the last time, and was told of.
    private var heldBack: Set<RetentionPolicy.HeldBack> = []
    private let wakes: AsyncStream<Void>
    private let wake: AsyncStream<Void>.Continuation
    private let shutdownLimit: Duration
    private let thread = DiskThread(name: "recordings")
    private nonisolated let shared = Mutex(Shared())

    /// A recording that ended and of which the catalogue did not take everything.
    private struct Untold {
        var folder: String
        /// Exports that are not queued yet.
        var exports: [ExportSpec]
    }

    /// What others read and write without waiting for the store.
    private struct Shared {
        var figures = StoreFigures()
        /// When the next export that waits for a time or for space is due.
        var nextDue: UTCTime?
    }

    nonisolated var unownedExecutor: UnownedSerialExecutor { self.thread.asUnownedSerialExecutor() }

    /// What was last known, from memory: never waits, from any thread.
    nonisolated var figures: StoreFigures { self.shared.withLock { $0.figures } }

    /// The search for recordings that the catalogue does not know goes back from the newest to this many known ones.
    private static let knownThatEndTheSearch = 50
    /// The most files of one recording that are named where they cannot be read.
    private static let mostUnreadable = 100
    /// The most recordings that are named on one command line: far fewer than it may have.
    private static let mostOfOneRepair = 1000
    /// The most recordings of before that are taken over at a start.
    private static let mostForgotten = 1000

    /// A store that does nothing before `run()`.
    ///
    /// - Parameters:
    ///   - exportJobs: exports that run at a time, 1 and up.
    ///   - roomOrders: the exports of what an earlier life recorded, by room; those of other rooms get all tracks.
    ///   - shutdownLimit: how long exports are still worked on when the daemon ends.
    ///   - repairInterval: the wait after a repair that failed; the next one may fail in the same way.
    init(
        catalogue: Catalogue,
        jobs: JobLauncher,
        exportJobs: Int,
        roomOrders: [String: [ExportSpec]],
        shutdownLimit: Duration,
        repairInterval: Duration = .seconds(600),
        bus: EventBus,
        metrics: DaemonMetrics,
        logger: Logger
    ) {
        self.catalogue = catalogue
        self.jobs = jobs
        self.queue = ExportQueue(limit: exportJobs)
        self.roomOrders = roomOrders
        self.shutdownLimit = shutdownLimit
        self.abandoned = AbandonedRecordings(repairInterval: repairInterval)
        self.bus = bus
        self.metrics = metrics
        self.logger = logger
        (self.wakes, self.wake) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
    }

    /// Repairs what is unfinished, then runs exports until a graceful shutdown.
    ///
    /// Exports that wait then are worked on for `shutdownLimit`; what is left is run after the next start.
    func run() async throws {
        await self.attempt("count exports") {
            let count = try await self.catalogue.pendingExports().count
            self.shared.withLock { $0.figures.pendingExports = count }
        }
        let held = await self.takeUp()
        self.wake.yield()
        await withDiscardingTaskGroup { group in
            group.addTask {
                guard (try? await gracefulShutdown()) != nil else { return }
                await self.finishExports()
            }
            group.addTask { await self.waitForEarlierWorkers(held) }
            for await _ in self.wakes {
                for export in await self.nextExports() {
                    group.addTask { await self.perform(export) }
                }
            }
            group.cancelAll()
        }
    }

    /// Takes up what an earlier life left: closes it, reports its end and orders its exports; returns what a worker of then still
    /// writes.
    func takeUp() async -> [RecordingFolder] {
        let earlier = await self.recordingsOfEarlierLife()
        // Nothing listens for the end yet.
        _ = await cancelWhenGracefulShutdown { await self.repair() }
        let held = await self.takeUpForgotten(earlier)
        await self.exportTakenOver()
        await self.attempt("requeue exports") { _ = try await self.catalogue.requeueInterruptedExports() }
        return held
    }

    private func finishExports() async {
        let deadline = ContinuousClock.now + self.shutdownLimit
        while ContinuousClock.now < deadline, await self.hasExports() {
            try? await Task.sleep(for: .milliseconds(100))
        }
        self.wake.finish()
    }

    // MARK: Recordings

    func started(room: String, _ reference: RecordingReference, exports: [ExportSpec]) async {
        // One that is not there costs no memory.
        guard let id = RecordingID(rawValue: reference.id), !Self.isGone(reference.folder) else { return }
        self.active[id] = reference.folder
        self.orders[id] = exports
        await self.refresh(reference.folder, as: .recording)
    }

    /// - Parameters:
    ///   - reason: why it ended, for people.
    ///   - exports: those that it gets; `nil` for those that were ordered when it began.
    func finished(
        room: String,
        _ reference: RecordingReference,
        reason: String = "finished",
        exports: [ExportSpec]?
    ) async {
        guard let id = RecordingID(rawValue: reference.id) else { return }
        let exports = exports ?? self.orders[id] ?? []
        self.active[id] = nil
        self.orders[id] = nil
        // In this order: who dies after the report finds a recording that goes on, and orders what it has not.
        await self.reportEnd(of: id, as: .recordingFinished, room: room, ["reason": reason])
        let left = await self.enqueue(exports, of: id)
        var isTold = await self.refresh(reference.folder, as: .finished)
        if isTold && left.isEmpty { isTold = await self.order([], of: id) }
        let isDone = isTold && left.isEmpty || Self.isGone(reference.folder)
        self.untold[id] = isDone ? nil : Untold(folder: reference.folder, exports: left)
    }

    // MARK: Ends

    /// Publishes the end of a recording, once in all lives of the daemon.
    ///
    /// Where that cannot be noted nothing is published: the next look at `reportFoundEnds` does it.
    private func reportEnd(
        of id: RecordingID,
        as kind: DaemonEvent.Kind,
        room: String,
        _ details: [String: String] = [:]
    ) async {
        await self.attempt("report the end of a recording") {
            try await self.bus.publishEnd(of: id, as: kind, room: room, details, in: self.catalogue)
        }
    }

    /// Publishes the ends of finished recordings that were not reported: their workers closed them while no daemon was there, or
    /// a repair did.
    private func reportFoundEnds() async {
        await self.attempt("look for ends that were not reported") {
            for entry in try await self.catalogue.unreportedEnds() { await self.reportFoundEnd(entry) }
        }
    }

    private func reportFoundEnd(_ entry: RecordingEntry) async {
        guard self.active[entry.id] == nil else { return }
        let folder = try? RecordingFolder.open(entry.folder, in: self.catalogue.storage)
        let reason = folder.flatMap { Self.end(of: $0) }
        // Without a last record an export closed it.
        let isRepaired = reason == nil || reason == RecordingFinished.repaired
        await self.reportEnd(
            of: entry.id,
            as: isRepaired ? .recordingRepaired : .recordingFinished,
            room: entry.room,
            isRepaired ? [:] : ["reason": reason ?? ""]
        )
    }

    /// Why a recording ended, as the last record of its journal says.
    private static func end(of folder: RecordingFolder) -> String? {
        guard case .recordingFinished(let record) = Journal.end(of: folder)?.record else { return nil }
        return record.reason
    }

    // MARK: State

    /// Brings size, length and people of the recordings that go on up to date, and tells the catalogue again what it did not
    /// take of those that ended.
    func refreshActive() async {
        // Looked at anew each: it may end while another one is noted.
        for id in Array(self.active.keys) {
            if let path = self.active[id] { await self.refresh(id, in: path) }
        }
        await self.tellUntold()
        await self.reportFoundEnds()
    }

    /// Tells the catalogue what it did not take of recordings that ended, of those that still have a folder.
    private func tellUntold() async {
        for id in Array(self.untold.keys) {
            guard let untold = self.untold[id] else { continue }
            guard self.active[id] == nil, !Self.isGone(untold.folder) else {
                self.untold[id] = nil
                continue
            }
            // At first: of a recording that the catalogue does not know it takes no export.
            guard await self.refresh(untold.folder, as: .finished) else { continue }
            let left = await self.enqueue(untold.exports, of: id)
            let isTold = left.isEmpty ? await self.order([], of: id) : false
            self.untold[id] = isTold ? nil : Untold(folder: untold.folder, exports: left)
        }
    }

    private static func isGone(_ path: String) -> Bool {
        do throws(StorageError) {
            _ = try RecordingFolder.open(path: path)
            return false
        } catch {
            return error.code == .notFound
        }
    }

    /// Closes recordings whose worker died and with which no other goes on: their room was left or removed meanwhile.
    ///
    /// One whose room was left may still be completed by its worker: its journal is held until then. What a repair that failed
    /// was to close is left alone for a while.
    ///
    /// - Parameter goingOn: ids of those that a worker writes or will write. One that is missing twice is closed.
    func closeAbandoned(except goingOn: Set<String>) async {
        let now = ContinuousClock.now
        let isAgain = self.abandoned.takesUpWhatIsLeft(at: now)
        let left = isAgain ? await self.unfinished(except: goingOn) : []
        let due = self.abandoned.look(
            missing: Set(self.active.keys.filter { !goingOn.contains($0.rawValue) }),
            left: left.filter { self.active[$0] == nil },
            at: now
        ) { self.isHeld($0) }
        guard !due.isEmpty else { return }
        let folders = self.active.filter { due.contains($0.key) }
        for id in folders.keys { self.active[id] = nil }
        // Others that nobody writes may be waiting for a worker that goes on with them.
        if await self.repair(only: due) {
            self.abandoned.repaired(due)
        } else {
            await self.takeBack(folders)
        }
        await self.exportTakenOver()
        for id in due where self.active[id] == nil && !self.abandoned.isLeft(id) { self.orders[id] = nil }
    }

    /// Whether somebody still completes a recording that goes on.
    private func isHeld(_ id: RecordingID) -> Bool {
        guard let path = self.active[id], let folder = try? RecordingFolder.open(path: path) else { return false }
        return folder.isHeld
    }

    /// Recordings that are not closed, that nobody writes, and with which nobody goes on.
    private func unfinished(except goingOn: Set<String>) async -> Set<RecordingID> {
        var found: Set<RecordingID> = []
        let isRead = await self.attempt("look for recordings that are not closed") {
            for state in [RecordingEntry.State.recording, .unfinished] {
                for entry in try await self.catalogue.recordings(in: state) {
                    guard self.untold[entry.id] == nil, !goingOn.contains(entry.id.rawValue),
                        let folder = try? RecordingFolder.open(entry.folder, in: self.catalogue.storage), !folder.isHeld
                    else { continue }
                    found.insert(entry.id)
                }
            }
        }
        if !isRead { self.abandoned.failed(at: .now) }
        return found
    }

    /// What could not be closed, and the catalogue does not know, is closed later; `unfinished` finds the rest.
    private func takeBack(_ folders: [RecordingID: String]) async {
        for (id, path) in folders {
            do {
                _ = try await self.catalogue.recording(id)
                continue
            } catch let error as CatalogueError where error.code == .notFound {
            } catch {
                continue
            }
            guard !Self.isGone(path), self.active[id] == nil else { continue }
            self.active[id] = path
            self.abandoned.wentBack(id)
        }
    }

    /// Takes what the folder of a recording tells, whether it goes on or not; also of one that ends meanwhile.
    private func refresh(_ id: RecordingID, in path: String) async {
        let isActive = self.active[id] != nil
        await self.refresh(path, as: isActive ? .recording : .finished)
        // Whoever noted its end may have done so before.
        guard isActive, self.active[id] == nil else { return }
        // Its exports were ordered then: it is not to be found as one that ended without them.
        await self.attempt("note a recording") {
            let entry = try await self.catalogue.recording(id)
            try await self.catalogue.update(id, bytes: entry.bytes, state: .finished)
        }
        await self.refresh(path, as: .finished)
    }

    /// Takes what a recording's folder tells; false if that could not be read or noted.
    @discardableResult
    private func refresh(_ path: String, as state: RecordingEntry.State) async -> Bool {
        await self.attempt("note a recording") {
            _ = try await self.catalogue.refresh(try RecordingFolder.open(path: path), as: state)
        }
    }

    /// About once a second; never waits.
    nonisolated func note(_ disk: DiskUsage) {
        let isWanted = self.shared.withLock { shared in
            defer { (shared.figures.disk, shared.figures.measured) = (disk, .now) }
            return shared.figures.disk == nil || shared.nextDue.map { Catalogue.isDue($0, at: .now()) } == true
        }
        if isWanted { self.wake.yield() }
    }

    // MARK: Deletion

    /// Deletes a recording with its files.
    ///
    /// One whose folder is gone, or whose folder's place a link took, is forgotten; the link's target is not touched. Its
    /// exports that run are ended. Throws `conflict` for one whose journal a process holds, whatever is known of it: it is
    /// being written or closed.
    func delete(_ entry: RecordingEntry, because reason: String) async throws {
        let folder = try self.folder(of: entry)
        guard folder?.isHeld != true else {
            throw ControlError(.conflict, "a process still writes or closes the recording \(entry.id)")
        }
        self.deleting.insert(entry.id)
        defer { self.deleting.remove(entry.id) }
        do throws(StorageError) {
            try folder?.delete()
        } catch {
            guard error.code == .notFound else { throw error }
        }
        for export in self.queue.exportsRunning(of: entry.id) { self.makers[export]?.cancel() }
        _ = try await self.catalogue.remove(entry.id)
        self.bus.publish(.recordingDeleted, room: entry.room, recording: entry.id.rawValue, ["reason": reason])
    }

    /// The folder of a recording; `nil` if it is gone.
    private func folder(of entry: RecordingEntry) throws(StorageError) -> RecordingFolder? {
        do throws(StorageError) {
            return try RecordingFolder.open(entry.folder, in: self.catalogue.storage)
        } catch {
            guard error.code == .notFound else { throw error }
            return nil
        }
    }

    /// Ends deletions that an earlier life began, and those that the disk made fail.
    func removeLeftovers() async {
        await self.attempt("end deletions") {
            _ = try RecordingFolder.removeLeftovers(storage: self.catalogue.storage)
        }
    }

    /// Deletes what a policy does not keep, and says once what it cannot delete.
    func apply(_ policy: RetentionPolicy) async {
        await self.attempt("retention") {
            var heldBack: [RetentionPolicy.HeldBack] = []
            var unreadable: Set<RecordingID> = []
            var held: Set<RecordingID> = []
            var isSettled = policy.keep == nil && policy.keepBytes == nil
            while !isSettled {
                let (decision, entries) = try await self.decide(policy, unreadable: unreadable, held: held)
                heldBack = decision.heldBack
                isSettled = true
                for deletion in decision.deletions {
                    guard let entry = entries[deletion.id] else { continue }
                    guard (try? self.folder(of: entry))??.isHeld != true else {
                        held.insert(entry.id)
                        isSettled = false
                        continue
                    }
                    guard self.isReadable(entry) else {
                        // What is freed without it is decided anew.
                        unreadable.insert(entry.id)
                        isSettled = false
                        continue
                    }
                    await self.attempt("delete by retention") {
                        try await self.delete(entry, because: deletion.reason.rawValue)
                    }
                }
            }
            self.tell(heldBack)
        }
    }

    /// What a policy says of the recordings of the catalogue, which is given with it.
    ///
    /// - Parameters:
    ///   - unreadable: those whose folders were found to be so.
    ///   - held: those whose journals a process was found to hold: they are in use, whatever the catalogue says.
    private func decide(
        _ policy: RetentionPolicy,
        unreadable: Set<RecordingID>,
        held: Set<RecordingID>
    ) async throws -> (RetentionPolicy.Decision, [RecordingID: RecordingEntry]) {
        let finished = try await self.catalogue.recordings(in: .finished)
        let exported = try await self.recordingsBeingExported()
        let unexported = try await self.unexportedRecordings()
        // Recordings in progress are the governor's business: what one participant sends deletes nothing of others.
        let total = try await self.catalogue.totals(in: .finished).bytes
        let now = UTCTime.now()
        let candidates = finished.map { entry in
            var end = entry.end ?? entry.start
            // The clock may have been set after the recording had begun, as on machines that keep none.
            if let keep = policy.keep, end < now.adding(.zero - keep) {
                end = max(end, (try? self.folder(of: entry))??.lastWrite ?? end)
            }
            return RetentionPolicy.Candidate(
                id: entry.id,
                end: end,
                bytes: entry.bytes,
                isFinished: self.active[entry.id] == nil && !held.contains(entry.id),
                isBeingExported: exported.contains(entry.id),
                isUnexported: unexported.contains(entry.id),
                isReadable: !unreadable.contains(entry.id)
            )
        }
        let decision = policy.decision(on: candidates, totalBytes: total, now: now)
        return (decision, Dictionary(finished.map { ($0.id, $0) }) { first, _ in first })
    }

    /// The recordings that exports read which run or are to run.
    private func recordingsBeingExported() async throws -> Set<RecordingID> {
        var found: Set<RecordingID> = []
        for export in try await self.catalogue.pendingExports() {
            found.insert(export.recording)
            // One that waits for space must not keep it from being made.
            guard export.spec.series, !self.queue.waits(export.id) else { continue }
            // A segment whose folder is gone fails the export; the others are none of retention's business.
            for folder in (try? await self.sources(of: export)) ?? [] { found.insert(folder.id) }
        }
        return found
    }

    /// The recordings of which an export that was wanted was not made: where it is one of a series, all of its segments that
    /// somebody sent something in.
    private func unexportedRecordings() async throws -> Set<RecordingID> {
        var found = try await self.catalogue.unexportedRecordings()
        for id in try await self.catalogue.unexportedSeries() {
            // Where the folder of the first is gone, so is what names the others.
            for folder in (try? await self.segments(of: id)) ?? [] {
                guard (try? await self.catalogue.recording(folder.id).tracks.isEmpty) == false else { continue }
                found.insert(folder.id)
            }
        }
        return found
    }

    /// The folders that an export reads: of a series, those of its segments.
    private func sources(of export: ExportEntry) async throws -> [RecordingFolder] {
        if export.spec.series { return try await self.segments(of: export.recording) }
        let entry = try await self.catalogue.recording(export.recording)
        return [try RecordingFolder.open(entry.folder, in: self.catalogue.storage)]
    }

    /// The folders of the series that a recording is of; its own if it is of none.
    private func segments(of recording: RecordingID) async throws -> [RecordingFolder] {
        let entry = try await self.catalogue.recording(recording)
        let folder = try RecordingFolder.open(entry.folder, in: self.catalogue.storage)
        return try RecordingSeries.find(folder)?.segments.map(\.folder) ?? [folder]
    }

    /// Whether a recording's folder can be read; in one that is gone is nothing that a person could want.
    private func isReadable(_ entry: RecordingEntry) -> Bool {
        do throws(StorageError) {
            try RecordingFolder.open(entry.folder, in: self.catalogue.storage).requireReadable()
            return true
        } catch {
            return error.code == .notFound
        }
    }

    private func tell(_ heldBack: [RetentionPolicy.HeldBack]) {
        for kept in heldBack where !self.heldBack.contains(kept) {
            let reason =
                switch kept.obstacle {
                case .unexported: "an export of it failed or was not ordered"
                case .unreadable: "its folder cannot be read"
                }
            self.logger.warning(
                "retention keeps a recording whose time has come",
                metadata: .tagged([.recordingID: "\(kept.id)", .detail: "\(reason)"])
            )
        }
        self.heldBack = Set(heldBack)
        self.metrics.heldBack(recordings: heldBack.count)
    }

    // MARK: Repair

    /// What `tapedeck repair` tells of each recording.
    private struct Repaired: Decodable {
        var id: String
        var folder: String
        var room: String
        /// Files that are as they were, and why.
        var unreadable: [String: String]
    }

    /// Closes what an earlier life left unfinished, in a process of its own, and brings the catalogue in line.
    ///
    /// Exports go through the queue.
    ///
    /// - Parameter only: which of them; nil for all.
    /// - Returns: whether all of them are closed.
    @discardableResult
    func repair(only: Set<RecordingID>? = nil) async -> Bool {
        guard let only else { return await self.repair([]) }
        let ids = only.map(\.rawValue).sorted()
        var isDone = true
        // A command line takes so many; those that fail keep no others.
        for start in stride(from: 0, to: ids.count, by: Self.mostOfOneRepair) {
            let part = ids[start..<min(start + Self.mostOfOneRepair, ids.count)]
            isDone = await self.repair(part.flatMap { ["--only", $0] }) && isDone
            guard !Task.isCancelled else { return false }
        }
        return isDone
    }

    private func repair(_ selection: [String]) async -> Bool {
        let arguments = ["repair", self.catalogue.storage, "--no-export", "--json", "--pulse"]
        let failure = await self.jobs.run(arguments + selection) { line in
            await self.noteRepaired(line)
        }
        // The daemon ends: the next one repairs the rest.
        guard !Task.isCancelled else { return false }
        if let failure {
            self.logger.error("repair failed", metadata: .tagged([.errorMessage: "\(failure)"]))
            self.abandoned.failed(at: .now)
        }
        return failure == nil
    }

    private func noteRepaired(_ line: Data) async {
        guard let repaired = try? JSONDecoder().decode(Repaired.self, from: line),
            let id = RecordingID(rawValue: repaired.id)
        else { return }
        await self.reportEnd(of: id, as: .recordingRepaired, room: repaired.room)
        for (file, reason) in repaired.unreadable.sorted(by: { $0.key < $1.key }).prefix(Self.mostUnreadable) {
            self.logger.warning(
                "a file of a repaired recording is left as it was",
                metadata: .tagged([.recordingID: "\(id)", .detail: "\(file)", .errorMessage: "\(reason)"])
            )
        }
        await self.refresh(repaired.folder, as: .finished)
        await self.order(self.orders(of: id, in: repaired.room), of: id)
    }

    private func orders(of id: RecordingID, in room: String) -> [ExportSpec] {
        self.orders[id] ?? self.roomOrders[room] ?? [ExportSpec()]
    }

    /// What an earlier life recorded and did not see the end of, or had no time to hear of.
    private func recordingsOfEarlierLife() async -> [RecordingFolder] {
        let storage = self.catalogue.storage
        var found: [RecordingID: RecordingFolder] = [:]
        await self.attempt("look for recordings of before") {
            for state in [RecordingEntry.State.recording, .unfinished] {
                for entry in try await self.catalogue.recordings(in: state) {
                    // One whose folder is gone has nothing to export.
                    found[entry.id] = try? RecordingFolder.open(entry.folder, in: storage)
                }
            }
            var knownInARow = 0
            for folder in try RecordingFolder.list(storage: storage).reversed() {
                guard knownInARow < Self.knownThatEndTheSearch, found.count < Self.mostForgotten else { break }
                let isKnown = (try? await self.catalogue.recording(folder.id)) != nil
                knownInARow = isKnown ? knownInARow + 1 : 0
                if !isKnown { found[folder.id] = folder }
            }
        }
        return found.values.sorted { $0.path < $1.path }
    }

    /// Takes up what ended while no daemon was there, whose ends are reported and exports ordered with `exportTakenOver`;
    /// returns what a worker still writes.
    private func takeUpForgotten(_ folders: [RecordingFolder]) async -> [RecordingFolder] {
        var held: [RecordingFolder] = []
        for folder in folders where self.active[folder.id] == nil && self.untold[folder.id] == nil {
            await self.attempt("note a recording of before") {
                let entry = try await self.catalogue.refresh(folder)
                if entry.state != .finished, folder.isHeld { held.append(folder) }
            }
        }
        return held
    }

    /// Queues the exports of what was found finished and whose exports were not ordered yet, but for those that it has.
    private func exportTakenOver() async {
        await self.reportFoundEnds()
        await self.attempt("look for recordings without exports") {
            for entry in try await self.catalogue.recordingsToExport() {
                // Those that this life could not order are ordered again as they were.
                guard self.active[entry.id] == nil, self.untold[entry.id] == nil else { continue }
                await self.order(self.orders(of: entry.id, in: entry.room), of: entry.id)
            }
        }
    }

    /// Takes over what workers that outlived their supervisor are still closing, when they are done or dead.
    private func waitForEarlierWorkers(_ folders: [RecordingFolder]) async {
        var held = folders
        while !held.isEmpty, (try? await Task.sleep(for: .seconds(1))) != nil {
            // A worker of this life tells of its own.
            held.removeAll { self.active[$0.id] != nil }
            let released = held.filter { !$0.isHeld }
            guard !released.isEmpty else { continue }
            // For one that died before it was done; others that nobody holds may have a room that goes on with them.
            await self.repair(only: Set(released.map(\.id)))
            held = await self.takeUpForgotten(held)
            await self.exportTakenOver()
        }
    }

    // MARK: Exports

    /// Queues the exports of a finished recording; if the disk takes none of them, they are ordered after the next start.
    ///
    /// - Returns: whether all of that is noted.
    @discardableResult
    private func order(_ orders: [ExportSpec], of id: RecordingID) async -> Bool {
        var missing = orders
        if !orders.isEmpty {
            // The daemon may have died after it had queued some.
            let isRead = await self.attempt("read exports") {
                let known = try await self.catalogue.exports(of: id)
                missing = orders.filter { order in !known.contains { order.isMet(by: $0) } }
            }
            guard isRead else { return false }
        }
        guard await self.enqueue(missing, of: id).isEmpty else { return false }
        return await self.attempt("note ordered exports") { try await self.catalogue.exportsOrdered(of: id) }
    }

    /// Queues exports; returns those that the catalogue did not take.
    private func enqueue(_ exports: [ExportSpec], of id: RecordingID) async -> [ExportSpec] {
        var left: [ExportSpec] = []
        for export in exports {
            if await self.enqueue(id, export) == nil { left.append(export) }
        }
        return left
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
        export.isOfWhole = export.isOfWhole && self.active[export.recording] == nil
        let isQueued = await self.attempt("queue an export") { [export] in try await self.catalogue.save(export) }
        guard isQueued else { return false }
        self.shared.withLock { $0.figures.pendingExports += 1 }
        self.wake.yield()
        return true
    }

    /// Takes an export that waits out of the queue; throws `notFound`, and `conflict` for one that runs or is over.
    func cancelExport(_ id: String, of recording: RecordingID) async throws {
        guard !self.queue.runs(id) else { throw ControlError(.conflict, "the export \(id) runs") }
        // Before anything is waited for: a turn that has read the queue already must not begin it.
        self.queue.cancel(id)
        do {
            let state = try await self.catalogue.removeQueuedExport(id, of: recording)
            guard state == .queued else {
                throw ControlError(.conflict, "the export \(id) does not wait: it is \(state.rawValue)")
            }
        } catch {
            self.queue.takeBackCancel(id)
            // A turn may have left it out meanwhile.
            self.wake.yield()
            throw error
        }
        self.wake.yield()
    }

    private func hasExports() async -> Bool {
        guard self.queue.isIdle else { return true }
        return ((try? await self.catalogue.pendingExports()) ?? []).contains { self.queue.due($0, at: .now()) == nil }
    }

    private func nextExports() async -> [ExportEntry] {
        // One of these may end after the queue was read, which then still says that it runs.
        let begun = self.queue.runningExports
        var pending: [ExportEntry] = []
        let isRead = await self.attempt("read the export queue") { pending = try await self.catalogue.pendingExports() }
        guard isRead else {
            let next = UTCTime.now().adding(self.queue.policy.spaceInterval)
            self.shared.withLock { $0.nextDue = next }
            return []
        }
        self.metrics.exportQueue(length: pending.count)
        self.shared.withLock { [count = pending.count] in $0.figures.pendingExports = count }
        let now = UTCTime.now()
        self.queue.wasRead(pending)
        var next: [ExportEntry] = []
        for export in pending where !begun.contains(export.id) {
            guard !self.queue.isFull else { break }
            // Before anything is waited for: another turn must not begin it too. Looked at for each: one may be cancelled
            // while another one is put off.
            guard self.queue.begin(export, at: now) else { continue }
            if await self.putOff(export, at: now) {
                self.queue.ended(export.id)
            } else {
                next.append(export)
            }
        }
        let due = self.queue.nextDue(of: pending, at: now)
        self.shared.withLock { $0.nextDue = due }
        return next
    }

    /// Puts an export off if there is no space for it.
    private func putOff(_ export: ExportEntry, at now: UTCTime) async -> Bool {
        guard let disk = self.figures.disk, let bytes = await self.mostBytes(of: export) else { return false }
        let missing: Int64
        switch self.queue.takeSpace(bytes, for: export.id, on: disk, at: now) {
        case .enough: return false
        // Said once: the catalogue is on the same disk.
        case .stillMissing: return true
        case .missing(let more): missing = more
        }
        var waiting = export
        waiting.error = "it waits for free space: \(missing) bytes more are needed"
        self.logger.warning(
            "an export waits for free space",
            metadata: .tagged([.recordingID: "\(export.recording)", .detail: "\(missing) bytes more are needed"])
        )
        await self.attempt("put an export off") { [waiting] in try await self.catalogue.save(waiting) }
        return true
    }

    /// How many bytes an export has on the disk at most, as far as can be known before; nil if its recording is not there.
    private func mostBytes(of export: ExportEntry) async -> Int64? {
        guard let recording = try? await self.catalogue.recording(export.recording) else { return nil }
        // The catalogue may not know yet how large it has become.
        let folders = try? await self.sources(of: export)
        let files = try? folders?.flatMap { try $0.files() }.filter { $0.name.hasPrefix("tracks/") }
        let bytes = files?.reduce(0) { $0 + $1.bytes } ?? recording.bytes
        let whole = Double(min(max(0, bytes), Self.mostBytes))
        return Int64(whole * (await self.share(of: export, in: folders ?? []))) * (export.spec.isRemuxed ? 2 : 1)
    }

    /// How much of its recordings an export may have by the times that it is asked for, from 0 to 1: half as much again as they
    /// are of the length, because not every minute is as large.
    private func share(of export: ExportEntry, in folders: [RecordingFolder]) async -> Double {
        guard export.spec.from != nil || export.spec.to != nil else { return 1 }
        var (start, end): (UTCTime?, UTCTime?)
        for folder in folders {
            guard let entry = try? await self.catalogue.recording(folder.id) else { continue }
            start = min(start ?? entry.start, entry.start)
            end = max(end ?? entry.start, entry.end ?? entry.start)
        }
        guard let start, let end, end > start else { return 1 }
        let length = (Double(end.nanosecondsSince1970) - Double(start.nanosecondsSince1970)) / 1e9
        let asked = min(export.spec.to?.seconds ?? length, length) - (export.spec.from?.seconds ?? 0)
        return asked > 0 ? min(1, 1.5 * asked / length) : 1
    }

    private func perform(_ queued: ExportEntry) async {
        defer {
            self.queue.ended(queued.id)
            self.makers[queued.id] = nil
            self.wake.yield()
        }
        var export = queued
        export.state = .running
        export.progress = 0
        export.error = nil
        export.started = .now()
        let recording = export.recording.rawValue
        let details = ["export": export.id, "layout": export.spec.layout.name.rawValue]
        self.bus.publish(.exportStarted, recording: recording, details)
        let started = ContinuousClock.now
        do {
            try await self.catalogue.save(export)
            let entry = try await self.catalogue.recording(export.recording)
            let folder = try RecordingFolder.open(entry.folder, in: self.catalogue.storage).path
            let progress = ExportProgress()
            let failure = try await self.runJob(export, in: folder) { line in
                guard let percent = progress.take(line) else { return }
                await self.note(percent, of: queued.id, recording, details)
            }
            // The daemon ends: the next one runs it again.
            guard !Task.isCancelled else { return }
            await self.waitForDeletion(of: export.recording)
            if let percent = progress.untold { await self.note(percent, of: queued.id, recording, details) }
            export = try await self.catalogue.export(queued.id)
            export.finished = .now()
            export.file = progress.file.map { Self.relative($0, to: folder) }
            export.progress = failure == nil ? 1 : export.progress
            export.error = progress.error ?? failure?.description
            export.state = .done
            if let failure { self.fail(&export, isRetriable: progress.isRetriable ?? failure.isRetriable) }
            try await self.catalogue.save(export)
            if !self.deleting.contains(export.recording) { await self.refresh(export.recording, in: folder) }
        } catch {
            guard !Task.isCancelled else { return }
            await self.waitForDeletion(of: export.recording)
            guard await !self.isForgotten(queued.id) else { return }
            export = queued
            export.error = "\(error)"
            let isRetriable = (error as? StorageError)?.isRetriable ?? (error as? CatalogueError)?.isRetriable
            self.fail(&export, isRetriable: isRetriable ?? false)
            let isNoted = await self.attempt("note a failed export") { [export] in
                try await self.catalogue.save(export)
            }
            if !isNoted {
                // The queue has it as it was: begun again at once, it would fail without a pause.
                export.due = self.queue.putOff(queued.id, at: .now())
            }
        }
        self.metrics.exportEnded(export.state == .done ? .done : .failed, after: ContinuousClock.now - started)
        if export.state != .done {
            var details = details.merging(["reason": export.error ?? "", "attempt": "\(export.attempts)"]) { $1 }
            details["next"] = export.due?.iso8601
            self.bus.publish(.exportFailed, recording: recording, details)
        } else {
            self.bus.publish(.exportFinished, recording: recording, details.merging(["file": export.file ?? ""]) { $1 })
        }
    }

    /// Runs the job of an export to its end; cancelling the task ends it at once, and so does deleting the recording.
    private func runJob(
        _ export: ExportEntry,
        in folder: String,
        onLine: @escaping @Sendable (Data) async -> Void
    ) async throws -> JobFailure? {
        let order = try WorkerLine.encode(ExportOrder(export.spec))
        let job = Task { () async -> JobFailure? in
            await self.jobs.run(["worker", "--export", folder], order, onLine: onLine)
        }
        self.makers[export.id] = job
        return await withTaskCancellationHandler {
            await job.value
        } onCancel: {
            job.cancel()
        }
    }

    /// Returns when a recording that is being deleted is forgotten, or could not be.
    private func waitForDeletion(of id: RecordingID) async {
        while self.deleting.contains(id) {
            // The end of the daemon does not wait for a disk that hangs.
            guard (try? await Task.sleep(for: .milliseconds(10))) != nil else { return }
        }
    }

    /// Whether the catalogue knows an export no more: its recording was deleted.
    private func isForgotten(_ export: String) async -> Bool {
        do {
            _ = try await self.catalogue.export(export)
            return false
        } catch {
            return (error as? CatalogueError)?.code == .notFound
        }
    }

    /// An export failed: it is tried again later, or given up.
    private func fail(_ export: inout ExportEntry, isRetriable: Bool) {
        export.attempts += 1
        let random = Double.random(in: 0...1)
        let policy = self.queue.policy
        guard let wait = policy.wait(afterAttempts: export.attempts, isRetriable: isRetriable, random: random) else {
            export.state = .failed
            export.finished = .now()
            return
        }
        export.state = .queued
        export.progress = 0
        (export.started, export.finished) = (nil, nil)
        export.due = UTCTime.now().adding(wait)
    }

    private static func relative(_ path: String, to folder: String) -> String {
        path.hasPrefix(folder + "/") ? String(path.dropFirst(folder.utf8.count + 1)) : path
    }

    private func note(_ percent: Int, of id: String, _ recording: String, _ details: [String: String]) async {
        var isKnown = true
        await self.attempt("note progress") {
            do {
                var export = try await self.catalogue.export(id)
                export.progress = Double(percent) / 100
                try await self.catalogue.save(export)
            } catch let error as CatalogueError where error.code == .notFound {
                // Its recording was deleted.
                isKnown = false
            }
        }
        guard isKnown, !Task.isCancelled else { return }
        self.bus.publish(
            .exportProgress,
            recording: recording,
            details.merging(["progress": "\(percent)"]) { $1 }
        )
    }

    /// Runs something that a full or broken disk can make fail; logged, and gone on.
    @discardableResult
    private func attempt(_ what: String, _ body: () async throws -> Void) async -> Bool {
        do {
            try await body()
            return true
        } catch is CancellationError {
            // Of whoever ended it, not of the disk.
            return false
        } catch {
            self.logger.error(
                "catalogue failed",
                metadata: .tagged([.detail: "\(what)", .errorMessage: "\(error)"])
            )
            return false
        }
    }
}
