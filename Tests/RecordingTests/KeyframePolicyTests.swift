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
        policy.keyframeArrived()
        #expect(policy.nextRequest == nil)
        #expect(policy.requestIsDue(at: .max) == false)
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
        policy.keyframeArrived()
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
        policy.keyframeArrived()
        var requests: [UInt64] = []
        for step in stride(from: UInt64(3_000), to: 6_000, by: 20)
        where policy.lossDetected(at: step * Self.millisecond) {
            requests.append(step)
        }
        #expect(requests == [3000, 4000, 5000])
        policy.keyframeArrived()
        #expect(policy.lossDetected(at: 5_500 * Self.millisecond) == false)
        #expect(policy.nextRequest == 6_000 * Self.millisecond)
        #expect(policy.requestIsDue(at: 5_999 * Self.millisecond) == false)
        let late = policy.requestIsDue(at: 6_000 * Self.millisecond)
        #expect(late)
    }

    @Test func asksAgainAfterLossWithoutFurtherLoss() {
        var policy = KeyframePolicy(trackAppearedAt: 0)
        policy.keyframeArrived()
        let first = policy.lossDetected(at: 10)
        let second = policy.requestIsDue(at: 10 + 1_000 * Self.millisecond)
        #expect(first && second)
    }

    @Test func survivesTimesAtTheEdges() {
        var policy = KeyframePolicy(trackAppearedAt: .max)
        #expect(policy.requestIsDue(at: 0) == false)
        let due = policy.requestIsDue(at: .max)
        #expect(due)
        policy.keyframeArrived()
        #expect(policy.lossDetected(at: 0) == false)
        #expect(policy.nextRequest == .max)
    }
}
