// SPDX-License-Identifier: Apache-2.0

import Basics
import Matroska
import Recording
import Testing

/// The effect of `storage.synchronise_every`: how often a recording is forced to the disk.
@Suite struct SynchroniseTests {
    @Test func aShortIntervalIsFollowedByRoundAfterRound() {
        let feed = RecordingFeed { $0.synchroniseEvery = .nanoseconds(1) }
        feed.push(feed.open(.vp8), FedUnit.keyframe(), at: 0)
        for time in 1...5 as ClosedRange<Int64> { feed.tick(at: time * 50) }
        #expect(feed.synchronisations == 5)
        feed.end()
    }

    @Test func aLongIntervalIsWaitedFor() {
        let feed = RecordingFeed { $0.synchroniseEvery = .seconds(1_000_000_000) }
        feed.push(feed.open(.vp8), FedUnit.keyframe(), at: 0)
        for time in 1...5 as ClosedRange<Int64> { feed.tick(at: time * 50) }
        // It was not due yet when the recording began: the clock is that of the machine's start.
        #expect(feed.synchronisations == 0)
        feed.end()
    }

    @Test func aRoundIsWaitedFor() throws {
        let feed = RecordingFeed { $0.synchroniseEvery = .nanoseconds(1) }
        feed.push(feed.open(.vp8), FedUnit.keyframe(), at: 0)
        feed.go(to: 1)
        feed.session.tick(droppedUnits: 0)
        var actions: [RecordingAction] = []
        feed.session.takeActions(into: &actions)
        let rounds = actions.compactMap { if case .synchronise(let round) = $0 { round } else { nil } }
        let round = try #require(rounds.first)
        #expect(rounds.count == 1)
        #expect(round.perform().isEmpty)
        for time in 2...5 as ClosedRange<Int64> { feed.tick(at: time * 50) }
        #expect(feed.synchronisations == 0, "the round is not over")
        feed.tell { $0.synchronised(failures: [], cost: .milliseconds(249)) }
        // It rests ten times as long.
        feed.tick(at: 2700)
        #expect(feed.synchronisations == 0)
        feed.tick(at: 2800)
        #expect(feed.synchronisations == 1)
        feed.end()
    }
}
