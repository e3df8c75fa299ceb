// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import Media

@Suite struct EndedCountsTests {
    @Test func countsOfOneParticipantAddUp() {
        var counts = EndedCounts()
        counts.add(3, of: "a")
        counts.add(4, of: "a")
        counts.add(0, of: "b")
        #expect(counts["a"] == 7 && counts["b"] == 0 && counts["c"] == 0)
    }

    @Test func ofSoManyParticipantsAndNoMore() {
        var counts = EndedCounts()
        // A participant that was never refused anything takes no slot.
        for number in 0..<EndedCounts.maximumParticipants { counts.add(0, of: "good \(number)") }
        for number in 0...EndedCounts.maximumParticipants { counts.add(1, of: "\(number)") }
        #expect(counts["0"] == 1 && counts["\(EndedCounts.maximumParticipants)"] == 0)
        counts.add(1, of: "0")
        #expect(counts["0"] == 2)
    }
}
