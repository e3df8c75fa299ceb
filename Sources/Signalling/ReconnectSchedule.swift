// SPDX-License-Identifier: Apache-2.0

internal import Basics

/// When the next connection attempt is due under a `JoinPolicy`.
///
/// Counted policies wait `attemptInterval`, and their attempts are spent at the last one or at the first error that no
/// retry helps. If the room was never joined, that ends the run; if it was, they continue as endless ones, because
/// calls may continue. Endless ones begin at `attemptInterval` and grow by half each time, ±50 %, up to 30 s; a server
/// that took us in between, and lost us, is asked again within about 5 s.
///
/// A server that refuses us is asked no more, unless we were members: a reverse proxy rejects everyone while the server
/// behind it restarts. Its waits grow up to five minutes, because a secret that was changed is wrong for good.
public struct ReconnectSchedule: Sendable {
    /// Longest wait of an endless policy.
    public static let maximumDelay = Duration.seconds(30)
    /// Longest wait after a refusal.
    static let maximumRefusedDelay = Duration.seconds(300)
    /// A connection that was joined for this long resets the schedule.
    public static let stableAfter = Duration.seconds(60)
    /// As many failures count after one that was joined for less: 1.5 to the fourth times the first wait.
    private static let mostFailuresBeforeJoining = 4

    private let policy: JoinPolicy
    private var failures = 0
    private var hasJoined = false

    /// A schedule before its first attempt.
    public init(policy: JoinPolicy) {
        self.policy = policy
    }

    private func backoff(after error: SignallingError) -> Backoff {
        Backoff(
            first: self.policy.attemptInterval,
            longest: error.code == .refused ? Self.maximumRefusedDelay : Self.maximumDelay,
            growth: 1500,
            variation: 500...1500,
            bound: .varied
        )
    }

    /// How many attempts have failed in a row.
    public var failedAttempts: Int { self.failures }
    /// Whether a counted policy has no attempts left.
    public private(set) var isSpent = false

    /// The wait before the next attempt; nil if there is none.
    ///
    /// - Parameters:
    ///   - error: Why the attempt or the connection ended.
    ///   - joinedFor: How long the room was joined on that connection; nil if it was not.
    ///   - random: A random number from 0 to 1.
    public mutating func delay(after error: SignallingError, joinedFor: Duration?, random: Double) -> Duration? {
        self.hasJoined = self.hasJoined || joinedFor != nil
        let isHopeless = error.code == .invalidURL || error.code == .refused && !self.hasJoined
        guard let attempts = self.policy.attempts else {
            guard !isHopeless else { return nil }
            if let joinedFor {
                self.failures = joinedFor >= Self.stableAfter ? 0 : min(self.failures, Self.mostFailuresBeforeJoining)
            }
            self.failures += 1
            return self.backoff(after: error).delay(failures: self.failures, random: random)
        }
        if joinedFor != nil { self.failures = 0 }
        self.failures += 1
        self.isSpent = !error.isRetriable || self.failures >= attempts
        guard self.isSpent else { return self.policy.attemptInterval }
        guard self.hasJoined, !isHopeless else { return nil }
        return self.backoff(after: error).delay(failures: max(self.failures - attempts, 0) + 1, random: random)
    }
}
