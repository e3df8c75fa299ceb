// SPDX-License-Identifier: Apache-2.0

import Basics
import Storage
import TestSupport
import Testing
import Timeline

@testable import Recording

@Suite struct NamedParticipantsTests {
    private func names(_ feed: RecordingFeed) throws -> [String] {
        try Journal.entries(of: try #require(feed.folders.first)).compactMap { entry in
            guard case .participantJoined(let record) = entry.record else { return nil }
            return "\(record.participant) \(record.name ?? "-")"
        }
    }

    private func files(_ feed: RecordingFeed) throws -> [String] {
        try Journal.entries(of: try #require(feed.folders.first)).compactMap { entry in
            guard case .trackOpened(let record) = entry.record else { return nil }
            return "\(record.participant) \(record.file)"
        }
    }

    private func push(_ feed: RecordingFeed, _ participant: String, connection: UInt64) {
        let track = feed.open(.opus, participant: participant, ssrc: UInt32(connection), connection: connection)
        feed.push(track, FedUnit.opus, at: Int64(connection), rateHz: 48_000)
    }

    @Test func filesAndStatusHaveNamesAndTheJournalHasIDs() throws {
        let feed = RecordingFeed()
        for (id, name) in [("x1", "Ann"), ("x2", "Ann"), ("x3", "Zoë"), ("x4", "Ольга"), ("x6", "../é\u{301}/..")] {
            feed.tell { $0.participantNamed(id, name) }
        }
        for number in UInt64(1)...6 { self.push(feed, "x\(number)", connection: number) }
        #expect(
            feed.status.tracks.map(\.shownName) == ["Ann", "Ann (2)", "Zoë", "Ольга", "x5", "../é\u{301}/.."]
        )
        #expect(feed.status.tracks.map(\.participant) == (1...6).map { "x\($0)" })
        feed.end()
        #expect(
            try self.files(feed) == [
                "x1 tracks/001-Ann-audio.mka", "x2 tracks/002-Ann_2-audio.mka", "x3 tracks/003-Zoe-audio.mka",
                "x4 tracks/004-x4-audio.mka", "x5 tracks/005-x5-audio.mka", "x6 tracks/006-e-audio.mka",
            ]
        )
    }

    @Test func aNameThatComesLaterIsJournalled() throws {
        let feed = RecordingFeed()
        self.push(feed, "x1", connection: 1)
        #expect(feed.status.tracks.map(\.shownName) == ["x1"])
        feed.tell { $0.participantNamed("x1", "Ann") }
        feed.tell { $0.participantNamed("x1", "Ann") }
        #expect(feed.status.tracks.map(\.shownName) == ["Ann"])
        feed.tell { $0.connectionClosed(1, reason: "left") }
        #expect(feed.status.tracks.map(\.shownName) == ["Ann"])
        feed.end()
        #expect(try self.names(feed) == ["x1 -", "x1 Ann"])
    }

    @Test func whoChangesNamesAllTheTimeDoesNotFillTheJournal() throws {
        let feed = RecordingFeed()
        self.push(feed, "x1", connection: 1)
        for number in 0..<1000 { feed.tell { $0.participantNamed("x1", "Ann \(number)") } }
        feed.end()
        #expect(try self.names(feed).count == 33)
    }

    @Test func whoeverGoesOnWithARecordingKnowsItsPeople() throws {
        let first = RecordingFeed()
        first.tell { $0.participantNamed("x1", "Ann") }
        self.push(first, "x1", connection: 1)
        let path = try #require(first.folders.first).path
        // Its process ends: the journal is let go.
        first.session = RecordingSession(settings: RecorderSettings(storage: first.storage, room: "r", host: "h")) { 0 }
        let next = RecordingFeed(storage: first.storage) { $0.continues = path }
        next.tell { $0.participantNamed("x2", "Ann") }
        self.push(next, "x2", connection: 2)
        next.end()
        #expect(try self.files(next) == ["x1 tracks/001-Ann-audio.mka", "x2 tracks/002-Ann_2-audio.mka"])
        withExtendedLifetime(first) {}
    }
}
