// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import Media

@Suite struct CameraAudioTests {
    @Test func everyNameHasItsTone() {
        #expect(TestTone.hertz(for: "Camera") == 1000 && TestTone.hertz(for: "tapedeck") == 1000)
        // These are in docs/camera.md.
        #expect(["kitchen", "garden", "door"].map(TestTone.hertz) == [2800, 3220, 1940])
        let tones = (0..<10_000).map { TestTone.hertz(for: "camera \($0)") }
        #expect(tones.min() == 500 && tones.max() == 3480 && Set(tones).count == 149)
        #expect(tones.allSatisfy { $0 % 20 == 0 && $0 != 1000 })
        #expect(
            (500...3480).contains(TestTone.hertz(for: "")) && (500...3480).contains(TestTone.hertz(for: "\u{1F3A5}"))
        )
    }

    @Test func whatAnEncoderHasNoTimeForIsToldAtOnceAndThenOnceAMinute() {
        var backlog = EncoderBacklog()
        let second: UInt64 = 1_000_000_000
        func told(_ count: UInt64, _ seconds: UInt64) -> UInt64? { backlog.add(count, at: seconds * second) }
        #expect(told(0, 0) == nil && told(0, 100) == nil)
        #expect(told(3, 101) == 3)
        #expect(told(4, 102) == nil && told(5, 160) == nil)
        #expect(told(0, 161) == 9)
        #expect(told(0, 300) == nil)
        #expect(told(1, 301) == 1)
        #expect(backlog.total == 13)
    }

    @Test func encodersThatFailAreTriedLaterAndLater() {
        let second: UInt64 = 1_000_000_000
        var retry = EncoderRetry()
        func failed(_ now: UInt64) -> Bool { retry.failed(at: now * second) }
        func mayStart(_ now: UInt64) -> Bool { retry.mayStart(at: now * second) }
        #expect(mayStart(0) && !retry.isFailing)
        // Reported once.
        #expect(failed(0) && retry.isFailing)
        #expect(!mayStart(9) && mayStart(10))
        var now: UInt64 = 0
        for delay: UInt64 in [20, 40, 80, 160, 300, 300] {
            // It starts, and fails soon.
            retry.started(at: now * second)
            now += 50
            #expect(!failed(now), "\(delay) s")
            #expect(!mayStart(now + delay - 1) && mayStart(now + delay), "\(delay) s")
            now += delay
        }
        // One that ran for a minute ends that.
        retry.started(at: now * second)
        #expect(retry.isFailing)
        now += 60
        #expect(failed(now))
        #expect(!mayStart(now + 9) && mayStart(now + 10))
        retry.started(at: (now + 10) * second)
        retry.ended(at: (now + 80) * second)
        #expect(!retry.isFailing)
    }

    @Test func anEncoderOfWhichTwoEndsHangIsLeftOutUntilOneReturns() {
        var hangs = EncoderHangs()
        #expect(!hangs.isLeftOut("a", at: 0))
        // One that ends is not in the way of the next one.
        for _ in 1...5 {
            #expect(!hangs.began("a", at: 0) && !hangs.isLeftOut("a", at: 0))
            hangs.returned("a")
        }
        #expect(!hangs.began("a", at: 0) && !hangs.isLeftOut("a", at: 0))
        #expect(!hangs.began("b", at: 0) && !hangs.isLeftOut("a", at: 0))
        // Reported once.
        #expect(hangs.began("a", at: 0) && hangs.isLeftOut("a", at: 0) && !hangs.isLeftOut("b", at: 0))
        #expect(!hangs.began("a", at: 0) && hangs.isLeftOut("a", at: 0))
        hangs.returned("a")
        #expect(hangs.isLeftOut("a", at: 0))
        hangs.returned("a")
        #expect(!hangs.isLeftOut("a", at: 0))
        #expect(hangs.began("a", at: 0) && hangs.isLeftOut("a", at: 0))
        for _ in 1...3 { hangs.returned("a") }
        hangs.returned("b")
        #expect(hangs == EncoderHangs())
    }

    @Test func anEncoderWhoseEndsHangIsTriedAgainAfterAnHour() {
        let hour = EncoderHangs.rest
        var hangs = EncoderHangs()
        _ = hangs.began("a", at: 5)
        _ = hangs.began("a", at: 7)
        #expect(hangs.isLeftOut("a", at: hour + 6) && !hangs.isLeftOut("a", at: hour + 7))
        // It hung again.
        _ = hangs.began("a", at: hour + 9)
        #expect(hangs.isLeftOut("a", at: 2 * hour + 8) && !hangs.isLeftOut("a", at: 2 * hour + 9))
    }

    /// Silence in seconds, look by look; -1 for what is muted or away.
    @Test(
        arguments: [
            ([0, 5, 9.9], []), ([10], ["silent"]), ([10, 11, 12], ["silent"]), ([11, 0.5, 3], ["silent", "heard"]),
            ([11, 0, 11], ["silent", "heard", "silent"]), ([-1, -1], []), ([11, -1, -1], ["silent"]),
            // It was muted in that time: whether it is heard again shows later.
            ([11, -1, 12], ["silent"]), ([11, -1, 0], ["silent", "heard"]),
        ] as [([Double], [String])]
    )
    func silenceIsNoticedOnce(looks: [Double], findings: [String]) {
        var watch = SilenceWatch()
        #expect(!watch.hasFound)
        let found = looks.compactMap { watch.look($0 < 0 ? nil : .seconds($0)).map { "\($0)" } }
        #expect(found == findings)
        #expect(watch.hasFound == findings.contains("silent"))
    }
}
