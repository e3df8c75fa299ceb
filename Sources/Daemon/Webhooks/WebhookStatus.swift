// SPDX-License-Identifier: Apache-2.0

import Catalogue
import Observability

/// How one webhook does.
struct WebhookStatus: Sendable, Hashable {
    /// What was counted since the daemon started.
    struct Counters: Sendable, Hashable {
        /// Deliveries that came through.
        var delivered = 0
        /// Attempts that failed.
        var failedAttempts = 0
        /// Those of them after which the delivery was dropped.
        var givenUp = 0
        /// Deliveries that were dropped: too many waited, or they could not be stored.
        var dropped = 0

        /// The counts of both.
        static func + (left: Self, right: Self) -> Self {
            Self(
                delivered: left.delivered + right.delivered,
                failedAttempts: left.failedAttempts + right.failedAttempts,
                givenUp: left.givenUp + right.givenUp,
                dropped: left.dropped + right.dropped
            )
        }

        /// The attempts since others were counted, by what came of them; none where a count went back.
        func attempts(since earlier: Self) -> [DeliveryResult: Int] {
            let retried = self.failedAttempts - self.givenUp
            return [
                .delivered: max(0, self.delivered - earlier.delivered),
                .retried: max(0, retried - (earlier.failedAttempts - earlier.givenUp)),
                .dead: max(0, self.givenUp - earlier.givenUp),
            ]
        }
    }

    /// Scheme, host and port of the receiver.
    var target: String
    /// The key under which the catalogue keeps its deliveries.
    var key: String
    /// Deliveries that wait, and those that were dropped.
    var deliveries: DeliveryCounts
    /// What was counted.
    var counters: Counters
}
