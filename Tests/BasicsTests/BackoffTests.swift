// SPDX-License-Identifier: Apache-2.0

import Basics
import Testing

@Suite struct BackoffTests {
    @Test func doublesUpToTheLongest() {
        let backoff = Backoff(first: .seconds(1), longest: .seconds(10), variation: 1000...1000)
        let waits = (1...6).map { backoff.delay(failures: $0, random: 0.5) }
        #expect(waits == [1, 2, 4, 8, 10, 10].map { .seconds($0) })
        #expect(backoff.delay(failures: 0, random: 0.5) == .seconds(1))
        #expect(backoff.delay(failures: .max, random: 0.5) == .seconds(10))
    }

    @Test func chanceVariesWhatIsBoundedOrIsBoundedItself() {
        var backoff = Backoff(first: .seconds(8), longest: .seconds(10), growth: 1500, variation: 500...1500)
        #expect(backoff.delay(failures: 2, random: 0) == .seconds(5))
        #expect(backoff.delay(failures: 2, random: 1) == .seconds(15))
        backoff.bound = .varied
        #expect(backoff.delay(failures: 2, random: 0) == .seconds(6))
        #expect(backoff.delay(failures: 2, random: 1) == .seconds(10))
    }

    @Test func chanceBeyondItsRangeIsItsEnd() {
        #expect(Duration.seconds(100).varied(by: 750...1250, random: -3) == .seconds(75))
        #expect(Duration.seconds(100).varied(by: 750...1250, random: 3) == .seconds(125))
        #expect(Duration.seconds(100).varied(by: 750...1250, random: 0.5) == .seconds(100))
    }
}
