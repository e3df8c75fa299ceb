// SPDX-License-Identifier: Apache-2.0

import Basics
import Cluster
import Coordination
import Logging
import Model
import Observability
import ServiceLifecycle
import Storage
import Synchronization

/// Runs the machine of this host in its cluster: its requests to the store, its watch, its clock, and what it says of rooms.
///
/// An actor, since answers, news of rooms and time all come when they like. Every input performs all its actions before the next
/// one; none of them waits. A graceful shutdown leaves every room of the cluster, then the cluster, as far as the store answers.
actor ClusterService: Service {
    /// What takes time, and runs next to everything else.
    private enum Work: Sendable {
        case request(ClusterRequestID, StoreRequest, limit: Duration)
        case watch(ClusterWatchID, prefix: String, from: Revision, ended: AsyncStream<Void>)
        case examine(room: String, RoomRecord, Revision)
        case tick(at: Duration)
    }

    /// The wait before a watch that the store refused begins again: it may refuse that as well.
    private static let refusalWait = Duration.seconds(5)
    /// The least time between two ticks.
    private static let shortestTick = Duration.milliseconds(5)
    /// The least time between two writes of what is kept, but for drains.
    private static let keepingPause = Duration.seconds(1)

    private let store: EtcdClient
    private let host: any ClusterHost
    private let logger: Logger
    /// Takes what this host reports, in addition to the log; must not block.
    private let onEvent: @Sendable (ClusterEvent) -> Void
    /// Keeps what the next run of the daemon is to know.
    private let keep: @Sendable (ClusterMemory) async throws -> Void
    /// Takes the series that hosts are to bring together; must not block.
    private let onSeries: @Sendable (SeriesGathering.Orders) -> Void
    private let start = ContinuousClock.now
    /// What metrics show but the age of the last renewal, and when that was.
    private let measured: Mutex<(ClusterMeasurement, ContinuousClock.Instant)>
    private var machine: ClusterMachine
    /// Since when the store is reached, or not, and why not.
    private var since = UTCTime.now()
    private var wasConnected = false
    private var reason: String?
    /// When this host has drained.
    private var drainEnd: UTCTime?
    /// The same of a drain that outlives this run.
    private var keptDrain: UTCTime?
    /// The memory that was written last.
    private var kept: ClusterMemory
    private var isKeeping = false
    private var hasKeptFailed = false
    private var waitsToKeep: [CheckedContinuation<Void, Never>] = []
    private let keepingBell: AsyncStream<Void>
    private let keepingRing: AsyncStream<Void>.Continuation
    /// When the earliest tick comes that was ordered.
    private var nextTick: Duration?
    private var watches: [ClusterWatchID: AsyncStream<Void>.Continuation] = [:]
    /// What is to be of rooms and is not ordered yet.
    private var orders: [String: RoomAssignment?] = [:]
    private let orderBell: AsyncStream<Void>
    private let orderFeed: AsyncStream<Void>.Continuation
    /// The machine limits its requests; the rest is as much as there are rooms.
    private let works: AsyncStream<Work>
    private let workFeed: AsyncStream<Work>.Continuation
    /// A few of each room; the reader waits for nothing.
    private let inputs: AsyncStream<ClusterInput>
    private let inputFeed: AsyncStream<ClusterInput>.Continuation

    /// A service that has asked the store for nothing.
    ///
    /// - Parameter memory: what an earlier run kept.
    init(
        settings: ClusterSettings,
        memory: ClusterMemory = ClusterMemory(),
        store: EtcdClient,
        host: any ClusterHost,
        logger: Logger,
        onEvent: @escaping @Sendable (ClusterEvent) -> Void = { _ in },
        keep: @escaping @Sendable (ClusterMemory) async throws -> Void = { _ in },
        onSeries: @escaping @Sendable (SeriesGathering.Orders) -> Void = { _ in }
    ) {
        self.measured = Mutex((ClusterMeasurement(), ContinuousClock.now))
        self.onEvent = onEvent
        self.onSeries = onSeries
        self.keep = keep
        self.kept = memory
        self.keptDrain = memory.drain.flatMap { UTCTime(iso8601: $0) }
        var settings = settings
        (settings.id, settings.epochs) = (memory.id, memory.epochs)
        self.machine = ClusterMachine(settings: settings)
        (self.keepingBell, self.keepingRing) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
        self.store = store
        self.host = host
        self.logger = logger
        (self.orderBell, self.orderFeed) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
        (self.works, self.workFeed) = AsyncStream.makeStream(bufferingPolicy: .unbounded)
        (self.inputs, self.inputFeed) = AsyncStream.makeStream(bufferingPolicy: .unbounded)
    }

    /// Takes news of this host and its rooms, in this order.
    nonisolated func note(_ input: ClusterInput) { self.inputFeed.yield(input) }

    /// The cluster as this host sees it.
    var view: ClusterView { self.machine.view }
    /// Rooms that this host is in, or leaves.
    var holdings: [String: ClusterHolding] { self.machine.holdings }
    /// Whether the lease is valid, and the view is newer than that.
    var isConnected: Bool { self.machine.isConnected }
    /// Since when the store is out of reach; nil while it is not.
    var outOfReach: UTCTime? { self.machine.isConnected ? nil : self.since }

    /// What this host knows of its cluster.
    var resource: ClusterResource {
        ClusterResource(
            self.machine,
            since: self.since.iso8601,
            reason: self.whyNot,
            deadline: self.drainEnd?.iso8601
        )
    }

    /// Why the store is not reached, or does not do what is asked, human-readable.
    private var whyNot: String? {
        guard let failure = self.machine.storeFailure?.sentence, failure != self.reason else { return self.reason }
        return self.reason.map { "\($0) (\(failure))" } ?? failure
    }

    /// How this host and its cluster are, a second ago at most; callable from any thread.
    nonisolated var measurement: ClusterMeasurement {
        var (measurement, renewal) = self.measured.withLock { $0 }
        measurement.renewalAgeSeconds = (ContinuousClock.now - renewal) / .seconds(1)
        return measurement
    }

    private func measure() {
        let measurement = ClusterMeasurement(
            hosts: self.machine.view.hosts.count,
            unclaimedRooms: self.machine.ownerless,
            heldClaims: self.machine.holdings.values.count { $0.phase == .held },
            uncertainClaims: self.machine.holdings.values.count { $0.phase == .uncertain }
        )
        let renewal = self.start + (self.machine.lastRenewal ?? .zero)
        self.measured.withLock { $0 = (measurement, renewal) }
    }

    /// Takes no more rooms and hands on those of the cluster: empty ones now, others when their call ends, all when the
    /// time is over; nil takes rooms again.
    ///
    /// Returns when that is kept.
    ///
    /// - Parameter untilRestart: whether the drain ends with this run; one that does not still does not then.
    func drain(within time: Duration?, untilRestart: Bool = false) async {
        if let time {
            let end = UTCTime.now().adding(time)
            if !untilRestart || self.keptDrain != nil { self.keptDrain = end }
            self.drain(until: end)
        } else {
            (self.drainEnd, self.keptDrain) = (nil, nil)
            self.take(.undrain)
        }
        await self.keepMemory()
    }

    private func drain(until end: UTCTime) {
        self.drainEnd = end
        let left = end.nanosecondsSince1970 &- UTCTime.now().nanosecondsSince1970
        self.take(.drain(deadline: ContinuousClock.now - self.start + .nanoseconds(max(0, left))))
    }

    func run() async throws {
        // Unless a client has said otherwise since the start.
        if let end = self.keptDrain, !self.machine.isDraining { self.drain(until: end) }
        await withDiscardingTaskGroup { group in
            group.addTask { await self.takeNews() }
            group.addTask {
                for await _ in self.keepingBell {
                    await self.keepMemory()
                    guard (try? await Task.sleep(for: Self.keepingPause)) != nil else { return }
                }
            }
            group.addTask { await self.tellOrders() }
            group.addTask {
                do {
                    try await gracefulShutdown()
                    await self.take(.stop)
                } catch {
                    // Cancelled: nothing is left to be done.
                }
            }
            self.take(.tick)
            for await work in self.works {
                switch work {
                case .request(let id, let request, let limit):
                    group.addTask { await self.send(id, request, limit) }
                case .watch(let id, let prefix, let revision, let ended):
                    group.addTask { await self.watch(id, prefix, from: revision, until: ended) }
                case .examine(let room, let record, let revision):
                    group.addTask {
                        await self.take(.examined(room: room, revision, await self.host.examine(room, record)))
                    }
                case .tick(let time): group.addTask { await self.tick(at: time) }
                }
            }
            await self.keepMemory()
            group.cancelAll()
        }
    }

    // MARK: Inputs

    private func takeNews() async {
        for await input in self.inputs { self.take(input) }
    }

    private func take(_ input: ClusterInput) {
        for action in self.machine.handle(input, now: ContinuousClock.now - self.start) { self.perform(action) }
        if self.machine.isConnected != self.wasConnected {
            (self.wasConnected, self.since) = (!self.wasConnected, .now())
        }
        if self.machine.settings.id != self.kept.id || self.machine.settings.epochs != self.kept.epochs {
            self.keepingRing.yield()
        }
        if self.machine.hasStopped { self.workFeed.finish() }
        guard let deadline = self.machine.nextDeadline else { return }
        if let nextTick = self.nextTick, nextTick <= deadline { return }
        self.nextTick = deadline
        self.workFeed.yield(.tick(at: deadline))
    }

    /// Has what the next run is to know kept, unless it is; one write at a time, as a later one has newer facts.
    private func keepMemory() async {
        while self.isKeeping { await withCheckedContinuation { self.waitsToKeep.append($0) } }
        let memory = ClusterMemory(
            id: self.machine.settings.id,
            epochs: self.machine.settings.epochs,
            drain: self.keptDrain?.iso8601
        )
        guard memory != self.kept else { return }
        self.isKeeping = true
        defer {
            self.isKeeping = false
            for continuation in self.waitsToKeep { continuation.resume() }
            self.waitsToKeep = []
        }
        do {
            try await self.keep(memory)
            (self.kept, self.hasKeptFailed) = (memory, false)
        } catch {
            // The next change is another try.
            guard !self.hasKeptFailed else { return }
            self.hasKeptFailed = true
            self.logger.warning(
                "a restart of the daemon would not know its cluster as it is now",
                metadata: .tagged([.errorMessage: "\(error)"])
            )
        }
    }

    private func perform(_ action: ClusterAction) {
        switch action {
        case .request(let id, let request, let limit): self.workFeed.yield(.request(id, request, limit: limit))
        case .watch(let id, let prefix, let revision):
            let (ended, ends) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
            self.watches[id] = ends
            self.workFeed.yield(.watch(id, prefix: prefix, from: revision, ended: ended))
        case .endWatch(let id): self.watches.removeValue(forKey: id)?.finish()
        case .examine(let room, let record, let revision):
            self.workFeed.yield(.examine(room: room, record, revision))
        case .be(let room, let assignment):
            self.orders[room] = .some(assignment)
            self.orderFeed.yield()
        case .gather(let series, let hosts):
            let rooms = Set(series?.values.map(\.room) ?? [])
            let definitions = self.machine.view.rooms.filter { rooms.contains($0.key) }.compactMapValues(\.record)
            self.onSeries(SeriesGathering.Orders(series: series, definitions: definitions, hosts: hosts))
        case .report(let event):
            self.log(event)
            self.note(reasonOf: event)
            self.onEvent(event)
        }
    }

    /// Notes why the store is not reached.
    private func note(reasonOf event: ClusterEvent) {
        switch event {
        case .connected: self.reason = nil
        case .disconnected, .notInitialised, .otherCluster, .tooOld:
            let (_, message, _, detail) = event.line
            self.reason = detail.map { "\(message): \($0)" } ?? message
        case .storeFailed(let error): if !self.machine.isConnected { self.reason = error.sentence }
        default: break
        }
    }

    // MARK: Work

    /// Sends a request and takes its answer, or that there is none in time.
    ///
    /// A request without an answer continues until the client's limit: only by that the client learns that a member hangs.
    private func send(_ id: ClusterRequestID, _ request: StoreRequest, _ limit: Duration) async {
        await withDiscardingTaskGroup { group in
            group.addTask {
                guard (try? await Task.sleep(for: limit)) != nil else { return }
                await self.take(.answer(id, .failure(.unreachable("no answer within \(limit)"))))
            }
            let answer: Result<StoreAnswer, StoreError>
            do throws(StoreError) {
                answer = .success(try await self.store.perform(request))
            } catch {
                answer = .failure(error)
            }
            // The machine ignores the second answer to a request.
            self.take(.answer(id, answer))
            group.cancelAll()
        }
    }

    /// Watches until the machine ends it.
    private func watch(
        _ id: ClusterWatchID,
        _ prefix: String,
        from revision: Revision,
        until ended: AsyncStream<Void>
    ) async {
        await withTaskGroup(of: Void.self) { group in
            group.addTask { for await _ in ended {} }
            group.addTask {
                do throws(StoreError) {
                    try await self.store.watch(prefix: prefix, from: revision) { update in
                        await self.take(.watched(id, update))
                    }
                } catch {
                    guard (try? await Task.sleep(for: Self.refusalWait)) != nil else { return }
                    await self.take(.watched(id, .compacted))
                }
            }
            _ = await group.next()
            group.cancelAll()
        }
        self.watches[id] = nil
    }

    private func tick(at time: Duration) async {
        let earliest = ContinuousClock.now - self.start + Self.shortestTick
        guard (try? await Task.sleep(until: self.start + max(time, earliest), clock: .continuous)) != nil else {
            return
        }
        if self.nextTick == time { self.nextTick = nil }
        self.take(.tick)
        self.measure()
    }

    private func tellOrders() async {
        for await _ in self.orderBell {
            while let (room, assignment) = self.orders.popFirst() { await self.host.be(room, assignment) }
        }
    }

    // MARK: Log

    private func log(_ event: ClusterEvent) {
        let (level, message, room, detail) = event.line
        var metadata: [LogKey: Logger.MetadataValue] = [:]
        if let room { metadata[.roomName] = "\(room)" }
        if let detail { metadata[.detail] = "\(detail)" }
        self.logger.log(level: level, "\(message)", metadata: .tagged(metadata))
    }
}

extension ClusterEvent {
    /// What the log says of it: the room, if it is about one, and what else is to be known.
    fileprivate var line: (Logger.Level, String, room: String?, detail: String?) {
        switch self {
        case .connected(let id): (.notice, "the cluster answers", nil, "its id is \(id)")
        case .disconnected(let reason): (.warning, "the rooms of the cluster may not be ours any more", nil, reason)
        case .storeFailed(let error): (.warning, "the cluster's etcd does not do what is asked", nil, error.sentence)
        case .notInitialised: (.error, "the etcd has no such cluster: `tapedeck cluster init` makes it", nil, nil)
        case .otherCluster(let expected, let found):
            (
                .error,
                "the etcd was replaced: no room is claimed before `tapedeck cluster init`, `rooms apply`, `cluster adopt`",
                nil,
                "the id was \(expected), and is \(found ?? "missing")"
            )
        case .tooOld(let schema): (.error, "the cluster needs a newer version", nil, "it requires schema \(schema)")
        case .nameTaken(let life):
            (.error, "another daemon of the cluster has the name of cluster.host", nil, "its run is \(life)")
        case .unusable(let key, let reason): (.warning, "a value of the cluster cannot be used", key.room, reason)
        case .claimed(let room, let epoch, let host):
            (.info, "the room is ours", room, "epoch \(epoch)\(host.map { ", after \($0)" } ?? "")")
        case .uncertain(let room, let epoch, let reason):
            (.warning, "the room may not be ours any more", room, "epoch \(epoch): \(reason)")
        case .heldAgain(let room, let epoch): (.info, "the room was ours all the time", room, "epoch \(epoch)")
        case .lost(let room, let epoch, let host):
            (.warning, "another host has the room", room, "epoch \(epoch)\(host.map { ", \($0)" } ?? "")")
        case .regressed(let room, let epoch, let stored):
            (.error, "the etcd knows less of the room than this host", room, "epoch \(stored), and ours is \(epoch)")
        case .released(let room, let epoch, let next):
            (.info, "the room is not ours any more", room, "epoch \(epoch)\(next.map { ", for \($0)" } ?? "")")
        case .drained: (.notice, "no room of the cluster is left here", nil, nil)
        case .hostLost(let host, _, _): (.warning, "a host of the cluster is gone", nil, host)
        }
    }
}

extension StoreError {
    /// The failure, human-readable.
    fileprivate var sentence: String {
        switch self {
        case .unreachable(let reason), .refused(let reason): reason
        case .full(let reason): "the etcd takes no writes: \(reason)"
        case .leaseNotFound: "the lease is gone"
        }
    }
}

extension ClusterKey {
    /// The room that the key is about.
    fileprivate var room: String? {
        switch self {
        case .room(let room), .wish(let room), .claim(let room), .owner(let room): room
        case .meta, .host, .series, .move, .said: nil
        }
    }
}
