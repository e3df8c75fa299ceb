// SPDX-License-Identifier: Apache-2.0

import Model
import Testing

@testable import Worker

struct RoomStatusTests {
    /// In a call of weeks, those who were there from the beginning are not forgotten for those who came and left.
    @Test(arguments: [
        ([1, 2], 3, [6]), ([1, 2], 2, []), ([], 2, [5, 6]), ([6], 4, [3, 4, 5]),
    ])
    func openTracksComeFirst(open: [Int], most: Int, others: [Int]) {
        let listed = RoomStatus.listed(Array(1...6), isOpen: open.contains, most: most)
        #expect(listed == (open + others).sorted())
    }

    @Test func thereIsABoundForThemAsWell() {
        #expect(RoomStatus.listed(Array(1...6), isOpen: { _ in true }, most: 4) == [3, 4, 5, 6])
    }
}
