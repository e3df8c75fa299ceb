// SPDX-License-Identifier: Apache-2.0

import Basics
import Catalogue
import Control
import Logging
import Model
import Observability
import Storage
import Synchronization

/// Deletes recordings: those that a policy does not keep, as a `RetentionRound` decides, and those that a client names.
actor Retention {
    private let context: StoreContext
    private let exports: ExportService
    private let uploads: UploadService
    /// Series that a host of the cluster is to bring together, and their rooms.
    private nonisolated let gathered = Mutex<[String: String]>([:])
    /// Recordings that were left to a person the last time, and were logged.
    private var heldBack: Set<RetentionPolicy.HeldBack> = []
    /// Whether the remote did not say what it has, in the present round.
    private var isRemoteSilent = false

    nonisolated var unownedExecutor: UnownedSerialExecutor { self.context.thread.asUnownedSerialExecutor() }

    init(_ context: StoreContext, exports: ExportService, uploads: UploadService) {
        self.context = context
        self.exports = exports
        self.uploads = uploads
    }

    /// Deletes what a policy does not keep, and says once what it cannot delete.
    ///
    /// - Parameter uploads: where recordings are uploaded to: only what is seen there is deleted; `nil` if they are not: then
    ///   those whose upload has begun and is not finished are kept.
    func apply(_ policy: RetentionPolicy, uploads: UploadSpec? = nil) async {
        self.isRemoteSilent = false
        await self.context.attempt("retention") {
            var round = RetentionRound(policy)
            while !round.isSettled {
                let now = UTCTime.now()
                var facts = try await self.facts { round.mayBeTooOld($0, at: now) }
                let catalogue = self.context.catalogue
                facts.notUploaded =
                    uploads == nil
                    ? Set(try await catalogue.unfinishedUploads()) : try await catalogue.unuploadedRecordings()
                for (entry, reason) in round.decide(facts, at: now) {
                    let folder = try await self.look(entry, uploads)
                    guard round.found(folder, of: entry.id) else { continue }
                    await self.context.attempt("delete by retention") {
                        try await self.delete(entry, because: reason.rawValue)
                    }
                }
            }
            self.tell(round.heldBack)
        }
    }

    /// Keeps the recordings of series that a host of the cluster is to bring together, by the ids of the series, with their rooms;
    /// never waits.
    nonisolated func keep(series: [String: String]) { self.gathered.withLock { $0 = series } }

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
        self.context.ledger.deletes(entry.id, true)
        defer { self.context.ledger.deletes(entry.id, false) }
        do throws(StorageError) {
            try folder?.delete()
        } catch {
            guard error.code == .notFound else { throw error }
        }
        await self.exports.endJobs(of: entry.id)
        try await self.context.catalogue.remove(entry.id)
        self.context.ledger.closed(entry.id)
        self.context.bus.publish(
            .recordingDeleted,
            room: entry.room,
            recording: entry.id.rawValue,
            ["reason": reason]
        )
    }

    /// Ends deletions that an earlier life began, and those that the disk made fail.
    func removeLeftovers() async {
        await self.context.attempt("end deletions") {
            try RecordingFolder.removeLeftovers(storage: self.context.catalogue.storage)
        }
    }

    // MARK: Facts

    private func facts(_ mayBeTooOld: (RecordingEntry) -> Bool) async throws -> RetentionRound.Facts {
        let catalogue = self.context.catalogue
        var facts = RetentionRound.Facts()
        facts.finished = try await catalogue.recordings(in: .finished)
        facts.exported = try await self.recordingsBeingExported()
        facts.unexported = try await self.unexportedRecordings()
        facts.totalBytes = try await catalogue.totals(in: .finished).bytes
        facts.active = Set(self.context.ledger.active.keys)
        for entry in facts.finished where mayBeTooOld(entry) {
            facts.lastWrites[entry.id] = (try? self.folder(of: entry))??.lastWrite
        }
        return facts
    }

    /// The recordings that exports read which run or are to run.
    private func recordingsBeingExported() async throws -> Set<RecordingID> {
        var found: Set<RecordingID> = []
        let waiting = await self.exports.waiting
        for export in try await self.context.catalogue.pendingExports() {
            found.insert(export.recording)
            // One that waits for space must not keep it from being made.
            guard export.spec.series, !waiting.contains(export.id) else { continue }
            // A segment whose folder is gone fails the export; the others are none of retention's business.
            for folder in (try? await self.context.sources(of: export)) ?? [] { found.insert(folder.id) }
        }
        return found
    }

    /// The recordings of which an export that was wanted was not made: where it is one of a series, all of its segments that
    /// a participant sent media in.
    private func unexportedRecordings() async throws -> Set<RecordingID> {
        let catalogue = self.context.catalogue
        var found = try await catalogue.unexportedRecordings()
        for id in try await catalogue.unexportedSeries() {
            // Where the folder of the first is gone, so is what names the others.
            for folder in (try? await self.context.segments(of: id)) ?? [] {
                guard (try? await catalogue.recording(folder.id).tracks.isEmpty) == false else { continue }
                found.insert(folder.id)
            }
        }
        for (series, room) in self.gathered.withLock({ $0 }) {
            let there = try? RecordingSeries.find(series, storage: catalogue.storage, room: room)
            found.formUnion(there?.segments.map(\.folder.id) ?? [])
        }
        return found
    }

    /// The folder of a recording; `nil` if it is gone.
    private func folder(of entry: RecordingEntry) throws(StorageError) -> RecordingFolder? {
        do throws(StorageError) {
            return try self.context.folder(of: entry)
        } catch {
            guard error.code == .notFound else { throw error }
            return nil
        }
    }

    private func look(_ entry: RecordingEntry, _ uploads: UploadSpec?) async throws -> RetentionRound.Folder {
        let upload = uploads == nil ? nil : try await self.context.catalogue.upload(of: entry.id)
        do throws(StorageError) {
            guard let folder = try self.folder(of: entry) else { return .free }
            if folder.isHeld { return .held }
            try folder.requireReadable()
            guard let uploads else { return .free }
            guard try folder.isUploaded(upload, for: uploads) else {
                await self.uploads.look(at: entry.id)
                return .notUploaded
            }
        } catch {
            return error.code == .notFound ? .free : .unreadable
        }
        guard let uploads, let upload, !self.isRemoteSilent else { return .notUploaded }
        // It may be long ago that it was verified.
        let isThere = try await self.uploads.isThere(upload, uploads)
        self.isRemoteSilent = isThere == nil
        return isThere == true ? .free : .notUploaded
    }

    private func tell(_ heldBack: [RetentionPolicy.HeldBack]) {
        for kept in heldBack where !self.heldBack.contains(kept) {
            let reason =
                switch kept.obstacle {
                case .unexported: "an export of it or of its series failed, or is not made yet"
                case .notUploaded: "the remote was not seen to have it as it is here"
                case .unreadable: "its folder cannot be read"
                }
            self.context.logger.warning(
                "retention keeps a recording whose time has come",
                metadata: .tagged([.recordingID: "\(kept.id)", .detail: "\(reason)"])
            )
        }
        self.heldBack = Set(heldBack)
        self.context.metrics.heldBack(recordings: heldBack.count)
    }
}
