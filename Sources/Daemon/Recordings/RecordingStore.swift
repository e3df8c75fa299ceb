// SPDX-License-Identifier: Apache-2.0

import Catalogue
import Logging
import Model
import Observability
import ServiceLifecycle
import Storage

/// Knows every recording: notes in the catalogue what begins and ends, repairs what a crash left, deletes what is too old, runs
/// exports, and uploads.
///
/// Its parts work on one separate thread, which may wait for the disk. Each has its own state; the ledger has what more
/// than one of them goes by.
struct RecordingStore: Service {
    let catalogue: Catalogue
    let ledger: RecordingLedger
    let keeper: RecordingKeeper
    let exports: ExportService
    let recovery: RecordingRecovery
    let retention: Retention
    let uploads: UploadService
    let signer: CertificateSigner
    private let shutdownLimit: Duration

    /// The last known figures, from memory: never waits, from any thread.
    var figures: StoreFigures {
        var figures = self.exports.figures
        figures.activeRecordings = self.ledger.active.count
        return figures
    }

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
        let context = StoreContext(
            catalogue: catalogue,
            jobs: jobs,
            bus: bus,
            metrics: metrics,
            logger: logger,
            signer: CertificateSigner(logger)
        )
        self.catalogue = catalogue
        self.ledger = context.ledger
        self.signer = context.signer
        self.exports = ExportService(context, limit: exportJobs)
        self.keeper = RecordingKeeper(context, exports: self.exports, roomOrders: roomOrders)
        self.recovery = RecordingRecovery(context, keeper: self.keeper, repairInterval: repairInterval)
        self.uploads = UploadService(context)
        self.retention = Retention(context, exports: self.exports, uploads: self.uploads)
        self.shutdownLimit = shutdownLimit
    }

    /// Repairs what is unfinished, then runs exports until a graceful shutdown.
    ///
    /// Exports that wait then are worked on for `shutdownLimit`; what is left is run after the next start.
    func run() async throws {
        await self.exports.count()
        await self.recovery.takeUp()
        await withDiscardingTaskGroup { group in
            group.addTask {
                guard (try? await gracefulShutdown()) != nil else { return }
                await self.exports.finish(within: self.shutdownLimit)
            }
            group.addTask { await self.recovery.waitForEarlierWorkers() }
            group.addTask { await self.uploads.run() }
            await self.exports.run()
            group.cancelAll()
        }
    }
}
