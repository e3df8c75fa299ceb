// SPDX-License-Identifier: Apache-2.0

import Basics
import Catalogue
import Foundation
import Model
import Observability
import Storage

/// One export, from its beginning to the note of how it ended.
struct ExportRun: Sendable {
    /// How an export ended, and whether the catalogue took it.
    struct End: Sendable {
        var export: ExportEntry
        var isNoted: Bool
    }

    private let context: StoreContext
    private let queued: ExportEntry
    private let policy: ExportPolicy
    private let started = ContinuousClock.now

    /// An export that may begin now.
    init(_ queued: ExportEntry, policy: ExportPolicy, _ context: StoreContext) {
        self.queued = queued
        self.policy = policy
        self.context = context
    }

    /// Runs the export; nil if the daemon ends, whose next life runs it again, or if its recording was deleted.
    ///
    /// - Parameter onJob: takes the job when it begins; cancelling it ends the job at once, and so does cancelling this task.
    func perform(_ onJob: (Task<JobFailure?, Never>) -> Void) async -> End? {
        self.publish(.exportStarted)
        let catalogue = self.context.catalogue
        do {
            var export = self.queued
            export.begins(at: .now())
            try await catalogue.save(export)
            let folder = try self.context.folder(of: try await catalogue.recording(export.recording)).path
            let progress = ExportProgress()
            let failure = try await self.runJob(export, in: folder, progress, onJob)
            guard !Task.isCancelled else { return nil }
            await self.waitForDeletion()
            if let percent = progress.untold { await self.note(percent) }
            // As the catalogue has it: with its progress.
            export = try await catalogue.export(self.queued.id)
            export.file = progress.file.map { Self.relative($0, to: folder) }
            export.error = progress.error ?? failure?.description
            if let failure {
                self.fail(&export, isRetriable: progress.isRetriable ?? failure.isRetriable)
            } else {
                export.succeeds(at: .now())
            }
            try await catalogue.save(export)
            // A deletion may have begun since.
            if !self.context.ledger.isDeleting(export.recording) {
                await self.context.refresh(export.recording, in: folder)
            }
            return End(export: export, isNoted: true)
        } catch {
            guard !Task.isCancelled else { return nil }
            await self.waitForDeletion()
            guard await !self.isForgotten() else { return nil }
            var export = self.queued
            export.error = "\(error)"
            let isRetriable = (error as? StorageError)?.isRetriable ?? (error as? CatalogueError)?.isRetriable
            self.fail(&export, isRetriable: isRetriable ?? false)
            let isNoted = await self.context.attempt("note a failed export") { [export] in
                try await catalogue.save(export)
            }
            return End(export: export, isNoted: isNoted)
        }
    }

    /// Counts and publishes how the export ended.
    func tell(_ export: ExportEntry) {
        let isDone = export.state == .done
        self.context.metrics.exportEnded(isDone ? .done : .failed, after: ContinuousClock.now - self.started)
        if isDone {
            self.publish(.exportFinished, ["file": export.file ?? ""])
        } else {
            var details = ["reason": export.error ?? "", "attempt": "\(export.attempts)"]
            details["next"] = export.due?.iso8601
            self.publish(.exportFailed, details)
        }
    }

    private func fail(_ export: inout ExportEntry, isRetriable: Bool) {
        export.fails(isRetriable: isRetriable, by: self.policy, random: .random(in: 0...1), at: .now())
    }

    private func publish(_ kind: DaemonEvent.Kind, _ details: [String: String] = [:]) {
        let own = ["export": self.queued.id, "layout": self.queued.spec.layout.name.rawValue]
        self.context.bus.publish(kind, recording: self.queued.recording.rawValue, own.merging(details) { $1 })
    }

    /// Runs the job to its end.
    private func runJob(
        _ export: ExportEntry,
        in folder: String,
        _ progress: ExportProgress,
        _ onJob: (Task<JobFailure?, Never>) -> Void
    ) async throws -> JobFailure? {
        let order = try WorkerLine.encode(ExportOrder(export.spec))
        let job = Task { () async -> JobFailure? in
            await self.context.jobs.run(["worker", "--export", folder], order) { line in
                if let percent = progress.take(line) { await self.note(percent) }
            }
        }
        onJob(job)
        return await withTaskCancellationHandler {
            await job.value
        } onCancel: {
            job.cancel()
        }
    }

    private func note(_ percent: Int) async {
        var isKnown = true
        await self.context.attempt("note progress") {
            do {
                var export = try await self.context.catalogue.export(self.queued.id)
                export.progress = Double(percent) / 100
                try await self.context.catalogue.save(export)
            } catch let error as CatalogueError where error.code == .notFound {
                // Its recording was deleted.
                isKnown = false
            }
        }
        guard isKnown, !Task.isCancelled else { return }
        self.publish(.exportProgress, ["progress": "\(percent)"])
    }

    /// Returns when a recording that is being deleted is forgotten, or could not be.
    private func waitForDeletion() async {
        while self.context.ledger.isDeleting(self.queued.recording) {
            // The end of the daemon does not wait for a disk that hangs.
            guard (try? await Task.sleep(for: .milliseconds(10))) != nil else { return }
        }
    }

    /// Whether the catalogue knows the export no more: its recording was deleted.
    private func isForgotten() async -> Bool {
        do {
            _ = try await self.context.catalogue.export(self.queued.id)
            return false
        } catch {
            return (error as? CatalogueError)?.code == .notFound
        }
    }

    private static func relative(_ path: String, to folder: String) -> String {
        path.hasPrefix(folder + "/") ? String(path.dropFirst(folder.utf8.count + 1)) : path
    }
}
