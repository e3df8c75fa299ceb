// SPDX-License-Identifier: Apache-2.0

import Basics
import FoundationEssentials
import Glibc
import Storage
import TestSupport
import Testing
import Timeline

@Suite struct RecordingSummaryTests {
    private static let second: Int64 = 1_000_000_000
    private static let start = UTCTime(nanosecondsSince1970: 1_795_230_746_250_000_000)
    private let storage: TemporaryStorage
    private let folder: RecordingFolder

    init() throws {
        self.storage = try TemporaryStorage()
        self.folder = try self.storage.makeFolder()
    }

    private func journal(_ entries: [(second: Int64, record: JournalRecord)]) throws {
        let journal = try JournalWriter(folder: self.folder)
        for entry in entries {
            try journal.append(entry.record, monotonicNanoseconds: entry.second * Self.second)
        }
    }

    private static func started(_ utc: UTCTime, host: String = "one") -> JournalRecord {
        .recordingStarted(RecordingStarted(room: "stand/up", id: "x", host: host, utc: utc))
    }

    private static let opened = JournalRecord.trackOpened(
        TrackOpened(
            track: 1,
            participant: "alice \"kind\":\"clock-anchor\"",
            media: .video,
            codec: "vp8",
            clockRateHz: 90_000,
            file: "tracks/001.mkv",
            firstRTPTime: 0
        )
    )

    @Test func anEmptyFolderIsAnUnfinishedRecording() throws {
        let summary = try RecordingSummary.read(self.folder)
        #expect(summary.room == "standup")
        #expect(summary.start.compact == self.folder.compactStart)
        #expect(!summary.isFinished && summary.parts == 1 && summary.end == nil && summary.durationSeconds == nil)
        #expect(summary.verdict == nil && summary.bytes == 0)
    }

    @Test func readsAJournalThatEnded() throws {
        try self.journal([
            (100, Self.started(Self.start)),
            (101, .participantJoined(ParticipantJoined(participant: "bob"))), (102, Self.opened),
            (103, .clockAnchor(ClockAnchor(track: 1, rtpTime: 5))),
            (104, .participantJoined(ParticipantJoined(participant: "bob", name: "Bob"))),
            (
                110,
                .trackClosed(TrackClosed(track: 1, units: 8, bytes: 99, keyframes: 2, lastRTPTime: 1, reason: "end"))
            ),
            (112, .recordingFinished(RecordingFinished(reason: "stopped"))),
        ])
        let summary = try RecordingSummary.read(self.folder)
        #expect(summary.room == "stand/up" && summary.host == "one" && summary.start == Self.start)
        #expect(summary.isFinished && summary.durationSeconds == 12)
        #expect(summary.participants.map(\.id) == ["bob", "alice \"kind\":\"clock-anchor\""])
        #expect(summary.participants.first?.name == "Bob")
        #expect(summary.tracks.map(\.units) == [8] && summary.tracks.map(\.bytes) == [99])
        #expect(summary.bytes > 0)
        try self.folder.requireReadable()
    }

    @Test func aCutJournalReachesToItsLastRecord() throws {
        try self.journal([
            (100, Self.started(Self.start)), (102, Self.opened),
            (103, .clockAnchor(ClockAnchor(track: 1, rtpTime: 5))),
            (130, .senderReport(SenderReport(track: 1, ssrc: 1, rtpTimestamp: 1, ntpTime: 1))),
        ])
        let summary = try RecordingSummary.read(self.folder)
        #expect(!summary.isFinished && summary.durationSeconds == 30)
    }

    @Test func partsOfOtherHostsHaveClocksOfTheirOwn() throws {
        let later = UTCTime(nanosecondsSince1970: Self.start.nanosecondsSince1970 + 60 * Self.second)
        try self.journal([
            (100, Self.started(Self.start)), (110, .recordingFinished(RecordingFinished(reason: "moved"))),
            (5, .partStarted(PartStarted(part: 2, host: "two", utc: later))), (15, Self.opened),
        ])
        let summary = try RecordingSummary.read(self.folder)
        #expect(summary.parts == 2 && summary.host == "two" && !summary.isFinished)
        #expect(summary.durationSeconds == 70)
    }

    @Test func theManifestKnowsBetter() throws {
        try self.journal([(100, Self.started(Self.start)), (102, Self.opened)])
        var manifest = Manifest(room: "room", id: self.folder.id, verdict: .damaged)
        manifest.participants = [Participant(id: "carol")]
        manifest.exports = [
            Manifest.Export(file: "call.mkv", layout: "tracks", durationNanoseconds: 3 * Self.second, bytes: 4)
        ]
        try manifest.write(self.folder)
        let summary = try RecordingSummary.read(self.folder)
        #expect(summary.isFinished && summary.verdict == .damaged && summary.durationSeconds == 3)
        #expect(summary.participants.map(\.id) == ["carol"] && summary.tracks.count == 1)
    }

    @Test func ofWhatGoesOnTheJournalKnowsMore() throws {
        try self.journal([(100, Self.started(Self.start)), (102, Self.opened)])
        let journal = try JournalWriter(folder: self.folder)
        try #require(try journal.lock())
        try journal.append(
            .participantJoined(ParticipantJoined(participant: "bob")),
            monotonicNanoseconds: 130 * Self.second
        )
        var manifest = Manifest(room: "room", id: self.folder.id, verdict: .damaged)
        manifest.participants = [Participant(id: "carol")]
        manifest.exports = [
            Manifest.Export(file: "call.mkv", layout: "tracks", durationNanoseconds: 3 * Self.second, bytes: 4)
        ]
        try manifest.write(self.folder)
        var summary = try RecordingSummary.read(self.folder)
        #expect(!summary.isFinished && summary.durationSeconds == 30 && summary.room == "stand/up")
        #expect(summary.participants.map(\.id).last == "bob" && summary.tracks.count == 1)
        #expect(summary.verdict == .damaged && summary.exports == manifest.exports)
        try journal.append(
            .recordingFinished(RecordingFinished(reason: "stopped")),
            monotonicNanoseconds: 140 * Self.second
        )
        summary = try RecordingSummary.read(self.folder)
        #expect(summary.isFinished && summary.participants.map(\.id) == ["carol"])
    }

    private static func described(_ tags: [String]?, _ notes: String?) -> JournalRecord {
        .recordingStarted(
            RecordingStarted(room: "stand/up", id: "x", host: "one", utc: Self.start, tags: tags, notes: notes)
        )
    }

    @Test func tellsTagsAndNotesAsTheyWereSaidLast() throws {
        try self.journal([(100, Self.described(["weekly"], "With guests"))])
        var summary = try RecordingSummary.read(self.folder)
        #expect(summary.tags == ["weekly"] && summary.notes == "With guests")
        try self.journal([(101, .detailsChanged(DetailsChanged(tags: ["weekly", "late"])))])
        summary = try RecordingSummary.read(self.folder)
        #expect(summary.tags == ["weekly", "late"] && summary.notes == "With guests")
        try self.journal([(102, .detailsChanged(DetailsChanged(notes: "")))])
        summary = try RecordingSummary.read(self.folder)
        #expect(summary.tags == ["weekly", "late"] && summary.notes == nil)
        var manifest = Manifest(room: "room", id: self.folder.id, verdict: .complete)
        try manifest.write(self.folder)
        #expect(try RecordingSummary.read(self.folder).tags == ["weekly", "late"])
        (manifest.tags, manifest.notes) = (["later"], "With a guest")
        try manifest.write(self.folder)
        summary = try RecordingSummary.read(self.folder)
        #expect(summary.tags == ["later"] && summary.notes == "With a guest")
    }

    @Test func withoutTagsAndNotesThereAreNone() throws {
        try self.journal([(100, Self.described(nil, nil))])
        let summary = try RecordingSummary.read(self.folder)
        #expect(summary.tags.isEmpty && summary.notes == nil)
    }

    @Test func clocksThatCannotBeDoNotTrap() throws {
        let journal = try JournalWriter(folder: self.folder)
        try journal.append(
            Self.started(UTCTime(nanosecondsSince1970: 9_000_000_000 * Self.second)),
            monotonicNanoseconds: .min
        )
        try journal.append(Self.opened, monotonicNanoseconds: .max)
        let summary = try RecordingSummary.read(self.folder)
        #expect(summary.tracks.count == 1)
    }

    /// Zeros in place of pages, as a file system leaves them after a power cut.
    @Test func aJournalWithDamagedPagesTellsWhatIsLeft() throws {
        let anchors = (0..<400).map { (second: Int64(103 + $0), record: JournalRecord.anchor($0)) }
        let closed = TrackClosed(track: 1, units: 8, bytes: 99, keyframes: 2, lastRTPTime: 1, reason: "end")
        try self.journal(
            [(100, Self.started(Self.start)), (102, Self.opened)] + anchors
                + [
                    (503, .participantJoined(ParticipantJoined(participant: "bob"))), (504, .trackClosed(closed)),
                    (512, .recordingFinished(RecordingFinished(reason: "stopped"))),
                ]
        )
        let whole = try Data(contentsOf: URL(filePath: self.folder.journalPath))
        let history = try Journal.history(of: self.folder)
        for page in stride(from: 0, to: whole.count, by: 4096) {
            var damaged = whole
            let range = page..<min(page + 4096, whole.count)
            damaged.replaceSubrange(range, with: Data(count: range.count))
            try damaged.write(to: URL(filePath: self.folder.journalPath))
            let summary = try RecordingSummary.read(self.folder)
            let isFirst = page == 0
            #expect(summary.room == (isFirst ? "standup" : "stand/up"), "page \(page)")
            #expect(summary.isFinished == (range.upperBound < whole.count), "page \(page)")
            // The last thousand bytes hold the records behind the anchors.
            guard range.upperBound < whole.count - 1000 else { continue }
            #expect(summary.tracks.map(\.units) == (isFirst ? [] : [8]), "page \(page)")
            #expect(summary.participants.count == (isFirst ? 1 : 2), "page \(page)")
            #expect(summary.end == (isFirst ? nil : history.end), "page \(page)")
        }
    }

    @Test func aRecordingOfAnEarlierBuildIsReadAndWrittenTheSame() throws {
        let older = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .appending(path: "EndToEnd/older/20261128T202748Z-xewehkr9y5z8ak09")
        let path = self.storage.path + "/recordings/fixture/" + older.lastPathComponent
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
        for name in ["journal.jsonl", "manifest.json"] {
            try FileManager.default.copyItem(atPath: older.path + "/" + name, toPath: path + "/" + name)
        }
        let folder = try RecordingFolder.open(path: path)
        let history = try Journal.history(of: folder)
        #expect(history.started?.displayName == "tapedeck" && history.parts.map(\.host) == ["vm"])
        #expect(history.isFinished && history.endReason == "duration" && history.arrivals.isEmpty)
        #expect(history.tracks.map(\.record.codec) == ["opus", "vp8"] && history.closed[2]?.units == 71)
        #expect(history.stays["zFawdcqQzUcDwGxdOvIT"]?.count == 1)
        let summary = try RecordingSummary.read(folder)
        #expect(summary.isFinished && summary.verdict == .complete && summary.tracks.map(\.units) == [71, 355])
        let written = try Data(contentsOf: URL(filePath: folder.manifestPath))
        try #require(try Manifest.read(folder)).write(folder)
        #expect(try Data(contentsOf: URL(filePath: folder.manifestPath)) == written)
    }

    @Test(arguments: ["{", "[]", "{\"version\": 99}"])
    func saysThatAManifestIsDamaged(text: String) throws {
        try Data(text.utf8).write(to: URL(filePath: self.folder.manifestPath))
        #expect { try RecordingSummary.read(self.folder) } throws: { ($0 as? StorageError)?.code == .invalid }
        #expect { try self.folder.requireReadable() } throws: { ($0 as? StorageError)?.code == .invalid }
    }

    @Test func opensNeitherPipesNorLinks() throws {
        #expect(mkfifo(self.folder.manifestPath, 0o600) == 0)
        #expect(symlink("/dev/zero", self.folder.journalPath) == 0)
        #expect(try RecordingSummary.read(self.folder).verdict == nil)
        try self.folder.requireReadable()
    }

    @Test func aFolderNamedAfterNoDayIsRefused() throws {
        let path = self.storage.path + "/recordings/standup/20269921T031226Z-0123456789abcdef"
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
        let folder = try RecordingFolder.open(path: path)
        #expect { try RecordingSummary.read(folder) } throws: { ($0 as? StorageError)?.code == .invalid }
    }
}
