// SPDX-License-Identifier: Apache-2.0

import Basics
import Export
import Foundation
import Storage
import Testing
import Timeline

/// An export reads each track once, also for its certificate; what changed meanwhile is read again.
@Suite struct TrackReadingTests {
    private static func recording(repeated count: Int = 1) throws -> SimulatedRecording {
        let media = try EncodedMedia.shared.get()
        let units = { (units: [[UInt8]]) in (0..<count).flatMap { _ in units } }
        return try SimulatedRecording([.video("alice", .vp8, units(media.vp8)), .audio("alice", units(media.opus))])
    }

    /// How many bytes this thread read from files so far.
    private static func bytesRead() throws -> Int {
        let text = try String(contentsOfFile: "/proc/thread-self/io", encoding: .utf8)
        let line = text.split(separator: "\n").first { $0.hasPrefix("rchar: ") }
        return try #require(line.flatMap { Int($0.dropFirst(7)) })
    }

    @Test func eachTrackIsReadOnce() throws {
        let recording = try Self.recording(repeated: 60)
        try recording.settle()
        let before = try Self.bytesRead()
        let report = try Exporter.run(folder: recording.folder)
        let read = try Self.bytesRead() - before
        let tracks = try recording.files.reduce(0) { try $0 + Int(File($1, .read).count) }
        #expect(report.verdict == .complete)
        // The tracks and the export. Their heads, which are read more often, are less than a quarter of that.
        #expect(read < (tracks + Int(report.bytes)) * 5 / 4, "\(read) bytes: tracks \(tracks), export \(report.bytes)")
    }

    enum Change: CaseIterable {
        case byte, file, end, removal

        func make(_ path: String) throws {
            let url = URL(filePath: path)
            var data = try Data(contentsOf: url)
            switch self {
            case .byte:
                data[data.count / 2] ^= 1
                let file = try FileHandle(forWritingTo: url)
                try file.write(contentsOf: data)
            case .file:
                data[data.count / 2] ^= 1
                try data.write(to: url, options: .atomic)
            case .end: try FileHandle(forWritingTo: url).truncate(atOffset: UInt64(data.count / 2))
            case .removal: try FileManager.default.removeItem(at: url)
            }
        }
    }

    @Test(arguments: Change.allCases) func aTrackThatChangesMeanwhileIsNoticed(change: Change) throws {
        let recording = try Self.recording()
        _ = try Exporter.run(folder: recording.folder)
        try recording.settle()
        let report = try Exporter.run(folder: recording.folder) { progress in
            try #require(progress.fraction == 1)
            try change.make(recording.files[0])
        }
        #expect(report.verdict == .damaged && report.isOfDamaged, "\(report.warnings)")
        let certificate = try #require(try Manifest.read(recording.folder)?.certificate)
        let kind = change == .removal ? Certificate.Finding.Kind.fileUnreadable : .fileChanged
        #expect(certificate.findings(.damage).contains { $0.kind == kind }, "\(certificate.findings)")
    }

    @Test func theFirstHashIsOfWhatIsThere() throws {
        let recording = try Self.recording()
        try recording.settle()
        _ = try Exporter.run(folder: recording.folder) { _ in try Change.byte.make(recording.files[0]) }
        let path = recording.files[0]
        let file = try #require(try Manifest.read(recording.folder)?.files?.first { path.hasSuffix($0.name) })
        #expect(try HashingFile.sha256(path, first: file.bytes) == file.sha256)
    }
}
