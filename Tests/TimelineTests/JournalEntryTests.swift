// SPDX-License-Identifier: Apache-2.0

import Basics
import FoundationEssentials
import Testing
import Timeline

@Suite struct JournalEntryTests {
    private static let records: [JournalRecord] = [
        .recordingStarted(
            RecordingStarted(room: "a/b", id: "x", host: "h", utc: UTCTime(nanosecondsSince1970: 1_234_567_890_123))
        ),
        .participantJoined(ParticipantJoined(participant: "p", name: "Ål ice")),
        .participantJoined(ParticipantJoined(participant: "")),
        .participantLeft(ParticipantLeft(participant: "p", reason: "gone")),
        .trackOpened(
            TrackOpened(
                track: 1,
                participant: "p",
                media: .video,
                codec: "vp8",
                clockRateHz: 90_000,
                ssrc: .max,
                payloadType: 96,
                mid: "0",
                layer: TrackLayer(recorded: nil, offered: ["f", "q"]),
                file: "tracks/1.mkv",
                firstRTPTime: .min
            )
        ),
        .senderReport(SenderReport(track: 1, ssrc: .max, rtpTimestamp: .max, ntpTime: .max)),
        .clockAnchor(ClockAnchor(track: 1, rtpTime: .max)),
        .formatChanged(FormatChanged(track: 1, rtpTime: 9, width: 640, height: nil, parameterSets: true, changes: 3)),
        .formatChanged(
            FormatChanged(track: 1, rtpTime: 9, width: nil, height: 9, parameterSets: false, rotation: .threeQuarters)
        ),
        .packetsCounted(PacketsCounted(track: 1, received: .max, lost: -3)),
        .trackClosed(TrackClosed(track: 1, units: 3, bytes: 4, keyframes: 1, lastRTPTime: 5, reason: "left")),
        .trackClosed(
            TrackClosed(track: 1, units: 3, bytes: 4, keyframes: 1, lastRTPTime: 5, reason: "left", packets: 9)
        ),
        .sourceCounted(
            SourceCounted(
                connection: 1,
                ssrc: .max,
                participant: "p",
                media: nil,
                tracks: [],
                received: 9,
                before: 1,
                recorded: 1,
                empty: 1,
                waiting: 1,
                refused: Dictionary(
                    uniqueKeysWithValues: RefusalReason.allCases.map {
                        ($0, RefusedPackets(packets: 5, nanoseconds: 2))
                    }
                ),
                isFinal: true
            )
        ),
        .recordingStarted(
            RecordingStarted(
                room: "r",
                id: "y",
                host: "h",
                utc: UTCTime(nanosecondsSince1970: 0),
                series: "x",
                segment: 2,
                tags: ["board"],
                notes: "second"
            )
        ),
        .mediaRefused(MediaRefused(participant: "p", media: .video, reason: "no codec")),
        .mediaRefused(
            MediaRefused(participant: "p", media: .audio, reason: "no path", awaitedNanoseconds: 30_000_000_000)
        ),
        .trackDamaged(TrackDamaged(track: 1, rtpTime: .min, lostPackets: .max)),
        .trackMended(TrackMended(track: 1, rtpTime: .max, units: 7)),
        .chatMessage(ChatMessage(participant: "p", text: "one\ntwo")),
        .chatMessage(ChatMessage(participant: "p", text: "three", label: "chat")),
        .detailsChanged(DetailsChanged(tags: [], notes: "…")),
        .marker(Marker(name: "muted", participant: "p", track: 1, text: "line\nbreak")),
        .recordingFinished(RecordingFinished(reason: "interrupted")),
    ]

    @Test(arguments: Self.records)
    func returnsFromJSONOnOneLine(record: JournalRecord) throws {
        let entry = JournalEntry(record, monotonicNanoseconds: .max)
        let data = try JSONEncoder().encode(entry)
        #expect(!data.contains(UInt8(ascii: "\n")))
        #expect(try JSONDecoder().decode(JournalEntry.self, from: data) == entry)
    }

    @Test func keepsItsKeys() throws {
        let encoder = JSONEncoder()
        encoder.outputFormatting = .sortedKeys
        let report = JournalEntry(
            .senderReport(SenderReport(track: 1, ssrc: 2, rtpTimestamp: 3, ntpTime: 4)),
            monotonicNanoseconds: 5
        )
        #expect(
            String(decoding: try encoder.encode(report), as: UTF8.self)
                == #"{"at":5,"kind":"sender-report","ntp":4,"rtp":3,"ssrc":2,"track":1,"v":1}"#
        )
        let opened = JournalEntry(
            .trackOpened(
                TrackOpened(
                    track: 1,
                    participant: "p",
                    media: .audio,
                    codec: "opus",
                    clockRateHz: 48_000,
                    channels: 2,
                    ssrc: 7,
                    payloadType: 111,
                    mid: "0",
                    file: "f",
                    firstRTPTime: 6
                )
            ),
            monotonicNanoseconds: 5
        )
        #expect(
            String(decoding: try encoder.encode(opened), as: UTF8.self)
                == #"{"at":5,"channels":2,"clock_rate":48000,"codec":"opus","file":"f","first_rtp":6,"#
                + #""kind":"track-opened","media":"audio","mid":"0","participant":"p","payload_type":111,"#
                + #""ssrc":7,"track":1,"v":1}"#
        )
    }

    @Test(arguments: [
        "", "{}", "[]", "null", #"{"v":1,"at":5,"kind":"from-the-future"}"#,
        #"{"v":2,"at":5,"kind":"recording-finished","reason":"x"}"#,
        #"{"v":1,"at":5,"kind":"recording-finished"}"#,
        #"{"v":1,"at":1e99,"kind":"recording-finished","reason":"x"}"#,
        #"{"v":1,"at":5,"kind":"sender-report","track":1,"ssrc":-1,"rtp":0,"ntp":0}"#,
        #"{"v":1,"at":5,"kind":"recording-fini"#,
    ])
    func refuses(text: String) {
        #expect(throws: (any Error).self) {
            try JSONDecoder().decode(JournalEntry.self, from: Data(text.utf8))
        }
    }

    @Test func ignoresKeysItDoesNotKnow() throws {
        let text = #"{"v":1,"at":5,"kind":"recording-finished","reason":"x","mood":"good"}"#
        let entry = try JSONDecoder().decode(JournalEntry.self, from: Data(text.utf8))
        #expect(entry == JournalEntry(.recordingFinished(RecordingFinished(reason: "x")), monotonicNanoseconds: 5))
    }

    @Test func collectsTheClockDataOfEachTrack() {
        let opened = TrackOpened(
            track: 1,
            participant: "p",
            media: .video,
            codec: "vp8",
            clockRateHz: 90_000,
            ssrc: 7,
            file: "f",
            firstRTPTime: 10
        )
        let data = TrackClockCollector(taking: [
            JournalEntry(
                .senderReport(SenderReport(track: 1, ssrc: 7, rtpTimestamp: 3, ntpTime: 4)),
                monotonicNanoseconds: 5
            ),
            JournalEntry(
                .senderReport(SenderReport(track: 1, ssrc: 8, rtpTimestamp: 3, ntpTime: 4)),
                monotonicNanoseconds: 6
            ),
            JournalEntry(.trackOpened(opened), monotonicNanoseconds: 20),
            JournalEntry(.clockAnchor(ClockAnchor(track: 1, rtpTime: 90_010)), monotonicNanoseconds: 21),
            JournalEntry(.clockAnchor(ClockAnchor(track: 2, rtpTime: 1)), monotonicNanoseconds: 22),
        ]).tracks()
        #expect(data.count == 1)
        #expect(data.first?.reports.map(\.monotonicNanoseconds) == [5])
        #expect(data.first?.samples.map(\.rtpTime) == [10, 90_010])
    }
}
