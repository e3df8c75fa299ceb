// SPDX-License-Identifier: Apache-2.0

import Session
import Testing

/// A sender at a rate, a queue that holds so much, a link, and what the receiver reports ten times a second.
private struct Bottleneck {
    /// The capacity of the link in bits a second.
    var capacity: Int
    /// The content of the queue, as time at `capacity`.
    var depth = 1.0
    /// Share of packets lost by chance.
    var chanceLoss = 0.0
    /// The least that the encoder makes.
    var floor = 0
    private(set) var waitingBits = 0.0
    private(set) var longestWait = 0.0
    private var owedLosses = 0.0

    static let step = 0.1
    private static let packetBits = 9600.0

    init(capacity: Int, depth: Double = 1, chanceLoss: Double = 0, floor: Int = 0) {
        (self.capacity, self.depth, self.chanceLoss, self.floor) = (capacity, depth, chanceLoss, floor)
    }

    /// Sets the capacity; queued packets then wait longer.
    mutating func limit(to capacity: Int) { self.capacity = capacity }

    /// One step of sending at `target`.
    mutating func send(at target: Int) -> RateFeedback {
        let sent = Double(max(target, self.floor)) * Self.step
        let room = Double(self.capacity) * self.depth
        let arrived = min(self.waitingBits + sent, Double(self.capacity) * Self.step)
        var waiting = self.waitingBits + sent - arrived
        let overflow = max(0, waiting - room)
        waiting -= overflow
        self.waitingBits = waiting
        let wait = waiting / Double(self.capacity)
        self.longestWait = max(self.longestWait, wait)
        let byChance = arrived * self.chanceLoss
        self.owedLosses += (overflow + byChance) / Self.packetBits
        let lost = self.owedLosses.rounded(.down)
        self.owedLosses -= lost
        let bits = arrived - byChance
        return RateFeedback(
            sentBytes: Int(sent / 8),
            arrivals: .init(
                packets: max(1, Int(bits / Self.packetBits)),
                bytes: Int(bits / 8),
                lostPackets: Int(lost),
                queueing: .milliseconds(Int(wait * 1000)),
                span: .seconds(Self.step),
                bytesOnTheirWay: Int(waiting / 8)
            )
        )
    }
}

/// A controller that is asked ten times a second.
private struct Run {
    var controller = RateController(minimum: 100_000, maximum: 1_500_000)
    var time: UInt64 = 1_000_000_000
    var targets: [Int] = []
    var pauses: [Duration] = []
    private var pausedUntil: UInt64 = 0

    mutating func pass(_ seconds: Double, _ feedback: (Int) -> RateFeedback) {
        for _ in 0..<Int(seconds * 10) {
            self.time += 100_000_000
            let sent = self.time <= self.pausedUntil ? 0 : self.controller.target
            let limit = self.controller.update(feedback(sent), at: self.time)
            self.targets.append(limit.bitsPerSecond)
            if limit.pause > .zero { self.pauses.append(limit.pause) }
            self.pausedUntil = max(self.pausedUntil, self.time + UInt64(limit.pause / .nanoseconds(1)))
        }
    }
}

@Suite struct RateControllerTests {
    @Test func aPeerThatSaysNothingGetsAll() {
        var run = Run()
        run.pass(60) { RateFeedback(sentBytes: $0 / 80) }
        #expect(run.targets.allSatisfy { $0 == 1_500_000 })
    }

    @Test func otherLimitsHoldAtOnce() {
        var controller = RateController(minimum: 100_000, maximum: 1_500_000)
        controller.limit(minimum: 100_000, maximum: 2_500_000)
        #expect(controller.target == 2_500_000)
        controller.limit(minimum: 900_000, maximum: 900_000)
        #expect(controller.target == 900_000)
        controller.limit(minimum: 1_000_000, maximum: 800_000)
        #expect(controller.target == 800_000)
    }

    /// The rate stays at its present use when more is allowed.
    @Test func anotherLimitIsNoReasonToSendMore() {
        var link = Bottleneck(capacity: 500_000)
        var controller = RateController(minimum: 100_000, maximum: 1_500_000)
        for step in 0..<50 {
            _ = controller.update(link.send(at: controller.target), at: UInt64(step) * 100_000_000)
        }
        let reduced = controller.target
        #expect(reduced < 600_000)
        controller.limit(minimum: 100_000, maximum: 3_000_000)
        #expect(controller.target == reduced)
        controller.limit(minimum: 700_000, maximum: 3_000_000)
        #expect(controller.target == 700_000)
    }

    @Test func aWideLinkGetsAll() {
        var run = Run()
        var link = Bottleneck(capacity: 3_000_000)
        run.pass(60) { link.send(at: $0) }
        #expect(run.targets.allSatisfy { $0 == 1_500_000 })
    }

    /// Show d of the issue: under the limit within five seconds, and back.
    @Test(arguments: [200_000, 500_000, 1_000_000], [0.15, 0.5, 1.5])
    func settlesUnderALimitAndReturns(capacity: Int, depth: Double) {
        var run = Run()
        var link = Bottleneck(capacity: 3_000_000, depth: depth)
        run.pass(5) { link.send(at: $0) }
        link.limit(to: capacity)
        run.pass(5) { link.send(at: $0) }
        #expect(run.controller.target < capacity, "after 5 s")
        #expect(run.pauses.allSatisfy { $0 <= .milliseconds(400) })
        let settled = run.targets.count
        run.pass(30) { link.send(at: $0) }
        let after = run.targets[settled...]
        let mean = Double(after.reduce(0, +)) / Double(after.count)
        #expect(mean > 0.6 * Double(capacity), "the link is used: \(mean)")
        #expect(mean < 1.05 * Double(capacity), "the link is not too full: \(mean)")
        link.limit(to: 3_000_000)
        run.pass(60) { link.send(at: $0) }
        #expect(run.controller.target == 1_500_000)
    }

    @Test func aBurstIsNoEvidence() {
        var run = Run()
        var step = 0
        run.pass(30) { target in
            step += 1
            // A keyframe every two seconds, 100 ms behind which everything waits.
            let queueing: Duration = step % 20 < 2 ? .milliseconds(150) : .zero
            return RateFeedback(
                sentBytes: target / 80,
                arrivals: .init(packets: 16, bytes: target / 80, queueing: queueing)
            )
        }
        #expect(run.controller.target == 1_500_000)
    }

    @Test func aLittleLossByChanceIsNoEvidence() {
        var run = Run()
        var link = Bottleneck(capacity: 3_000_000, chanceLoss: 0.05)
        run.pass(60) { link.send(at: $0) }
        #expect(run.controller.target == 1_500_000)
    }

    @Test func muchLossIsEvidence() {
        var run = Run()
        var link = Bottleneck(capacity: 3_000_000, chanceLoss: 0.2)
        run.pass(20) { link.send(at: $0) }
        #expect(run.controller.target < 500_000)
        #expect(run.controller.target >= 100_000)
        #expect(run.targets.allSatisfy { $0 >= 100_000 })
    }

    @Test func anEncoderThatCannotGoLowerIsAskedForLess() {
        var run = Run()
        var link = Bottleneck(capacity: 450_000, floor: 480_000)
        run.pass(20) { link.send(at: $0) }
        #expect(run.controller.target < 300_000, "so that the picture becomes smaller")
    }

    @Test func reportsAreEnough() {
        var run = Run()
        var step = 0
        /// Reports once a second of a link of 500 kbit/s with a queue of 300 ms.
        func report(_ target: Int) -> RateFeedback {
            step += 1
            guard step % 10 == 0 else { return RateFeedback(sentBytes: target / 80) }
            let excess = max(0, target - 500_000)
            return RateFeedback(sentBytes: target / 80, reportedLoss: Double(excess) / Double(target))
        }
        run.pass(8, report)
        #expect(run.controller.target < 600_000)
        run.pass(20) { target in
            step += 1
            return RateFeedback(sentBytes: target / 80, reportedLoss: step % 10 == 0 ? 0 : nil)
        }
        #expect(run.controller.target == 1_500_000)
    }

    @Test func whatWaitsGetsThroughInAPause() {
        var run = Run()
        var link = Bottleneck(capacity: 3_000_000, depth: 1.5)
        run.pass(5) { link.send(at: $0) }
        #expect(run.pauses.isEmpty)
        link.limit(to: 500_000)
        run.pass(10) { link.send(at: $0) }
        #expect(run.pauses.first.map { $0 >= .milliseconds(200) } == true, "\(run.pauses)")
        #expect(link.longestWait < 1)
        // Packets on their way without queueing are no reason to pause.
        var far = Run()
        far.pass(10) {
            RateFeedback(
                sentBytes: $0 / 80,
                arrivals: .init(packets: 16, bytes: $0 / 80, span: .milliseconds(100), bytesOnTheirWay: 1_000_000)
            )
        }
        #expect(far.pauses.isEmpty && far.controller.target == 1_500_000)
    }

    @Test func anEstimateIsFollowedWhereItBinds() {
        var run = Run()
        // Nothing moves in the video: a receiver that gets little estimates little.
        run.pass(5) { _ in RateFeedback(sentBytes: 1000, estimate: 300_000) }
        #expect(run.controller.target == 1_500_000)
        run.pass(3) { RateFeedback(sentBytes: $0 / 80, estimate: 300_000) }
        #expect(run.controller.target == 300_000)
        run.pass(1) { RateFeedback(sentBytes: $0 / 80, estimate: 1) }
        #expect(run.controller.target == 100_000)
        run.pass(60) { RateFeedback(sentBytes: $0 / 80, estimate: 5_000_000) }
        #expect(run.controller.target == 1_500_000)
    }

    @Test func silenceAfterEvidenceHolds() {
        var run = Run()
        var link = Bottleneck(capacity: 500_000)
        run.pass(5) { link.send(at: $0) }
        run.pass(4) { RateFeedback(sentBytes: $0 / 80) }
        let held = run.controller.target
        run.pass(60) { RateFeedback(sentBytes: $0 / 80) }
        #expect(run.controller.target == held)
    }

    @Test func survivesWhatNoPeerShouldSay() {
        var controller = RateController(minimum: 200_000, maximum: 100_000)
        #expect(controller.target == 100_000)
        let odd = RateFeedback(
            sentBytes: .max / 100,
            arrivals: .init(
                packets: 0,
                bytes: .max / 100,
                lostPackets: 1_000_000,
                queueing: .seconds(1_000_000),
                span: .nanoseconds(1),
                bytesOnTheirWay: .max
            ),
            reportedLoss: 1,
            estimate: 0
        )
        for time: UInt64 in [0, .max, 5, .max - 1, 0] {
            #expect(controller.update(odd, at: time).bitsPerSecond == 100_000)
        }
    }
}

@Suite struct VideoLadderTests {
    private static let second: UInt64 = 1_000_000_000

    @Test func sizeGoesDownBeforeTheFrameRate() {
        var ladder = VideoLadder()
        var seen: [VideoLadder.Step] = [ladder.step]
        var time: UInt64 = 0
        for share in stride(from: 1.0, through: 0.05, by: -0.01) {
            time += Self.second
            if ladder.update(share: share, at: time) { seen.append(ladder.step) }
        }
        #expect(seen == VideoLadder.steps)
        #expect(seen.map { $0.side(1280) } == [1280, 852, 640, 640])
        #expect(seen.map { $0.side(180) } == [180, 120, 90, 90])
        #expect(seen.map(\.framesDivisor) == [1, 1, 1, 2])
    }

    /// At which of these seconds the step changes, by the shares of then.
    private static func changes(_ ladder: inout VideoLadder, _ shares: [(second: Double, share: Double)]) -> [Double] {
        shares.filter { ladder.update(share: $0.share, at: UInt64($0.second * 1e9)) }.map(\.second)
    }

    @Test func aDipIsWaitedOut() {
        var ladder = VideoLadder()
        let changes = Self.changes(&ladder, [(0, 0.1), (0.5, 0.1), (0.9, 0.9), (2, 0.1), (2.9, 0.1), (3, 0.1)])
        #expect(changes == [3])
        #expect(ladder.step == VideoLadder.steps[3])
    }

    @Test func goesDownAtOnceIfThatIsUrgent() {
        var ladder = VideoLadder()
        let changes = [0.6, 0.2, 1].enumerated().map { second, share in
            ladder.update(share: share, isUrgent: true, at: UInt64(second) * Self.second)
        }
        #expect(changes == [false, true, false])
        #expect(ladder.step == VideoLadder.steps[2])
    }

    @Test func goesUpStepByStepWithRoom() {
        var ladder = VideoLadder()
        #expect(Self.changes(&ladder, [(0, 0.1), (1, 0.1)]) == [1])
        #expect(Self.changes(&ladder, (2...40).map { (Double($0), 1) }) == [7, 13, 19])
        #expect(ladder.step.isWhole)
        // On the edge of a step nothing swings.
        #expect(Self.changes(&ladder, [(50, 0.49), (51, 0.49)]) == [51])
        #expect(Self.changes(&ladder, (52...90).map { (Double($0), 0.55) }) == [])
    }
}

@Suite struct RateLimitTests {
    @Test(
        arguments: [
            ([], nil), ([7], 7), ([900, 300], 300), ([900, 900, 100], 300), ([900, 900, 400], 400),
            ([100, 100, 900], 100), ([1500, 1500, 1500, 1500, 60], 500),
        ] as [([Int], Int?)]
    )
    func theSlowestIsFollowedUnlessMostAreMuchFaster(peers: [Int], target: Int?) {
        let limits = peers.map { RateLimit(bitsPerSecond: $0) }
        #expect(RateLimit.shared(by: limits)?.bitsPerSecond == target)
        #expect(RateLimit.shared(by: limits.reversed())?.bitsPerSecond == target)
    }

    @Test(
        arguments: [
            ([300], 300), ([0], 0), ([0, 300], 300), ([0, 0, 300], 0), ([0, 200, 300], 200), ([0, 0, 200, 300], 200),
        ]
    )
    func aPauseIsForMostPeers(peers: [Int], pause: Int) {
        let limits = peers.map { RateLimit(bitsPerSecond: 1, pause: .milliseconds($0)) }
        #expect(RateLimit.shared(by: limits)?.pause == .milliseconds(pause))
        #expect(RateLimit.shared(by: limits.reversed())?.pause == .milliseconds(pause))
    }
}
