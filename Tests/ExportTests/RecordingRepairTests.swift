// SPDX-License-Identifier: Apache-2.0

import Basics
import Export
import Foundation
import Matroska
import Model
import Storage
import TestSupport
import Testing
import Timeline

@Suite(.timeLimit(.minutes(5))) struct RecordingRepairTests {
    private static func recording(closed: Bool = false) throws -> SimulatedRecording {
        let media = try EncodedMedia.shared.get()
        return try SimulatedRecording([.video("alice", .vp8, media.vp8), .audio("alice", media.opus)], closed: closed)
    }

    private func files(_ folder: RecordingFolder) throws -> [String: Data] {
        var files: [String: Data] = [:]
        for path in try FileManager.default.subpathsOfDirectory(atPath: folder.path) {
            files[path] = FileManager.default.contents(atPath: folder.path + "/" + path)
        }
        return files
    }

    @Test func finishesWhatWasCutOffAndDoesItOnce() throws {
        let recording = try Self.recording()
        // A torn unit and a torn line.
        for path in [recording.files[0], recording.folder.journalPath] {
            let data = try Data(contentsOf: URL(filePath: path))
            try data.dropLast(7).write(to: URL(filePath: path))
        }
        let report = try RecordingRepair.finish(recording.folder)
        #expect(!report.wasFinished && report.unreadable.isEmpty)
        #expect(report.repaired.count == 2)
        let manifest = try #require(try Manifest.read(recording.folder))
        #expect(manifest.verdict == .completeWithGaps)
        #expect(manifest.certificate?.findings.map(\.kind) == [.journalUnreadable, .cutOff])
        #expect(manifest.tracks.map(\.units) == [119, 201])
        let after = try self.files(recording.folder)
        #expect(try RecordingRepair.finish(recording.folder).wasFinished)
        #expect(try self.files(recording.folder) == after, "the second run changes nothing")

        let export = try Exporter.run(folder: recording.folder)
        #expect(export.verdict == .completeWithGaps)
        #expect(export.warnings.contains { $0.contains("repaired") })
        #expect(export.tracks.map(\.units) == [119, 201])
        for file in recording.files { #expect(try Command.complaints(about: file).isEmpty) }
    }

    @Test func leavesWhatItCannotRead() throws {
        let recording = try Self.recording()
        let garbage = Data(repeating: 0x55, count: 5000)
        try garbage.write(to: URL(filePath: recording.files[0]))
        let foreign = recording.folder.tracksPath + "/900-mallory-video.mkv"
        let target = recording.storagePath + "/elsewhere.mkv"
        try garbage.write(to: URL(filePath: target))
        try FileManager.default.createSymbolicLink(atPath: foreign, withDestinationPath: target)
        let report = try RecordingRepair.finish(recording.folder)
        #expect(Set(report.unreadable.keys) == ["tracks/001-Alice-video.mkv", "tracks/900-mallory-video.mkv"])
        #expect(FileManager.default.contents(atPath: recording.files[0]) == garbage)
        #expect(FileManager.default.contents(atPath: target) == garbage)
        #expect(try Manifest.read(recording.folder)?.tracks.map(\.codec) == [.opus])
    }

    /// A damaged place in the middle is no torn end: what stands behind it is not cut off, and the place stays as it is.
    @Test func completesAFileThatGoesOnBehindItsDamage() throws {
        let recording = try Self.recording()
        let name = "tracks/001-Alice-video.mkv"
        try recording.change(name) { data in
            var data = data
            let place = BrokenRecording.clusterOffsets(data)[1]
            data.replaceSubrange(place..<(place + 32), with: Data(count: 32))
            return data
        }
        let damaged = try recording.data(name)
        let report = try RecordingRepair.finish(recording.folder)
        #expect(report.unreadable.isEmpty)
        #expect(report.repaired == [name, "tracks/002-Alice-audio.mka"])
        let repaired = try recording.data(name)
        #expect(repaired.count > damaged.count)
        let certificate = try RecordingExamination.certificate(of: recording.folder)
        #expect(certificate.findings.contains { $0.kind == .fileTorn && $0.file == name && $0.severity == .damage })
        // The parts before and after it are there, and running it again changes nothing.
        #expect(certificate.tracks[0].units > 60 && certificate.tracks[0].units < 120)
        #expect(try RecordingRepair.finish(recording.folder).wasFinished)
        #expect(try recording.data(name) == repaired)
    }

    @Test func writesTheManifestOfAFinishedRecording() throws {
        let recording = try Self.recording(closed: true)
        #expect(try Manifest.read(recording.folder) == nil)
        let report = try RecordingRepair.finish(recording.folder)
        #expect(report.wasFinished && report.repaired.isEmpty)
        let manifest = try #require(try Manifest.read(recording.folder))
        #expect(manifest.verdict == .complete && manifest.exports.isEmpty)
        #expect(manifest.tracks.map(\.units) == [120, 201])
    }

    /// The journals of weeks would take minutes to read at each start, and to make a certificate means to read everything.
    @Test(arguments: [true, false])
    func ofWhatIsFinishedOnlyTheEndOfTheJournalIsRead(isExported: Bool) throws {
        let recording = try Self.recording(closed: true)
        if isExported { _ = try Exporter.run(folder: recording.folder) }
        let lines = try recording.data("journal.jsonl").split(separator: UInt8(ascii: "\n"))
        // A terabyte of which all but the last line is a hole: reading it would never end.
        let journal = try FileHandle(forWritingTo: URL(filePath: recording.folder.journalPath))
        try journal.truncate(atOffset: 0)
        try journal.seek(toOffset: 1 << 40)
        try journal.write(contentsOf: Data("\n".utf8) + (try #require(lines.last)) + Data("\n".utf8))
        try journal.close()
        let report = try RecordingRepair.finish(recording.folder, onlyUnfinished: !isExported)
        #expect(report.wasFinished && !report.needsExport && report.repaired.isEmpty)
    }

    /// A recording that ended in order, with two files to which a write failed before.
    private static func withoutIndex() throws -> SimulatedRecording {
        let recording = try Self.recording()
        try recording.note(.recordingFinished(RecordingFinished(reason: "left")), after: 10_000_000_000)
        return recording
    }

    private static func needIndex(_ recording: SimulatedRecording) throws -> [Bool] {
        try recording.files.map { try Repair.isNeeded(File($0, .read)) }
    }

    @Test func anExportGivesFilesTheIndexThatAFailedWriteLeftOut() throws {
        let recording = try Self.withoutIndex()
        #expect(try Self.needIndex(recording) == [true, true])
        let torn = try Data(contentsOf: URL(filePath: recording.files[0])).dropLast(7)
        try torn.write(to: URL(filePath: recording.files[0]))
        let export = try Exporter.run(folder: recording.folder)
        #expect(export.tracks.map(\.units) == [119, 201])
        #expect(try Self.needIndex(recording) == [false, false])
        for file in recording.files { #expect(try Command.complaints(about: file).isEmpty) }
        // The verdict is that of the journal, as before.
        #expect(export.verdict == .completeWithGaps)
    }

    @Test func filesWhoseHashesAreKnownStayAsTheyAre() throws {
        let recording = try Self.withoutIndex()
        let bare = try Data(contentsOf: URL(filePath: recording.files[0]))
        _ = try Exporter.run(folder: recording.folder)
        try bare.write(to: URL(filePath: recording.files[0]))
        let export = try Exporter.run(folder: recording.folder)
        #expect(try Data(contentsOf: URL(filePath: recording.files[0])) == bare)
        #expect(export.verdict == .damaged)
    }

    @Test func filesOfARecordingThatGoesOnGetNoIndex() throws {
        let held = try Self.withoutIndex()
        let journal = try JournalWriter(folder: held.folder)
        #expect(try journal.lock())
        #expect(RecordingRepair.completeFiles(of: held.folder).isEmpty)
        #expect(try Self.needIndex(held) == [true, true])
        // One that was cut off is the repair's, which journals its end.
        let unfinished = try Self.recording()
        #expect(RecordingRepair.completeFiles(of: unfinished.folder).isEmpty)
        #expect(try Self.needIndex(unfinished) == [true, true])
    }

    @Test func doesNotTouchARecordingThatGoesOn() throws {
        let recording = try Self.recording()
        let journal = try JournalWriter(folder: recording.folder)
        #expect(try journal.lock())
        let before = try self.files(recording.folder)
        let error = #expect(throws: ExportError.self) { try RecordingRepair.finish(recording.folder) }
        #expect(error?.code == .busy)
        #expect(try self.files(recording.folder) == before)
    }

    /// Folders with deleted parts; whatever is left, a second run changes nothing.
    @Test(arguments: [
        ["journal.jsonl"], ["tracks"], ["tracks", "manifest.json"], ["journal.jsonl", "tracks"],
        ["tracks/001-Alice-video.mkv"], [],
    ])
    func halfDeletedFolders(missing: [String]) throws {
        for closed in [false, true] {
            let recording = try Self.recording(closed: closed)
            try Data("{".utf8).write(to: URL(filePath: recording.folder.manifestPath))
            let kept = try self.files(recording.folder).filter { $0.key.hasPrefix("tracks/") }
            for name in missing { try FileManager.default.removeItem(atPath: recording.folder.path + "/" + name) }
            let report = try? RecordingRepair.finish(recording.folder)
            let after = try self.files(recording.folder)
            #expect((try? RecordingRepair.finish(recording.folder))?.repaired ?? [] == [])
            #expect(try self.files(recording.folder) == after, "without \(missing), closed: \(closed)")
            // Unreadable files are still there: where they were, or put aside.
            if !missing.contains("manifest.json") { #expect(after.values.contains(Data("{".utf8))) }
            for (name, data) in kept where closed && !missing.contains("tracks") && !missing.contains(name) {
                #expect(after[name] == data)
            }
            if !closed { #expect(report != nil) }
        }
    }

    @Test func asksForAnExportUntilThereIsOne() throws {
        let recording = try Self.recording()
        #expect(try RecordingRepair.finish(recording.folder).needsExport)
        #expect(try RecordingRepair.finish(recording.folder).needsExport)
        _ = try Exporter.run(folder: recording.folder, ExportSpec(to: .seconds(1)))
        #expect(try RecordingRepair.finish(recording.folder).needsExport)
        _ = try Exporter.run(folder: recording.folder)
        #expect(try !RecordingRepair.finish(recording.folder).needsExport)
        let whole = try Self.recording(closed: true)
        #expect(try !RecordingRepair.finish(whole.folder).needsExport)
    }

    @Test func anEmptyFolderIsFinishedToo() throws {
        let recording = try Self.recording()
        try FileManager.default.removeItem(atPath: recording.folder.journalPath)
        for file in recording.files { try FileManager.default.removeItem(atPath: file) }
        #expect(try RecordingRepair.finish(recording.folder) == RecordingRepair.finish(recording.folder).asUnfinished)
    }
}

extension RecordingRepair.Report {
    fileprivate var asUnfinished: Self {
        var report = self
        report.wasFinished = false
        return report
    }
}
