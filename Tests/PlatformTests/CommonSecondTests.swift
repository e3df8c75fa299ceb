// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import Platform

@Suite struct CommonSecondTests {
    /// Who asks within a second gets the same instant, and who was just woken, early or late, the one after that.
    @Test(arguments: [
        (0, 1), (1, 1), (499, 1), (500, 2), (999, 2), (1000, 2), (1003, 2), (1499, 2), (1500, 3), (86_400_100, 86_401),
    ])
    func theNextSecondIsThatOfAll(elapsed milliseconds: Int, next seconds: Int) {
        #expect(CommonSecond.next(after: .milliseconds(milliseconds)) == .seconds(seconds))
    }
}
