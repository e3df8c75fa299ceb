// SPDX-License-Identifier: Apache-2.0

import Basics
import Export
import Foundation
import Matroska
import Model
import Rendering
import Storage
import TestSupport
import Testing
import Timeline

/// Track files of which the disk lost a page in the middle.
@Suite(.timeLimit(.minutes(5))) struct HoleTests {
    private typealias Plan = SimulatedRecording.TrackPlan

    private static func recording(_ plans: [Plan], closed: Bool = true) throws -> SimulatedRecording {
        try SimulatedRecording(plans, closed: closed)
    }

    private struct Unit {
        var cluster: Int
        var isKeyframe: Bool
    }

    /// Where each cluster of a file begins, and for each unit in which it is.
    private static func layout(_ path: String) throws -> (clusters: [Int], units: [Unit]) {
        let bytes = [UInt8](try Data(contentsOf: URL(filePath: path)))
        let name: [UInt8] = [0x1F, 0x43, 0xB6, 0x75]
        var reader = try Reader(MemorySource(bytes))
        var (clusters, units): ([Int], [Unit]) = ([], [])
        var end = 0
        while let head = try reader.nextHead() {
            // A cluster begins where its name stands between two blocks.
            for place in end..<Int(head.offset) where bytes[place...].starts(with: name) { clusters.append(place) }
            end = Int(head.payloadOffset) + head.payloadSize
            units.append(Unit(cluster: clusters.count - 1, isKeyframe: head.isKeyframe))
        }
        return (clusters, units)
    }

    private static func zero(_ path: String, _ range: Range<Int>) throws {
        let file = try FileHandle(forWritingTo: URL(filePath: path))
        try file.seek(toOffset: UInt64(range.lowerBound))
        try file.write(contentsOf: Data(count: range.count))
        try file.close()
    }

    private static func torn(_ folder: RecordingFolder) throws -> [Certificate.Finding] {
        try RecordingExamination.certificate(of: folder).findings(.damage).filter { $0.kind == .fileTorn }
    }

    @Test func anExportHasWhatIsBehindAHole() throws {
        let media = try EncodedMedia.shared.get()
        let recording = try Self.recording([.video("alice", .vp8, media.vp8), .audio("alice", media.opus)])
        for (index, path) in recording.files.enumerated() {
            let (clusters, units) = try Self.layout(path)
            let size = clusters[2] - clusters[1]
            try Self.zero(path, clusters[1]..<(clusters[1] + min(2048, size)))
            let report = try Exporter.run(folder: recording.folder)
            #expect(report.verdict == .damaged && !report.tracks[index].isComplete)
            let rest = units.filter { $0.cluster != 1 }
            let behind = units.filter { $0.cluster > 1 }
            // Frames after the hole that refer into it are left out.
            let lost = index == 0 ? behind.prefix { !$0.isKeyframe }.count : 0
            #expect(report.tracks[index].units == UInt64(rest.count - lost))
            #expect(report.tracks[index].unitsLeftOut == UInt64(lost))
            #expect(try Command.complaints(about: report.output).isEmpty)
            let finding = try #require(try Self.torn(recording.folder).last)
            #expect(finding.text.contains("\(size) bytes from byte \(clusters[1])"), "\(finding.text)")
            #expect(finding.text.contains(" ms are missing"))
            let all = try Exporter.run(folder: recording.folder, ExportSpec(.tracks(.init(switches: [.keepDamaged]))))
            #expect(all.tracks[index].units == UInt64(rest.count))
            // The certificate knows such an export for what it is.
            #expect(try Probe(all.output).times(index).count >= rest.count)
        }
    }

    @Test func mp4AndBrowsersHaveItToo() throws {
        let media = try EncodedMedia.shared.get()
        let recording = try Self.recording([.video("bob", .h264, media.h264), .audio("bob", media.opus)])
        let (clusters, units) = try Self.layout(recording.files[0])
        try Self.zero(recording.files[0], clusters[1]..<(clusters[1] + 600))
        let mp4 = try recording.export(ExportSpec(.tracks(.init(container: .mp4))))
        let behind = units.filter { $0.cluster > 1 }.drop { !$0.isKeyframe }
        #expect(mp4.tracks[0].units == UInt64(units.filter { $0.cluster < 1 }.count + behind.count))
        #expect(try Command.complaints(about: mp4.output).isEmpty)
        let rendition = try Exporter.run(folder: recording.folder, ExportSpec(.browser))
        #expect(rendition.verdict == .damaged && rendition.tracks[0].units == mp4.tracks[0].units)
        // Nothing else is left, and no other user may read it.
        let mode = try FileManager.default.attributesOfItem(atPath: mp4.output)[.posixPermissions] as? Int
        #expect(mode == 0o640)
        let names = try FileManager.default.contentsOfDirectory(atPath: recording.folder.path)
        #expect(names.filter { $0.contains(".partial") || $0.contains(".tmp") } == [])
    }

    @Test func aRepairCompletesAFileWithAHole() throws {
        let media = try EncodedMedia.shared.get()
        let recording = try Self.recording([.video("alice", .vp8, media.vp8)], closed: false)
        let (clusters, units) = try Self.layout(recording.files[0])
        try Self.zero(recording.files[0], clusters[1]..<(clusters[1] + 600))
        let report = try RecordingRepair.finish(recording.folder)
        #expect(report.repaired.count == 1 && report.unreadable.isEmpty)
        #expect(try Self.torn(recording.folder).count == 1)
        var reader = try Reader(File(recording.files[0], .read))
        var count = 0
        while try reader.nextHead() != nil { count += 1 }
        #expect(count == units.filter { $0.cluster != 1 }.count)
        #expect(reader.durationNanoseconds != nil)
        #expect(try RecordingRepair.finish(recording.folder).wasFinished)
    }

    /// The next export takes over the files of a killed one; the daemon removes those of earlier versions.
    @Test func leftoversOfKilledExportsGo() throws {
        let media = try EncodedMedia.shared.get()
        let recording = try Self.recording([.video("bob", .h264, media.h264)])
        let folder = recording.folder.path
        let left = [".call.mp4.partial", ".call.mp4.partial.tracks", "..call.mp4.partial.tracks.partial"]
        let old = ["call.mp4.0123456789abcdef.tmp", "call.mp4.0123456789abcdef.tmp.remux", "browser.tmp.lock"]
        let foreign = ["notes.tmp", ".hidden"]
        let held = ".call-grid.mkv.partial"
        for name in left + old + foreign + [held, held + ".audio"] {
            try Data(repeating: 7, count: 100_000).write(to: URL(filePath: folder + "/" + name))
        }
        let names = { Set(try FileManager.default.contentsOfDirectory(atPath: folder)) }
        _ = try recording.export(ExportSpec(.tracks(.init(container: .mp4))))
        #expect(try names().isDisjoint(with: left) && names().contains("call.mp4"))
        let lock = try File(folder + "/" + held, .read)
        #expect(try lock.lock())
        #expect(try RecordingFolder.removeLeftovers(storage: recording.storagePath) == old.count)
        #expect(try names().isDisjoint(with: old) && names().isSuperset(of: foreign + [held, held + ".audio"]))
        withExtendedLifetime(lock) {}
    }
}
