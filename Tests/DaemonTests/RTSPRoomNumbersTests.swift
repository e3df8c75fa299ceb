// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import Daemon

@Suite
struct RTSPRoomNumbersTests {
    @Test
    func aRoomKeepsItsNumber() {
        var numbers = RTSPRoomNumbers(limit: 3)
        #expect(["a", "b", "a", "c"].map { numbers.number(of: $0) } == [0, 1, 0, 2])
        #expect(numbers.number(of: "d") == nil)
        #expect(numbers.number(of: "b") == 1)
    }

    @Test
    func aNumberIsGivenAgainAsLateAsPossible() {
        var numbers = RTSPRoomNumbers(limit: 4)
        #expect(numbers.number(of: "a") == 0)
        numbers.forget("a")
        #expect(["b", "c", "d"].map { numbers.number(of: $0) } == [1, 2, 3])
        #expect(numbers.number(of: "e") == 0)
        numbers.forget("c")
        numbers.forget("nobody")
        #expect(numbers.number(of: "f") == 2)
    }

    /// Rooms that are added and removed for weeks.
    @Test
    func roomsThatComeAndGoNeverUseUpTheNumbers() {
        var numbers = RTSPRoomNumbers()
        #expect(numbers.number(of: "stays") == 0)
        for round in 0..<200_000 {
            guard let number = numbers.number(of: "room\(round)"), number > 0 else {
                Issue.record("no number in round \(round)")
                return
            }
            numbers.forget("room\(round)")
        }
        #expect(numbers.number(of: "stays") == 0)
    }
}
