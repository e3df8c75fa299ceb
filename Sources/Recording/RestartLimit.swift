// SPDX-License-Identifier: Apache-2.0

/// Limits how many files a sender can make the recorder begin, by restarting the RTP clock of one track or by sending
/// more and more tracks.
///
/// Four within a minute, in addition to those that may come at once; then a pause of 10 s follows, which doubles each
/// time that this is not enough, up to ten minutes. After ten minutes within the limits a sender's record is cleared.
/// Pure; instants are nanoseconds of one monotonic clock.
struct RestartLimit: Sendable, Hashable {
    private static let restartsPerMinute = 4
    private static let minute: Int64 = 60_000_000_000
    private static let firstPause: Int64 = 10_000_000_000
    private static let longestPause: Int64 = 600_000_000_000

    /// Files that may be begun at any rate.
    private let atOnce: Int
    /// How many of those were begun.
    private var begun = 0
    /// When the newest files beyond those were begun.
    private var restarts: [Int64] = []
    private var pause = Self.firstPause
    private var latest: Int64?

    /// A limit for a sender of whom nothing is known.
    ///
    /// - Parameter atOnce: how many files may be begun at any rate.
    init(atOnce: Int = 0) {
        self.atOnce = atOnce
    }

    /// Whether a sender begins with a clean record.
    func isForgotten(at now: Int64) -> Bool {
        self.latest.map { now - $0 >= Self.longestPause + self.pause } ?? true
    }

    /// Whether forgetting the sender would allow it more files than the four a minute that every sender has.
    func isNeeded(at now: Int64) -> Bool {
        guard let latest = self.latest, !self.isForgotten(at: now) else { return false }
        return self.begun > Self.restartsPerMinute || !self.restarts.isEmpty || now - latest < Self.minute
    }

    /// Another file is wanted.
    ///
    /// - Returns: how long nothing is recorded in place of it; nil if it begins now.
    mutating func restarted(at now: Int64) -> Duration? {
        if self.isForgotten(at: now) { self = RestartLimit(atOnce: self.atOnce) }
        self.latest = now
        guard self.begun >= self.atOnce else {
            self.begun += 1
            return nil
        }
        self.restarts.removeAll { now - $0 >= Self.minute }
        guard self.restarts.count >= Self.restartsPerMinute else {
            self.restarts.append(now)
            return nil
        }
        defer { self.pause = min(2 * self.pause, Self.longestPause) }
        return .nanoseconds(self.pause)
    }
}
