// SPDX-License-Identifier: Apache-2.0

public import Timeline

/// When a delivery that failed is tried again.
///
/// The waits begin at `first`, double with each failure up to `longest`, and vary by a quarter either way, so that the
/// deliveries of an outage do not come back all at once. The last attempt is made when the delivery is `lifetime` old.
public struct RetrySchedule: Sendable, Hashable {
    /// The wait after the first failure.
    public var first: Duration
    /// No wait is longer, but for the variation.
    public var longest: Duration
    /// How long a delivery is tried.
    public var lifetime: Duration

    /// However the clock is set meanwhile, no delivery is tried more often.
    public static let maximumAttempts = 200

    /// A schedule with each part given; without, from 5 s up to 1 h, for a day.
    public init(
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
    public func delay(failures: Int, random: Double) -> Duration {
        var delay = self.first
        for _ in 1..<max(2, min(failures, 64)) where failures > 1 && delay < self.longest { delay = delay * 2 }
        let permille = 750 + Int(500 * min(max(random, 0), 1))
        return min(delay, self.longest) * permille / 1000
    }

    /// When the next attempt is due; `nil` gives the delivery up.
    ///
    /// - Parameters:
    ///   - failures: Attempts that failed, the last one included.
    ///   - created: When the delivery was queued.
    ///   - now: When the last attempt failed.
    ///   - random: A random number from 0 to 1.
    public func next(failures: Int, created: UTCTime, now: UTCTime, random: Double) -> UTCTime? {
        let age = Duration.nanoseconds(now.nanosecondsSince1970) - .nanoseconds(created.nanosecondsSince1970)
        let rest = self.lifetime - age
        guard rest > .zero, failures < Self.maximumAttempts else { return nil }
        return now.adding(min(self.delay(failures: failures, random: random), rest))
    }
}

extension UTCTime {
    /// A later point; the last one there is rather than none.
    func adding(_ duration: Duration) -> UTCTime {
        let (seconds, attoseconds) = duration.components
        let (whole, overflow) = seconds.multipliedReportingOverflow(by: 1_000_000_000)
        let (nanoseconds, carried) = whole.addingReportingOverflow(attoseconds / 1_000_000_000)
        let (sum, beyond) = self.nanosecondsSince1970.addingReportingOverflow(nanoseconds)
        return UTCTime(nanosecondsSince1970: overflow || carried || beyond ? .max : sum)
    }
}
