// SPDX-License-Identifier: Apache-2.0

import Basics
import Testing
import Timeline

@Suite struct JournalPartsTests {
    private static let utc = UTCTime(nanosecondsSince1970: 1_795_230_746_000_000_000)
    private static let second: Int64 = 1_000_000_000

    private static func started(boot: String?, at nanoseconds: Int64) -> JournalEntry {
        let record = RecordingStarted(room: "r", id: "i", host: "a", utc: Self.utc, boot: boot)
        return JournalEntry(.recordingStarted(record), monotonicNanoseconds: nanoseconds)
    }

    private static func part(_ number: Int, boot: String?, after seconds: Int64, at nanoseconds: Int64) -> JournalEntry
    {
        let utc = UTCTime(nanosecondsSince1970: Self.utc.nanosecondsSince1970 + seconds * Self.second)
        let record = PartStarted(part: number, host: "b", utc: utc, boot: boot)
        return JournalEntry(.partStarted(record), monotonicNanoseconds: nanoseconds)
    }

    private static func mark(at nanoseconds: Int64) -> JournalEntry {
        JournalEntry(.marker(Marker(name: "mark")), monotonicNanoseconds: nanoseconds)
    }

    private func times(_ entries: [JournalEntry]) -> [Int64] {
        self.placed(entries).entries.map { $0.monotonicNanoseconds / Self.second }
    }

    private func placed(_ entries: [JournalEntry]) -> (entries: [JournalEntry], parts: JournalParts) {
        var parts = JournalParts()
        var placed: [JournalEntry] = []
        for entry in entries { parts.take(entry) { placed.append($0) } }
        parts.finish { placed.append($0) }
        return (placed, parts)
    }

    @Test func leavesAJournalOfOnePartAlone() {
        let entries = [Self.started(boot: "x", at: 5), Self.mark(at: 9)]
        #expect(self.placed(entries).entries == entries)
    }

    @Test func partsUnderTheSameKernelShareItsClockWhateverUTCSays() {
        let times = self.times([
            Self.started(boot: "x", at: 100 * Self.second), Self.mark(at: 110 * Self.second),
            Self.part(2, boot: "x", after: 4000, at: 113 * Self.second), Self.mark(at: 114 * Self.second),
        ])
        #expect(times == [100, 110, 113, 114])
    }

    @Test func otherPartsArePlacedByUTC() {
        let times = self.times([
            Self.started(boot: "x", at: 100 * Self.second), Self.mark(at: 110 * Self.second),
            Self.part(2, boot: "y", after: 30, at: 7 * Self.second), Self.mark(at: 8 * Self.second),
            Self.part(3, boot: "x", after: 60, at: 160 * Self.second), Self.mark(at: 161 * Self.second),
        ])
        #expect(times == [100, 110, 130, 131, 160, 161])
    }

    @Test func partsOfAnotherKernelShareItsClockWithEachOther() {
        let times = self.times([
            Self.started(boot: "x", at: 100 * Self.second), Self.mark(at: 110 * Self.second),
            Self.part(2, boot: "y", after: 30, at: 7 * Self.second), Self.mark(at: 8 * Self.second),
            Self.part(3, boot: "y", after: 90, at: 20 * Self.second), Self.mark(at: 21 * Self.second),
        ])
        #expect(times == [100, 110, 130, 131, 143, 144])
    }

    @Test func segmentsOfOneClockMayOverlap() {
        let times = self.times([
            Self.started(boot: "x", at: 100 * Self.second), Self.mark(at: 112 * Self.second),
            Self.started(boot: "x", at: 110 * Self.second), Self.mark(at: 111 * Self.second),
        ])
        #expect(times == [100, 112, 110, 111])
    }

    @Test func clocksThatWereComparedMayOverlap() {
        var parts = JournalParts(leads: ["x": 0, "y": 95 * Self.second])
        var times: [Int64] = []
        let entries = [
            Self.started(boot: "x", at: 100 * Self.second), Self.mark(at: 150 * Self.second),
            Self.started(boot: "y", at: 7 * Self.second), Self.mark(at: 8 * Self.second),
            Self.started(boot: "x", at: 160 * Self.second),
        ]
        for entry in entries { parts.take(entry) { times.append($0.monotonicNanoseconds / Self.second) } }
        parts.finish { times.append($0.monotonicNanoseconds / Self.second) }
        #expect(times == [100, 150, 102, 103, 160])
    }

    @Test(arguments: [Int64.min, .max, 0, -7_200_000_000_000, 9_000_000_000_000])
    func aSingleDamagedTimeIsMended(time: Int64) {
        let hour = 3600 * Self.second
        let anchor = JournalEntry(.clockAnchor(ClockAnchor(track: 1, rtpTime: 5)), monotonicNanoseconds: time)
        let entries = [
            Self.started(boot: "x", at: hour), Self.mark(at: hour + Self.second), Self.mark(at: time), anchor,
            Self.mark(at: hour + 2 * Self.second), Self.mark(at: hour + 3 * Self.second),
        ]
        #expect(self.times(entries) == [3600, 3601, 3601, 3602, 3603])
        #expect(self.placed(entries).parts.damagedCount == 2)
    }

    @Test func aDamagedBeginningIsMended() {
        let times = self.times([
            Self.started(boot: "x", at: .max), Self.mark(at: 110 * Self.second), Self.mark(at: 111 * Self.second),
        ])
        #expect(times == [110, 110, 111])
    }

    @Test func aLongSilenceIsNoDamage() {
        let day = 86_400 * Self.second
        let entries = [
            Self.started(boot: "x", at: 0), Self.mark(at: 1), Self.mark(at: day), Self.mark(at: day + 1),
            Self.mark(at: 3 * day),
        ]
        #expect(self.placed(entries).entries == entries)
    }

    @Test func withoutANameOfTheKernelsRunUTCCounts() {
        let times = self.times([
            Self.started(boot: nil, at: 100 * Self.second),
            Self.part(2, boot: nil, after: 30, at: 7 * Self.second), Self.mark(at: 8 * Self.second),
        ])
        #expect(times == [100, 130, 131])
    }

    @Test func aClockThatWasSetBackDoesNotTurnPartsAround() {
        let times = self.times([
            Self.started(boot: "x", at: 100 * Self.second), Self.mark(at: 150 * Self.second),
            Self.part(2, boot: "y", after: -3600, at: 7 * Self.second), Self.mark(at: 8 * Self.second),
        ])
        #expect(times == [100, 150, 150, 151])
    }

    @Test func extremeNumbersDoNotTrap() {
        let far = UTCTime(nanosecondsSince1970: .min)
        let entries = [
            Self.started(boot: "x", at: .max), Self.mark(at: .min),
            JournalEntry(
                .partStarted(PartStarted(part: .max, host: "", utc: far, boot: nil)),
                monotonicNanoseconds: .min
            ),
            Self.mark(at: .max), Self.mark(at: .min),
        ]
        #expect(self.placed(entries).entries.count == 5)
    }

    @Test func aPartWithoutABeginningStaysWhereItIs() {
        let entries = [Self.part(2, boot: "y", after: 30, at: 7), Self.mark(at: 8)]
        #expect(self.placed(entries).entries == entries)
    }
}
