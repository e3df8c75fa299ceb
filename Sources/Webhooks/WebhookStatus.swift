// SPDX-License-Identifier: Apache-2.0

public import Catalogue

/// How one webhook does.
public struct WebhookStatus: Sendable, Hashable {
    /// What was counted since the daemon started.
    public struct Counters: Sendable, Hashable {
        /// Deliveries that came through.
        public var delivered = 0
        /// Attempts that failed.
        public var failedAttempts = 0
        /// Deliveries that were dropped: too many waited, or they could not be stored.
        public var dropped = 0
    }

    /// Scheme, host and port of the receiver.
    public var target: String
    /// The key under which the catalogue keeps its deliveries.
    public var key: String
    /// Deliveries that wait and that were given up.
    public var deliveries: DeliveryCounts
    /// What was counted.
    public var counters: Counters
}
