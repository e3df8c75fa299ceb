// SPDX-License-Identifier: Apache-2.0

import Basics
import Foundation
import TestSupport
import Testing
import Timeline

@testable import Storage

/// A line that is read and written without a JSON coder is what the coder makes of it.
@Suite struct JournalLineTests {
    private static let records: [JournalRecord] = [
        .clockAnchor(ClockAnchor(track: 1, rtpTime: 2_753_326_566)),
        .clockAnchor(ClockAnchor(track: .max, rtpTime: .min)),
        .senderReport(SenderReport(track: 3, ssrc: .max, rtpTimestamp: 0, ntpTime: .max)),
        .senderReport(SenderReport(track: -1, ssrc: 0, rtpTimestamp: .max, ntpTime: 0)),
        .packetsCounted(PacketsCounted(track: 1, received: 13, lost: -4, repaired: nil)),
        .packetsCounted(PacketsCounted(track: 1, received: .max, lost: .min, repaired: .max)),
    ]

    private static func line(_ record: JournalRecord, at nanoseconds: Int64) throws -> [UInt8] {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return Array(try encoder.encode(JournalEntry(record, monotonicNanoseconds: nanoseconds)))
    }

    private static func decoded(_ line: [UInt8]) -> JournalEntry? {
        try? JSONDecoder().decode(JournalEntry.self, from: Data(line))
    }

    private static func quick(_ line: [UInt8]) -> JournalEntry? {
        line.withUnsafeBufferPointer { JournalLine.clockEntry($0) }
    }

    private static func isOfClocks(_ line: [UInt8]) -> Bool {
        line.withUnsafeBufferPointer { JournalLine.isOfClocks($0) }
    }

    @Test(arguments: records, [Int64.min, -1, 0, 23_086_592_182_281, .max])
    func isWhatTheDecoderReads(record: JournalRecord, at nanoseconds: Int64) throws {
        let line = try Self.line(record, at: nanoseconds)
        let entry = JournalEntry(record, monotonicNanoseconds: nanoseconds)
        #expect(Self.quick(line) == entry && Self.decoded(line) == entry)
        let (chained, _) = JournalChain.chained(line, after: "")
        #expect(Self.quick(chained) == entry && Self.isOfClocks(chained))
    }

    private static func text(_ record: JournalRecord, at nanoseconds: Int64) -> String? {
        JournalLine.text(record, at: nanoseconds).map { String(decoding: $0, as: UTF8.self) }
    }

    @Test(arguments: records, [Int64.min, -1, 0, 23_086_592_182_281, .max])
    func isWhatTheEncoderWrites(record: JournalRecord, at nanoseconds: Int64) throws {
        let line = String(decoding: try Self.line(record, at: nanoseconds), as: UTF8.self)
        #expect(Self.text(record, at: nanoseconds) == line)
    }

    @Test func anyNumbersAreWhatTheEncoderWrites() throws {
        for _ in 0..<4000 {
            // Of every length, of either sign.
            func number<Number: FixedWidthInteger>() -> Number {
                Number.random(in: Number.min...Number.max) >> Int.random(in: 0..<Number.bitWidth)
            }
            let records: [JournalRecord] = [
                .clockAnchor(ClockAnchor(track: number(), rtpTime: number())),
                .senderReport(SenderReport(track: number(), ssrc: number(), rtpTimestamp: number(), ntpTime: number())),
                .packetsCounted(
                    PacketsCounted(
                        track: number(),
                        received: number(),
                        lost: number(),
                        repaired: Bool.random() ? number() : nil
                    )
                ),
            ]
            for record in records {
                let nanoseconds: Int64 = number()
                let line = try Self.line(record, at: nanoseconds)
                #expect(JournalLine.text(record, at: nanoseconds) == line, "\(record) at \(nanoseconds)")
            }
        }
    }

    @Test func otherRecordsAreTheEncoders() {
        let marker = JournalRecord.marker(Marker(name: "mark"))
        let mended = TrackMended(track: 1, rtpTime: 2, units: 3)
        for record in [marker, .trackMended(mended)] {
            #expect(JournalLine.text(record, at: 1) == nil)
        }
    }

    /// Every line that is a byte away from one of ours is either left to the decoder or read as the decoder reads it.
    @Test(arguments: records)
    func aDamagedLineIsNeverReadAsAnother(record: JournalRecord) throws {
        let (line, _) = JournalChain.chained(try Self.line(record, at: 12), after: "")
        var read = 0
        for index in line.indices {
            for byte in Array(#"0129-+.eE"{}[],: x"#.utf8) + [0, 0xFF] {
                var changed = line
                changed[index] = byte
                guard let entry = Self.quick(changed) else { continue }
                read += 1
                #expect(entry == Self.decoded(changed), "\(String(decoding: changed, as: UTF8.self))")
            }
            #expect(Self.quick(Array(line.prefix(index))) == nil)
            let shorter = Array(line.prefix(index) + line.dropFirst(index + 1))
            if let entry = Self.quick(shorter) { #expect(entry == Self.decoded(shorter)) }
        }
        #expect(read > 0)
        #expect(Self.quick(line + [0x20]) == nil && Self.quick([0x20] + line) == nil && Self.quick([]) == nil)
    }

    @Test(arguments: [
        #"{"at":01,"kind":"clock-anchor","rtp":1,"track":1,"v":1}"#,
        #"{"at":-0,"kind":"clock-anchor","rtp":1,"track":1,"v":1}"#,
        #"{"at":1,"kind":"clock-anchor","rtp":9223372036854775808,"track":1,"v":1}"#,
        #"{"at":1,"kind":"clock-anchor","rtp":1,"track":1,"v":2}"#,
        #"{"at":1,"kind":"clock-anchor","rtp":1,"track":1,"v":1,"w":1}"#,
        #"{"at":1,"kind":"clock-anchor","track":1,"rtp":1,"v":1}"#,
        #"{"at": 1,"kind":"clock-anchor","rtp":1,"track":1,"v":1}"#,
        #"{"at":1,"kind":"clock-anchor","rtp":1.0,"track":1,"v":1}"#,
        #"{"at":1,"kind":"marker","name":"mark","v":1}"#,
    ])
    func otherLinesAreTheDecoders(line: String) {
        #expect(Self.quick(Array(line.utf8)) == nil)
    }

    @Test func onlyTheKindTellsWhatIsPassedOver() {
        let ours = #"{"at":1,"kind":"chat-message","participant":"p","text":"\"kind\":\"clock-anchor\"","v":1}"#
        #expect(!Self.isOfClocks(Array(ours.utf8)))
        let other = #"{"v":1,"kind":"sender-report","at":1,"track":1,"ssrc":2,"rtp":3,"ntp":4}"#
        #expect(Self.isOfClocks(Array(other.utf8)) && Self.quick(Array(other.utf8)) == nil)
    }
}

@Suite struct JournalEventsTests {
    private let storage: TemporaryStorage
    private let folder: RecordingFolder

    init() throws {
        self.storage = try TemporaryStorage()
        self.folder = try self.storage.makeFolder()
    }

    private var times: [Int64] {
        get throws {
            var times: [Int64] = []
            try Journal.events(of: self.folder) { times.append($0.monotonicNanoseconds) }
            return times
        }
    }

    private func mark(_ writer: JournalWriter, at nanoseconds: Int64) throws {
        try writer.append(.marker(Marker(name: "mark")), monotonicNanoseconds: nanoseconds)
    }

    @Test func passesOverClocksButNotTheLastRecord() throws {
        let writer = try JournalWriter(folder: self.folder)
        try self.mark(writer, at: 1)
        // More than is read at once.
        for number in 0..<4000 { try writer.append(JournalRecord.anchor(number), monotonicNanoseconds: 2) }
        #expect(try self.times == [1, 2])
        try self.mark(writer, at: 3)
        #expect(try self.times == [1, 3])
        try writer.append(JournalRecord.anchor(9), monotonicNanoseconds: 4)
        #expect(try self.times == [1, 3, 4])
    }

    @Test func theLastRecordIsSoughtInTheLastFewLines() throws {
        let writer = try JournalWriter(folder: self.folder)
        try self.mark(writer, at: 1)
        for number in 0..<2000 {
            try writer.append(JournalRecord.anchor(number), monotonicNanoseconds: Int64(number) + 2)
        }
        #expect(try self.times == [1, 2001])
        let file = try FileHandle(forWritingTo: URL(filePath: self.folder.journalPath))
        try file.seekToEnd()
        for length in [100_000, 200_000] {
            // The second one is before all that is looked at.
            try file.write(contentsOf: Data(repeating: 0, count: length) + Data("\n".utf8))
            #expect(try self.times == (length == 100_000 ? [1, 2001] : [1]))
        }
    }

    @Test func theLastRecordIsFoundBeforeADamagedEnd() throws {
        let writer = try JournalWriter(folder: self.folder)
        try self.mark(writer, at: 1)
        try writer.append(JournalRecord.anchor(1), monotonicNanoseconds: 2)
        let file = try FileHandle(forWritingTo: URL(filePath: self.folder.journalPath))
        for damaged in [#"{"at":3,"kind":"clock-anchor","rtp":"#, "no line of ours"] {
            try file.seekToEnd()
            try file.write(contentsOf: Data((damaged + "\n").utf8))
            #expect(try self.times == [1, 2])
        }
        try file.close()
    }

    @Test func aRecordingThatGoesOnIsReadOnFromWhereItWas() throws {
        let summaries = RecordingSummaries()
        let writer = try JournalWriter(folder: self.folder)
        let start = UTCTime(nanosecondsSince1970: 1_795_230_746_000_000_000)
        let started = RecordingStarted(room: "a room", id: "i", host: "h", utc: start)
        try writer.append(.recordingStarted(started), monotonicNanoseconds: 0)
        #expect(try summaries.read(self.folder) == RecordingSummary.read(self.folder))
        var seconds: Int64 = 0
        for person in 0..<5 {
            try writer.append(.participantJoined(.init(participant: "p\(person)")), monotonicNanoseconds: seconds)
            for _ in 0..<10 {
                seconds += 1_000_000_000
                try writer.append(JournalRecord.anchor(1), monotonicNanoseconds: seconds)
            }
            let summary = try summaries.read(self.folder)
            #expect(try summary == RecordingSummary.read(self.folder))
            #expect(summary.participants.count == person + 1 && summary.durationSeconds == Double(seconds) / 1e9)
            #expect(try summary == summaries.read(self.folder))
        }
        // Lines already read are not read again: they could have been anything.
        let path = self.folder.journalPath
        var bytes = [UInt8](try #require(FileManager.default.contents(atPath: path)))
        bytes.replaceSubrange(0..<20, with: [UInt8](repeating: 0x20, count: 20))
        try Data(bytes).write(to: URL(filePath: path))
        #expect(try summaries.read(self.folder).room == "a room")
        // A journal that is not the one it was is read from its beginning.
        try Data().write(to: URL(filePath: path))
        try JournalWriter(folder: self.folder).append(
            .recordingStarted(RecordingStarted(room: "another", id: "i", host: "h", utc: start)),
            monotonicNanoseconds: 0
        )
        #expect(try summaries.read(self.folder).room == "another")
    }

    @Test func aTornEndIsReadAgain() throws {
        let summaries = RecordingSummaries()
        let path = self.folder.journalPath
        let start = UTCTime(nanosecondsSince1970: 1_795_230_746_000_000_000)
        let writer = try JournalWriter(folder: self.folder)
        try writer.append(
            .recordingStarted(RecordingStarted(room: "r", id: "i", host: "h", utc: start)),
            monotonicNanoseconds: 0
        )
        try writer.append(.participantJoined(.init(participant: "p")), monotonicNanoseconds: 1)
        let whole = try #require(FileManager.default.contents(atPath: path))
        for length in 0...whole.count {
            try whole.prefix(length).write(to: URL(filePath: path))
            #expect(try summaries.read(self.folder) == RecordingSummary.read(self.folder), "cut at \(length)")
        }
        #expect(try summaries.read(self.folder).participants.map(\.id) == ["p"])
    }
}
