// SPDX-License-Identifier: Apache-2.0

import Basics

/// Says how many bits a second of video one peer's network takes, by what the peer reports.
///
/// Starts at the most and goes down only on evidence: packets that wait on their way, packets that are lost, an
/// estimate of the receiver below what is sent. Goes up slowly while there is none. A peer that says nothing keeps what
/// it has. Asked ten to twenty times a second; times are nanoseconds of one monotonic clock, one that goes backwards
/// only delays.
public struct RateController: Sendable, Equatable {
    /// Bits a second to send, from the least to the most.
    public private(set) var target: Int

    private var minimum: Int
    private var maximum: Int
    /// The last second.
    private var samples: [Sample] = []
    private var startedAt: UInt64?
    private var lastUpdate: UInt64 = 0
    /// When the peer said something at last.
    private var lastFeedback: UInt64?
    private var lastArrivals: UInt64?
    private var queue = Queue()
    private var estimate: Rate?
    private var reduction: Reduction?
    /// When there was evidence at last, whether it led to a reduction or not.
    private var lastEvidence: UInt64?
    /// The rate that arrived while the path was full, and when that was.
    private var capacity: Rate?

    private struct Rate: Equatable {
        var bitsPerSecond: Int
        var at: UInt64
    }

    private struct Sample: Equatable {
        var time: UInt64
        var sentBytes: Int
        var arrivals: RateFeedback.Arrivals?
    }

    private struct Reduction: Equatable {
        var at: UInt64
        /// The queueing delay then; it shrinks once a reduction has worked.
        var queueing: Duration

        /// Before this is over, what is reported was sent before it.
        var echo: UInt64 { UInt64(clamping: min(self.queueing, RateController.longestEcho).nanoseconds) }
    }

    // Nanoseconds.
    private static let window: UInt64 = 1_000_000_000
    private static let restAfterReduction: UInt64 = 500_000_000
    private static let longestDraining: UInt64 = 1_500_000_000
    private static let restBetweenLosses: UInt64 = 900_000_000
    private static let restBeforeGrowth: UInt64 = 2_000_000_000
    private static let restBeforeProbing: UInt64 = 10_000_000_000
    private static let feedbackAge: UInt64 = 3_000_000_000
    private static let estimateAge: UInt64 = 5_000_000_000
    private static let capacityAge: UInt64 = 60_000_000_000
    private static let longestStep: UInt64 = 1_000_000_000
    /// In so long what waits after a pause is to get through.
    private static let draining = Duration.milliseconds(750)
    private static let longestEcho = Duration.seconds(1)
    /// A receiver shows a longer gap as frozen video.
    private static let longestPause = Duration.milliseconds(400)

    /// The share of a full path's capacity that is used.
    private static let share = 0.85
    /// Shares of lost packets: evidence at all, evidence of a full path, and few enough to show room.
    private static let lossIsEvidence = 0.1
    private static let lossIsOverload = 0.3
    private static let lossIsRoom = 0.02
    /// A few packets say nothing about a share.
    private static let leastPackets = 20
    private static let growth = 0.10
    private static let growthNearCapacity = 0.04

    /// Between these bits a second; a least above the most counts as the most.
    public init(minimum: Int, maximum: Int) {
        self.minimum = min(minimum, maximum)
        self.maximum = maximum
        self.target = maximum
    }

    /// Continues between other limits, in bits per second.
    public mutating func limit(minimum: Int, maximum: Int) {
        let isUnlimited = self.target == self.maximum
        (self.minimum, self.maximum) = (min(minimum, maximum), maximum)
        self.target = isUnlimited ? maximum : min(max(self.target, self.minimum), maximum)
    }

    /// Takes what came since the last call; what to send from now on.
    public mutating func update(_ feedback: RateFeedback, at now: UInt64) -> RateLimit {
        let now = max(now, self.lastUpdate)
        self.note(feedback, now)
        var pause = Duration.zero
        if let lower = self.lowered(by: feedback, now) {
            self.lastEvidence = now
            if lower < self.target {
                self.target = max(self.minimum, lower)
                let isOfQueue = feedback.arrivals != nil && self.queue.isEvidence(now)
                if isOfQueue { pause = min(self.queue.wait, Self.longestPause) }
                self.reduction = Reduction(at: now, queueing: max(self.queue.now, self.queue.wait))
                self.queue.restart()
            }
        } else {
            self.recover(now)
        }
        self.lastUpdate = now
        return RateLimit(bitsPerSecond: self.target, pause: pause)
    }

    private mutating func note(_ feedback: RateFeedback, _ now: UInt64) {
        if self.startedAt == nil { self.startedAt = now }
        if !feedback.isSilent { self.lastFeedback = now }
        self.samples.removeAll { now - $0.time >= Self.window }
        if self.samples.count >= 64 { self.samples.removeFirst() }
        self.samples.append(Sample(time: now, sentBytes: feedback.sentBytes, arrivals: feedback.arrivals))
        if let arrivals = feedback.arrivals {
            self.lastArrivals = now
            self.queue.note(arrivals, now)
        }
        if let estimate = feedback.estimate { self.estimate = Rate(bitsPerSecond: estimate, at: now) }
    }

    // MARK: Down

    /// The rate that the present evidence allows; nil if there is none.
    private mutating func lowered(by feedback: RateFeedback, _ now: UInt64) -> Int? {
        var limits: [Int] = []
        if feedback.arrivals != nil {
            if let limit = self.limitOfQueue(now) { limits.append(limit) }
            if let limit = self.limitOfLoss(now) { limits.append(limit) }
        } else if self.lastArrivals.map({ now - $0 >= Self.feedbackAge }) ?? true {
            // Reports come once a second and know less.
            if let limit = self.limitOfReport(feedback, now) { limits.append(limit) }
        }
        if let limit = self.limitOfEstimate(now) { limits.append(limit) }
        return limits.min()
    }

    /// More than a burst is queued on the path: allows no more than the rate that arrived in that time, and less until
    /// the queue is drained.
    private mutating func limitOfQueue(_ now: UInt64) -> Int? {
        guard self.queue.isEvidence(now) else { return nil }
        if let reduction = self.reduction {
            let isDraining = self.queue.now < reduction.queueing * 0.9
            let rest = isDraining ? Self.longestDraining : Self.restAfterReduction + reduction.echo
            guard now - reduction.at >= rest else { return self.target }
        }
        guard let rate = self.queue.rate else { return self.target }
        self.capacity = Rate(bitsPerSecond: rate, at: now)
        let left = self.queue.wait - Self.longestPause
        let share = min(Self.share, max(0.5, 1 - left / Self.draining))
        return min(Int(Double(self.target) * 0.9), Int(Double(rate) * share))
    }

    private func limitOfLoss(_ now: UInt64) -> Int? {
        let arrivals = self.samples.compactMap(\.arrivals)
        let lost = arrivals.reduce(0) { $0 + $1.lostPackets }
        let arrived = arrivals.reduce(0) { $0 + $1.packets }
        guard lost + arrived >= Self.leastPackets else { return nil }
        let share = Double(lost) / Double(lost + arrived)
        guard share >= Self.lossIsEvidence else { return nil }
        guard self.isRested(now) else { return self.target }
        guard share >= Self.lossIsOverload else { return Int(Double(self.target) * (1 - share / 2)) }
        let bits = arrivals.reduce(0) { $0 + $1.bytes } * 8
        return min(Int(Double(self.target) * (1 - share / 2)), bits)
    }

    private func limitOfReport(_ feedback: RateFeedback, _ now: UInt64) -> Int? {
        guard let share = feedback.reportedLoss, share >= Self.lossIsEvidence else { return nil }
        guard self.isRested(now) else { return self.target }
        return Int(Double(self.target) * (share >= Self.lossIsOverload ? 1 - share : 1 - share / 2))
    }

    private func isRested(_ now: UInt64) -> Bool {
        self.reduction.map { now - $0.at >= Self.restBetweenLosses } ?? true
    }

    /// A receiver that gets little estimates little: only an estimate about as low as what is sent says something.
    private func limitOfEstimate(_ now: UInt64) -> Int? {
        guard let estimate = self.estimate, now - estimate.at < Self.estimateAge, let started = self.startedAt,
            now - started >= Self.window
        else { return nil }
        let sent = self.samples.reduce(0) { $0 + $1.sentBytes } * 8
        guard Double(estimate.bitsPerSecond) < 1.2 * Double(sent), estimate.bitsPerSecond <= self.target else {
            return nil
        }
        return estimate.bitsPerSecond
    }

    // MARK: Up

    private mutating func recover(_ now: UInt64) {
        guard self.target < self.maximum, let feedback = self.lastFeedback, now - feedback < Self.feedbackAge,
            self.queue.isEmpty, self.hasRoom
        else { return }
        if let capacity = self.capacity, now - capacity.at < Self.capacityAge,
            let reduction = self.reduction, capacity.at >= reduction.at, now - reduction.at >= Self.restAfterReduction
        {
            // The queue is drained: from here on the rate need not be less than the path takes.
            self.target = max(self.target, min(self.maximum, Int(Double(capacity.bitsPerSecond) * Self.share)))
        }
        let calm = self.lastEvidence.map { now - $0 } ?? .max
        guard calm >= (self.isNearCapacity(now) ? Self.restBeforeProbing : Self.restBeforeGrowth) else { return }
        let seconds = Double(min(now - self.lastUpdate, Self.longestStep)) / 1e9
        let rate = self.isNearCapacity(now) ? Self.growthNearCapacity : Self.growth
        let step = max(1, Int((Double(self.target) * rate * seconds).rounded(.up)))
        self.target = min(self.maximum, self.target + step)
    }

    private var hasRoom: Bool {
        let arrivals = self.samples.compactMap(\.arrivals)
        let lost = arrivals.reduce(0) { $0 + $1.lostPackets }
        let arrived = arrivals.reduce(0) { $0 + $1.packets }
        return Double(lost) <= Self.lossIsRoom * Double(lost + arrived)
    }

    private func isNearCapacity(_ now: UInt64) -> Bool {
        guard let capacity = self.capacity, now - capacity.at < Self.capacityAge else { return false }
        return (0.8...1.1).contains(Double(self.target) / Double(max(1, capacity.bitsPerSecond)))
    }
}

/// The queue on the path, by transport-wide feedback.
private struct Queue: Sendable, Equatable {
    /// As the newest feedback says.
    private(set) var now = Duration.zero
    /// Since when more waits than the mild and the heavy bound; nil while less does.
    private var mildSince: UInt64?
    private var heavySince: UInt64?
    /// The bytes that arrived since then, or since the last reduction, and how long that took by the receiver's clock:
    /// the path was full, which makes this its capacity.
    private var bytes = 0
    private var span = Duration.zero

    /// Bytes on their way by the newest feedback.
    private var bytesOnTheirWay = 0

    // Keyframes are bursts: they wait for as long as they take to go out, and that is no congestion.
    private static let mild = Duration.milliseconds(80)
    private static let mildPatience: UInt64 = 400_000_000
    private static let heavy = Duration.milliseconds(150)
    private static let heavyPatience: UInt64 = 100_000_000
    /// This much under way, while more than `mild` is queued, is no burst.
    private static let certain = Duration.milliseconds(300)
    private static let leastMeasure = Duration.milliseconds(40)
    private static let nothing = Duration.milliseconds(40)
    /// Data under way without queueing, as time at the path's capacity.
    private static let freeTravel = Duration.milliseconds(100)
    /// Seconds.
    private static let longestTravel = 10.0

    /// Whether nothing waits.
    var isEmpty: Bool { self.now < Self.nothing }

    mutating func note(_ arrivals: RateFeedback.Arrivals, _ time: UInt64) {
        self.now = arrivals.queueing
        self.bytesOnTheirWay = arrivals.bytesOnTheirWay
        self.heavySince = self.now > Self.heavy ? self.heavySince ?? time : nil
        if self.now <= Self.mild {
            self.mildSince = nil
        } else if self.mildSince == nil {
            self.mildSince = time
            self.restart()
        } else {
            self.bytes += arrivals.bytes
            self.span += arrivals.span
        }
    }

    /// Restarts the measurement of arrivals.
    mutating func restart() {
        (self.bytes, self.span) = (0, .zero)
    }

    func isEvidence(_ time: UInt64) -> Bool {
        self.heavySince.map { time - $0 >= Self.heavyPatience } ?? false
            || self.mildSince.map { time - $0 >= Self.mildPatience } ?? false
            || self.wait >= Self.certain
    }

    /// Bits a second that arrived while the way was full; nil if that was too short to say.
    var rate: Int? {
        guard self.mildSince != nil, self.span >= Self.leastMeasure else { return nil }
        return Int(min(Double(self.bytes) * 8 / (self.span / .seconds(1)), 1e12))
    }

    /// How long what is on its way will take to get through, beyond the travel itself; zero while that is not known.
    ///
    /// More than `now`, which is how long it took what arrived.
    var wait: Duration {
        guard let rate = self.rate, rate > 0 else { return .zero }
        let travel = min(Double(self.bytesOnTheirWay) * 8 / Double(rate), Self.longestTravel)
        return max(.zero, .seconds(travel) - Self.freeTravel)
    }
}
