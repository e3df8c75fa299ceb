// SPDX-License-Identifier: Apache-2.0

import Basics
import Foundation
import Model
import Storage
import Testing
import Timeline

@testable import Daemon

@Suite struct RecordingTimelineTests {
    private typealias Span = RecordingTimeline.Span

    /// A recording that began 100 s after its host, and whose first unit came 2 s later.
    private static func folder(_ records: [(Double, JournalRecord)]) throws -> RecordingFolder {
        let storage = FileManager.default.temporaryDirectory.path + "/tapedeck-timeline-\(RecordingID.random())"
        let start = UTCTime(nanosecondsSince1970: 1_795_230_746_000_000_000)
        let folder = try RecordingFolder.create(storage: storage, room: "standup", start: start)
        let journal = try JournalWriter(folder: folder)
        let started = RecordingStarted(room: "standup", id: folder.id.rawValue, host: "here", utc: start)
        for (seconds, record) in [(0, .recordingStarted(started))] + records {
            try journal.append(record, monotonicNanoseconds: Int64((100 + seconds) * 1e9))
        }
        return folder
    }

    private static func opened(_ track: Int, _ participant: String) -> JournalRecord {
        .trackOpened(
            TrackOpened(
                track: track,
                participant: participant,
                media: .video,
                codec: "vp8",
                clockRateHz: 90_000,
                file: "tracks/\(track).mkv",
                firstRTPTime: 0
            )
        )
    }

    private static let records: [(Double, JournalRecord)] = [
        (1, .participantJoined(ParticipantJoined(participant: "x1", name: "Ann"))),
        (2, Self.opened(1, "x1")),
        (12, .participantJoined(ParticipantJoined(participant: "x2", name: "Bob"))),
        (22, .marker(Marker(name: "mark", text: "the decision"))),
        (32, .participantLeft(ParticipantLeft(participant: "x2"))),
        (42, .marker(Marker(name: "stalled", lastedNanoseconds: 5_000_000_000))),
        (62, .recordingFinished(RecordingFinished(reason: "stopped"))),
    ]

    private static func timeline(
        _ records: [(Double, JournalRecord)],
        _ manifest: (RecordingFolder) -> Manifest? = { _ in nil }
    ) throws -> RecordingTimeline {
        let folder = try Self.folder(records)
        defer { try? FileManager.default.removeItem(atPath: folder.path) }
        let course = try RecordingCourse(folder)
        return RecordingTimeline(course, manifest(folder), shown: course.history.roster.shown)
    }

    @Test func theJournalTellsWhoWasThereAndWhatHappened() throws {
        let timeline = try Self.timeline(Self.records)
        #expect(timeline.durationSeconds == 60)
        #expect(
            timeline.participants == [
                .init(id: "x1", name: "Ann", present: [Span(from: 0, to: 60)]),
                .init(id: "x2", name: "Bob", present: [Span(from: 10, to: 30)]),
            ]
        )
        #expect(
            timeline.events == [
                .init(at: 0, kind: "joined", name: "Ann"), .init(at: 10, kind: "joined", name: "Bob"),
                .init(at: 20, kind: "mark", text: "the decision"), .init(at: 30, kind: "left", name: "Bob"),
                // It is told when it is over.
                .init(at: 35, kind: "stalled"),
            ]
        )
    }

    @Test func theManifestTellsGapsAndSpeakers() throws {
        let timeline = try Self.timeline(Self.records) { folder in
            var track = Certificate.Track(number: 1, file: "tracks/1.mkv", participant: "x1", name: "Ann", codec: .vp8)
            track.gaps.note(.init(startNanoseconds: 5_000_000_000, durationNanoseconds: 2_000_000_000))
            // Longer than the recording.
            track.gaps.note(.init(startNanoseconds: 49_000_000_000, durationNanoseconds: .max))
            var certificate = Certificate()
            certificate.durationNanoseconds = 50_000_000_000
            certificate.tracks = [track]
            var manifest = Manifest(room: "standup", id: folder.id, verdict: .completeWithGaps)
            manifest.certificate = certificate
            manifest.speakers = [
                SpeakingTurn(participant: "x2", startNanoseconds: 11_000_000_000, durationNanoseconds: 4_000_000_000)
            ]
            return manifest
        }
        #expect(timeline.durationSeconds == 50)
        #expect(timeline.participants.map(\.speaks) == [[], [Span(from: 11, to: 15)]])
        let gaps = timeline.participants.map(\.gaps)
        #expect(gaps.first?.first == Span(from: 5, to: 7) && gaps.last == [])
        #expect(gaps.joined().allSatisfy { $0.from < $0.to && $0.to <= 50 })
    }

    @Test(arguments: [-1e9, 9e9])
    func timesThatCannotBeStayInside(seconds: Double) throws {
        let wrong: [(Double, JournalRecord)] = [
            (2, Self.opened(1, "x1")), (seconds, .participantJoined(ParticipantJoined(participant: "x3"))),
            (seconds, .marker(Marker(name: "mark", text: "?"))),
        ]
        let timeline = try Self.timeline(wrong)
        let range = 0...timeline.durationSeconds
        #expect(timeline.events.allSatisfy { range.contains($0.at) })
        #expect(
            timeline.participants.flatMap(\.present).allSatisfy { range.contains($0.from) && range.contains($0.to) }
        )
    }

    @Test func aRecordingWithoutAJournalHasAnEmptyTimeline() throws {
        let folder = try Self.folder([])
        defer { try? FileManager.default.removeItem(atPath: folder.path) }
        try FileManager.default.removeItem(atPath: folder.journalPath)
        let course = try RecordingCourse(folder)
        let timeline = RecordingTimeline(course, nil, shown: course.history.roster.shown)
        #expect(timeline == RecordingTimeline(durationSeconds: 0, participants: [], events: []))
    }
}
