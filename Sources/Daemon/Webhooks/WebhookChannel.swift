// SPDX-License-Identifier: Apache-2.0

import Basics
import Catalogue
import ConfigurationFile
import Logging
import NIOCore
import Observability
import Synchronization

/// One webhook's way out: makes its attempts, oldest first, one at a time, whatever other webhooks do.
final class WebhookChannel: Sendable {
    /// What a channel is made with.
    struct Environment: Sendable {
        var catalogue: Catalogue
        var schedule: RetrySchedule
        var policy: TargetPolicy
        var eventLoop: any EventLoop
        var logger: Logger
        var now: @Sendable () -> UTCTime
        var resolve: WebhookSender.Resolver
        var timeLimit: Duration
    }

    private struct State {
        var webhook: WebhookConfiguration
        var policy: TargetPolicy
        var isStopped = false
        var counters = WebhookStatus.Counters()
    }

    /// No pause between two attempts of a receiver that fails is longer, so that it is soon noticed when it works again; but for
    /// one that the receiver asked for.
    private static let longestPause = Duration.seconds(60)
    /// The most deliveries that are kept after they were dropped.
    static let maximumDead = 1000
    /// The pause after the catalogue failed.
    private static let catalogueRetry = Duration.seconds(30)

    let key: String
    private let environment: Environment
    private let state: Mutex<State>
    private let wakes: AsyncStream<Void>
    private let wake: AsyncStream<Void>.Continuation

    init(key: String, webhook: WebhookConfiguration, environment: Environment) {
        self.key = key
        self.environment = environment
        self.state = Mutex(State(webhook: webhook, policy: environment.policy))
        (self.wakes, self.wake) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
    }

    var webhook: WebhookConfiguration { self.state.withLock(\.webhook) }

    var counters: WebhookStatus.Counters { self.state.withLock(\.counters) }

    /// The configuration changed, but not the URL.
    func update(_ webhook: WebhookConfiguration, policy: TargetPolicy) {
        self.state.withLock { state in
            state.webhook = webhook
            state.policy = policy
        }
    }

    func count(dropped: Int) {
        self.state.withLock { $0.counters.dropped += dropped }
    }

    /// Something may be due.
    func nudge() { self.wake.yield() }

    /// Makes `run` return, after the attempt at hand.
    func stop() {
        self.state.withLock { $0.isStopped = true }
        self.wake.finish()
    }

    /// Makes attempts until `stop` or cancellation.
    func run() async {
        let sender = WebhookSender(resolve: self.environment.resolve, timeLimit: self.environment.timeLimit)
        var failures = 0
        var resumption = UTCTime(nanosecondsSince1970: .min)
        var timer: Scheduled<Void>?
        self.wake.yield()
        for await _ in self.wakes {
            timer?.cancel()
            // Noted before the clock was set back.
            let latest = self.environment.now().adding(max(Self.longestPause, self.environment.schedule.longest))
            if resumption > latest { resumption = self.environment.now() }
            let next: UTCTime?
            do {
                while !self.isStopped, self.environment.now() >= resumption, let delivery = try await self.dueDelivery()
                {
                    let pause = try await self.perform(delivery, sender, failures: failures)
                    failures = pause == nil ? 0 : failures + 1
                    resumption = pause ?? resumption
                }
                next = try await self.environment.catalogue.nextDue(of: self.key).map { due in
                    let now = self.environment.now()
                    return max(Catalogue.isDue(due, at: now) ? now : due, resumption)
                }
            } catch {
                guard !Task.isCancelled else { break }
                self.environment.logger.error("webhook queue failed", metadata: .tagged([.errorMessage: "\(error)"]))
                next = self.environment.now().adding(Self.catalogueRetry)
            }
            timer = next.map { self.wake(at: $0) }
        }
        timer?.cancel()
    }

    private var isStopped: Bool { self.state.withLock(\.isStopped) || Task.isCancelled }

    private func dueDelivery() async throws -> DeliveryEntry? {
        try await self.environment.catalogue.dueDelivery(of: self.key, now: self.environment.now())
    }

    /// Makes one attempt and notes what came of it.
    ///
    /// - Parameter failures: the attempts that failed since the last that did not.
    /// - Returns: nil if the receiver answered as it should; else when the next attempt may be made.
    private func perform(
        _ delivery: DeliveryEntry,
        _ sender: WebhookSender,
        failures: Int
    ) async throws -> UTCTime? {
        let isFirstFailure = failures == 0
        let (webhook, policy) = self.state.withLock { ($0.webhook, $0.policy) }
        let outcome = await sender.attempt(delivery, to: webhook, policy: policy, now: self.environment.now())
        let catalogue = self.environment.catalogue
        switch outcome {
        case .delivered:
            try await catalogue.deliveryDone(delivery.id)
            self.state.withLock { $0.counters.delivered += 1 }
            self.log(isFirstFailure ? .debug : .notice, "webhook delivered", delivery, nil)
            return nil
        case .gone:
            let reason = "the receiver answered 410: it wants this no more"
            try await self.fail(delivery, reason, due: nil, level: .warning)
            return nil
        case .failed(let reason, let wait):
            let now = self.environment.now()
            let due = self.environment.schedule.next(
                failures: delivery.attempts + 1,
                created: delivery.created,
                now: now,
                random: .random(in: 0...1),
                asked: wait
            )
            try await self.fail(delivery, reason, due: due, level: isFirstFailure || due == nil ? .warning : .debug)
            return self.end(ofPauseAfter: failures + 1, asked: wait, now: now)
        case .cancelled:
            throw CancellationError()
        }
    }

    private func fail(_ delivery: DeliveryEntry, _ reason: String, due: UTCTime?, level: Logger.Level) async throws {
        try await self.environment.catalogue.deliveryFailed(
            delivery.id,
            error: reason,
            due: due,
            deadLimit: Self.maximumDead
        )
        self.state.withLock { state in
            state.counters.failedAttempts += 1
            if due == nil { state.counters.givenUp += 1 }
        }
        self.log(level, due == nil ? "webhook delivery failed for good" : "webhook delivery failed", delivery, reason)
    }

    private func end(ofPauseAfter failures: Int, asked: Duration, now: UTCTime) -> UTCTime {
        let schedule = self.environment.schedule
        let delay = min(schedule.delay(failures: failures, random: .random(in: 0...1)), Self.longestPause)
        return now.adding(max(delay, schedule.bounded(asked)))
    }

    private func wake(at time: UTCTime) -> Scheduled<Void> {
        let wait = max(
            0,
            time.nanosecondsSince1970.subtractingReportingOverflow(
                self.environment.now().nanosecondsSince1970
            ).partialValue
        )
        // Looked at again after an hour at the latest: the wall clock may be set in between.
        let delay = TimeAmount.nanoseconds(min(wait, 3_600_000_000_000))
        return self.environment.eventLoop.scheduleTask(in: delay) { [wake] in _ = wake.yield() }
    }

    private func log(_ level: Logger.Level, _ message: Logger.Message, _ delivery: DeliveryEntry, _ reason: String?) {
        var metadata: [LogKey: Logger.MetadataValue] = [
            .webhookTarget: "\(self.webhook.target)", .deliveryID: "\(delivery.id)", .eventKind: "\(delivery.event)",
            .attemptNumber: "\(delivery.attempts + 1)",
        ]
        if let reason { metadata[.errorMessage] = "\(reason)" }
        self.environment.logger.log(level: level, message, metadata: .tagged(metadata))
    }
}
