// SPDX-License-Identifier: Apache-2.0

import Session
import Testing

@Suite struct LivenessPolicyTests {
    private static let second: UInt64 = 1_000_000_000

    @Test func saysEachChangeOnce() {
        var policy = LivenessPolicy(startedAt: 100 * Self.second)
        var changes: [UInt64: LivenessPolicy.Transition] = [:]
        for now in UInt64(100)...130 {
            let heard: UInt64? = now < 105 ? nil : (now < 125 ? 105 * Self.second : now * Self.second)
            changes[now] = policy.update(lastHeardAt: heard, now: now * Self.second)
        }
        #expect(changes == [115: .silent, 125: .heard])
        #expect(!policy.isSilent)
    }

    @Test func ofWhoOnlyListensNothingIsExpected() {
        var policy = LivenessPolicy(startedAt: 0)
        var changes: [UInt64: LivenessPolicy.Transition] = [:]
        // The camera is on from 600 s to 620 s, and then nothing is heard though it should be.
        for now in UInt64(1)...640 {
            let heard: UInt64? = now < 600 ? nil : min(now, 620) * Self.second
            changes[now] = policy.update(lastHeardAt: heard, isExpected: now >= 599, now: now * Self.second)
        }
        #expect(changes == [630: .silent])
        // A peer that is put on hold while it is silent is heard again.
        #expect(policy.update(lastHeardAt: 620 * Self.second, isExpected: false, now: 641 * Self.second) == .heard)
    }

    @Test func aPeerThatNeverSendsIsSilentAfterTheLimit() {
        var policy = LivenessPolicy(startedAt: 0, limit: .milliseconds(1500))
        #expect(policy.update(lastHeardAt: nil, now: 1_499_999_999) == nil)
        #expect(policy.update(lastHeardAt: nil, now: 1_500_000_000) == .silent)
        #expect(policy.isSilent)
    }

    @Test func survivesTimesAtTheEdges() {
        var policy = LivenessPolicy(startedAt: .max, limit: .seconds(Int64.max))
        #expect(policy.update(lastHeardAt: 0, now: 0) == nil)
        #expect(policy.update(lastHeardAt: .max, now: .max) == nil)
        var negative = LivenessPolicy(startedAt: 5, limit: .seconds(-3))
        #expect(negative.update(lastHeardAt: nil, now: 6) == .silent)
    }
}
