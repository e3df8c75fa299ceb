// SPDX-License-Identifier: Apache-2.0

/// Says when to ask the sender of one video track for a keyframe (PLI, RFC 4585 section 6.3.1).
///
/// At once when the track appears, again every 500 ms until the first keyframe; afterwards on loss, at most once a
/// second, until a keyframe comes. If losses continue after the keyframe, the interval becomes 2 s and then 4 s, until
/// ten seconds pass without a loss. A sender that does not answer ten requests is asked after 2 s, then 5 s, then every
/// 10 s: each request may cost every other participant of the call a keyframe. The reorder buffer has given a
/// retransmission 500 ms before a packet counts as lost.
///
/// Without any loss the sender is asked 9 s after its last keyframe, because players then can search and cut the file
/// at every 10 s: Chromium's own interval is 3000 frames.
///
/// Times are nanoseconds of one monotonic clock; one that goes backwards only delays.
public struct KeyframePolicy: Sendable, Equatable {
    private enum State: Equatable {
        case awaitingFirst(nextRequest: UInt64)
        case running(nextRequest: UInt64)
        case awaitingRepair(nextRequest: UInt64)
    }

    /// Nanoseconds between requests until the first keyframe.
    public static let firstInterval: UInt64 = 500_000_000
    /// Least nanoseconds between requests after loss.
    public static let repairInterval: UInt64 = 1_000_000_000

    /// Nanoseconds after a keyframe until the next one is asked for, which takes a moment to come.
    private static let longestDistance: UInt64 = 9_000_000_000

    /// The same on a network that keeps losing packets.
    private static let longestRepairInterval: UInt64 = 4_000_000_000
    /// Losses that are further apart have nothing to do with each other.
    private static let calm: UInt64 = 10_000_000_000
    /// Requests before the waits grow.
    private static let eagerRequests = 10
    /// The waits after those.
    private static let laterIntervals: [UInt64] = [2_000_000_000, 5_000_000_000, 10_000_000_000]

    private var state: State
    private var lastRequest: UInt64?
    /// The newest loss since the first keyframe.
    private var lastLoss: UInt64?
    /// Nanoseconds between requests after loss.
    private var interval = Self.repairInterval
    /// Requests since the last keyframe.
    private var unanswered = 0

    /// The policy of a track that appeared now; the first request is due at once.
    public init(trackAppearedAt now: UInt64) {
        self.state = .awaitingFirst(nextRequest: now)
    }

    /// When the next request is due; nil while frames can be decoded without one.
    public var nextRequest: UInt64? {
        if case .running = self.state { nil } else { self.due }
    }

    private var due: UInt64 {
        switch self.state {
        case .awaitingFirst(let time), .running(let time), .awaitingRepair(let time): time
        }
    }

    /// Whether a request must be sent now; if so, it counts as sent.
    public mutating func requestIsDue(at now: UInt64) -> Bool {
        guard now >= self.due else { return false }
        self.lastRequest = now
        self.unanswered += 1
        switch self.state {
        case .awaitingFirst: self.state = .awaitingFirst(nextRequest: self.next(now, Self.firstInterval))
        case .awaitingRepair: self.state = .awaitingRepair(nextRequest: self.next(now, self.interval))
        case .running: self.state = .running(nextRequest: self.next(now, Self.repairInterval))
        }
        return true
    }

    /// When to ask again after a request.
    private func next(_ now: UInt64, _ interval: UInt64) -> UInt64 {
        let later = self.unanswered - Self.eagerRequests
        guard later > 0 else { return Self.time(now, plus: interval) }
        return Self.time(now, plus: max(interval, Self.laterIntervals[min(later, Self.laterIntervals.count) - 1]))
    }

    /// Notes that packets are missing; true if a request must be sent now, which then counts as sent.
    public mutating func lossDetected(at now: UInt64) -> Bool {
        switch self.state {
        case .awaitingFirst:
            break
        case .running:
            // A keyframe came, and it did not help for long.
            let goesOn = self.lastLoss.map { now < Self.time($0, plus: Self.calm) } ?? false
            self.interval = goesOn ? min(2 * self.interval, Self.longestRepairInterval) : Self.repairInterval
            let earliest = self.lastRequest.map { Self.time($0, plus: self.interval) } ?? now
            self.state = .awaitingRepair(nextRequest: max(now, earliest))
            self.lastLoss = now
        case .awaitingRepair:
            self.lastLoss = now
        }
        return self.requestIsDue(at: now)
    }

    /// Notes a keyframe: nothing is asked for until the next loss, or for as long as keyframes may be apart.
    public mutating func keyframeArrived(at now: UInt64) {
        self.unanswered = 0
        self.state = .running(nextRequest: Self.time(now, plus: Self.longestDistance))
    }

    private static func time(_ time: UInt64, plus interval: UInt64) -> UInt64 {
        let (sum, overflow) = time.addingReportingOverflow(interval)
        return overflow ? .max : sum
    }
}
