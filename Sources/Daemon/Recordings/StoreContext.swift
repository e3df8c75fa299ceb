// SPDX-License-Identifier: Apache-2.0

import Catalogue
import Logging
import Model
import Observability
import Storage

/// The parts of the recordings' store share this: the catalogue, the ledger, jobs, and where they report.
///
/// Its functions read files: only code on the store's thread calls them.
struct StoreContext: Sendable {
    let catalogue: Catalogue
    let jobs: JobLauncher
    let bus: EventBus
    let metrics: DaemonMetrics
    let logger: Logger
    let ledger = RecordingLedger()
    let signer: CertificateSigner
    /// Each part works on it; code that must not wait for the disk asks for `RecordingStore.figures`.
    let thread = DiskThread(name: "recordings")

    /// Runs something that a full or broken disk can make fail, and logs that; nil if it failed or was cancelled.
    @discardableResult
    func attempt<Value>(_ what: String, _ body: () async throws -> Value) async -> Value? {
        do {
            return try await body()
        } catch is CancellationError {
            // The disk is not to blame.
            return nil
        } catch {
            self.logger.error(
                "catalogue failed",
                metadata: .tagged([.detail: "\(what)", .errorMessage: "\(error)"])
            )
            return nil
        }
    }

    /// Runs something that a full or broken disk can make fail, and logs that; false if it failed or was cancelled.
    @discardableResult
    func attempt(_ what: String, _ body: () async throws -> Void) async -> Bool {
        await self.attempt(what) { () async throws -> Bool in
            try await body()
            return true
        } ?? false
    }

    /// Takes what the folder of a recording says, whether it is in progress or not; also of one that ends during that.
    func refresh(_ id: RecordingID, in path: String) async {
        let isActive = self.ledger.isActive(id)
        await self.refresh(path, as: isActive ? .recording : .finished)
        // The keeper may have noted its end before this noted that it is in progress.
        guard isActive, !self.ledger.isActive(id) else { return }
        // Its exports were ordered then: it is not to be found as one that ended without them.
        await self.attempt("note a recording") {
            let entry = try await self.catalogue.recording(id)
            try await self.catalogue.update(id, bytes: entry.bytes, state: .finished)
        }
        await self.refresh(path, as: .finished)
    }

    /// Takes what a recording's folder says; false if that could not be read or noted.
    ///
    /// The certificate of one that is finished is signed first.
    @discardableResult
    func refresh(_ path: String, as state: RecordingEntry.State) async -> Bool {
        await self.attempt("note a recording") {
            let folder = try RecordingFolder.open(path: path)
            if state == .finished { self.signer.sign(folder) }
            return try await self.catalogue.refresh(folder, as: state)
        } != nil
    }

    /// The folder of a recording.
    func folder(of entry: RecordingEntry) throws(StorageError) -> RecordingFolder {
        try RecordingFolder.open(entry.folder, in: self.catalogue.storage)
    }

    /// The folders that an export reads: of a series, those of its segments.
    func sources(of export: ExportEntry) async throws -> [RecordingFolder] {
        if export.spec.series { return try await self.segments(of: export.recording) }
        return [try self.folder(of: try await self.catalogue.recording(export.recording))]
    }

    /// The folders of the series that a recording is of; its own if it is of none.
    func segments(of recording: RecordingID) async throws -> [RecordingFolder] {
        let folder = try self.folder(of: try await self.catalogue.recording(recording))
        return try RecordingSeries.find(folder)?.segments.map(\.folder) ?? [folder]
    }
}

extension RecordingFolder {
    /// Whether there is no folder at a path.
    static func isGone(_ path: String) -> Bool {
        do throws(StorageError) {
            _ = try RecordingFolder.open(path: path)
            return false
        } catch {
            return error.code == .notFound
        }
    }
}
