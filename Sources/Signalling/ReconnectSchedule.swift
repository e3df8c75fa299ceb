// SPDX-License-Identifier: Apache-2.0

internal import Basics

/// When the next connection attempt is due, as a `JoinPolicy` says.
///
/// Counted policies wait `attemptInterval` and end at the last attempt or the first error that no retry helps. Endless
/// ones begin at `attemptInterval` and grow by half each time, ±50 %, up to 30 s.
public struct ReconnectSchedule: Sendable {
    /// Longest wait of an endless policy.
    public static let maximumDelay = Duration.seconds(30)
    /// A connection that was joined for this long begins the schedule anew.
    public static let stableAfter = Duration.seconds(60)

    private let policy: JoinPolicy
    private var failures = 0

    /// A schedule before its first attempt.
    public init(policy: JoinPolicy) {
        self.policy = policy
    }

    private var backoff: Backoff {
        Backoff(
            first: self.policy.attemptInterval,
            longest: Self.maximumDelay,
            growth: 1500,
            variation: 500...1500,
            bound: .varied
        )
    }

    /// How many attempts have failed in a row.
    public var failedAttempts: Int { self.failures }

    /// The wait before the next attempt; nil gives up.
    ///
    /// - Parameters:
    ///   - error: Why the attempt or the connection ended.
    ///   - joinedFor: How long the room was joined on that connection; nil if it was not.
    ///   - random: A random number from 0 to 1.
    public mutating func delay(after error: SignallingError, joinedFor: Duration?, random: Double) -> Duration? {
        guard let attempts = self.policy.attempts else {
            guard error.code != .invalidURL, error.code != .refused else { return nil }
            if let joinedFor, joinedFor >= Self.stableAfter { self.failures = 0 }
            self.failures += 1
            return self.backoff.delay(failures: self.failures, random: random)
        }
        if joinedFor != nil { self.failures = 0 }
        self.failures += 1
        return error.isRetriable && self.failures < attempts ? self.policy.attemptInterval : nil
    }
}
