// SPDX-License-Identifier: Apache-2.0

import Signalling
import Testing

@Suite struct ReconnectScheduleTests {
    static let down = SignallingError(.unreachable, "down", blame: .network)
    static let refused = SignallingError(.refused, "no", blame: .peer)
    static let invalid = SignallingError(.invalidURL, "no room", blame: .configuration)
    static let tls = SignallingError(.tlsFailed, "expired", blame: .configuration)

    @Test func waitsAreSpreadByAFifth() {
        #expect(JoinPolicy.spread(.seconds(100), random: 0) == .seconds(80))
        #expect(JoinPolicy.spread(.seconds(100), random: 0.5) == .seconds(100))
        #expect(JoinPolicy.spread(.seconds(100), random: 1) == .seconds(120))
        #expect(JoinPolicy.spread(.seconds(100), random: 7) == .seconds(120))
        #expect(JoinPolicy.spread(.seconds(86_400), random: -1) == .seconds(69_120))
    }

    @Test func countedPolicyEnds() {
        var schedule = ReconnectSchedule(policy: .oneShot)
        for _ in 0..<4 {
            #expect(schedule.delay(after: Self.down, joinedFor: nil, random: 0.5) == .seconds(1))
        }
        #expect(schedule.delay(after: Self.down, joinedFor: nil, random: 0.5) == nil)
        #expect(schedule.failedAttempts == 5)
        #expect(schedule.isSpent)
    }

    @Test func countedPolicyGoesOnAfterJoining() {
        var schedule = ReconnectSchedule(policy: .oneShot)
        let first = schedule.delay(after: Self.down, joinedFor: .seconds(1), random: 0.5)
        #expect(first == .seconds(1))
        for _ in 0..<3 {
            #expect(schedule.delay(after: Self.down, joinedFor: nil, random: 0.5) == .seconds(1))
            #expect(!schedule.isSpent)
        }
        let later = (0..<12).map { _ in schedule.delay(after: Self.down, joinedFor: nil, random: 0.5) }
        #expect(schedule.isSpent)
        #expect(later[0] == .seconds(1))
        #expect(later[1] == .milliseconds(1500))
        #expect(later[11] == .seconds(30))
        #expect(schedule.delay(after: Self.down, joinedFor: .zero, random: 0.5) == .seconds(1))
        #expect(!schedule.isSpent)
        // A certificate may be renewed, and a reverse proxy may reject everyone while the server behind it restarts.
        #expect(schedule.delay(after: Self.tls, joinedFor: nil, random: 0.5) == .seconds(1))
        #expect(schedule.isSpent)
        #expect(schedule.delay(after: Self.refused, joinedFor: nil, random: 0.5) == .seconds(1))
        #expect(schedule.delay(after: Self.invalid, joinedFor: nil, random: 0.5) == nil)
    }

    @Test func countedPolicyEndsAtHopelessErrors() {
        var schedule = ReconnectSchedule(policy: .oneShot)
        #expect(schedule.delay(after: Self.tls, joinedFor: nil, random: 0.5) == nil)
    }

    @Test func endlessPolicyGrowsAndStartsAnew() {
        var schedule = ReconnectSchedule(policy: .persistent)
        let delays = (0..<12).map { _ in schedule.delay(after: Self.tls, joinedFor: nil, random: 0.5) }
        #expect(delays[0] == .seconds(1))
        #expect(delays[1] == .milliseconds(1500))
        #expect(delays[2] == .milliseconds(2250))
        #expect(delays[11] == .seconds(30))
        #expect(schedule.delay(after: Self.down, joinedFor: .seconds(60), random: 0) == .milliseconds(500))
        #expect(schedule.delay(after: Self.down, joinedFor: nil, random: 1) == .milliseconds(2250))
    }

    @Test func whoWasAMemberIsNotRefusedForGood() {
        for policy in [JoinPolicy.persistent, .oneShot] {
            var schedule = ReconnectSchedule(policy: policy)
            #expect(schedule.delay(after: Self.refused, joinedFor: nil, random: 0.5) == nil)
            _ = schedule.delay(after: Self.down, joinedFor: .seconds(1), random: 0.5)
            let waits = (0..<20).map { _ in schedule.delay(after: Self.refused, joinedFor: nil, random: 0.5) }
            // A proxy takes us after some seconds, or the secret is wrong for good.
            #expect(waits[3] ?? .zero < .seconds(10) && waits.last == .seconds(300), "\(waits)")
        }
    }

    /// Each second out of the room is lost.
    @Test func aServerThatTookUsInBetweenIsAskedAgainSoon() {
        var schedule = ReconnectSchedule(policy: .persistent)
        for _ in 0..<12 { _ = schedule.delay(after: Self.down, joinedFor: nil, random: 0.5) }
        for _ in 0..<3 {
            #expect(schedule.delay(after: Self.down, joinedFor: .seconds(10), random: 0.5) == .microseconds(5_062_500))
        }
        #expect(schedule.delay(after: Self.down, joinedFor: nil, random: 0.5) == .microseconds(7_593_750))
    }
}
