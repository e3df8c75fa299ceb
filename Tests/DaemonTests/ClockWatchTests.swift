// SPDX-License-Identifier: Apache-2.0

import Basics
import Testing

@testable import Daemon

@Suite struct ClockWatchTests {
    private static let start: Int64 = 1_795_230_746_000_000_000

    /// What is believed at looks so many seconds after the start, with the wall clock so many seconds ahead.
    private static func looks(_ looks: [(second: Int64, ahead: Int64)]) -> [Bool] {
        var watch = ClockWatch()
        return looks.map { second, ahead in
            let wall = UTCTime(nanosecondsSince1970: Self.start + (second + ahead) * 1_000_000_000)
            return watch.isBelieved(wall: wall, monotonic: .seconds(second))
        }
    }

    @Test(arguments: [-31_536_000, -3601, 3601, 31_536_000] as [Int64])
    func aClockThatWasSetIsBelievedAfterADay(_ ahead: Int64) {
        #expect(
            Self.looks([(0, 0), (60, 0), (120, ahead), (180, ahead), (86_519, ahead), (86_520, ahead)])
                == [true, true, false, false, false, true]
        )
        // Put right again, it may as well have been put wrong.
        #expect(
            Self.looks([(0, 0), (60, ahead), (120, 0), (86_460, 0), (86_520, 0)]) == [true, false, false, false, true]
        )
    }

    @Test func aClockThatIsCorrectedIsBelieved() {
        #expect(Self.looks([(0, 0), (60, 3600), (120, 0), (180, -3600)]) == [true, true, true, true])
    }

    // MARK: Over restarts

    /// A look of one life; each life begins with what the one before remembered.
    struct Look: Sendable {
        /// Seconds since the first look, by a clock that is right.
        var second: Int64
        /// Seconds that the wall clock is ahead.
        var ahead: Int64 = 0
        /// Seconds since the host came up.
        var uptime: Int64
        var boot = "one"
        var isSynchronised: Bool?
        var isBelieved: Bool
    }

    struct Case: Sendable, CustomTestStringConvertible {
        var testDescription: String
        var looks: [Look]
    }

    private static let day: Int64 = 86_400

    static let cases: [Case] = [
        Case(
            testDescription: "a restart",
            looks: [
                Look(second: 0, uptime: 100, isBelieved: true),
                Look(second: 9 * day, uptime: 100 + 9 * day, isBelieved: true),
            ]
        ),
        Case(
            testDescription: "the clock was set while no daemon was there",
            looks: [
                Look(second: 0, uptime: 100, isBelieved: true),
                Look(second: 60, ahead: 400 * day, uptime: 160, isBelieved: false),
                // Another restart does not make it better, nor longer.
                Look(second: day, ahead: 400 * day, uptime: 100 + day, isBelieved: false),
                Look(second: 60 + day, ahead: 400 * day, uptime: 160 + day, isBelieved: true),
            ]
        ),
        Case(
            testDescription: "a host that comes up with a wrong clock",
            looks: [
                Look(second: 0, uptime: 100, isBelieved: true),
                Look(second: 120, ahead: 400 * day, uptime: 30, boot: "two", isBelieved: false),
                Look(second: 30 + day, ahead: 400 * day, uptime: day - 60, boot: "two", isBelieved: false),
                // It comes up again so, and the rest of the day is still to be waited for.
                Look(second: 90 + day, ahead: 400 * day, uptime: 20, boot: "three", isBelieved: false),
                Look(second: 240 + day, ahead: 400 * day, uptime: 170, boot: "three", isBelieved: true),
            ]
        ),
        Case(
            testDescription: "a host that comes up again at once",
            looks: [
                Look(second: 0, uptime: 100, isBelieved: true),
                Look(second: 300, uptime: 20, boot: "two", isBelieved: true),
            ]
        ),
        Case(
            testDescription: "a host that runs for long before the daemon starts",
            looks: [
                Look(second: 0, uptime: 100, isBelieved: true),
                Look(second: 30 * day, uptime: 30 * day - 60, boot: "two", isBelieved: true),
            ]
        ),
        Case(
            testDescription: "a host that was off, and nothing says for how long",
            looks: [
                Look(second: 0, uptime: 100, isBelieved: true),
                Look(second: 3 * day, uptime: 20, boot: "two", isBelieved: false),
                Look(second: 4 * day, uptime: 20 + day, boot: "two", isBelieved: true),
            ]
        ),
        Case(
            testDescription: "a host that was off, and whose clock something keeps in time",
            looks: [
                Look(second: 0, uptime: 100, isSynchronised: true, isBelieved: true),
                Look(second: 3 * day, uptime: 20, boot: "two", isSynchronised: false, isBelieved: false),
                Look(second: 3 * day + 60, uptime: 80, boot: "two", isSynchronised: true, isBelieved: true),
                Look(second: 6 * day, uptime: 20, boot: "three", isSynchronised: true, isBelieved: true),
            ]
        ),
        Case(
            testDescription: "a host that comes up with a wrong clock, which is then put right",
            looks: [
                Look(second: 0, uptime: 100, isSynchronised: true, isBelieved: true),
                Look(second: 60, ahead: 400 * day, uptime: 20, boot: "two", isSynchronised: false, isBelieved: false),
                Look(second: 120, uptime: 80, boot: "two", isSynchronised: true, isBelieved: false),
                Look(second: 180, uptime: 140, boot: "two", isSynchronised: true, isBelieved: false),
                Look(second: 120 + day, uptime: 80 + day, boot: "two", isSynchronised: true, isBelieved: true),
            ]
        ),
        Case(
            testDescription: "a clock that is not kept in time any more",
            looks: [
                Look(second: 0, uptime: 100, isSynchronised: true, isBelieved: true),
                Look(second: 60, uptime: 160, isSynchronised: false, isBelieved: false),
                Look(second: 20 * day, uptime: 100 + 20 * day, isSynchronised: false, isBelieved: false),
                Look(second: 20 * day + 1, uptime: 101 + 20 * day, isSynchronised: true, isBelieved: true),
                Look(second: 20 * day + 2, uptime: 102 + 20 * day, isSynchronised: false, isBelieved: false),
                Look(second: 51 * day, uptime: 100 + 51 * day, isSynchronised: false, isBelieved: true),
            ]
        ),
        Case(
            testDescription: "a host, or a container, that nothing ever keeps in time",
            looks: [
                Look(second: 0, uptime: 100, isSynchronised: false, isBelieved: true),
                Look(second: day, uptime: 100 + day, isSynchronised: false, isBelieved: true),
            ]
        ),
    ]

    @Test(arguments: Self.cases)
    func whatIsRememberedOutlivesTheDaemon(_ example: Case) throws {
        var memory: ClockWatch.Memory?
        for look in example.looks {
            var watch = ClockWatch(memory: memory)
            let isBelieved = watch.isBelieved(
                wall: UTCTime(nanosecondsSince1970: Self.start + (look.second + look.ahead) * 1_000_000_000),
                monotonic: .seconds(look.uptime),
                bootID: look.boot,
                isSynchronised: look.isSynchronised
            )
            #expect(isBelieved == look.isBelieved, "at \(look.second) s")
            memory = watch.memory
        }
    }

    /// Nothing is remembered: a new catalogue, or an older version before.
    @Test(
        arguments: [
            (0, 100, true), (3600, 0, true), (3601, 0, false), (5 * day, 5 * day, true), (5 * day, 100, false),
            (-5 * day, 100, true),
        ] as [(Int64, Int64, Bool)]
    )
    func whereNothingIsRememberedTheNewestFileCounts(after: Int64, uptime: Int64, isBelieved: Bool) {
        var watch = ClockWatch(lastWrite: UTCTime(nanosecondsSince1970: Self.start))
        let wall = UTCTime(nanosecondsSince1970: Self.start + after * 1_000_000_000)
        #expect(watch.isBelieved(wall: wall, monotonic: .seconds(uptime), isSynchronised: true) == isBelieved)
        #expect(watch.doubt == (isBelieved ? nil : .step))
    }
}
