// SPDX-License-Identifier: Apache-2.0

import Basics
import Foundation
import Matroska
import Model
import Storage
import TestSupport
import Testing
import Timeline

@testable import Export
@testable import Rendering

@Suite(.timeLimit(.minutes(5))) struct ExporterTests {
    private typealias Plan = SimulatedRecording.TrackPlan

    private static func call() throws -> [Plan] {
        let media = try EncodedMedia.shared.get()
        return [
            .audio("alice", media.opus), .video("alice", .vp8, media.vp8),
            .video("bob", .h264, media.h264, capture: 1_200_000_000), .audio("bob", media.opus, capture: 1_250_000_000),
            .video("carol", .vp9, media.vp9, capture: 2_000_000_000),
        ]
    }

    private func bytes(_ path: String) throws -> [UInt8] {
        [UInt8](try Data(contentsOf: URL(filePath: path)))
    }

    @Test func putsEveryTrackOnOneClock() throws {
        let recording = try SimulatedRecording(try Self.call())
        let report = try Exporter.run(folder: recording.folder)
        #expect(report.output == recording.folder.exportPath)
        #expect(report.isComplete)
        #expect(report.warnings.isEmpty)
        #expect(try Command.complaints(about: report.output).isEmpty)

        let probe = try Probe(report.output)
        #expect(probe.streams.map(\.codec_name) == ["vp8", "opus", "h264", "opus", "vp9"])
        #expect(
            probe.streams.map { $0.tags?["title"] } == [
                "Alice – video", "Alice – audio", "Bob – video", "Bob – audio", "Carol – video",
            ]
        )
        // Opus times are less its 6.5 ms of look-ahead (CodecDelay): that is when its audio was captured.
        for (stream, start) in [0.1, -0.0065, 1.1, 1.15 - 0.0065, 1.9].enumerated() {
            let first = try #require(probe.times(stream).first)
            #expect(abs(first - start) < 0.002, "stream \(stream) begins at \(first)")
        }
        for stream in 0..<5 {
            let times = probe.times(stream)
            #expect(zip(times, times.dropFirst()).allSatisfy { $0 < $1 })
        }
        #expect(probe.times(0).count == 120)
        #expect(abs((probe.format.duration.flatMap(Double.init) ?? 0) - 5.9) < 0.1)
        #expect(probe.format.tags?["creation_time"] == "2026-11-21T03:12:26.140000Z")
        #expect(probe.format.tags?["title"] == "Stand up!")

        let merged = try Command.run("mkvmerge", ["-o", recording.storagePath + "/again.mkv", report.output])
        #expect(merged.status == 0, "\(merged.text)")
    }

    /// Frames that are sent after later ones keep the times at which they are shown.
    @Test func picturesThatComeInAnotherOrderKeepTheirTimes() throws {
        let media = try EncodedMedia.shared.get()
        var plan = Plan.video("bob", .h264, media.reordered)
        plan.places = media.reorderedPlaces
        // The encoder waits for what it refers to.
        plan.delayNanoseconds = 140_000_000
        let recording = try SimulatedRecording([plan, .audio("bob", media.opus)])
        let report = try Exporter.run(folder: recording.folder)
        #expect(report.isComplete && report.verdict == .complete, "\(report.warnings)")
        #expect(report.tracks[0].units == 120 && report.tracks[0].gapCount == 0)
        #expect(abs(report.tracks[0].durationNanoseconds - 4_000_000_000) < 2_000_000)
        #expect(try Command.complaints(about: report.output).isEmpty)
        for path in recording.files.prefix(1) + [report.output] {
            let times = try Probe(path).times(0)
            let first = try #require(times.first)
            try #require(times.count == 120)
            for (time, place) in zip(times, media.reorderedPlaces) {
                #expect(abs(time - first - Double(place) / 30) < 0.0021, "\(path): \(time) of place \(place)")
            }
        }
        let merged = try Command.run("mkvmerge", ["-o", recording.storagePath + "/again.mkv", report.output])
        #expect(merged.status == 0, "\(merged.text)")
        // MP4 also has when each is decoded.
        let mp4 = try recording.export(ExportSpec(.tracks(.init(container: .mp4))))
        #expect(try Command.complaints(about: mp4.output).isEmpty)
        let times = try Probe(mp4.output).times(0)
        try #require(times.count == 120)
        let first = times[0]
        for (time, place) in zip(times, media.reorderedPlaces) {
            #expect(abs(time - first - Double(place) / 30) < 0.0021, "\(time) of place \(place)")
        }
    }

    /// A folder that was moved keeps its export: the manifest names it relative to the folder, however that was named.
    @Test func anExportInTheFolderIsNamedRelativeToIt() throws {
        let recording = try SimulatedRecording(try Self.call())
        let link = FileManager.default.temporaryDirectory.path + "/tapedeck-link-\(RecordingID.random())"
        try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: recording.storagePath)
        defer { try? FileManager.default.removeItem(atPath: link) }
        let path = link + recording.folder.path.dropFirst(recording.storagePath.utf8.count)
        let folder = try RecordingFolder.open(path: path)
        _ = try Exporter.run(folder: folder)
        let manifest = try #require(try Manifest.read(folder))
        #expect(manifest.exports.map(\.file) == ["call.mkv"])
        #expect(manifest.files?.contains { $0.name == "call.mkv" } == true)
    }

    @Test func reportsTheTracks() throws {
        let recording = try SimulatedRecording(try Self.call())
        var fractions: [Double] = []
        let report = try Exporter.run(folder: recording.folder) { fractions.append($0.fraction) }
        #expect(fractions.last == 1)
        #expect(report.tracks.map(\.participant) == ["alice", "alice", "bob", "bob", "carol"])
        #expect(report.tracks.map(\.sourceTrack) == [2, 1, 3, 4, 5])
        #expect(report.tracks.map(\.units)[0..<3] == [120, 201, 120] || report.tracks[1].units >= 200)
        #expect(report.tracks[0].keyframes == 4)
        #expect(report.tracks[2].width == 320)
        #expect(report.tracks.allSatisfy { $0.gapCount == 0 && $0.basis == .senderReports && $0.isComplete })
        #expect(abs(report.tracks[0].durationNanoseconds - 4_000_000_000) < 1_000_000)
        let lines = report.table().split(separator: "\n")
        #expect(lines.count == 6)
        #expect(lines[1].contains("Alice") && lines[1].contains("320x240") && lines[1].contains("vp8"))
        let json = try JSONEncoder().encode(report)
        #expect(try JSONDecoder().decode(ExportReport.self, from: json) == report)

        let manifest = try #require(try Manifest.read(recording.folder))
        #expect(manifest.room == "Stand up!")
        #expect(manifest.verdict == .complete)
        #expect(manifest.participants.map(\.name) == ["Alice", "Bob", "Carol"])
        #expect(manifest.tracks.count == 5)
        let pictures = manifest.tracks.filter { $0.media == .video }
        let sizes = pictures.map { $0.sizes?.map(\.description) }
        #expect(sizes == [["320x240"], ["320x240", "640x360"], ["320x240"]])
        for track in manifest.tracks {
            let rate = try #require(track.bitsPerSecond)
            let seconds = Double(track.bytes) * 8 / Double(rate)
            #expect(seconds > 3.9 && seconds < 4.1, "\(track)")
            #expect((track.sizes == nil) == (track.media == .audio))
        }
        #expect(manifest.exports.map(\.file) == ["call.mkv"])
    }

    @Test func keepsSyncWhenOneTrackTravelsLonger() throws {
        let media = try EncodedMedia.shared.get()
        var audio = Plan.audio("alice", media.opus, capture: 200_000_000)
        audio.delayNanoseconds = 440_000_000
        audio.firstReportNanoseconds = 1_900_000_000
        let recording = try SimulatedRecording([.video("alice", .vp8, media.vp8), audio])
        let report = try Exporter.run(folder: recording.folder)
        let starts = report.tracks.map(\.startNanoseconds)
        #expect(abs(starts[0] - starts[1]) < 1_000_000)
    }

    /// A frame and an audio packet of one instant have one time in the file, also after ten minutes with clocks that
    /// differ.
    @Test func keepsSyncWhenTheClocksOfASenderDiffer() throws {
        let media = try EncodedMedia.shared.get()
        let seconds = 600
        func units(_ units: [[UInt8]], _ count: Int) -> [[UInt8]] { (0..<count).map { units[$0 % units.count] } }
        var video = Plan.video("alice", .vp8, units(media.vp8, seconds), capture: 300_000_000)
        video.step = 90_000
        video.skew = 100e-6
        var audio = Plan.audio("alice", units(media.opus, 10 * seconds))
        audio.step = 4800
        audio.skew = -100e-6
        let recording = try SimulatedRecording([video, audio])
        let report = try Exporter.run(folder: recording.folder)
        #expect(report.tracks.map(\.units) == [UInt64(video.units.count), UInt64(audio.units.count)])

        var reader = try Reader(File(report.output, .read))
        var times: [Int: [Int64]] = [:]
        while let head = try reader.nextHead() { times[head.track, default: []].append(head.timeNanoseconds) }
        let (pictures, sounds) = (try #require(times[1]), try #require(times[2]))
        // The result of the clocks alone.
        #expect(abs(Double(video.captured(video.units.count - 1) - 300_000_000) / 1e9 - 598.94) < 0.01)
        var worst: Int64 = 0
        var sound = 0
        for picture in pictures.indices {
            // The flash of this frame, and the beep that was captured at the same instant or just before it.
            while sound + 1 < sounds.count, audio.captured(sound + 1) <= video.captured(picture) { sound += 1 }
            guard sound < sounds.count - 1 else { break }
            let between = pictures[picture] - sounds[sound]
            let truth = video.captured(picture) - audio.captured(sound)
            worst = max(worst, abs(between - truth))
        }
        #expect(sound > sounds.count - 30)
        #expect(worst <= 10_000_000, "\(worst) ns")
    }

    @Test func placesByArrivalWithoutReports() throws {
        let media = try EncodedMedia.shared.get()
        var plans: [Plan] = [.video("alice", .vp8, media.vp8), .audio("alice", media.opus)]
        for index in plans.indices { plans[index].firstReportNanoseconds = nil }
        let recording = try SimulatedRecording(plans)
        let report = try Exporter.run(folder: recording.folder)
        #expect(report.tracks.map(\.basis) == [.arrival, .arrival])
        #expect(abs(report.tracks[0].startNanoseconds - 100_000_000) < 1_000_000)
    }

    @Test func keepsGaps() throws {
        let media = try EncodedMedia.shared.get()
        var video = Plan.video("alice", .vp8, media.vp8, capture: 100_000_000)
        video.missing = 30..<90
        var audio = Plan.audio("alice", media.opus)
        audio.missing = 50..<60
        let recording = try SimulatedRecording([video, audio])
        let report = try Exporter.run(folder: recording.folder)
        #expect(report.tracks[0].gaps.map { ($0.durationNanoseconds + 500_000) / 1_000_000 } == [2033])
        #expect(report.tracks[1].gaps.map { ($0.durationNanoseconds + 500_000) / 1_000_000 } == [200])
        #expect(abs((report.tracks[1].gaps.first?.startNanoseconds ?? 0) - 1_000_000_000) < 1_000_000)
        #expect(report.isComplete)
        #expect(try Command.complaints(about: report.output).isEmpty)
    }

    /// As when a segment begins just before the room is left.
    @Test(arguments: [true, false])
    func exportsARecordingOfOneUnit(isSound: Bool) throws {
        let media = try EncodedMedia.shared.get()
        var plan = isSound ? Plan.audio("alice", media.opus) : Plan.video("alice", .vp8, media.vp8)
        plan.missing = 1..<(isSound ? media.opus : media.vp8).count
        let recording = try SimulatedRecording([plan])
        let report = try Exporter.run(folder: recording.folder)
        #expect(report.isComplete)
        #expect(report.tracks.map(\.units) == [1])
        #expect(report.durationNanoseconds == (isSound ? 20_000_000 : 0))
        #expect(try Command.complaints(about: report.output).isEmpty)
        #expect(try Probe(report.output).times(0).count == 1)
    }

    @Test func givesTheSameBytesAgain() throws {
        let recording = try SimulatedRecording(try Self.call())
        let first = try Exporter.run(folder: recording.folder)
        let bytes = try self.bytes(first.output)
        #expect(try Exporter.run(folder: recording.folder) == first)
        #expect(try self.bytes(first.output) == bytes)
        let elsewhere = recording.storagePath + "/elsewhere.mkv"
        _ = try Exporter.run(folder: recording.folder, output: elsewhere)
        #expect(try self.bytes(elsewhere) == bytes)
        #expect(try Manifest.read(recording.folder)?.exports.map(\.file) == ["call.mkv", elsewhere])
        let left = try FileManager.default.contentsOfDirectory(atPath: recording.folder.path).sorted()
        #expect(left == ["call.mkv", "certificate.txt", "journal.jsonl", "manifest.json", "tracks"])
    }

    @Test func leavesNothingWhenItIsStopped() throws {
        let recording = try SimulatedRecording(try Self.call())
        #expect(throws: CancellationError.self) {
            try Exporter.run(folder: recording.folder) { _ in throw CancellationError() }
        }
        let left = try FileManager.default.contentsOfDirectory(atPath: recording.folder.path).sorted()
        #expect(left == ["journal.jsonl", "tracks"])
    }

    @Test func refusesTwoAtOnce() throws {
        let recording = try SimulatedRecording(try Self.call())
        var inner: ExportError.Code?
        _ = try Exporter.run(folder: recording.folder) { _ in
            do {
                _ = try Exporter.run(folder: recording.folder)
            } catch let error as ExportError {
                inner = error.code
            }
        }
        #expect(inner == .busy)
    }

    @Test func tellsAnUnusablePlace() throws {
        let recording = try SimulatedRecording(try Self.call())
        for output in ["/nonexistent/call.mkv", "/proc/call.mkv", "", recording.storagePath + "/"] {
            #expect { try Exporter.run(folder: recording.folder, output: output) } throws: {
                ($0 as? ExportError)?.code == .storage
            }
        }
    }

    @Test func anExportThatTheRecordingCannotTellOfIsWhole() throws {
        let recording = try SimulatedRecording(try Self.call())
        let output = recording.storagePath + "/elsewhere.mkv"
        // In the place of the certificate stands what no file replaces.
        try FileManager.default.createDirectory(
            atPath: recording.folder.certificatePath + "/x",
            withIntermediateDirectories: true
        )
        #expect { try Exporter.run(folder: recording.folder, output: output) } throws: {
            guard let error = $0 as? ExportError, error.code == .notNoted else { return false }
            return error.message.hasPrefix("\(output) is whole") && error.blame == .destination
        }
        #expect(try Command.complaints(about: output).isEmpty)
        #expect(try Probe(output).streams.count == 5)
    }

    @Test func refusesAnEmptyRecording() throws {
        let recording = try SimulatedRecording([])
        #expect { try Exporter.run(folder: recording.folder) } throws: {
            ($0 as? ExportError)?.code == .nothingRecorded
        }
        #expect(!FileManager.default.fileExists(atPath: recording.folder.exportPath))
    }

    @Test func aDiskThatFailsWhileATrackIsReadMayWorkLater() {
        let disk = StorageError(.inputOutput, "it cannot be read", path: "/x")
        #expect(ExportError(disk).isRetriable)
        #expect(ExportError(MatroskaError(.sourceFailed, "it cannot be read", cause: disk), file: "x").isRetriable)
        #expect(!ExportError(MatroskaError(.notMatroska, "it is none"), file: "x").isRetriable)
    }
}
