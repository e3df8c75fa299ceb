// SPDX-License-Identifier: Apache-2.0

import Recording
import Testing

@Suite struct KeyframePolicyTests {
    private static let millisecond: UInt64 = 1_000_000

    @Test func asksAtOnceAndEveryHalfSecondUntilTheFirstKeyframe() {
        let start: UInt64 = 5_000 * Self.millisecond
        var policy = KeyframePolicy(trackAppearedAt: start)
        var requests: [UInt64] = []
        for step in stride(from: UInt64(0), through: 2_000, by: 100)
        where policy.requestIsDue(at: start + step * Self.millisecond) {
            requests.append(step)
        }
        #expect(requests == [0, 500, 1000, 1500, 2000])
        policy.keyframeArrived(at: start + 2_100 * Self.millisecond)
        #expect(policy.nextRequest == nil)
        #expect(policy.requestIsDue(at: start + 11_099 * Self.millisecond) == false)
    }

    @Test func asksASenderThatGivesNoneLessOften() {
        var policy = KeyframePolicy(trackAppearedAt: 0)
        var requests: [UInt64] = []
        for step in stride(from: UInt64(0), through: 45_000, by: 100)
        where policy.requestIsDue(at: step * Self.millisecond) {
            requests.append(step)
        }
        let eager = stride(from: UInt64(0), to: 5_000, by: 500)
        #expect(requests == Array(eager) + [5_000, 7_000, 12_000, 22_000, 32_000, 42_000])
        // One keyframe, and it is asked as eagerly as before.
        policy.keyframeArrived(at: 55_000 * Self.millisecond)
        let first = policy.lossDetected(at: 60_000 * Self.millisecond)
        #expect(first)
        #expect(policy.nextRequest == 61_000 * Self.millisecond)
    }

    @Test func lossBeforeTheFirstKeyframeChangesNothing() {
        var policy = KeyframePolicy(trackAppearedAt: 0)
        let first = policy.requestIsDue(at: 0)
        #expect(first)
        #expect(policy.lossDetected(at: 100 * Self.millisecond) == false)
        #expect(policy.nextRequest == 500 * Self.millisecond)
    }

    @Test func asksOnLossAtMostOnceASecondUntilAKeyframe() {
        var policy = KeyframePolicy(trackAppearedAt: 0)
        _ = policy.requestIsDue(at: 0)
        policy.keyframeArrived(at: 0)
        var requests: [UInt64] = []
        for step in stride(from: UInt64(3_000), to: 6_000, by: 20)
        where policy.lossDetected(at: step * Self.millisecond) {
            requests.append(step)
        }
        #expect(requests == [3000, 4000, 5000])
        policy.keyframeArrived(at: 5_400 * Self.millisecond)
        #expect(policy.lossDetected(at: 5_500 * Self.millisecond) == false)
        #expect(policy.nextRequest == 7_000 * Self.millisecond)
        #expect(policy.requestIsDue(at: 6_999 * Self.millisecond) == false)
        let late = policy.requestIsDue(at: 7_000 * Self.millisecond)
        #expect(late)
    }

    /// Losses from the first to the last of these instants; each keyframe comes 200 ms after it is asked for.
    struct LossyUplink: Sendable, CustomTestStringConvertible {
        var losses: [ClosedRange<UInt64>]
        var every: UInt64 = 100
        var requests: [UInt64]
        var testDescription: String { "\(self.losses) every \(self.every) ms" }
    }

    @Test(arguments: [
        LossyUplink(losses: [0...20_000], requests: [0, 2_000, 6_000, 10_000, 14_000, 18_000, 22_000]),
        // A keyframe requested 300 ms after the loss before always has a loss after it.
        LossyUplink(losses: [0...20_000], every: 1_000, requests: [0, 2_000, 6_000, 10_000, 14_000, 18_000, 22_000]),
        // Seconds apart, but not over.
        LossyUplink(losses: [0...60_000], every: 9_000, requests: [0, 9_000, 18_000, 27_000, 36_000, 45_000, 54_000]),
        // After ten seconds without a loss, a sender is asked as eagerly as before.
        LossyUplink(losses: [0...7_000, 30_000...30_500], requests: [0, 2_000, 6_000, 10_000, 30_000, 32_000]),
        LossyUplink(losses: [0...0, 5_000...5_000], requests: [0, 5_000]),
    ])
    func asksLessOftenWhereLossesGoOnBehindKeyframes(uplink: LossyUplink) {
        var policy = KeyframePolicy(trackAppearedAt: 0)
        policy.keyframeArrived(at: 0)
        var requests: [UInt64] = []
        var keyframeAt: UInt64?
        for step in stride(from: UInt64(0), through: 80_000, by: 100) {
            let now = step * Self.millisecond
            if step == keyframeAt { policy.keyframeArrived(at: now) }
            let isLost = uplink.losses.contains { $0.contains(step) } && step % uplink.every == 0
            var asks = false
            if isLost { asks = policy.lossDetected(at: now) }
            // Those that no loss causes are not of interest here.
            if !asks, policy.nextRequest != nil { asks = policy.requestIsDue(at: now) }
            if asks {
                requests.append(step)
                keyframeAt = step + 200
            }
        }
        #expect(requests == uplink.requests)
    }

    /// A sender without losses, and one that gives no keyframe unless it is asked twice, or never again.
    @Test(arguments: [
        (1, [9_000, 18_200, 27_400] as [UInt64]), (2, [9_000, 10_000, 19_200, 20_200, 29_400]),
        (.max, Array(stride(from: UInt64(9_000), through: 19_000, by: 1_000)) + [21_000, 26_000]),
    ])
    func asksSoThatKeyframesAreNeverFarApart(needed: Int, expected: [UInt64]) {
        var policy = KeyframePolicy(trackAppearedAt: 0)
        policy.keyframeArrived(at: 0)
        var requests: [UInt64] = []
        var (unanswered, keyframeAt) = (0, nil as UInt64?)
        for step in stride(from: UInt64(0), through: 30_000, by: 100) {
            if step == keyframeAt {
                policy.keyframeArrived(at: step * Self.millisecond)
                unanswered = 0
            }
            guard policy.requestIsDue(at: step * Self.millisecond) else { continue }
            #expect(policy.nextRequest == nil)
            requests.append(step)
            unanswered += 1
            if unanswered == needed { keyframeAt = step + 200 }
        }
        #expect(requests == expected)
    }

    @Test func asksAgainAfterLossWithoutFurtherLoss() {
        var policy = KeyframePolicy(trackAppearedAt: 0)
        policy.keyframeArrived(at: 0)
        let first = policy.lossDetected(at: 10)
        let second = policy.requestIsDue(at: 10 + 1_000 * Self.millisecond)
        #expect(first && second)
    }

    @Test func survivesTimesAtTheEdges() {
        var policy = KeyframePolicy(trackAppearedAt: .max)
        #expect(policy.requestIsDue(at: 0) == false)
        let due = policy.requestIsDue(at: .max)
        #expect(due)
        policy.keyframeArrived(at: .max)
        #expect(policy.lossDetected(at: 0) == false)
        #expect(policy.nextRequest == .max)
    }
}
