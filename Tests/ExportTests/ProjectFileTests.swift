// SPDX-License-Identifier: Apache-2.0

import Basics
import Export
import Foundation
import Matroska
import Storage
import Testing
import Timeline

@Suite struct ProjectFileTests {
    private struct Project: Decodable {
        struct Time: Decodable {
            var rate: Double
            var value: Double
        }

        struct Range: Decodable {
            var start_time: Time
            var duration: Time
        }

        struct Reference: Decodable {
            var target_url: String
        }

        struct Item: Decodable {
            var OTIO_SCHEMA: String
            var source_range: Range
            var media_reference: Reference?
        }

        struct Track: Decodable {
            var kind: String
            var children: [Item]
        }

        struct Marker: Decodable {
            var name: String
        }

        struct Stack: Decodable {
            var children: [Track]
            var markers: [Marker]
        }

        var tracks: Stack
    }

    @Test func placesEveryTrackFileOnOneTimeline() throws {
        let media = try EncodedMedia.shared.get()
        let recording = try SimulatedRecording([
            .video("alice", .vp8, media.vp8, capture: 0), .audio("bob smith", media.opus, capture: 1_500_000_000),
        ])
        let report = try Exporter.run(folder: recording.folder)
        let path = try ProjectFile.write(report, folder: recording.folder)
        #expect(path == recording.folder.path + "/call.otio")
        let project = try JSONDecoder().decode(Project.self, from: Data(contentsOf: URL(filePath: path)))
        #expect(project.tracks.children.map(\.kind) == ["Video", "Audio"])
        #expect(project.tracks.children.map { $0.children.map(\.OTIO_SCHEMA) } == [["Clip.1"], ["Gap.1", "Clip.1"]])
        #expect(abs(project.tracks.children[1].children[0].source_range.duration.value - 1_500) < 50)
        for track in project.tracks.children {
            let url = try #require(track.children.last?.media_reference?.target_url)
            let file = try #require(url.removingPercentEncoding)
            #expect(FileManager.default.fileExists(atPath: recording.folder.path + "/" + file), "\(url)")
        }
        #expect(project.tracks.markers.map(\.name) == report.events.map(\.title))

        let video = media.vp8
        var later = SimulatedRecording.TrackPlan.video("alice", .vp8, Array(video[60...]), capture: 4_000_000_000)
        later.firstReportNanoseconds = 4_500_000_000
        let changed = try SimulatedRecording([.video("alice", .vp8, Array(video[..<60]), capture: 0), later])
        let joined = try ProjectFile.write(try Exporter.run(folder: changed.folder), folder: changed.folder)
        let lane = try JSONDecoder().decode(Project.self, from: Data(contentsOf: URL(filePath: joined))).tracks.children
        try #require(lane.count == 1 && lane[0].children.map(\.OTIO_SCHEMA) == ["Clip.1", "Gap.1", "Clip.1"])
        let lengths = lane[0].children.map(\.source_range.duration.value)
        for (length, expected) in zip(lengths, [2_000.0, 2_000, 2_000]) { #expect(abs(length - expected) < 5) }
        #expect(Set(lane[0].children.compactMap(\.media_reference?.target_url)).count == 2)

        let elsewhere = try Exporter.run(
            folder: recording.folder,
            output: recording.storagePath + "/the call.mkv"
        )
        let other = try ProjectFile.write(elsewhere, folder: recording.folder)
        #expect(other == recording.storagePath + "/the call.otio")
        let text = try String(contentsOfFile: other, encoding: .utf8)
        #expect(text.contains("file://\(recording.folder.path)/tracks/001-"))
    }
}
