// SPDX-License-Identifier: Apache-2.0

import Basics
import Catalogue
import ConfigurationFile
import Fleet
import FoundationEssentials
import Glibc
import Logging
import Model
import Observability
import Platform
import ServiceLifecycle
import Storage

/// Watches the disk and deletes what is too old or too much.
///
/// Below the free room that the configuration wants video stops first, then everything, cleanly and with an alarm;
/// with room again, recording continues. It asks the disk on a separate thread.
actor Janitor: Service {
    private static let retentionInterval = Duration.seconds(60)
    private static let leftoverInterval = Duration.seconds(3600)

    private let supervisor: Supervisor
    private let store: RecordingStore
    private let bus: EventBus
    private let metrics: DaemonMetrics
    private let logger: Logger
    private var governor: DiskGovernorStateMachine
    private var forecast = DiskForecast()
    private var hasFailed = false
    /// Nil until what an earlier life knew is read.
    private var clock: ClockWatch?
    private let isSynchronised: @Sendable () -> Bool?
    private let thread = DiskThread(name: "disk")
    private let start = ContinuousClock.now
    private var uptimeNanoseconds: Int64 { (ContinuousClock.now - self.start).nanoseconds }

    nonisolated var unownedExecutor: UnownedSerialExecutor { self.thread.asUnownedSerialExecutor() }

    /// A janitor for the store's storage.
    ///
    /// - Parameter isSynchronised: whether something keeps the system's clock in time; `nil` where the kernel does not say.
    init(
        supervisor: Supervisor,
        store: RecordingStore,
        storage: StorageConfiguration,
        isSynchronised: @escaping @Sendable () -> Bool? = { nil },
        bus: EventBus,
        metrics: DaemonMetrics,
        logger: Logger
    ) {
        self.isSynchronised = isSynchronised
        self.supervisor = supervisor
        self.store = store
        self.bus = bus
        self.metrics = metrics
        self.logger = logger
        self.governor = DiskGovernorStateMachine(minimumFree: storage.minimumFreeBytes)
    }

    /// Works until the daemon ends.
    func run() async throws {
        await cancelWhenGracefulShutdown {
            await withDiscardingTaskGroup { group in
                group.addTask { await self.watchDisk() }
                group.addTask { await self.keepRetention() }
                group.addTask { await self.watchFailures() }
            }
        }
    }

    private func watchDisk() async {
        repeat {
            await self.measure()
        } while (try? await CommonSecond.sleep()) != nil
    }

    private func measure() async {
        let settings = await self.supervisor.configuration.storage
        self.governor.minimumChanged(settings.minimumFreeBytes)
        self.store.signer.use(settings.signingKey)
        self.store.uploads.use(settings.upload)
        do throws(StorageError) {
            let storage = self.store.catalogue.storage
            let space = try DiskSpace.measure(storage)
            self.hasFailed = false
            let isWritable = FileManager.default.isWritableFile(atPath: storage)
            await self.measured(space.freeBytes, isWritable: isWritable)
        } catch {
            if !self.hasFailed {
                self.logger.error("disk cannot be measured", metadata: .tagged([.errorMessage: "\(error.message)"]))
            }
            self.hasFailed = true
        }
    }

    /// A worker could not write: measures at once, and notifies operators where the measurement does not.
    private func watchFailures() async {
        for await failure in self.supervisor.writeFailures {
            guard self.governor.alarmsAboutFailedWrite() else { continue }
            let before = self.governor.level
            await self.measure()
            guard self.governor.level == before else { continue }
            self.bus.publish(
                .diskLow,
                room: failure.room,
                ["action": "the recorder tries again", "reason": failure.reason]
            )
        }
    }

    private func measured(_ freeBytes: Int64, isWritable: Bool) async {
        // While Tapedeck writes nothing, others do: that is no forecast of ours.
        let figures = self.store.figures
        if figures.activeRecordings == 0, figures.pendingExports == 0 { self.forecast = DiskForecast() }
        self.forecast.measured(freeBytes: freeBytes, monotonicNanoseconds: self.uptimeNanoseconds)
        let seconds = self.forecast.secondsUntilFull
        self.metrics.storage(freeBytes: freeBytes, secondsUntilFull: seconds)
        self.store.exports.note(
            DiskUsage(
                freeBytes: freeBytes,
                minimumFreeBytes: self.governor.minimumFree,
                secondsUntilFull: seconds,
                isWritable: isWritable
            )
        )
        let details = ["free_bytes": "\(freeBytes)"]
        switch self.governor.measured(freeBytes: freeBytes) {
        case .none:
            break
        case .stopVideo:
            self.bus.publish(.diskLow, details.merging(["action": "video is left out"]) { $1 })
            await self.supervisor.limitRecording(to: .audioOnly)
        case .stopEverything:
            await self.stopEverything(details)
        case .recover:
            self.bus.publish(.diskRecovered, details)
            await self.supervisor.limitRecording(to: .everything)
        }
    }

    private func stopEverything(_ details: [String: String]) async {
        self.bus.publish(.diskLow, details.merging(["action": "nothing is recorded"]) { $1 })
        await self.supervisor.limitRecording(to: .nothing)
    }

    private func keepRetention() async {
        var nextRemoval = ContinuousClock.now
        repeat {
            if ContinuousClock.now >= nextRemoval {
                nextRemoval = ContinuousClock.now + Self.leftoverInterval
                await self.store.retention.removeLeftovers()
            }
            let settings = await self.supervisor.configuration.storage
            let keep = await self.believesClock() ? settings.keep : nil
            let policy = RetentionPolicy(keep: keep, keepBytes: settings.keepBytes)
            await self.store.retention.apply(policy, uploads: settings.upload)
            await self.store.keeper.refreshActive()
            await self.store.recovery.closeAbandoned(except: self.supervisor.recordingsGoingOn)
        } while (try? await Task.sleep(for: Self.retentionInterval)) != nil
    }

    /// Whether age counts: a clock that is ahead for one look would have everything deleted.
    private func believesClock() async -> Bool {
        let (before, until) = (self.clock?.doubt, self.clock?.doubtedUntil)
        if self.clock == nil { self.clock = await self.remembered() }
        guard var clock = self.clock else { return false }
        let isBelieved = clock.isBelieved(
            wall: .now(),
            monotonic: Self.timeSinceBoot(),
            bootID: BootID.current ?? "",
            isSynchronised: self.isSynchronised()
        )
        self.clock = clock
        // What was remembered before only leads to more doubt.
        if let memory = clock.memory { try? await self.store.catalogue.remember(memory, as: Self.clockFact) }
        switch clock.doubt {
        case .step where before != .step || clock.doubtedUntil != until:
            let hours = (clock.memory?.doubtNanoseconds ?? 0) / 3_600_000_000_000
            self.logger.warning(
                "the clock was set: nothing is deleted by its age for a day",
                metadata: .tagged([.detail: "\(hours) full hours of it are left"])
            )
        case .unsynchronised where before != .unsynchronised:
            self.logger.warning("nothing keeps the system's clock in time: nothing is deleted by its age until it is")
        case .step, .unsynchronised, nil:
            break
        }
        return isBelieved
    }

    /// A watch that continues from what the run before knew; nil if that cannot be read now.
    private func remembered() async -> ClockWatch? {
        do {
            let catalogue = self.store.catalogue
            let memory = try await catalogue.remembered(ClockWatch.Memory.self, as: Self.clockFact)
            if let memory { return ClockWatch(memory: memory) }
            let folders = try RecordingFolder.list(storage: catalogue.storage)
            return ClockWatch(lastWrite: folders.compactMap(\.lastWrite).max())
        } catch {
            return nil
        }
    }

    private static let clockFact = "clock"

    private static func timeSinceBoot() -> Duration {
        var time = timespec()
        clock_gettime(CLOCK_BOOTTIME, &time)
        return .seconds(time.tv_sec) + .nanoseconds(time.tv_nsec)
    }
}

/// Something that a worker could not write.
struct WriteFailure: Sendable {
    var room: String
    var reason: String
}

/// How the disk is.
struct DiskUsage: Sendable, Hashable {
    var freeBytes: Int64 = 0
    /// What should stay free.
    var minimumFreeBytes: Int64 = 0
    var secondsUntilFull: Double?
    /// Whether the storage directory can be written.
    var isWritable = true
}
