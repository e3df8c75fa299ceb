// SPDX-License-Identifier: Apache-2.0

import Recording
import Testing

@Suite struct SegmentPolicyTests {
    private static let second: UInt64 = 1_000_000_000

    /// A policy in a cut that began at 10 s, with tracks 1 and 2 behind.
    private static func cutting() -> SegmentPolicy {
        var policy = SegmentPolicy(limit: .time(10 * Self.second))
        policy.segmentBegan(at: 0)
        #expect(policy.cutIsDue(now: 10 * Self.second, bytes: 0, tracks: [1, 2]) == true)
        return policy
    }

    @Test func aCutIsDueByTimeOrBySize() {
        var byTime = SegmentPolicy(limit: .time(10 * Self.second))
        byTime.segmentBegan(at: 5 * Self.second)
        #expect(byTime.cutIsDue(now: 15 * Self.second - 1, bytes: .max, tracks: [1]) == false)
        #expect(byTime.cutIsDue(now: 0, bytes: .max, tracks: [1]) == false, "a clock that goes back only delays")
        #expect(byTime.cutIsDue(now: 15 * Self.second, bytes: 0, tracks: [1]) == true)
        var bySize = SegmentPolicy(limit: .bytes(1000))
        bySize.segmentBegan(at: 0)
        #expect(bySize.cutIsDue(now: .max, bytes: 999, tracks: [1]) == false)
        #expect(bySize.cutIsDue(now: 0, bytes: 1000, tracks: [1]) == true)
    }

    @Test func aSegmentThatIsFullIsCutWithoutALimit() {
        var policy = SegmentPolicy(limit: nil)
        let isDue = [
            policy.cutIsDue(now: .max, bytes: .max, tracks: [1]),
            policy.cutIsDue(now: 1, bytes: 0, isFull: true, tracks: [1]),
            // Once.
            policy.cutIsDue(now: 2, bytes: 0, isFull: true, tracks: [1]),
        ]
        #expect(isDue == [false, true, false])
        #expect(policy.isBehind(1))
    }

    @Test func nothingHappensOutsideOfACut() {
        var policy = SegmentPolicy(limit: .bytes(1))
        #expect(!policy.isCutting)
        #expect(!policy.isBehind(1))
        #expect(policy.unitCame(track: 1, startsFile: true, now: 0) == .stays)
        policy.trackEnded(1)
        #expect(policy.cutIsOver(now: .max, hasNext: true) == false)
        policy.recordingEnded()
        #expect(!policy.isCutting)
    }

    @Test func eachTrackGoesOverOnceAndTheLastEndsTheCut() {
        var policy = Self.cutting()
        #expect(policy.isCutting && policy.isBehind(1) && policy.isBehind(2) && !policy.isBehind(3))
        #expect(policy.cutIsDue(now: 30 * Self.second, bytes: 0, tracks: [1, 2]) == false, "a cut goes on")
        #expect(policy.unitCame(track: 3, startsFile: true, now: 0) == .stays, "it came within the cut")
        #expect(policy.unitCame(track: 1, startsFile: false, now: 11 * Self.second) == .stays)
        #expect(policy.unitCame(track: 1, startsFile: true, now: 11 * Self.second) == .crosses)
        policy.segmentBegan(at: 11 * Self.second)
        #expect(policy.isBehind(2) && !policy.isBehind(1))
        #expect(policy.unitCame(track: 1, startsFile: true, now: 12 * Self.second) == .stays)
        #expect(policy.cutIsOver(now: 12 * Self.second, hasNext: true) == false)
        #expect(policy.unitCame(track: 2, startsFile: true, now: 12 * Self.second) == .crosses)
        #expect(policy.cutIsOver(now: 12 * Self.second, hasNext: false) == false)
        #expect(policy.cutIsOver(now: 12 * Self.second, hasNext: true) == true)
        #expect(!policy.isCutting)
        #expect(policy.cutIsDue(now: 21 * Self.second - 1, bytes: 0, tracks: [1]) == false)
        #expect(policy.cutIsDue(now: 21 * Self.second, bytes: 0, tracks: [1]) == true)
    }

    @Test func aTrackWithoutKeyframesGoesOverAfterTheBound() {
        var policy = Self.cutting()
        let bound = 10 * Self.second + SegmentPolicy.bound
        #expect(policy.unitCame(track: 1, startsFile: false, now: bound - 1) == .stays)
        #expect(policy.unitCame(track: 1, startsFile: false, now: bound) == .crossesDamaged)
        #expect(policy.unitCame(track: 2, startsFile: true, now: bound) == .crosses)
        #expect(policy.cutIsOver(now: bound, hasNext: true) == true)
    }

    @Test func tracksThatSendNothingDoNotHoldACut() {
        var policy = Self.cutting()
        #expect(policy.unitCame(track: 1, startsFile: true, now: 11 * Self.second) == .crosses)
        #expect(
            policy.cutIsOver(now: 10 * Self.second + SegmentPolicy.bound, hasNext: true) == false,
            "its next unit may come"
        )
        #expect(policy.cutIsOver(now: 13 * Self.second + SegmentPolicy.bound, hasNext: true) == true)
        policy = Self.cutting()
        policy.trackEnded(1)
        policy.trackEnded(2)
        #expect(policy.cutIsOver(now: .max, hasNext: false) == false, "there is nothing to go over to")
        #expect(policy.cutIsOver(now: 10 * Self.second, hasNext: true) == true)
    }

    @Test func theEndOfTheRecordingEndsTheCut() {
        var policy = Self.cutting()
        policy.recordingEnded()
        #expect(!policy.isCutting && !policy.isBehind(1))
        #expect(policy.unitCame(track: 1, startsFile: true, now: .max) == .stays)
    }
}

@Suite struct TrackDamageTests {
    @Test func aLossDamagesUntilAWholeKeyframe() {
        var damage = TrackDamage()
        #expect(damage.unitCame(lostPackets: 0, isWholeKeyframe: false) == .unchanged)
        #expect(damage.unitCame(lostPackets: 3, isWholeKeyframe: false) == .damaged(lostPackets: 3))
        #expect(damage.isDamaged)
        #expect(damage.unitCame(lostPackets: 1, isWholeKeyframe: false) == .unchanged)
        #expect(damage.unitCame(lostPackets: 0, isWholeKeyframe: false) == .unchanged)
        #expect(damage.unitCame(lostPackets: 5, isWholeKeyframe: true) == .mended(units: 3))
        #expect(!damage.isDamaged)
        #expect(damage.unitCame(lostPackets: 5, isWholeKeyframe: true) == .unchanged)
    }

    @Test func aFileMayBeginDamaged() {
        var damage = TrackDamage()
        #expect(damage.beginsDamaged(lostPackets: 0) == .damaged(lostPackets: 0))
        #expect(damage.unitCame(lostPackets: 0, isWholeKeyframe: false) == .unchanged)
        #expect(damage.unitCame(lostPackets: 0, isWholeKeyframe: true) == .mended(units: 2))
    }

    @Test func aLossAfterTheCutIsToldOnceMore() {
        var damage = TrackDamage()
        #expect(damage.beginsDamaged(lostPackets: 0) == .damaged(lostPackets: 0))
        #expect(damage.unitCame(lostPackets: 2, isWholeKeyframe: false) == .damaged(lostPackets: 2))
        #expect(damage.unitCame(lostPackets: 1, isWholeKeyframe: false) == .unchanged)
        #expect(damage.unitCame(lostPackets: 0, isWholeKeyframe: true) == .mended(units: 3))
        #expect(damage.beginsDamaged(lostPackets: 4) == .damaged(lostPackets: 4))
        #expect(damage.unitCame(lostPackets: 2, isWholeKeyframe: false) == .unchanged)
    }
}
