// SPDX-License-Identifier: Apache-2.0

import Basics

/// When a delivery that failed is tried again.
///
/// The waits begin at `first`, double with each failure up to `longest`, and vary by a quarter either way, so that the
/// deliveries of an outage do not come back all at once. The last attempt is made when the delivery is `lifetime` old.
struct RetrySchedule: Sendable, Hashable {
    /// The wait after the first failure.
    var first: Duration
    /// No wait is longer, but for the variation.
    var longest: Duration
    /// How long a delivery is tried.
    var lifetime: Duration

    /// However the clock is set in between, no delivery is tried more often.
    static let maximumAttempts = 200

    /// A schedule with each part given; without, from 5 s up to 1 h, for a day.
    init(
        first: Duration = .seconds(5),
        longest: Duration = .seconds(3600),
        lifetime: Duration = .seconds(86_400)
    ) {
        self.first = first
        self.longest = longest
        self.lifetime = lifetime
    }

    /// The wait after so many failures in a row.
    ///
    /// - Parameters:
    ///   - failures: 1 and up.
    ///   - random: A random number from 0 to 1.
    func delay(failures: Int, random: Double) -> Duration {
        Backoff(first: self.first, longest: self.longest, variation: 750...1250)
            .delay(failures: failures, random: random)
    }

    /// The wait that a receiver asked for; as long as the longest of ours at most.
    func bounded(_ asked: Duration) -> Duration { min(max(asked, .zero), self.longest) }

    /// When the next attempt is due; `nil` gives the delivery up.
    ///
    /// - Parameters:
    ///   - failures: Attempts that failed, the last one included.
    ///   - created: When the delivery was queued.
    ///   - now: When the last attempt failed.
    ///   - random: A random number from 0 to 1.
    ///   - asked: The least wait that the receiver asked for.
    func next(
        failures: Int,
        created: UTCTime,
        now: UTCTime,
        random: Double,
        asked: Duration = .zero
    ) -> UTCTime? {
        let age = Duration.nanoseconds(now.nanosecondsSince1970) - .nanoseconds(created.nanosecondsSince1970)
        let rest = self.lifetime - age
        guard rest > .zero, failures < Self.maximumAttempts else { return nil }
        let delay = max(self.delay(failures: failures, random: random), self.bounded(asked))
        return now.adding(min(delay, rest))
    }
}
