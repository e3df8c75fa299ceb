// SPDX-License-Identifier: Apache-2.0

import Basics
import Catalogue
import ConfigurationFile
import FoundationEssentials
import Logging
import Model
import NIOCore
import NIOPosix
import Observability
import Platform
import Storage
import Synchronization

/// Sends receivers events: at least once, for up to a day, also across restarts.
///
/// Events are matched with the webhooks' patterns, stored in the catalogue and posted from there, one attempt at a time for
/// each webhook and all webhooks side by side; there are at most `maximumTargets` of them. A webhook's deliveries go out
/// in order while they succeed; one that failed is tried again later and comes after others then. `docs/events.md` is the
/// receivers' side of this.
final class WebhookDispatcher: Sendable {
    /// The most webhooks; more are left out, with an error in the log.
    static let maximumTargets = 64
    /// The most deliveries of one webhook that wait; others are dropped and counted, by `Catalogue.isDroppedFirst` and age.
    static let maximumQueued = 10_000
    /// The most events between `dispatch` and the catalogue; more are dropped, as above, and counted.
    static let maximumPending = 4096

    private struct State {
        var channels: [String: WebhookChannel] = [:]
        /// Channels that are not running yet.
        var added: [WebhookChannel] = []
        /// Webhooks that were taken out, whose deliveries are in the catalogue yet.
        var gone: Set<String> = []
        var pending: [DaemonEvent] = []
    }

    private let catalogue: Catalogue
    private let logger: Logger
    private let environment: WebhookChannel.Environment
    private let limit: Int
    private let state: Mutex<State>
    private let wakes: AsyncStream<Void>
    private let wake: AsyncStream<Void>.Continuation

    /// A dispatcher that takes events from now on and sends none before `run`.
    public convenience init(catalogue: Catalogue, configuration: WebhooksConfiguration, logger: Logger) {
        self.init(
            catalogue: catalogue,
            configuration: configuration,
            logger: logger,
            schedule: RetrySchedule(),
            limit: Self.maximumQueued,
            now: { .now() },
            resolve: WebhookSender.systemResolver,
            timeLimit: WebhookSender.timeLimit
        )
    }

    init(
        catalogue: Catalogue,
        configuration: WebhooksConfiguration,
        logger: Logger,
        schedule: RetrySchedule,
        limit: Int,
        now: @escaping @Sendable () -> UTCTime,
        resolve: @escaping WebhookSender.Resolver,
        timeLimit: Duration
    ) {
        self.catalogue = catalogue
        self.logger = logger
        self.limit = limit
        self.environment = WebhookChannel.Environment(
            catalogue: catalogue,
            schedule: schedule,
            policy: TargetPolicy(allowedHosts: configuration.allowedHosts),
            eventLoop: MultiThreadedEventLoopGroup.singleton.next(),
            logger: logger,
            now: now,
            resolve: resolve,
            timeLimit: timeLimit
        )
        self.state = Mutex(State())
        (self.wakes, self.wake) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
        self.update(configuration)
    }

    /// Takes an event for every webhook that wants it; returns at once, from any thread.
    func dispatch(_ event: DaemonEvent) {
        self.state.withLock { state in
            let wanting = state.channels.values.filter { $0.webhook.wants(event.kind.rawValue) }
            guard !wanting.isEmpty else { return }
            if state.pending.count >= Self.maximumPending {
                // A catalogue that hangs; what peers can make any number of goes first.
                let surplus = state.pending.firstIndex { Catalogue.isDroppedFirst($0.kind.rawValue) }
                for channel in wanting { channel.count(dropped: 1) }
                guard let surplus, !Catalogue.isDroppedFirst(event.kind.rawValue) else { return }
                state.pending.remove(at: surplus)
            }
            state.pending.append(event)
        }
        self.wake.yield()
    }

    /// Stores the end of a recording for every webhook that wants it, with the note that it was reported; false, with nothing
    /// stored, if that was noted before.
    ///
    /// Each delivery has an id that is always the same: where a power cut takes back that one was sent, its receiver knows it.
    func store(_ event: DaemonEvent, endOf recording: RecordingID) async throws -> Bool {
        let channels = self.channels
        // They happened before.
        await self.store(self.takePending(), for: channels)
        let now = self.environment.now()
        let deliveries = channels.filter { $0.webhook.wants(event.kind.rawValue) }.compactMap { channel in
            var delivery = Self.delivery(event, webhook: channel.key, now: now)
            delivery?.id = Self.id("\(channel.key) \(recording) \(event.kind.rawValue)")
            return delivery
        }
        guard let dropped = try await self.catalogue.reportEnd(of: recording, by: deliveries, limit: self.limit) else {
            return false
        }
        for channel in channels {
            channel.count(dropped: dropped[channel.key] ?? 0)
            channel.nudge()
        }
        return true
    }

    /// Takes a new configuration; webhooks whose URL stays keep what waits for them, those that are gone lose it.
    func update(_ configuration: WebhooksConfiguration) {
        let policy = TargetPolicy(allowedHosts: configuration.allowedHosts)
        if configuration.targets.count > Self.maximumTargets {
            self.logger.error(
                "webhooks left out",
                metadata: .tagged([.detail: "\(configuration.targets.count) are too many, \(Self.maximumTargets) taken"]
                )
            )
        }
        var wanted: [String: WebhookConfiguration] = [:]
        for target in configuration.targets.prefix(Self.maximumTargets) {
            var key = Self.key(target.url.value)
            while wanted[key] != nil { key = Self.key(key) }
            wanted[key] = target
        }
        var environment = self.environment
        environment.policy = policy
        self.state.withLock { state in
            for (key, channel) in state.channels where wanted[key] == nil {
                channel.stop()
                state.channels[key] = nil
                state.gone.insert(key)
                state.added.removeAll { $0 === channel }
            }
            for (key, webhook) in wanted {
                if let channel = state.channels[key] {
                    channel.update(webhook, policy: policy)
                } else {
                    let channel = WebhookChannel(key: key, webhook: webhook, environment: environment)
                    state.channels[key] = channel
                    state.added.append(channel)
                }
            }
        }
        self.wake.yield()
    }

    /// Delivers until `shutdown` or cancellation; what is stored then goes out after the next start.
    func run() async {
        await withDiscardingTaskGroup { group in
            self.wake.yield()
            for await _ in self.wakes { await self.work(&group) }
            await self.work(&group)
            group.cancelAll()
        }
    }

    /// Stores what was dispatched and makes `run` return, with no more than the attempts at hand cut off.
    func shutdown() {
        self.wake.finish()
    }

    /// How every webhook does, in no order.
    func status() async throws -> [WebhookStatus] {
        let counts = try await self.catalogue.deliveryCounts()
        return self.channels.map { channel in
            WebhookStatus(
                target: channel.webhook.target,
                key: channel.key,
                deliveries: counts[channel.key] ?? DeliveryCounts(),
                counters: channel.counters
            )
        }
    }

    /// Deliveries that were dropped, newest first.
    func deadLetters(limit: Int = 100) async throws -> [DeliveryEntry] {
        try await self.catalogue.deadDeliveries(limit: limit)
    }

    /// Tries a dropped delivery for another day; throws `CatalogueError` with `notFound` if there is none.
    func requeue(_ delivery: String) async throws {
        let key = try await self.catalogue.requeueDelivery(delivery, now: self.environment.now())
        self.state.withLock { $0.channels[key] }?.nudge()
    }

    private func takePending() -> [DaemonEvent] {
        self.state.withLock { state in
            defer { state.pending.removeAll() }
            return state.pending
        }
    }

    private var channels: [WebhookChannel] { self.state.withLock { Array($0.channels.values) } }

    /// Forgets what was for others, starts new channels and stores new events.
    private func work(_ group: inout DiscardingTaskGroup) async {
        let (channels, added, gone, events) = self.state.withLock { state in
            defer {
                state.added.removeAll()
                state.gone.removeAll()
                state.pending.removeAll()
            }
            return (Array(state.channels.values), state.added, state.gone, state.pending)
        }
        if !added.isEmpty || !gone.isEmpty {
            // One that was taken out and is back begins with nothing.
            await self.removeDeliveries(exceptOf: Set(channels.map(\.key)).subtracting(gone))
        }
        for channel in added {
            group.addTask { await channel.run() }
        }
        await self.store(events, for: channels)
    }

    private func removeDeliveries(exceptOf keys: Set<String>) async {
        do {
            try await self.catalogue.removeDeliveries(exceptOf: keys)
        } catch {
            self.logger.error("webhook queue failed", metadata: .tagged([.errorMessage: "\(error)"]))
        }
    }

    private func store(_ events: [DaemonEvent], for channels: [WebhookChannel]) async {
        guard !events.isEmpty else { return }
        for channel in channels {
            let webhook = channel.webhook
            let deliveries = events.filter { webhook.wants($0.kind.rawValue) }.compactMap { event in
                Self.delivery(event, webhook: channel.key, now: self.environment.now())
            }
            guard !deliveries.isEmpty else { continue }
            do {
                channel.count(dropped: try await self.catalogue.enqueue(deliveries, limit: self.limit))
                channel.nudge()
            } catch {
                channel.count(dropped: deliveries.count)
                self.logger.error("webhook queue failed", metadata: .tagged([.errorMessage: "\(error)"]))
            }
        }
    }

    static func delivery(_ event: DaemonEvent, webhook: String, now: UTCTime) -> DeliveryEntry? {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        guard let body = try? encoder.encode(event) else { return nil }
        return DeliveryEntry(
            id: UUID().uuidString.lowercased(),
            webhook: webhook,
            event: event.kind.rawValue,
            body: Array(body),
            created: now
        )
    }

    /// The id of what is sent once, in the form of the others.
    private static func id(_ text: String) -> String {
        let digits = Array(SHA256Digest(of: text.utf8).hexadecimal.prefix(32))
        return [0..<8, 8..<12, 12..<16, 16..<20, 20..<32].map { String(digits[$0]) }.joined(separator: "-")
    }

    /// The name of a webhook in the catalogue, which shall not hold a URL: it may be a secret.
    private static func key(_ url: String) -> String {
        String(SHA256Digest(of: url.utf8).hexadecimal.prefix(16))
    }
}
