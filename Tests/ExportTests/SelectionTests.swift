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

/// One participant's tracks, and ranges of time.
@Suite(.timeLimit(.minutes(5))) struct SelectionTests {
    private typealias Plan = SimulatedRecording.TrackPlan

    /// Alice from 0.1 s, Bob from 1.2 s; a keyframe each second of a sender's video.
    private static func call() throws -> [Plan] {
        let media = try EncodedMedia.shared.get()
        return [
            .audio("alice", media.opus), .video("alice", .vp8, media.vp8),
            .video("bob", .h264, media.h264, capture: 1_200_000_000), .audio("bob", media.opus, capture: 1_250_000_000),
            .audio("bobby", media.opus, capture: 2_000_000_000),
        ]
    }

    private func export(_ recording: SimulatedRecording, _ selection: ExportSpec) throws -> ExportReport {
        try Exporter.run(folder: recording.folder, selection)
    }

    @Test(arguments: [("alice", 2), ("Alice", 2), ("ali", 2), ("A", 2), ("bob", 2), ("Bob", 2), ("bobb", 1)])
    func takesOneParticipant(name: String, tracks: Int) throws {
        let recording = try SimulatedRecording(try Self.call())
        let report = try self.export(recording, ExportSpec(participant: name))
        #expect(report.tracks.count == tracks)
        #expect(Set(report.tracks.map(\.participant)).count == 1)
        #expect(report.tracks.map(\.startNanoseconds).min() == 0)
        #expect(report.output == recording.folder.path + "/call-\(name).mkv")
        #expect(report.isComplete)
        #expect(try Command.complaints(about: report.output).isEmpty)
    }

    @Test(arguments: [
        ("", ["Alice (alice)", "Bob (bob)", "Bobby (bobby)"]), ("b", ["Bob (bob)", "Bobby (bobby)"]),
        ("Bo", ["Bob (bob)", "Bobby (bobby)"]), ("dave", ["Alice (alice)", "Bob (bob)", "Bobby (bobby)"]),
        ("alice ", ["Alice (alice)", "Bob (bob)", "Bobby (bobby)"]),
    ])
    func tellsWhoMayBeMeant(name: String, people: [String]) throws {
        let recording = try SimulatedRecording(try Self.call())
        #expect {
            try self.export(recording, ExportSpec(participant: name))
        } throws: { error in
            guard let error = error as? ExportError else { return false }
            return error.code == .noSuchParticipant && error.blame == .request
                && error.message.hasSuffix(": " + people.joined(separator: ", "))
        }
        let files = try FileManager.default.contentsOfDirectory(atPath: recording.folder.path)
        #expect(!files.contains { $0.hasPrefix("call") })
    }

    @Test func takesARange() throws {
        let recording = try SimulatedRecording(try Self.call())
        let report = try self.export(recording, ExportSpec(from: .milliseconds(2500), to: .milliseconds(3500)))
        #expect(report.tracks.map(\.participant) == ["alice", "alice", "bob", "bob", "bobby"])
        #expect(try Command.complaints(about: report.output).isEmpty)
        let probe = try Probe(report.output)
        for stream in probe.streams {
            let first = try #require(probe.packets.first { $0.stream_index == stream.index })
            #expect(first.flags.hasPrefix("K"), "stream \(stream.index) begins with what cannot be decoded")
        }
        // Zero is Alice's keyframe at 2.2 s or Bob's at 2.2 s of the call that begins at 0.1 s: before the range.
        let start = try #require(report.tracks.map(\.startNanoseconds).min())
        #expect(start == 0)
        let lead = try #require(report.tracks.first { $0.media == .audio }?.startNanoseconds)
        #expect((300_000_000...500_000_000).contains(lead))
        #expect(report.warnings.count == 2)
        #expect(report.warnings.allSatisfy { $0.contains("keyframe") })
        #expect(report.isComplete)
        // One second and the lead of the video, not more.
        #expect(report.durationNanoseconds <= lead + 1_030_000_000)
        #expect(report.durationNanoseconds >= lead + 950_000_000)
    }

    @Test(arguments: [
        ExportSpec(from: .seconds(60)), ExportSpec(participant: "bob", to: .milliseconds(500)),
        ExportSpec(from: .seconds(Int64.max)), ExportSpec(from: .seconds(3), to: .seconds(1)),
    ])
    func refusesWhatHoldsNothing(selection: ExportSpec) throws {
        let recording = try SimulatedRecording([.audio("alice", Array(try EncodedMedia.shared.get().opus.prefix(50)))])
        var named = selection
        if named.participant != nil { named.participant = "alice" }
        if named.participant != nil { named.from = .seconds(30) }
        #expect {
            try self.export(recording, named)
        } throws: {
            ($0 as? ExportError)?.code == .emptySelection
        }
    }

    @Test func leavesTheWholeExportAlone() throws {
        let recording = try SimulatedRecording(try Self.call())
        let whole = try Exporter.run(folder: recording.folder)
        let before = try #require(try Manifest.read(recording.folder))
        let part = try self.export(recording, ExportSpec(participant: "alice", to: .seconds(1)))
        #expect(part.output != whole.output)
        let after = try #require(try Manifest.read(recording.folder))
        #expect(after.tracks == before.tracks)
        #expect(after.verdict == before.verdict)
        #expect(after.exports.map(\.file) == ["call.mkv", "call-alice-to-1s.mkv"])
    }

    @Test func everythingIsTheSameAsNoSelection() throws {
        let recording = try SimulatedRecording(try Self.call())
        let whole = try Exporter.run(folder: recording.folder)
        #expect(try self.export(recording, ExportSpec()) == whole)
    }
}
