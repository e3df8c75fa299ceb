// SPDX-License-Identifier: Apache-2.0

import Basics
import Catalogue
import ConfigurationFile
import Foundation
import Logging
import Model
import Observability
import Storage
import SystemPackage
import Timeline

@testable import Daemon

/// The parts of a daemon over a storage directory of their own; its jobs and workers are shell scripts.
final class DaemonBench: Sendable {
    let storage: String
    let catalogue: Catalogue
    let bus: EventBus
    /// Everything that was published.
    let events: AsyncStream<DaemonEvent>
    let metrics = DaemonMetrics(registry: PrometheusRegistry(), version: "test", startTime: 0)
    private let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }

    init() throws {
        self.storage = FileManager.default.temporaryDirectory.path + "/tapedeck-daemon-\(RecordingID.random())"
        try FileManager.default.createDirectory(atPath: self.storage, withIntermediateDirectories: true)
        self.catalogue = try Catalogue.open(storage: self.storage)
        let (events, feed) = AsyncStream.makeStream(of: DaemonEvent.self, bufferingPolicy: .bufferingNewest(10_000))
        self.events = events
        self.bus = EventBus(life: "life", logger: self.logger, listeners: [{ feed.yield($0) }])
    }

    deinit {
        try? FileManager.default.removeItem(atPath: self.storage)
    }

    /// The next event of a kind.
    func next(_ kind: DaemonEvent.Kind) async -> DaemonEvent? {
        for await event in self.events where event.kind == kind { return event }
        return nil
    }

    /// A store whose exports run a script, and its repairs another one; repairs are noted in the file `repairs`.
    func store(
        exports script: String = "exit 0",
        repairs: String = "exit 0",
        exportJobs: Int = 1,
        roomOrders: [String: [ExportSpec]] = [:],
        repairInterval: Duration = .zero,
        logger: Logger? = nil
    ) throws -> RecordingStore {
        let text = """
            if [ "$1" = repair ]; then
            echo "$@" >> \(self.storage)/repairs
            \(repairs)
            exit
            fi
            \(script)

            """
        try Data(text.utf8).write(to: URL(filePath: self.storage + "/job"))
        return RecordingStore(
            catalogue: self.catalogue,
            jobs: JobLauncher(
                executable: FilePath(URL(filePath: #filePath).deletingLastPathComponent().path + "/job.sh"),
                environment: ChildEnvironment(values: NotedValueSource())
            ),
            exportJobs: exportJobs,
            roomOrders: roomOrders,
            shutdownLimit: .seconds(1),
            repairInterval: repairInterval,
            bus: self.bus,
            metrics: self.metrics,
            logger: logger ?? self.logger
        )
    }

    /// A supervisor whose workers run a script.
    func supervisor(
        _ configuration: DaemonConfiguration = DaemonConfiguration(),
        store: RecordingStore,
        workers script: String = "exit 1",
        logger: Logger? = nil
    ) -> Supervisor {
        let launcher = WorkerLauncher(
            executable: "/bin/sh",
            arguments: ["-c", script],
            environment: ChildEnvironment(values: NotedValueSource())
        )
        return Supervisor(
            configuration: configuration,
            launcher: launcher,
            recordings: store.keeper,
            kept: KeptRooms(catalogue: self.catalogue, logger: logger ?? self.logger),
            rtsp: RTSPKeeper(configuration: nil, launcher: launcher, logger: self.logger),
            bus: self.bus,
            metrics: self.metrics,
            logger: logger ?? self.logger
        )
    }

    func backend(
        _ supervisor: Supervisor,
        _ store: RecordingStore,
        checkPipelines: @escaping @Sendable (DaemonConfiguration) throws -> Void = { _ = try $0.pipelineCatalogue() }
    ) -> DaemonBackend {
        let configuration = DaemonConfiguration()
        let dispatcher = WebhookDispatcher(
            catalogue: self.catalogue,
            configuration: configuration.webhooks,
            logger: self.logger
        )
        let reloader = ConfigurationReloader(
            path: self.storage + "/none.yaml",
            values: NotedValueSource(),
            directory: self.storage,
            api: configuration.api,
            workers: configuration.workers,
            supervisor: supervisor,
            webhooks: dispatcher,
            bus: self.bus,
            metrics: self.metrics,
            notifier: ServiceNotifier(environment: [:]),
            logger: self.logger
        )
        return DaemonBackend(
            supervisor: supervisor,
            store: store,
            reloader: reloader,
            dispatcher: dispatcher,
            version: "test",
            checkPipelines: checkPipelines
        )
    }

    /// A recording's folder with a journal, and that it is over if it is; nobody holds it.
    func makeRecording(
        _ second: Int = 0,
        room: String = "standup",
        isFinished: Bool = true,
        segment: Int? = nil,
        ofSeriesFrom first: RecordingFolder? = nil
    ) throws -> RecordingFolder {
        let start = UTCTime(nanosecondsSince1970: 1_795_230_746_000_000_000 + Int64(second) * 1_000_000_000)
        let folder = try RecordingFolder.create(storage: self.storage, room: room, start: start)
        let journal = try JournalWriter(folder: folder)
        let started = RecordingStarted(
            room: room,
            id: folder.id.rawValue,
            host: "here",
            utc: start,
            series: segment.map { _ in (first ?? folder).id.rawValue },
            segment: segment
        )
        try journal.append(.recordingStarted(started), monotonicNanoseconds: 0)
        if isFinished { try Self.finish(journal) }
        return folder
    }

    static func finish(_ journal: JournalWriter) throws {
        try journal.append(
            .recordingFinished(RecordingFinished(reason: "stopped")),
            monotonicNanoseconds: 1_000_000_000
        )
    }
}

extension RecordingStore {
    /// Runs the store for as long as the body takes.
    func running<Value: Sendable>(_ body: @Sendable () async throws -> Value) async throws -> Value {
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await self.run() }
            defer { group.cancelAll() }
            return try await body()
        }
    }
}
