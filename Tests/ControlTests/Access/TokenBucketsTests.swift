// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import Control

@Suite struct TokenBucketsTests {
    private func buckets(_ perSecond: Double, _ burst: Double, capacity: Int = 10) -> TokenBuckets<String> {
        TokenBuckets(rate: .init(perSecond: perSecond, burst: burst), capacity: capacity)
    }

    @Test func aBurstPassesAndThenOneEachInterval() {
        var buckets = self.buckets(2, 3)
        for _ in 0..<3 { #expect(buckets.take("a", now: .zero) == nil) }
        #expect(buckets.take("a", now: .zero) == 1)
        #expect(buckets.take("a", now: .milliseconds(499)) == 1)
        #expect(buckets.take("a", now: .milliseconds(500)) == nil)
        #expect(buckets.take("a", now: .milliseconds(500)) == 1)
    }

    @Test func keysDoNotShare() {
        var buckets = self.buckets(1, 1)
        #expect(buckets.take("a", now: .zero) == nil)
        #expect(buckets.take("b", now: .zero) == nil)
        #expect(buckets.take("a", now: .zero) == 1)
    }

    @Test func theWaitIsRoundedUp() {
        var buckets = self.buckets(0.1, 1)
        #expect(buckets.take("a", now: .zero) == nil)
        #expect(buckets.take("a", now: .seconds(1)) == 9)
        #expect(buckets.wait("a", now: .seconds(9.5)) == 1)
        #expect(buckets.wait("a", now: .seconds(10)) == nil)
        #expect(buckets.take("a", now: .seconds(10)) == nil)
    }

    @Test func aBucketIsNeverFullerThanItsBurst() {
        var buckets = self.buckets(100, 2)
        for _ in 0..<2 { #expect(buckets.take("a", now: .seconds(1000)) == nil) }
        #expect(buckets.take("a", now: .seconds(1000)) == 1)
    }

    @Test func timeThatGoesBackTakesNothingAway() {
        var buckets = self.buckets(1, 2)
        #expect(buckets.take("a", now: .seconds(100)) == nil)
        #expect(buckets.take("a", now: .seconds(10)) == nil)
        #expect(buckets.take("a", now: .seconds(10)) == 1)
    }

    @Test func theTableIsBounded() {
        var buckets = self.buckets(1, 1, capacity: 10)
        for number in 0..<1000 { _ = buckets.take("\(number)", now: .zero) }
        #expect(buckets.count <= 10)
        #expect(buckets.take("999", now: .zero) == 1)
        #expect(buckets.take("0", now: .zero) == nil)
    }
}

@Suite struct LeastRecentlyUsedTests {
    @Test func whatIsReadStays() {
        var table = LeastRecentlyUsed<Int, String>(capacity: 3)
        for number in 1...3 { table[number] = "\(number)" }
        #expect(table[1] == "1")
        table[4] = "4"
        #expect(table[2] == nil)
        #expect(table[1] == "1")
        #expect(table[3] == "3")
        #expect(table.count == 3)
    }

    @Test func writingAgainKeepsTheSize() {
        var table = LeastRecentlyUsed<Int, Int>(capacity: 2)
        for number in 0..<100 { table[number % 2] = number }
        #expect(table.count == 2)
        #expect(table[1] == 99)
        table[1] = nil
        #expect(table.count == 1)
    }
}
