// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import Media

struct CaptureLivenessTests {
    private static func source(isHidden: Bool, limit: UInt64 = 100) -> CaptureLiveness {
        CaptureLiveness(isHidden: isHidden, count: 5, now: 1000, patience: 10, firstPatience: 30, limit: limit)
    }

    @Test
    func aShownSourceIsHiddenWhenItsPauseIsTooLong() {
        var source = Self.source(isHidden: false)
        #expect(source.look(count: 5, now: 1029) == .unchanged)
        #expect(!source.hasGiven)
        #expect(source.look(count: 6, now: 1029) == .unchanged)
        #expect(source.hasGiven)
        #expect(source.look(count: 6, now: 1038) == .unchanged)
        #expect(source.look(count: 6, now: 1039) == .silent)
        #expect(source.isHidden)
    }

    @Test
    func aHiddenSourceIsShownWithItsFirstBuffer() {
        var source = Self.source(isHidden: true)
        #expect(source.look(count: 5, now: 1050) == .unchanged)
        #expect(source.look(count: 6, now: 1051) == .gives)
        #expect(!source.isHidden && source.hasGiven)
        // From here on its media are counted elsewhere.
        source.moved(count: 900)
        #expect(source.look(count: 900, now: 1060) == .unchanged)
        #expect(source.look(count: 900, now: 1061) == .silent)
        source.moved(count: 0)
        #expect(source.look(count: 1, now: 1062) == .gives)
    }

    @Test
    func aHiddenSourceIsStuckAtItsLimitCountedFromTheHiding() {
        var source = Self.source(isHidden: false)
        #expect(source.look(count: 5, now: 1029) == .unchanged)
        #expect(source.look(count: 5, now: 1030) == .silent)
        #expect(source.look(count: 5, now: 1129) == .unchanged)
        #expect(source.look(count: 5, now: 1130) == .stuck)
        #expect(source.look(count: 5, now: 1131) == .stuck)
        #expect(source.look(count: 6, now: 1132) == .gives)
    }

    @Test
    func clocksThatStandStillHideNothing() {
        var shown = Self.source(isHidden: false)
        #expect(shown.look(count: 5, now: 0) == .unchanged)
    }
}
