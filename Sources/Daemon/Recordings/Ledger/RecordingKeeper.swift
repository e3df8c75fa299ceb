// SPDX-License-Identifier: Apache-2.0

import Catalogue
import ConfigurationFile
import Model
import Storage
import Timeline

/// Keeps catalogue and ledger in line with recordings that begin and end: reports each end once and orders its exports.
actor RecordingKeeper {
    private let context: StoreContext
    private let exports: ExportService
    private let roomOrders: [String: [ExportSpec]]

    nonisolated var unownedExecutor: UnownedSerialExecutor { self.context.thread.asUnownedSerialExecutor() }

    /// The storage directory.
    nonisolated var storage: String { self.context.catalogue.storage }

    init(_ context: StoreContext, exports: ExportService, roomOrders: [String: [ExportSpec]]) {
        self.context = context
        self.exports = exports
        self.roomOrders = roomOrders
    }

    /// A worker began a recording.
    func started(room: String, _ reference: RecordingReference, exports: [ExportSpec]) async {
        // One that is not there costs no memory.
        guard let id = RecordingID(rawValue: reference.id), !RecordingFolder.isGone(reference.folder) else { return }
        self.context.ledger.began(id, in: reference.folder, exports: exports)
        await self.context.refresh(reference.folder, as: .recording)
    }

    /// A worker ended a recording.
    ///
    /// - Parameters:
    ///   - reason: why it ended, in words.
    ///   - exports: those that it gets; `nil` for those that were ordered when it began.
    func finished(
        room: String,
        _ reference: RecordingReference,
        reason: String = "finished",
        exports: [ExportSpec]?
    ) async {
        guard let id = RecordingID(rawValue: reference.id) else { return }
        let exports = self.context.ledger.ended(id, in: reference.folder, exports: exports)
        // In this order: after a crash behind the report the next life finds a recording in progress, and orders what it has
        // not.
        await self.report(.finished(reason: reason), of: id, room: room)
        let isQueued = await self.exports.queue(exports, of: id)
        let isNoted = await self.context.refresh(reference.folder, as: .finished)
        let isTold = isNoted && isQueued ? await self.exports.noteOrdered(id) : false
        self.context.ledger.noted(id, isDone: isTold || RecordingFolder.isGone(reference.folder))
    }

    /// Brings size, length and people of the recordings in progress up to date, and notes again what the catalogue did not
    /// take of those that ended.
    func refreshActive() async {
        // The ledger is asked for each: one may end while another one is noted.
        for (id, path) in self.context.ledger.active where self.context.ledger.isActive(id) {
            await self.context.refresh(id, in: path)
        }
        for (id, folder, exports) in self.context.ledger.takeIncomplete() {
            var isDone = RecordingFolder.isGone(folder)
            // The catalogue takes no export of a recording that it does not know.
            if !isDone, await self.context.refresh(folder, as: .finished) {
                isDone = await self.exports.order(exports, of: id)
            }
            self.context.ledger.noted(id, isDone: isDone)
        }
        await self.reportFoundEnds()
    }

    /// Takes that a repair closed a recording.
    func repaired(_ id: RecordingID, in folder: String, room: String) async {
        await self.report(.repaired, of: id, room: room)
        await self.context.refresh(folder, as: .finished)
        await self.exports.order(self.orders(of: id, in: room), of: id)
    }

    /// Takes a finished recording of another host, whose folder was brought here: its end was reported there, and its exports were
    /// made there.
    func gathered(_ id: RecordingID, in folder: String) async {
        await self.context.attempt("note a recording of another host") {
            _ = try await self.context.catalogue.reportEnd(of: id, by: [], limit: 0)
        }
        await self.context.refresh(folder, as: .finished)
        _ = await self.exports.noteOrdered(id)
    }

    /// Reports the ends, and queues the exports, of what was found finished and was not reported or ordered yet.
    func takeFinished() async {
        await self.reportFoundEnds()
        let found = await self.context.attempt("look for recordings without exports") {
            try await self.context.catalogue.recordingsToExport()
        }
        // The ledger is asked for each: those that this life could not order are ordered again as they were.
        for entry in found ?? [] where !self.context.ledger.isInHand(entry.id) {
            await self.exports.order(self.orders(of: entry.id, in: entry.room), of: entry.id)
        }
    }

    /// Reports the ends of finished recordings that were not reported: their workers closed them while no daemon was there, or
    /// a repair did.
    private func reportFoundEnds() async {
        let found = await self.context.attempt("look for ends that were not reported") {
            try await self.context.catalogue.unreportedEnds()
        }
        // The ledger is asked for each: one may be continued while another one is reported.
        for entry in found ?? [] where !self.context.ledger.isActive(entry.id) {
            let folder = try? self.context.folder(of: entry)
            await self.report(RecordingEnd(found: folder?.endReason), of: entry.id, room: entry.room)
        }
    }

    /// Publishes the end of a recording, once in all lives of the daemon.
    ///
    /// Where that cannot be noted nothing is published: the next look at `reportFoundEnds` does it.
    private func report(_ end: RecordingEnd, of id: RecordingID, room: String) async {
        await self.context.attempt("report the end of a recording") {
            try await self.context.bus.publishEnd(
                of: id,
                as: end.kind,
                room: room,
                end.details,
                in: self.context.catalogue
            )
        }
    }

    private func orders(of id: RecordingID, in room: String) -> [ExportSpec] {
        self.context.ledger.exports(of: id) ?? self.roomOrders[room] ?? [ExportSpec()]
    }
}

extension RecordingFolder {
    /// Why the recording ended, as the last record of its journal says.
    fileprivate var endReason: String? {
        guard case .recordingFinished(let record) = Journal.end(of: self)?.record else { return nil }
        return record.reason
    }
}
