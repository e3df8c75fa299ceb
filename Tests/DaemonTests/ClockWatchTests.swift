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
}
