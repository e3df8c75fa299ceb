// SPDX-License-Identifier: Apache-2.0

import Basics
import Export
import Foundation
import Matroska
import Storage
import TestSupport
import Testing
import Timeline

/// Recordings that a crash, a full disk or a bad hand left behind.
@Suite(.timeLimit(.minutes(5))) struct DamagedRecordingTests {
    private static func recording(closed: Bool = false) throws -> SimulatedRecording {
        let media = try EncodedMedia.shared.get()
        return try SimulatedRecording(
            [
                .video("alice", .vp8, media.vp8), .audio("alice", media.opus),
                .video("bob", .h264, media.h264, capture: 1_000_000_000),
            ],
            closed: closed
        )
    }

    private func bytes(_ path: String) throws -> [UInt8] {
        [UInt8](try Data(contentsOf: URL(filePath: path)))
    }

    private func cut(_ path: String, to length: Int) throws {
        try Data(try self.bytes(path).prefix(length)).write(to: URL(filePath: path))
    }

    /// Where each unit of a track file ends.
    private func unitEnds(_ path: String) throws -> [UInt64] {
        var reader = try Reader(MemorySource(try self.bytes(path)))
        var ends: [UInt64] = []
        while let head = try reader.nextHead() { ends.append(head.payloadOffset + UInt64(head.payloadSize)) }
        return ends
    }

    @Test func exportsAfterAKill() throws {
        let recording = try Self.recording()
        let report = try Exporter.run(folder: recording.folder)
        #expect(!report.isComplete)
        #expect(report.warnings.contains { $0.contains("cut off") })
        #expect(report.tracks.map(\.units)[0] == 120)
        #expect(report.tracks.map(\.units)[2] == 120)
        #expect(report.tracks.allSatisfy { !$0.isComplete })
        #expect(try Command.complaints(about: report.output).isEmpty)
        #expect(try Manifest.read(recording.folder)?.verdict == .damaged)
    }

    @Test func losesOnlyTheTornUnitWhereverTrackFilesAreCut() throws {
        let recording = try Self.recording()
        let whole = try self.bytes(recording.files[0])
        let ends = try self.unitEnds(recording.files[0])
        for length in stride(from: whole.count, to: Int(ends[0]), by: -1777) {
            try Data(whole.prefix(length)).write(to: URL(filePath: recording.files[0]))
            let report = try Exporter.run(folder: recording.folder)
            #expect(report.tracks[0].units == UInt64(ends.filter { $0 <= length }.count))
            #expect(report.tracks.count == 3)
        }
        #expect(try Command.complaints(about: recording.folder.exportPath).isEmpty)
    }

    @Test func doesWithoutATrackThatIsCutInItsHead() throws {
        let recording = try Self.recording()
        for length in [0, 1, 10, 60, 200] {
            try self.cut(recording.files[1], to: length)
            let report = try Exporter.run(folder: recording.folder)
            #expect(report.tracks.map(\.codec) == ["vp8", "h264"])
            #expect(report.warnings.contains { $0.contains("002-Alice-audio.mka") })
            #expect(!report.isComplete)
        }
        try FileManager.default.removeItem(atPath: recording.files[1])
        #expect(try Exporter.run(folder: recording.folder).tracks.count == 2)
    }

    @Test func exportsWhereverTheJournalIsCut() throws {
        let recording = try Self.recording()
        let journal = try self.bytes(recording.folder.journalPath)
        for length in stride(from: journal.count - 1, through: 0, by: -max(1, journal.count / 25)) {
            try Data(journal.prefix(length)).write(to: URL(filePath: recording.folder.journalPath))
            let report = try Exporter.run(folder: recording.folder)
            #expect(report.tracks.count == 3)
            #expect(report.tracks.filter { $0.media == .video }.allSatisfy { $0.units == 120 })
            #expect(!report.isComplete)
        }
        // The last run had no journal at all.
        #expect(try Command.complaints(about: recording.folder.exportPath).isEmpty)
    }

    @Test func takesOnlyFilesOfTheFolder() throws {
        let recording = try Self.recording()
        let text = String(decoding: try self.bytes(recording.folder.journalPath), as: UTF8.self)
        let hostile = text.replacing("tracks/002-Alice-audio.mka", with: "../../../../../etc/passwd")
        try Data(hostile.utf8).write(to: URL(filePath: recording.folder.journalPath))
        let report = try Exporter.run(folder: recording.folder)
        #expect(report.tracks.allSatisfy { $0.file.hasPrefix("tracks/00") })
    }

    @Test func survivesAMessedUpJournal() throws {
        let recording = try Self.recording(closed: true)
        var journal = try self.bytes(recording.folder.journalPath)
        for index in stride(from: 7, to: journal.count, by: 211) { journal[index] = 0xFF }
        try Data(journal).write(to: URL(filePath: recording.folder.journalPath))
        let report = try Exporter.run(folder: recording.folder)
        #expect(report.tracks.count == 3)
        #expect(report.warnings.contains { $0.contains("cannot be read") })
    }

    @Test func survivesExtremeNumbersInTheJournal() throws {
        let recording = try Self.recording(closed: true)
        let journal = try JournalWriter(folder: recording.folder)
        for value in [Int64.min, .max, -1, 0] {
            try journal.append(.clockAnchor(ClockAnchor(track: 1, rtpTime: value)), monotonicNanoseconds: value)
            try journal.append(
                .senderReport(SenderReport(track: 1, ssrc: 1, rtpTimestamp: .max, ntpTime: .max)),
                monotonicNanoseconds: value
            )
            let opened = TrackOpened(
                track: 1,
                participant: "alice",
                media: .video,
                codec: "vp8",
                clockRateHz: .max,
                file: "tracks/001-Alice-video.mkv",
                firstRTPTime: value
            )
            try journal.append(.trackOpened(opened), monotonicNanoseconds: value)
            let started = RecordingStarted(
                room: "x",
                id: "y",
                host: "z",
                utc: UTCTime(nanosecondsSince1970: value)
            )
            try journal.append(.recordingStarted(started), monotonicNanoseconds: value)
        }
        #expect(try Exporter.run(folder: recording.folder).tracks.count == 3)
    }

    @Test func tellsUnitsThatWentMissingAfterwards() throws {
        let recording = try Self.recording(closed: true)
        let ends = try self.unitEnds(recording.files[0])
        try self.cut(recording.files[0], to: Int(ends[99]))
        let report = try Exporter.run(folder: recording.folder)
        #expect(report.tracks[0].units == 100)
        #expect(!report.tracks[0].isComplete)
        #expect(report.warnings.contains { $0.contains("100 of 120 units") })
    }

    @Test func replacesADamagedManifestAndAStalePartialFile() throws {
        let recording = try Self.recording(closed: true)
        try Data("{".utf8).write(to: URL(filePath: recording.folder.manifestPath))
        try Data(repeating: 7, count: 5_000_000).write(
            to: URL(filePath: recording.folder.path + "/.call.mkv.partial")
        )
        let report = try Exporter.run(folder: recording.folder)
        #expect(report.isComplete)
        #expect(try Manifest.read(recording.folder)?.exports.count == 1)
        #expect(try Command.complaints(about: report.output).isEmpty)
        #expect(report.isOfDamaged && report.warnings.contains { $0.contains("manifest.json.unreadable") })
        // Existing files stay there, also when it happens again.
        try Data("[".utf8).write(to: URL(filePath: recording.folder.manifestPath))
        #expect(try Exporter.run(folder: recording.folder).isOfDamaged)
        #expect(try recording.data("manifest.json.unreadable") == Data("{".utf8))
        #expect(try recording.data("manifest.json.unreadable-2") == Data("[".utf8))
        #expect(try !Exporter.run(folder: recording.folder).isOfDamaged)
    }

    /// The hash of a terabyte of zeros is not computed.
    @Test func aFileOfAnAbsurdSizeIsNotReadToItsEnd() throws {
        for isFinished in [true, false] {
            let recording = try Self.recording(closed: isFinished)
            if isFinished { _ = try Exporter.run(folder: recording.folder) }
            try #require(truncate(recording.files[0], 1 << 40) == 0)
            let certificate = try RecordingExamination.certificate(of: recording.folder)
            let name = "tracks/" + (recording.files[0].split(separator: "/").last ?? "")
            #expect(certificate.verdict == .damaged)
            #expect(certificate.findings.contains { $0.file == name && $0.kind == .fileTorn })
            #expect(!certificate.files.contains { $0.name == name })
            #expect(try Exporter.run(folder: recording.folder).verdict == .damaged)
            guard !isFinished else { continue }
            #expect(try RecordingRepair.finish(recording.folder).unreadable.keys.contains(name))
            #expect(try File(recording.files[0], .read).count == 1 << 40)
        }
    }

    /// A typed error or an export that passed its own verification, whatever the bytes.
    @Test(arguments: 1...24 as ClosedRange<UInt64>)
    func survivesFlippedBytes(seed: UInt64) throws {
        let recording = try Self.recording(closed: true)
        var state = seed &* 0x9E37_79B9_7F4A_7C15
        for path in recording.files {
            var bytes = try self.bytes(path)
            for _ in 0..<12 {
                state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
                // Half of the damage goes into the head, where it hurts most.
                let span = state & 1 == 0 ? bytes.count : min(bytes.count, 500)
                bytes[Int(state >> 33) % span] = UInt8(truncatingIfNeeded: state >> 24)
            }
            try Data(bytes).write(to: URL(filePath: path))
        }
        do {
            let report = try Exporter.run(folder: recording.folder)
            #expect((1...3).contains(report.tracks.count))
        } catch let error as ExportError {
            #expect(error.code == .nothingRecorded || error.code == .storage, "\(error)")
        }
    }

    @Test func printsHostileNamesHarmlessly() throws {
        let media = try EncodedMedia.shared.get()
        let recording = try SimulatedRecording([.audio("\u{1B}[2J\n\u{202E}mallory", media.opus)])
        let report = try Exporter.run(folder: recording.folder)
        let table = report.table()
        #expect(table.split(separator: "\n").count == 2)
        #expect(!table.unicodeScalars.contains("\u{1B}") && !table.unicodeScalars.contains("\u{202E}"))
        #expect(try Probe(report.output).streams.count == 1)
    }
}
