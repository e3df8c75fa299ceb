// SPDX-License-Identifier: Apache-2.0

/// How the webhooks do.
public struct WebhookOverview: Sendable, Hashable, Codable {
    /// One webhook of the configuration.
    public struct Webhook: Sendable, Hashable, Codable {
        /// Scheme, host and port of the receiver.
        public var target: String
        /// Deliveries that wait.
        public var queued: Int
        /// Deliveries that were dropped.
        public var dead: Int
        /// Deliveries that came through since the daemon started.
        public var delivered: Int
        /// Attempts that failed since the daemon started.
        public var failedAttempts: Int
        /// Deliveries that were dropped since the daemon started, because too many waited.
        public var dropped: Int
        /// The delivery that failed and is tried again next; nil if none waits for that.
        public var retry: Retry?

        /// A webhook with each part given.
        public init(
            target: String,
            queued: Int,
            dead: Int,
            delivered: Int,
            failedAttempts: Int,
            dropped: Int,
            retry: Retry? = nil
        ) {
            self.target = target
            self.queued = queued
            self.dead = dead
            self.delivered = delivered
            self.failedAttempts = failedAttempts
            self.dropped = dropped
            self.retry = retry
        }
    }

    /// A delivery that is tried again.
    public struct Retry: Sendable, Hashable, Codable {
        /// How often it was tried.
        public var attempts: Int
        /// When it is tried next: RFC 3339, UTC.
        public var due: String
        /// Why the last attempt failed.
        public var error: String?

        /// A delivery with each part given.
        public init(attempts: Int, due: String, error: String?) {
            self.attempts = attempts
            self.due = due
            self.error = error
        }
    }

    /// A delivery that was dropped.
    public struct DeadLetter: Sendable, Hashable, Codable {
        /// Its id, as the receiver would have seen it.
        public var id: String
        /// Scheme, host and port of its receiver.
        public var target: String
        /// The kind of event.
        public var event: String
        /// When the event happened: RFC 3339, UTC.
        public var created: String
        /// How often it was tried.
        public var attempts: Int
        /// Why the last attempt failed.
        public var error: String?

        /// A delivery with each part given.
        public init(id: String, target: String, event: String, created: String, attempts: Int, error: String?) {
            self.id = id
            self.target = target
            self.event = event
            self.created = created
            self.attempts = attempts
            self.error = error
        }
    }

    /// Every webhook, by target.
    public var webhooks: [Webhook]
    /// Deliveries that were dropped, newest first, at most 100.
    public var deadLetters: [DeadLetter]

    /// An overview with both parts given.
    public init(webhooks: [Webhook], deadLetters: [DeadLetter]) {
        self.webhooks = webhooks
        self.deadLetters = deadLetters
    }
}
