// SPDX-License-Identifier: Apache-2.0

import Testing
import Timeline

@Suite struct RTPClockTests {
    @Test(
        arguments: [
            (90_000, 90_000, 1_000_000_000), (90_000, 1, 11_111), (90_000, -1, -11_111), (48_000, 960, 20_000_000),
            (8_000, 8_000 * 86_400 * 365, 86_400 * 365 * 1_000_000_000), (90_000, 0, 0),
            (90_000, Int64.max, Int64.max), (1, Int64.max, Int64.max), (1, Int64.min, Int64.min),
        ] as [(Int, Int64, Int64)]
    )
    func convertsTicks(rate: Int, ticks: Int64, nanoseconds: Int64) {
        #expect(RTPClock(rateHz: rate).nanoseconds(ticks: ticks) == nanoseconds)
    }

    @Test func returnsToTheSameTick() {
        let clock = RTPClock(rateHz: 90_000)
        for ticks in stride(from: Int64(-1_000_000), through: 1_000_000, by: 997) {
            #expect(clock.ticks(nanoseconds: clock.nanoseconds(ticks: ticks)) == ticks)
        }
    }

    @Test(arguments: [(0, 1), (-5, 1), (Int.max, 1_000_000_000)])
    func limitsTheRate(rate: Int, expected: Int) {
        #expect(RTPClock(rateHz: rate).rateHz == expected)
    }
}

@Suite struct NTPTimeTests {
    @Test(
        arguments: [
            (0x0000_0001_0000_0000, 0x0000_0002_0000_0000, 1_000_000_000),
            (0x0000_0001_8000_0000, 0x0000_0002_0000_0000, 500_000_000),
            (0x0000_0002_0000_0000, 0x0000_0001_8000_0000, -500_000_000),
            (0xFFFF_FFFF_0000_0000, 0x0000_0000_0000_0000, 1_000_000_000),
            (0xFFFF_FFFF_C000_0000, 0x0000_0000_4000_0000, 500_000_000),
        ] as [(UInt64, UInt64, Int64)]
    )
    func subtracts(earlier: UInt64, later: UInt64, nanoseconds: Int64) {
        #expect(NTPTime(rawValue: later).nanoseconds(since: NTPTime(rawValue: earlier)) == nanoseconds)
    }

    @Test func knowsUnset() {
        #expect(NTPTime(rawValue: 0).isUnset)
        #expect(!NTPTime(rawValue: 1).isUnset)
    }
}

@Suite struct ClockAnchorSamplerTests {
    @Test func givesTheFirstUnitAndThenTheLeastLateOfEachSecond() {
        var sampler = ClockAnchorSampler(clock: RTPClock(rateHz: 1000))
        let lateness: [Int64] = [0, 9, 2, 5, 7, 6, 8, 3, 4, 9, 9]
        let anchors = lateness.enumerated().compactMap { index, late in
            sampler.observe(
                ClockSample(
                    rtpTime: Int64(index) * 200,
                    monotonicNanoseconds: (Int64(index) * 200 + late) * 1_000_000
                )
            )
        }
        #expect(anchors.map(\.rtpTime) == [0, 400, 1400])
    }

    @Test func givesTheFirstUnitAfterAPause() {
        var sampler = ClockAnchorSampler(clock: RTPClock(rateHz: 1000))
        let milliseconds: [Int64] = [0, 200, 400, 5000, 5200, 5900, 6100]
        let anchors = milliseconds.compactMap { time in
            // The sender's clock stood still in the pause.
            sampler.observe(
                ClockSample(rtpTime: time < 5000 ? time : time - 4000, monotonicNanoseconds: time * 1_000_000)
            )
        }
        #expect(anchors.map(\.rtpTime) == [0, 1000, 1200])
    }

    @Test func givesTheFirstUnitAfterAJumpOfTheSendersClock() {
        var sampler = ClockAnchorSampler(clock: RTPClock(rateHz: 1000))
        let anchors = (0..<10).compactMap { index -> ClockSample? in
            let time = Int64(index) * 100
            return sampler.observe(
                ClockSample(rtpTime: index < 5 ? time : time + 7000, monotonicNanoseconds: time * 1_000_000)
            )
        }
        #expect(anchors.map(\.rtpTime) == [0, 7500])
    }

    @Test func aSenderThatJumpsWithEveryUnitDoesNotFillTheJournal() {
        var sampler = ClockAnchorSampler(clock: RTPClock(rateHz: 1000))
        let anchors = (0..<1000).compactMap { index -> ClockSample? in
            sampler.observe(ClockSample(rtpTime: Int64(index) * 900, monotonicNanoseconds: Int64(index) * 10_000_000))
        }
        #expect(anchors.count <= 60)
    }

    @Test func survivesNonsense() {
        var sampler = ClockAnchorSampler(clock: RTPClock(rateHz: 90_000))
        for value in [Int64.min, .max, 0, -1, .max, .min] {
            _ = sampler.observe(ClockSample(rtpTime: value, monotonicNanoseconds: value))
        }
        let usual = ClockSample(rtpTime: 0, monotonicNanoseconds: 0)
        _ = sampler.observe(usual)
        #expect(sampler.observe(usual) == nil)
    }
}
