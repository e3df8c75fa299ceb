// SPDX-License-Identifier: Apache-2.0

import Basics
import Foundation
import Matroska
import Recording
import Storage
import TestSupport
import Testing
import Timeline

/// A file system of 256 kB in memory; needs root.
private final class SmallFileSystem {
    let path = FileManager.default.temporaryDirectory.path + "/tapedeck-small-\(RecordingID.random())"

    static let isAvailable = (try? SmallFileSystem()) != nil

    init() throws {
        try FileManager.default.createDirectory(atPath: self.path, withIntermediateDirectories: true)
        guard try Self.run(["mount", "-t", "tmpfs", "-o", "size=256k", "tmpfs", self.path]) == 0 else {
            try FileManager.default.removeItem(atPath: self.path)
            throw CocoaError(.fileWriteNoPermission)
        }
    }

    deinit {
        _ = try? Self.run(["umount", "-l", self.path])
        try? FileManager.default.removeItem(atPath: self.path)
    }

    private static func run(_ arguments: [String]) throws -> Int32 {
        let process = Process()
        process.executableURL = URL(filePath: "/usr/bin/env")
        process.arguments = arguments
        process.standardError = FileHandle.nullDevice
        try process.run()
        process.waitUntilExit()
        return process.terminationStatus
    }
}

@Suite(.enabled(if: SmallFileSystem.isAvailable, "mounting a small file system needs root"))
struct FullDiskTests {
    @Test func keepsWholeUnitsWhenTheDiskIsFull() throws {
        let disk = try SmallFileSystem()
        let folder = try RecordingFolder.create(
            storage: disk.path,
            room: "r",
            start: UTCTime(nanosecondsSince1970: 0)
        )
        let journal = try JournalWriter(folder: folder)
        let writer = TrackFileWriter(
            folder: folder,
            journal: journal,
            track: TrackDescription(number: 1, participant: "p", codec: .vp8, clockRateHz: 90_000)
        )
        var failure: RecordingError?
        for index in 0..<200 where failure == nil {
            do {
                _ = try writer.write(TestUnits.vp8Keyframe(size: 9_000), rtpTime: Int64(index) * 3000)
            } catch let error as RecordingError {
                failure = error
            }
        }
        #expect(failure?.part == .track(1))
        #expect(failure?.cause.code == .noSpace)
        #expect(failure?.cause.path == folder.path + "/tracks/001-p-video.mkv")
        #expect { try writer.write(TestUnits.vp8Keyframe(), rtpTime: 0) } throws: {
            ($0 as? RecordingError)?.cause.code == .closed
        }
        var reader = try Reader(File(folder.path + "/" + writer.relativePath, .read))
        var units: UInt64 = 0
        while try reader.nextHead() != nil { units += 1 }
        #expect(units == writer.statistics.units)
        #expect(units > 10)
        #expect(reader.tornTailOffset == nil)
    }

    /// What was gathered for one write is in the file as a whole, or not at all and counted as refused.
    @Test func aRoundThatFindsNoRoomIsRefused() throws {
        let disk = try SmallFileSystem()
        let feed = RecordingFeed(storage: disk.path)
        let receiver = AccountTests.Receiver()
        let video = feed.open(.vp8, counters: receiver.counters)
        let ballast = disk.path + "/ballast"
        for time in 0..<4 as Range<Int64> {
            receiver.comes(2)
            let unit = time == 0 ? FedUnit.keyframe() : FedUnit.frame(size: 3000)
            feed.push(video, unit, at: time, packets: 2, endsRound: time == 0 || time == 3)
            if time == 0 { try self.fill(ballast) }
        }
        #expect(feed.written == 1)
        #expect(feed.status.failure?.part == .track(1) && feed.status.failure?.cause.code == .noSpace)
        #expect(feed.degraded.map(\.byDisk) == [true])
        try FileManager.default.removeItem(atPath: ballast)
        feed.tell { $0.connectionClosed(1, reason: "left") }
        feed.end()
        let folder = try #require(feed.folders.first)
        let accounts = try Journal.entries(of: folder).compactMap { entry -> SourceCounted? in
            if case .sourceCounted(let account) = entry.record { account } else { nil }
        }
        let account = try #require(accounts.last)
        #expect((account.received, account.recorded, account.imbalance) == (8, 2, 0))
        #expect(account.refused.mapValues(\.packets) == [.disk: 6])
        var reader = try Reader(File(folder.path + "/tracks/001-alice-video.mkv", .read))
        var units = 0
        while try reader.nextHead() != nil { units += 1 }
        #expect(units == 1 && reader.tornTailOffset == nil)
    }

    @Test func keepsWholeRoundsWhenTheDiskIsFull() throws {
        let disk = try SmallFileSystem()
        let folder = try RecordingFolder.create(storage: disk.path, room: "r", start: UTCTime(nanosecondsSince1970: 0))
        let writer = TrackFileWriter(
            folder: folder,
            journal: try JournalWriter(folder: folder),
            track: TrackDescription(number: 1, participant: "p", codec: .vp8, clockRateHz: 90_000)
        )
        _ = try writer.write(TestUnits.vp8Keyframe(), rtpTime: 0)
        var failure: RecordingError?
        for round in 1..<200 as Range<Int64> where failure == nil {
            do {
                for unit in 0..<3 as Range<Int64> {
                    _ = try writer.gather(TestUnits.vp8Frame(size: 1500), rtpTime: (round * 3 + unit) * 3000)
                }
                try writer.writeGathered()
            } catch let error as RecordingError {
                failure = error
            }
        }
        #expect(failure?.cause.code == .noSpace && !writer.takesUnits)
        var reader = try Reader(File(folder.path + "/" + writer.relativePath, .read))
        var units: UInt64 = 0
        while try reader.nextHead() != nil { units += 1 }
        #expect(units == writer.unitsInFile && units == writer.statistics.units && reader.tornTailOffset == nil)
        #expect(units > 10 && units % 3 == 1)
    }

    @Test func recordsWaitUntilThereIsRoom() throws {
        let disk = try SmallFileSystem()
        let folder = try RecordingFolder.create(storage: disk.path, room: "r", start: UTCTime(nanosecondsSince1970: 0))
        let journal = try JournalWriter(folder: folder)
        let ballast = disk.path + "/ballast"
        try self.fill(ballast)
        // The page that the journal has takes some more.
        let noted = 200
        for number in 0..<noted {
            journal.note(.marker(Marker(name: "mark", text: "\(number)")), monotonicNanoseconds: Int64(number))
        }
        #expect(journal.takeFailure()?.code == .noSpace)
        #expect(throws: StorageError.self) {
            try journal.append(.marker(Marker(name: "mark", text: "lost")), monotonicNanoseconds: 0)
        }
        #expect(try Journal.entries(of: folder).count < noted)
        try FileManager.default.removeItem(atPath: ballast)
        #expect(journal.takeFailure() == nil)
        journal.note(.marker(Marker(name: "mark", text: "last")), monotonicNanoseconds: Int64(noted))
        var entries: [JournalEntry] = []
        let read = try Journal.read(folder) { entries.append($0) }
        #expect(read.skippedLines == 0)
        #expect(entries.map(\.monotonicNanoseconds) == (0...Int64(noted)).map { $0 })
    }

    @Test func aFileThatHasNoRoomIsNotBegun() throws {
        let disk = try SmallFileSystem()
        let folder = try RecordingFolder.create(storage: disk.path, room: "r", start: UTCTime(nanosecondsSince1970: 0))
        let journal = try JournalWriter(folder: folder)
        let ballast = disk.path + "/ballast"
        try self.fill(ballast)
        let track = TrackDescription(number: 1, participant: "p", codec: .vp8, clockRateHz: 90_000)
        let writer = TrackFileWriter(folder: folder, journal: journal, track: track)
        for attempt in Int64(0)..<3 {
            #expect(throws: RecordingError.self) { try writer.write(TestUnits.vp8Keyframe(), rtpTime: attempt * 3000) }
            #expect(writer.takesUnits)
        }
        #expect(try folder.trackNumbers().isEmpty)
        try FileManager.default.removeItem(atPath: ballast)
        #expect(try writer.write(TestUnits.vp8Keyframe(), rtpTime: 90_000) == .taken(isKeyframe: true))
        let opened = try Journal.entries(of: folder).compactMap { entry -> Int64? in
            if case .trackOpened(let record) = entry.record { record.firstRTPTime } else { nil }
        }
        #expect(opened == [90_000])
    }

    private func fill(_ path: String) throws {
        #expect(FileManager.default.createFile(atPath: path, contents: nil))
        let handle = try #require(FileHandle(forWritingAtPath: path))
        defer { try? handle.close() }
        while (try? handle.write(contentsOf: Data(repeating: 0, count: 4096))) != nil {}
    }
}
