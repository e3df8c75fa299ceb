// SPDX-License-Identifier: Apache-2.0

import Basics
import FoundationEssentials
import Testing
import Timeline

@Suite struct RecordingHistoryTests {
    private static let second: Int64 = 1_000_000_000
    private static let utc = UTCTime(nanosecondsSince1970: 1_795_230_746 * second)

    private static func utc(after seconds: Int64) -> UTCTime {
        UTCTime(nanosecondsSince1970: Self.utc.nanosecondsSince1970 + seconds * Self.second)
    }

    /// The parts of a history that tests look at; seconds after 100 where it is a time.
    struct Told: Equatable, Sendable {
        var room: String? = "stand/up"
        var host: String? = "a"
        var parts = [[1, 0]]
        var part = 1
        var participants: [Participant] = []
        var stays: [String: [[Int64]]] = [:]
        var arrivals: [String: Int64] = [:]
        var tags = ["weekly"]
        var notes: String? = "With guests"
        var tracks: [Int] = []
        var units: [Int: UInt64] = [:]
        /// The subject, from when, and until when if it ended.
        var pauses: [String] = []
        /// When they ended, and how long they lasted.
        var stalls: [[Int64]] = []
        var isFinished = false
        var endReason: String?
        var isRepaired = false
        var end: UTCTime?

        init() {}

        init(_ history: RecordingHistory) {
            func seconds(_ nanoseconds: Int64) -> Int64 { nanoseconds / second - 100 }
            self.room = history.started?.room
            self.host = history.host
            self.parts = history.parts.map { [$0.number, Int(seconds($0.monotonicNanoseconds))] }
            self.part = history.part
            self.participants = history.roster.participants
            self.stays = history.stays.mapValues { $0.map { [seconds($0.lowerBound), seconds($0.upperBound)] } }
            self.arrivals = history.arrivals.mapValues(seconds)
            self.tags = history.tags
            self.notes = history.notes
            self.tracks = history.tracks.map(\.record.track)
            self.units = history.closed.mapValues(\.units)
            self.pauses = history.pauses.map { pause in
                let end = pause.endNanoseconds == .max ? "" : "\(seconds(pause.endNanoseconds))"
                return "\(pause.media?.rawValue ?? "all") \(seconds(pause.startNanoseconds))-\(end)"
            }
            self.stalls = history.stalls.map { [seconds($0.endNanoseconds), $0.nanoseconds / second] }
            self.isFinished = history.isFinished
            self.endReason = history.endReason
            self.isRepaired = history.isRepaired
            self.end = history.end
        }
    }

    /// Records that follow the beginning, a second apart, and how they change the history.
    struct Row: Sendable, CustomTestStringConvertible {
        var testDescription: String
        var records: [JournalRecord]
        var change: @Sendable (inout Told) -> Void

        init(_ name: String, _ records: [JournalRecord], _ change: @escaping @Sendable (inout Told) -> Void = { _ in })
        {
            (self.testDescription, self.records, self.change) = (name, records, change)
        }
    }

    private static let started = JournalRecord.recordingStarted(
        RecordingStarted(
            room: "stand/up",
            id: "x",
            host: "a",
            utc: utc,
            series: "x",
            segment: 1,
            tags: ["weekly"],
            notes: "With guests"
        )
    )

    private static func joined(_ name: String? = nil) -> JournalRecord {
        .participantJoined(ParticipantJoined(participant: "p", name: name))
    }

    private static let left = JournalRecord.participantLeft(ParticipantLeft(participant: "p"))

    private static func opened(_ track: Int) -> JournalRecord {
        .trackOpened(
            TrackOpened(
                track: track,
                participant: "q",
                media: .video,
                codec: "vp8",
                clockRateHz: 90_000,
                file: "tracks/\(track).mkv",
                firstRTPTime: 0
            )
        )
    }

    private static func closed(_ track: Int, units: UInt64) -> JournalRecord {
        .trackClosed(
            TrackClosed(track: track, units: units, bytes: 9, keyframes: 1, lastRTPTime: 0, reason: "end")
        )
    }

    private static func marker(_ name: String, track: Int? = nil, lasted: Int64? = nil) -> JournalRecord {
        .marker(Marker(name: name, track: track, lastedNanoseconds: lasted.map { $0 * second }))
    }

    private static func finished(_ reason: String) -> JournalRecord {
        .recordingFinished(RecordingFinished(reason: reason))
    }

    private static func part(_ number: Int, after seconds: Int64) -> JournalRecord {
        .partStarted(PartStarted(part: number, host: "b", utc: utc(after: seconds)))
    }

    static let rows: [Row] = [
        Row("a beginning alone", []),
        Row("a second beginning is of the next segment", [finished("segment"), started]) {
            $0.endReason = "segment"
        },
        Row("a part", [part(2, after: 30)]) {
            ($0.host, $0.part, $0.parts, $0.end) = ("b", 2, [[1, 0], [2, 1]], utc(after: 30))
        },
        Row("a part with the number of another", [part(2, after: 1), part(2, after: 2)]) {
            ($0.host, $0.part, $0.parts) = ("b", 3, [[1, 0], [2, 1], [2, 2]])
        },
        Row("a part of a recording that was over", [finished("moved"), part(2, after: 2)]) {
            ($0.host, $0.part, $0.parts, $0.endReason) = ("b", 2, [[1, 0], [2, 2]], "moved")
        },
        Row("a participant joins", [joined()]) {
            ($0.participants, $0.arrivals) = ([Participant(id: "p")], ["p": 1])
        },
        Row("a participant tells its name later", [joined(), joined("Ann"), joined()]) {
            ($0.participants, $0.arrivals) = ([Participant(id: "p", name: "Ann")], ["p": 1])
        },
        Row("a participant leaves and comes again", [joined(), left, joined()]) {
            ($0.participants, $0.stays, $0.arrivals) = ([Participant(id: "p")], ["p": [[1, 2]]], ["p": 3])
        },
        Row("a participant leaves that never came", [left]),
        Row("a stay goes over a part", [joined(), part(2, after: 2), joined(), left]) {
            ($0.participants, $0.stays) = ([Participant(id: "p")], ["p": [[1, 4]]])
            ($0.host, $0.part, $0.parts) = ("b", 2, [[1, 0], [2, 2]])
        },
        Row("tracks open", [opened(2), opened(1)]) {
            ($0.participants, $0.tracks) = ([Participant(id: "q")], [2, 1])
        },
        Row("a track opens twice", [opened(1), opened(1)]) {
            ($0.participants, $0.tracks) = ([Participant(id: "q")], [1, 1])
        },
        Row("a track closes", [opened(1), closed(1, units: 7)]) {
            ($0.participants, $0.tracks, $0.units) = ([Participant(id: "q")], [1], [1: 7])
        },
        Row("a track closes that never opened", [closed(.min, units: .max)]) { $0.units = [.min: .max] },
        Row("tags change", [.detailsChanged(DetailsChanged(tags: []))]) { $0.tags = [] },
        Row("notes change", [.detailsChanged(DetailsChanged(notes: ""))]) { $0.notes = nil },
        Row("a pause ends", [marker("paused"), marker("paused"), marker("resumed")]) {
            $0.pauses = ["all 1-3"]
        },
        Row("a microphone and a camera are off", [marker("muted"), marker("camera-off"), marker("unmuted")]) {
            $0.pauses = ["audio 1-3", "video 2-"]
        },
        Row("what was not off comes on", [marker("unmuted"), marker("camera-on"), marker("resumed")]),
        Row("one track is off, and another comes on", [marker("muted", track: 4), marker("unmuted", track: 5)]) {
            $0.pauses = ["audio 1-"]
        },
        Row(
            "a participant leaves with the microphone off",
            [joined(), .marker(Marker(name: "muted", participant: "p")), marker("camera-off"), left]
        ) {
            ($0.participants, $0.stays) = ([Participant(id: "p")], ["p": [[1, 4]]])
            $0.pauses = ["audio 2-4", "video 3-"]
        },
        Row("the recorder stands still", [marker("stalled", lasted: 5), marker("stalled"), marker("mark")]) {
            $0.stalls = [[1, 5]]
        },
        Row("the end", [finished("stopped")]) { ($0.isFinished, $0.endReason) = (true, "stopped") },
        Row("a repair", [finished("repaired")]) {
            ($0.isFinished, $0.endReason, $0.isRepaired) = (true, "repaired", true)
        },
        Row(
            "records of which only the time counts",
            [
                .senderReport(SenderReport(track: 1, ssrc: 1, rtpTimestamp: 1, ntpTime: 1)),
                .clockAnchor(ClockAnchor(track: 1, rtpTime: 1)),
                .formatChanged(FormatChanged(track: 1, rtpTime: 1, width: 2, height: 2, parameterSets: true)),
                .packetsCounted(PacketsCounted(track: 1, received: 1, lost: 1)),
                .sourceCounted(
                    SourceCounted(
                        connection: 1,
                        ssrc: 1,
                        participant: "s",
                        media: nil,
                        tracks: [1],
                        received: 1,
                        recorded: 1,
                        isFinal: true
                    )
                ),
                .mediaRefused(MediaRefused(participant: "m", media: .video, reason: "codec")),
                .trackDamaged(TrackDamaged(track: 1, rtpTime: 1, lostPackets: 1)),
                .trackMended(TrackMended(track: 1, rtpTime: 1, units: 1)),
                .chatMessage(ChatMessage(participant: "c", text: "Hello")),
            ]
        ),
    ]

    @Test(arguments: rows) func aRecordChangesTheHistory(row: Row) {
        var history = RecordingHistory()
        var expected = Told()
        for (index, record) in ([Self.started] + row.records).enumerated() {
            history.take(JournalEntry(record, monotonicNanoseconds: (100 + Int64(index)) * Self.second))
        }
        expected.end = Self.utc(
            after: row.records.last.map { record in
                if case .recordingStarted = record { 1 } else { Int64(row.records.count) }
            } ?? 0
        )
        row.change(&expected)
        #expect(Told(history) == expected)
        #expect(history.lastNanoseconds == (100 + Int64(row.records.count)) * Self.second)
    }

    private struct Kind: Decodable {
        var kind: String
    }

    @Test func theTableHasEveryKindOfRecord() throws {
        let kinds = try (Self.rows.flatMap(\.records) + [Self.started]).map { record in
            let json = try JSONEncoder().encode(JournalEntry(record, monotonicNanoseconds: 0))
            return try JSONDecoder().decode(Kind.self, from: json).kind
        }
        #expect(Set(kinds).count == 18)
    }

    @Test func aJournalWithoutABeginningStillTells() {
        var history = RecordingHistory()
        for (index, record) in [Self.joined(), Self.part(4, after: 60), Self.opened(3)].enumerated() {
            history.take(JournalEntry(record, monotonicNanoseconds: (100 + Int64(index)) * Self.second))
        }
        #expect(history.started == nil && history.parts.isEmpty && history.part == 4 && history.host == "b")
        #expect(history.roster.participants.map(\.id) == ["p", "q"] && history.tracks.map(\.part) == [4])
        #expect(history.end == Self.utc(after: 61))
        #expect(RecordingHistory().latestNanoseconds == nil && RecordingHistory().end == nil)
    }

    @Test func aTrackThatWasNeverClosedHasNothingInItsFile() {
        var history = RecordingHistory()
        var unknown = TrackOpened(
            track: 3,
            participant: "q",
            media: .video,
            codec: "hologram",
            clockRateHz: 90_000,
            file: "tracks/3.mkv",
            firstRTPTime: 0
        )
        for record in [Self.opened(1), Self.opened(2), Self.closed(1, units: 7), .trackOpened(unknown)] {
            history.take(JournalEntry(record, monotonicNanoseconds: 0))
        }
        let tracks = history.recordedTracks
        #expect(tracks.map(\.units) == [7, 0] && tracks.map(\.keyframes) == [1, 0] && tracks[0].bytes == 9)
        #expect(tracks.allSatisfy { $0.codec == .vp8 && $0.media == .video })
        unknown.codec = "opus"
        history.take(JournalEntry(.trackOpened(unknown), monotonicNanoseconds: 0))
        #expect(history.recordedTracks.map(\.media) == [.video, .video, .audio])
    }

    @Test func aTimeAloneTellsNothingElse() {
        var history = RecordingHistory()
        history.take(JournalEntry(Self.started, monotonicNanoseconds: 100 * Self.second))
        history.noteTime(of: JournalEntry(Self.finished("end"), monotonicNanoseconds: 160 * Self.second))
        #expect(!history.isFinished && history.end == Self.utc(after: 60))
        history.take(JournalEntry(Self.joined(), monotonicNanoseconds: 130 * Self.second))
        #expect(history.end == Self.utc(after: 60) && history.latestNanoseconds == 160 * Self.second)
        #expect(history.lastNanoseconds == 130 * Self.second)
    }

    @Test func aPartBeginsNoEarlierThanTheRecordsBeforeIt() {
        var history = RecordingHistory()
        history.take(JournalEntry(Self.started, monotonicNanoseconds: 100))
        history.take(JournalEntry(Self.joined(), monotonicNanoseconds: 500))
        history.take(JournalEntry(Self.part(2, after: 0), monotonicNanoseconds: 300))
        #expect(history.parts.map(\.monotonicNanoseconds) == [100, 500])
    }

    @Test func extremeNumbersDoNotTrap() {
        var history = RecordingHistory()
        let times: [Int64] = [.min, .max, 0, .min, .max]
        let records = [Self.started, Self.part(.max, after: 0), Self.part(.min, after: 0), Self.joined(), Self.left]
        for (record, time) in zip(records, times) { history.take(JournalEntry(record, monotonicNanoseconds: time)) }
        #expect(history.part == .max && history.parts.count == 3 && history.stays["p"] == [.min..<Int64.max])
    }

    @Test func listsAreBounded() {
        var history = RecordingHistory()
        for index in 0..<12_000 as Range<Int64> {
            history.take(JournalEntry(Self.joined(), monotonicNanoseconds: 2 * index))
            history.take(JournalEntry(Self.left, monotonicNanoseconds: 2 * index + 1))
            history.take(JournalEntry(Self.marker("stalled", lasted: 1), monotonicNanoseconds: 2 * index))
        }
        #expect(history.stays["p"]?.count == 10_000 && history.stalls.count == 1_000)
    }

    @Test(
        arguments: [
            ("paused", nil, nil, true), ("muted", nil, nil, true), ("camera-off", nil, nil, false),
            ("muted", 1, "p", true), ("muted", 2, nil, false), ("paused", nil, "q", false),
        ] as [(String, Int?, String?, Bool)]
    )
    func aPauseConcernsTheAudioOfATrack(name: String, track: Int?, participant: String?, expected: Bool) throws {
        var history = RecordingHistory()
        let marker = Marker(name: name, participant: participant, track: track)
        history.take(JournalEntry(.marker(marker), monotonicNanoseconds: 0))
        #expect(try #require(history.pauses.first).concerns(1, of: "p", .audio) == expected)
    }
}
