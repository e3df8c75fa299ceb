// SPDX-License-Identifier: Apache-2.0

import Catalogue
import Foundation
import Logging
import Observability
import ServiceLifecycle
import Storage

/// Closes recordings that no worker continues: those that an earlier life left, and those whose worker died in this one.
///
/// `EarlierRecordings` and `AbandonedRecordings` decide which; jobs of `tapedeck repair` close them.
actor RecordingRecovery {
    /// The most files of one recording that are named where they cannot be read.
    private static let mostUnreadable = 100
    /// The most recordings that are named on one command line: far fewer than it may have.
    private static let mostOfOneRepair = 1000

    private let context: StoreContext
    private let keeper: RecordingKeeper
    private var earlier = EarlierRecordings()
    private var abandoned: AbandonedRecordings

    nonisolated var unownedExecutor: UnownedSerialExecutor { self.context.thread.asUnownedSerialExecutor() }

    init(_ context: StoreContext, keeper: RecordingKeeper, repairInterval: Duration) {
        self.context = context
        self.keeper = keeper
        self.abandoned = AbandonedRecordings(repairInterval: repairInterval)
    }

    // MARK: Earlier lives

    /// Takes up what an earlier life left: closes it, reports its end and orders its exports.
    func takeUp() async {
        await self.findEarlier()
        // Nothing listens for the end yet.
        _ = await cancelWhenGracefulShutdown { await self.repair() }
        await self.readEarlier()
        await self.keeper.takeFinished()
        await self.context.attempt("requeue exports") {
            try await self.context.catalogue.requeueInterruptedExports()
        }
    }

    /// Takes over what workers that outlived their supervisor are still closing, when they are done or dead.
    func waitForEarlierWorkers() async {
        while !self.earlier.isEmpty, (try? await Task.sleep(for: .seconds(1))) != nil {
            // A worker of this life reports its own recordings.
            let ours = Set(self.context.ledger.active.keys)
            let released = self.earlier.look(ours: ours) { $0.isHeld }
            guard !released.isEmpty else { continue }
            // For one whose worker died before it was done; a room may continue others that no process holds.
            await self.repair(only: released)
            await self.readEarlier()
            await self.keeper.takeFinished()
        }
    }

    /// Looks for what an earlier life recorded and did not see the end of, or had no time to hear of.
    private func findEarlier() async {
        let catalogue = self.context.catalogue
        await self.context.attempt("look for recordings of before") {
            for state in [RecordingEntry.State.recording, .unfinished] {
                for entry in try await catalogue.recordings(in: state) {
                    // One whose folder is gone has nothing to export.
                    if let folder = try? self.context.folder(of: entry) { self.earlier.isUnfinished(folder) }
                }
            }
            for folder in try RecordingFolder.list(storage: catalogue.storage).reversed() {
                guard !self.earlier.isSearchOver else { break }
                let isKnown = (try? await catalogue.recording(folder.id)) != nil
                self.earlier.found(folder, isKnown: isKnown)
            }
        }
    }

    private func readEarlier() async {
        for folder in self.earlier.folders {
            var state: RecordingEntry.State?
            // The ledger is asked for each: a worker of this life may have continued it.
            if !self.context.ledger.isInHand(folder.id) {
                state = await self.context.attempt("note a recording of before") {
                    try await self.context.catalogue.refresh(folder).state
                }
            }
            self.earlier.wasRead(folder.id, state, isHeld: folder.isHeld)
        }
    }

    // MARK: This life

    /// Closes recordings whose worker died and that no other continues: their room was left or removed.
    ///
    /// One whose room was left may still be completed by its worker: its journal is held until then. A recording that a failed
    /// repair was to close is left alone for a while.
    ///
    /// - Parameter goingOn: ids of those that a worker writes or will write. One that is missing twice is closed.
    func closeAbandoned(except goingOn: Set<String>) async {
        let now = ContinuousClock.now
        let ledger = self.context.ledger
        var left: Set<RecordingID> = []
        if self.abandoned.takesUpWhatIsLeft(at: now) {
            // Those that this life has in hand are known only now: one may have begun while the catalogue was read.
            left = await self.unfinished(except: goingOn).filter { !ledger.isInHand($0) }
        }
        let active = ledger.active
        let due = self.abandoned.look(
            missing: Set(active.keys.filter { !goingOn.contains($0.rawValue) }),
            left: left,
            at: now
        ) { id in active[id].flatMap { try? RecordingFolder.open(path: $0) }?.isHeld ?? false }
        guard !due.isEmpty else { return }
        let closing = due.filter { ledger.closes($0) }
        // A worker may yet continue others that no process writes.
        if await self.repair(only: due) {
            self.abandoned.repaired(due)
        } else {
            await self.takeBack(active.filter { closing.contains($0.key) })
        }
        await self.keeper.takeFinished()
        for id in due where !self.abandoned.isLeft(id) { ledger.closed(id) }
    }

    /// Recordings that are not closed, that no process writes, and that no worker continues.
    private func unfinished(except goingOn: Set<String>) async -> Set<RecordingID> {
        var found: Set<RecordingID> = []
        let isRead = await self.context.attempt("look for recordings that are not closed") {
            for state in [RecordingEntry.State.recording, .unfinished] {
                for entry in try await self.context.catalogue.recordings(in: state) {
                    guard !goingOn.contains(entry.id.rawValue),
                        let folder = try? self.context.folder(of: entry), !folder.isHeld
                    else { continue }
                    found.insert(entry.id)
                }
            }
        }
        if !isRead { self.abandoned.failed(at: .now) }
        return found
    }

    /// Recordings that could not be closed, and that the catalogue does not know, are closed later; `unfinished` finds the rest.
    private func takeBack(_ folders: [RecordingID: String]) async {
        for (id, path) in folders {
            do {
                _ = try await self.context.catalogue.recording(id)
            } catch let error as CatalogueError where error.code == .notFound {
                guard !RecordingFolder.isGone(path), self.context.ledger.takeBack(id) else { continue }
                self.abandoned.wentBack(id)
            } catch {
                // The catalogue is not read: the next look finds it.
            }
        }
    }

    // MARK: Repair

    /// `tapedeck repair` reports this of each recording.
    private struct Repaired: Decodable {
        var id: String
        var folder: String
        var room: String
        /// Files that are as they were, and why.
        var unreadable: [String: String]
    }

    /// Closes what an earlier life left unfinished, in a separate process, and brings the catalogue in line.
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
        let arguments = ["repair", "--directory", self.context.catalogue.storage, "--no-export", "--json", "--pulse"]
        let failure = await self.context.jobs.run(arguments + selection) { line in
            await self.noteRepaired(line)
        }
        // The daemon ends: the next one repairs the rest.
        guard !Task.isCancelled else { return false }
        if let failure {
            self.context.logger.error("repair failed", metadata: .tagged([.errorMessage: "\(failure)"]))
            self.abandoned.failed(at: .now)
        }
        return failure == nil
    }

    private func noteRepaired(_ line: Data) async {
        guard let repaired = try? JSONDecoder().decode(Repaired.self, from: line),
            let id = RecordingID(rawValue: repaired.id)
        else { return }
        for (file, reason) in repaired.unreadable.sorted(by: { $0.key < $1.key }).prefix(Self.mostUnreadable) {
            self.context.logger.warning(
                "a file of a repaired recording is left as it was",
                metadata: .tagged([.recordingID: "\(id)", .detail: "\(file)", .errorMessage: "\(reason)"])
            )
        }
        await self.keeper.repaired(id, in: repaired.folder, room: repaired.room)
    }
}
