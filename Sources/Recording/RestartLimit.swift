// SPDX-License-Identifier: Apache-2.0

/// How many files a sender can make us begin by starting the RTP clock of one track anew.
///
/// Four within a minute; after that the track pauses for 10 s, and twice as long each time that this is not enough, for
/// ten minutes at most. A sender whose clock is sound for ten minutes begins with a clean record. Pure; instants are
/// nanoseconds of one monotonic clock.
struct RestartLimit: Sendable, Hashable {
    private static let restartsPerMinute = 4
    private static let minute: Int64 = 60_000_000_000
    private static let firstPause: Int64 = 10_000_000_000
    private static let longestPause: Int64 = 600_000_000_000

    /// When the newest files were begun.
    private var restarts: [Int64] = []
    private var pause = Self.firstPause
    private var latest: Int64?

    /// The clock started anew.
    ///
    /// - Returns: how long nothing of the track is recorded; nil if its next file begins now.
    mutating func restarted(at now: Int64) -> Duration? {
        if let latest = self.latest, now - latest >= Self.longestPause + self.pause { self = RestartLimit() }
        self.latest = now
        self.restarts.removeAll { now - $0 >= Self.minute }
        guard self.restarts.count >= Self.restartsPerMinute else {
            self.restarts.append(now)
            return nil
        }
        defer { self.pause = min(2 * self.pause, Self.longestPause) }
        return .nanoseconds(self.pause)
    }
}
