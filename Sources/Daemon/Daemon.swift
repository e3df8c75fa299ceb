// SPDX-License-Identifier: Apache-2.0

import Basics
import Catalogue
import Cluster
public import ConfigurationFile
import Control
import Coordination
import Foundation
import HTTPRequests
public import Logging
import Model
public import Observability
import ServiceLifecycle
import Storage
public import SystemPackage
import UnixSignals

/// The daemon: everything that one configuration wants, until SIGTERM or SIGINT.
///
/// Shutdown goes from the outside in: no more joining, recordings finished, rooms left, exports worked on for a while,
/// then the HTTP API and the webhooks end.
public struct Daemon: Sendable {
    /// How long exports are worked on when the daemon ends; what is left runs after the next start.
    private static let exportLimit = Duration.seconds(20)

    private let configurationPath: String
    private let configuration: DaemonConfiguration
    private let values: NotedValueSource
    private let executable: FilePath
    private let workerArguments: [String]
    private let serverArguments: [String]
    private let version: String
    private let isClockSynchronised: @Sendable () -> Bool?
    private let metrics: DaemonMetrics
    private let logger: Logger

    /// A daemon that has not started anything.
    ///
    /// - Parameters:
    ///   - configurationPath: where `configuration` came from, and where a new one is read.
    ///   - values: where its references took their values, and where those of a new one take theirs.
    ///   - executable: this program: workers and jobs are processes of it.
    ///   - workerArguments: what follows `worker` on their command line, such as log options.
    ///   - serverArguments: what follows `rtsp-server`.
    ///   - isClockSynchronised: whether something keeps the system's clock in time; `nil` where the kernel does not say.
    public init(
        configurationPath: String,
        configuration: DaemonConfiguration,
        values: NotedValueSource,
        executable: FilePath,
        workerArguments: [String],
        serverArguments: [String],
        version: String,
        isClockSynchronised: @escaping @Sendable () -> Bool? = { nil },
        metrics: DaemonMetrics,
        logger: Logger
    ) {
        self.isClockSynchronised = isClockSynchronised
        self.configurationPath = configurationPath
        self.configuration = configuration
        self.values = values
        self.executable = executable
        self.workerArguments = workerArguments
        self.serverArguments = serverArguments
        self.version = version
        self.metrics = metrics
        self.logger = logger
    }

    /// Runs until a signal ends it and everything is finished.
    ///
    /// - Parameter onListening: called once with the port of the HTTP API.
    public func run(onListening: @escaping @Sendable (Int) -> Void) async throws {
        let storage = try self.makeStorage()
        let lock = try Self.hold(storage)
        defer { withExtendedLifetime(lock) {} }
        let catalogue = try self.openCatalogue(storage)
        let metrics = self.metrics
        let registry = metrics.registry
        let notifier = ServiceNotifier(environment: ProcessInfo.processInfo.environment)
        let life = EventID.randomLife()
        let events = EventHub(life: life)
        let environment = ChildEnvironment(values: self.values)
        let webhooks = WebhookDispatcher(
            catalogue: catalogue,
            configuration: self.configuration.webhooks,
            logger: self.logger
        )
        let bus = EventBus(
            life: life,
            host: self.configuration.cluster?.host,
            logger: self.logger,
            listeners: [{ events.publish($0) }],
            webhooks: webhooks
        )
        let store = RecordingStore(
            catalogue: catalogue,
            jobs: JobLauncher(executable: self.executable, environment: environment),
            exportJobs: self.configuration.workers.exportJobs,
            roomOrders: self.configuration.rooms.compactMapValues(\.exportOrders),
            shutdownLimit: Self.exportLimit,
            bus: bus,
            metrics: metrics,
            logger: self.logger
        )
        let rtsp = RTSPKeeper(
            configuration: self.configuration.rtsp,
            launcher: WorkerLauncher(
                executable: self.executable,
                arguments: ["rtsp-server"] + self.serverArguments,
                environment: environment
            ),
            logger: self.logger
        )
        let supervisor = Supervisor(
            configuration: self.configuration,
            launcher: WorkerLauncher(
                executable: self.executable,
                arguments: ["worker", "--stop-limit", DurationText.text(self.configuration.workers.stopLimit)]
                    + self.workerArguments,
                environment: environment
            ),
            recordings: store.keeper,
            kept: KeptRooms(catalogue: catalogue, logger: self.logger),
            rtsp: rtsp,
            bus: bus,
            metrics: metrics,
            logger: self.logger
        )
        let reloader = ConfigurationReloader(
            path: self.configurationPath,
            values: self.values,
            directory: self.configuration.storage.directory,
            api: self.configuration.api,
            workers: self.configuration.workers,
            cluster: self.configuration.cluster,
            supervisor: supervisor,
            webhooks: webhooks,
            bus: bus,
            metrics: metrics,
            notifier: notifier,
            logger: self.logger
        )
        let (listening, listens) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
        let (reachable, reaches) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
        let (sharing, shares) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
        let (series, seriesFeed) = AsyncStream.makeStream(
            of: SeriesGathering.Orders.self,
            bufferingPolicy: .bufferingNewest(1)
        )
        let cluster = await self.cluster(supervisor, bus, catalogue, life: life) { seriesFeed.yield($0) }
        if let cluster { registry.onScrape { metrics.cluster(cluster.measurement) } }
        let peers = cluster.flatMap { cluster in
            self.configuration.cluster.map { ClusterPeers(of: cluster, $0) }
        }
        let backend = DaemonBackend(
            supervisor: supervisor,
            store: store,
            reloader: reloader,
            dispatcher: webhooks,
            cluster: cluster,
            peers: peers,
            version: self.version
        )
        registry.onScrape { metrics.eventSubscribers(events.streamCount) }
        let control = try ControlServer(
            configuration: ControlConfiguration(self.configuration.api),
            backend: backend,
            events: events,
            metrics: { registry.text($0) },
            logger: self.logger,
            onAnswer: { metrics.request($0, status: $1, took: $2) },
            onListening: { port in
                onListening(port)
                listens.yield()
                reaches.yield()
                shares.yield()
            }
        )
        await reloader.serve(control)
        // Before the HTTP API listens: a room of the configuration is never unknown to it.
        await supervisor.takeUpRooms()
        let gathering = cluster.flatMap { self.gathering($0, self.rooms(of: supervisor), store, series) }
        if let cluster { await supervisor.join { cluster.note($0) } }
        let janitor = Janitor(
            supervisor: supervisor,
            store: store,
            storage: self.configuration.storage,
            isSynchronised: self.isClockSynchronised,
            bus: bus,
            metrics: metrics,
            logger: self.logger
        )
        let watchdog = ServiceWatchdog(
            notifier: notifier,
            backend: backend,
            // The rest is for the HTTP API and the webhooks.
            stopLimit: self.configuration.workers.stopLimit * (cluster == nil ? 1 : 2) + Self.exportLimit
                + .seconds(30),
            listening: listening
        )
        // Ended in reverse order, each before the next.
        var services: [ServiceGroupConfiguration.ServiceConfiguration] = [
            .init(service: WebhookService(dispatcher: webhooks, metrics: metrics, logger: self.logger)),
            .init(service: control), .init(service: store), .init(service: rtsp),
            .init(service: WaitingService(service: supervisor, until: reachable)),
        ]
        if let gathering { services.append(.init(service: gathering)) }
        // Its rooms are left while the supervisor still serves them, each for another host at once.
        if let cluster { services.append(.init(service: WaitingService(service: cluster, until: sharing))) }
        services += [.init(service: janitor), .init(service: reloader), .init(service: watchdog)]
        let group = ServiceGroup(
            configuration: ServiceGroupConfiguration(
                services: services,
                gracefulShutdownSignals: [.sigterm, .sigint],
                logger: self.logger
            )
        )
        try await group.run()
        do {
            try catalogue.close()
        } catch {
            self.logger.warning("catalogue did not close", metadata: .tagged([.errorMessage: "\(error)"]))
        }
    }

    /// This host in its cluster; `nil` where it shares no rooms.
    private func cluster(
        _ supervisor: Supervisor,
        _ bus: EventBus,
        _ catalogue: Catalogue,
        life: String,
        onSeries: @escaping @Sendable (SeriesGathering.Orders) -> Void
    ) async -> ClusterService? {
        guard let cluster = self.configuration.cluster else { return nil }
        let fact = ClusterMemory.fact(of: cluster.name)
        var memory = ClusterMemory()
        do {
            memory = try await catalogue.remembered(ClusterMemory.self, as: fact) ?? memory
        } catch {
            self.logger.error(
                "what this host knew of its cluster is not known",
                metadata: .tagged([.errorMessage: "\(error)"])
            )
        }
        return ClusterService(
            settings: ClusterSettings(cluster, version: self.version, life: life),
            memory: memory,
            store: EtcdClient(EtcdConfiguration(cluster)),
            host: self.rooms(of: supervisor),
            logger: self.logger,
            onEvent: { bus.publish($0, host: cluster.host) },
            keep: { try await catalogue.remember($0, as: fact) },
            onSeries: onSeries
        )
    }

    private func rooms(of supervisor: Supervisor) -> ClusterRooms {
        ClusterRooms(
            cluster: self.configuration.cluster?.name ?? "",
            supervisor: supervisor,
            values: self.values,
            logger: self.logger
        )
    }

    /// Brings recordings of the cluster's rooms together on this host; `nil` where it shares none.
    private func gathering(
        _ cluster: ClusterService,
        _ rooms: ClusterRooms,
        _ store: RecordingStore,
        _ orders: AsyncStream<SeriesGathering.Orders>
    ) -> SeriesGathering? {
        guard let configuration = self.configuration.cluster else { return nil }
        let (own, token) = (configuration.host, configuration.token)
        let client = HTTPClient(
            trustedCertificatesFile: configuration.authority,
            lane: HTTPClient.Lane("gathering")
        )
        return SeriesGathering(
            store: store,
            cluster: configuration.name,
            host: own,
            orders: orders,
            hosts: { PeerHost.others(than: own, in: await cluster.view, token: token, client: client) },
            export: { await rooms.seriesExport(of: $0, $1) },
            gathered: { cluster.note(.gathered(series: $0)) },
            logger: self.logger
        )
    }

    private func makeStorage() throws -> String {
        let storage = self.configuration.storage.directory
        try RecordingFolder.makeStorage(storage)
        // Recordings are known by their paths below it: a link on the way would give them two.
        return try realPath(storage)
    }

    /// Keeps other daemons off a storage directory until the file is released or this process ends, however it does.
    ///
    /// Two would repair each other's recordings and export them twice. No child inherits it, so that a daemon which is killed
    /// can be started again while its workers still close their files. Throws `system` if another one is there: it may end.
    static func hold(_ storage: String) throws(StorageError) -> File {
        let file = try File(storage + "/daemon.lock", .overwrite)
        guard try file.lock() else {
            throw StorageError(.system, "another daemon has the storage directory \(storage)", path: storage)
        }
        return file
    }

    private func openCatalogue(_ storage: String) throws -> Catalogue {
        let catalogue = try Catalogue.open(storage: storage)
        if let old = catalogue.setAside {
            self.logger.warning(
                "catalogue was damaged and is rebuilt",
                metadata: .tagged([.detail: "\(old.path): \(old.reason)"])
            )
        }
        return catalogue
    }
}

extension ControlConfiguration {
    /// What the configuration file says of the HTTP API.
    init(_ api: APIConfiguration) {
        self.init(host: api.host, port: api.port)
        self.tls = api.tls.map { TLS(certificateFile: $0.certificate, keyFile: $0.key) }
        self.tokens = api.tokens.map { BearerToken($0) }
        self.allowedOrigins = api.corsOrigins
        self.rate = Rate(perSecond: Double(api.requestsPerSecond), burst: Double(api.requestsPerSecond) * 4)
        self.limits.eventStreams = api.maximumEventStreams
    }
}

extension BearerToken {
    /// What the configuration file says of a token; its text is hashed here and kept nowhere.
    init(_ token: APIToken) {
        switch token.credential {
        case .plain(let secret):
            self.init(name: token.name, secret: secret.value, scopes: token.scopes, isOfHosts: token.isOfHosts)
        case .sha256(let hash): self.init(name: token.name, sha256: hash, scopes: token.scopes)
        }
    }
}
