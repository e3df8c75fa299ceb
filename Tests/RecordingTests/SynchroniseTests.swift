// SPDX-License-Identifier: Apache-2.0

import Basics
import Glibc
import Matroska
import Storage
import Testing

@testable import Recording

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

    /// A journal mentions files: they are on the disk before it is.
    @Test func tracksAreForcedBeforeTheJournalAndFailuresAreOfTheirFiles() throws {
        let feed = RecordingFeed { $0.synchroniseEvery = .seconds(1_000_000_000) }
        feed.push(feed.open(.vp8), FedUnit.keyframe(), at: 0)
        let found = feed.session.recording
        let recording = try #require(found)
        let round = SynchronisationRound(recordings: [feed.session.files(of: recording)])
        let tracks = round.begin()
        #expect(tracks.files.map(\.path).map { $0.contains("/tracks/") } == [true])
        guard case .step(let journal) = tracks.next([EIO]) else { return #expect(Bool(false), "the journal is left") }
        #expect(journal.files.map(\.path) == [recording.folder.journalPath])
        guard case .over(let failures) = journal.next([ENOSPC]) else { return #expect(Bool(false), "it is over") }
        #expect(failures.map(\.error.part) == [.track(1), .journal])
        #expect(failures.map(\.error.cause.code) == [.inputOutput, .noSpace])
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
