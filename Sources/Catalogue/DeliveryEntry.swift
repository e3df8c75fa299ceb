// SPDX-License-Identifier: Apache-2.0

public import Basics

/// One event on its way to one webhook.
public struct DeliveryEntry: Sendable, Hashable {
    /// Where a delivery's life is; one that was delivered is forgotten.
    public enum State: String, Sendable, Hashable, Codable, CaseIterable {
        /// It waits for its first or next attempt.
        case queued
        /// It failed for good; a person may queue it again.
        case dead
    }

    /// Its id, the same in every attempt.
    public var id: String
    /// The webhook's key; never its URL, which may hold a password.
    public var webhook: String
    /// The event's kind.
    public var event: String
    /// The body as it is sent, byte for byte, in every attempt.
    public var body: [UInt8]
    /// Where its life is.
    public var state: State
    /// When it was queued; when it was queued again, if it was.
    public var created: UTCTime
    /// Attempts that failed.
    public var attempts: Int
    /// When the next attempt is due.
    public var due: UTCTime
    /// Why the last attempt failed.
    public var error: String?

    /// A delivery that waits for its first attempt, due at once.
    public init(id: String, webhook: String, event: String, body: [UInt8], created: UTCTime) {
        self.id = id
        self.webhook = webhook
        self.event = event
        self.body = body
        self.state = .queued
        self.created = created
        self.attempts = 0
        self.due = created
    }
}

/// How many deliveries of a webhook there are.
public struct DeliveryCounts: Sendable, Hashable {
    /// Those that wait.
    public var queued = 0
    /// Deliveries that failed for good.
    public var dead = 0
    /// The next retry among those that wait after a failed attempt; `nil` if none failed.
    public var next: Retry?

    /// An attempt to come, and why the one before it failed.
    public struct Retry: Sendable, Hashable {
        /// Attempts that failed.
        public var attempts: Int
        /// When the next one is due.
        public var due: UTCTime
        /// Why the last one failed.
        public var error: String?
    }

    /// None of either.
    public init() {}
}
