// SPDX-License-Identifier: Apache-2.0

import Catalogue

/// How one webhook does.
struct WebhookStatus: Sendable, Hashable {
    /// What was counted since the daemon started.
    struct Counters: Sendable, Hashable {
        /// Deliveries that came through.
        var delivered = 0
        /// Attempts that failed.
        var failedAttempts = 0
        /// Deliveries that were dropped: too many waited, or they could not be stored.
        var dropped = 0
    }

    /// Scheme, host and port of the receiver.
    var target: String
    /// The key under which the catalogue keeps its deliveries.
    var key: String
    /// Deliveries that wait and that were given up.
    var deliveries: DeliveryCounts
    /// What was counted.
    var counters: Counters
}
