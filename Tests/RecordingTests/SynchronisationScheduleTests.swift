// SPDX-License-Identifier: Apache-2.0

import Recording
import Testing

@Suite struct SynchronisationScheduleTests {
    private static let second: UInt64 = 1_000_000_000

    @Test func beginsAsOftenAsIsAsked() {
        var schedule = SynchronisationSchedule()
        #expect(schedule.begins(now: 100 * Self.second, interval: Self.second) == true)
        schedule.ended(now: 100 * Self.second + 1_000_000, cost: 1_000_000)
        #expect(schedule.begins(now: 101 * Self.second - 1, interval: Self.second) == false)
        #expect(schedule.begins(now: 101 * Self.second, interval: Self.second) == true)
    }

    @Test(arguments: [0, 1, 499, 500, 501, 999] as [UInt64])
    func roomsThatBeganApartWantTheDiskTogether(offset: UInt64) {
        var schedule = SynchronisationSchedule()
        let start = 100 * Self.second + offset * 1_000_000
        #expect(schedule.begins(now: start, interval: Self.second) == true)
        schedule.ended(now: start, cost: 1_000_000)
        let next = (offset > 500 ? 102 : 101) * Self.second
        #expect(schedule.begins(now: next - 1, interval: Self.second) == false)
        #expect(schedule.begins(now: next + 40_000_000, interval: Self.second) == true)
    }

    @Test func oneRoundAtATime() {
        var schedule = SynchronisationSchedule()
        #expect(schedule.begins(now: 100 * Self.second, interval: Self.second) == true)
        #expect(schedule.begins(now: 500 * Self.second, interval: Self.second) == false)
        schedule.ended(now: 500 * Self.second, cost: 400 * Self.second)
        schedule.ended(now: 700 * Self.second, cost: 600 * Self.second)
        #expect(schedule.begins(now: 4500 * Self.second, interval: Self.second) == true)
    }

    @Test(
        arguments: [(cost: 50, next: 1), (cost: 90, next: 1), (cost: 100, next: 2), (cost: 1500, next: 17)]
            as [(UInt64, UInt64)]
    )
    func aSlowDiskIsAskedLessOften(cost: UInt64, next: UInt64) {
        var schedule = SynchronisationSchedule()
        let start = 100 * Self.second
        #expect(schedule.begins(now: start, interval: Self.second) == true)
        let end = start + cost * 1_000_000
        schedule.ended(now: end, cost: cost * 1_000_000)
        #expect(schedule.begins(now: start + next * Self.second - 1, interval: Self.second) == false)
        #expect(schedule.begins(now: start + next * Self.second, interval: Self.second) == true)
    }

    @Test func noTimeTraps() {
        var schedule = SynchronisationSchedule()
        #expect(schedule.begins(now: .max, interval: .max) == true)
        schedule.ended(now: 0, cost: 0)
        #expect(schedule.begins(now: 0, interval: 1) == false)
        #expect(schedule.begins(now: 1, interval: 1) == true)
        schedule.ended(now: 1, cost: .max)
        #expect(schedule.begins(now: .max, interval: 0) == false)
    }
}
