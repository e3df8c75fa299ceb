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

@Suite struct ChatAndTagsTests {
    private static func recording() throws -> SimulatedRecording {
        let media = try EncodedMedia.shared.get()
        return try SimulatedRecording([
            .video("alice", .vp8, media.vp8, capture: 0), .audio("alice", media.opus, capture: 0),
        ])
    }

    @Test func chatIsATextTrack() throws {
        let recording = try Self.recording()
        let messages: [(String, Int64)] = [
            ("hello", 1_000_000_000), ("<b>bold</b> {\\an8}", 1_200_000_000), ("two\nlines", 3_000_000_000),
        ]
        for (text, nanoseconds) in messages {
            let message = ChatMessage(participant: "alice", text: text)
            try recording.note(.chatMessage(message), after: nanoseconds)
        }
        let report = try Exporter.run(folder: recording.folder)
        let probe = try Probe(report.output)
        #expect(probe.streams.map(\.codec_name) == ["vp8", "opus", "subrip"])
        #expect(probe.streams.last?.tags?["title"] == "Chat")
        let text = try Command.run("ffmpeg", ["-v", "error", "-i", report.output, "-map", "0:s", "-f", "srt", "-"])
        let lines = text.text.replacingOccurrences(of: "\u{2060}", with: "").split(separator: "\n").map(String.init)
        #expect(
            lines.filter { $0.hasPrefix("Alice: ") } == [
                "Alice: hello", "Alice: <b>bold</b> {\\an8}", "Alice: two lines",
            ]
        )
        // Each until the next, but half a second at least; the last for five seconds.
        let ends = lines.filter { $0.contains("-->") }.map { line in
            Double(line.suffix(6).replacingOccurrences(of: ",", with: ".")) ?? .nan
        }
        for (end, wanted) in zip(ends, [1.5, 3, 8]) { #expect(abs(end - wanted) < 0.06, "\(ends)") }
        #expect(ends.count == 3)

        let part = try Exporter.run(folder: recording.folder, ExportSpec(from: .seconds(2)))
        let rest = try Command.run("ffmpeg", ["-v", "error", "-i", part.output, "-map", "0:s", "-f", "srt", "-"])
        #expect(rest.text.contains("two lines") && !rest.text.contains("hello"))
    }

    @Test func chatGoesOnAfterTheLastPicture() throws {
        let recording = try Self.recording()
        for (text, seconds) in [("see you", 5), ("one more thing", 60), ("bye", 61)] as [(String, Int64)] {
            try recording.note(
                .chatMessage(ChatMessage(participant: "alice", text: text)),
                after: seconds * 1_000_000_000
            )
        }
        func lines(_ selection: ExportSpec) throws -> (said: [String], seconds: Double) {
            let output = try Exporter.run(folder: recording.folder, selection).output
            let text = try Command.run("ffmpeg", ["-v", "error", "-i", output, "-map", "0:s", "-f", "srt", "-"])
            let said = text.text.split(separator: "\n").map(String.init).filter { $0.hasPrefix("Alice: ") }
            return (said, Double(try Probe(output).format.duration ?? "") ?? .nan)
        }
        let whole = try lines(ExportSpec())
        #expect(whole.said == ["Alice: see you", "Alice: one more thing", "Alice: bye"])
        #expect(abs(whole.seconds - 61) < 0.1, "\(whole.seconds)")
        let part = try lines(ExportSpec(to: .milliseconds(60_500)))
        #expect(part.said == ["Alice: see you", "Alice: one more thing"])
        #expect(abs(part.seconds - 60) < 0.1, "\(part.seconds)")
    }

    @Test func tagsTellWhatItIs() throws {
        let recording = try Self.recording()
        try recording.note(
            .detailsChanged(DetailsChanged(tags: ["weekly", "team"], notes: "as planned")),
            after: 9_000_000_000
        )
        let report = try Exporter.run(folder: recording.folder, program: "tapedeck 9.9")
        let probe = try Probe(report.output)
        let file = probe.format.tags ?? [:]
        #expect(file["ROOM"] == "Stand up!")
        #expect(file["RECORDING_ID"] == recording.folder.id.rawValue)
        #expect(file["KEYWORDS"] == "weekly,team")
        #expect(file["COMMENT"] == "as planned")
        #expect(file["HOST"] == "host")
        #expect(file["DATE_RECORDED"]?.hasPrefix("2026-11-21T03:12:26") == true)
        #expect(file.values.contains("tapedeck 9.9"))
        let track = probe.streams[0].tags ?? [:]
        #expect(track["PARTICIPANT_ID"] == "alice")
        #expect(track["PARTICIPANT"] == "Alice")
        #expect(track["SOURCE_FILE"]?.hasPrefix("tracks/001-") == true)
        #expect(track["CODEC"] == "VP8, 320×240")
        #expect(track["CLOCK"] == "sender-reports")
        #expect(probe.streams[1].tags?["CODEC"] == "Opus, 48000 Hz, 2 channels")
    }

    @Test func goesIntoWebMWhereTheCodecsAllow() throws {
        let recording = try Self.recording()
        try recording.note(.chatMessage(ChatMessage(participant: "alice", text: "hi")), after: 1_000_000_000)
        let report = try Exporter.run(folder: recording.folder, ExportSpec(.tracks(.init(container: .webm))))
        #expect(report.output == recording.folder.path + "/call.webm")
        #expect(try Probe(report.output).streams.map(\.codec_name) == ["vp8", "opus"])
        #expect(try Command.complaints(about: report.output).isEmpty)
        let head = try Data(contentsOf: URL(filePath: report.output)).prefix(64)
        #expect(head.range(of: Data("webm".utf8)) != nil)
        #expect(report.warnings.contains { $0.hasPrefix("the chat of 1 messages is left out") })

        let media = try EncodedMedia.shared.get()
        let unfit = try SimulatedRecording([.video("bob", .h264, media.h264), .audio("bob", media.opus)])
        for container in [ExportSpec.Container.webm, .mp4] {
            var found: ExportError?
            do {
                _ = try Exporter.run(
                    folder: container == .webm ? unfit.folder : recording.folder,
                    ExportSpec(.tracks(.init(container: container)))
                )
            } catch let error as ExportError {
                found = error
            }
            #expect(found?.code == .unsuitableContainer)
            let words = container == .webm ? "has H.264 (Bob)" : "has VP8 (Alice)"
            #expect(found?.message.contains(words) == true)
        }
    }
}
