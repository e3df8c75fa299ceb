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

/// How an export shows people: by name, by a number behind a name that others have, by id without one.
@Suite(.timeLimit(.minutes(5))) struct ParticipantNamesTests {
    private typealias Plan = SimulatedRecording.TrackPlan

    /// Two people called Ann and Zoë, who sent their names late, and one without a name.
    private static func call() throws -> SimulatedRecording {
        let media = try EncodedMedia.shared.get()
        let recording = try SimulatedRecording([
            .audio("a1", media.opus), .video("a1", .vp8, media.vp8), .audio("a2", media.opus),
            .audio("z", media.opus), .audio("zz", media.opus),
        ])
        for (id, name) in [("a1", "Ann"), ("a2", "Ann"), ("z", "Zo"), ("z", "Zoë\u{202E}"), ("zz", "\u{0}")] {
            try recording.note(
                .participantJoined(ParticipantJoined(participant: id, name: name)),
                after: 2_000_000_000
            )
        }
        try recording.note(.chatMessage(ChatMessage(participant: "a2", text: "hi", label: nil)), after: 1_000_000_000)
        return recording
    }

    @Test func titlesChaptersTablesAndTagsHaveNames() throws {
        let recording = try Self.call()
        let report = try Exporter.run(folder: recording.folder)
        let file = try Command.run("mkvmerge", ["-J", report.output])
        for title in ["Ann – audio", "Ann – video", "Ann (2) – audio", "Zoë – audio", "zz – audio"] {
            #expect(file.text.contains("\"track_name\": \"\(title)\""), "\(title) in \(file.text)")
        }
        let chapters = try Probe(report.output).titles.map(\.title)
        for title in ["Ann joined", "Ann (2) joined", "Zoë joined", "zz joined"] {
            #expect(chapters.contains(title), "\(title) in \(chapters)")
        }
        for line in report.table().split(separator: "\n").dropFirst() {
            #expect(["Ann  ", "Ann (2)", "Zoë", "zz"].contains { line.contains($0) }, "\(line)")
        }
        #expect(report.tracks.map(\.participant) == ["a1", "a1", "a2", "z", "zz"], "ids stay in the report")
        let manifest = try #require(try Manifest.read(recording.folder))
        #expect(manifest.participants.prefix(3).map(\.id) == ["a1", "a2", "z"])
        #expect(manifest.participants.prefix(2).map(\.name) == ["Ann", "Ann"])
        #expect(manifest.certificate?.tracks.map(\.name) == ["Ann", "Ann", "Ann (2)", "Zoë", "zz"])
        let text = try Command.run("ffmpeg", ["-v", "error", "-i", report.output, "-map", "0:s", "-f", "srt", "-"]).text
        #expect(text.contains("Ann (2): hi"), "\(text)")
    }

    /// Chromium's Media Source Extensions take no file whose track entries have other letters than ASCII.
    @Test(arguments: [ExportSpec(.tracks(.init(container: .webm))), ExportSpec(.browser, participant: "z")])
    func titlesOfWebMAreASCII(spec: ExportSpec) throws {
        let recording = try Self.call()
        let report = try Exporter.run(folder: recording.folder, spec)
        let tags = try Probe(report.output).streams.map { $0.tags ?? [:] }
        let all = ["Ann - video", "Ann - audio", "Ann (2) - audio", "Zoe - audio", "zz - audio"]
        #expect(tags.map { $0["title"] } == (spec.layout == .browser ? ["Zoe - audio"] : all))
        let names = tags.compactMap { $0["PARTICIPANT"] }
        #expect(names == (spec.layout == .browser ? [] : ["Ann", "Ann", "Ann (2)", "Zoë", "zz"]))
    }

    @Test func tilesHaveThem() throws {
        let recording = try Self.call()
        let input = try RenderInput(folder: recording.folder)
        #expect(input.participants.map(\.name) == ["Ann", "Ann (2)", "Zoë", "zz"])
        #expect(input.participants.map(\.id) == ["a1", "a2", "z", "zz"])
    }

    @Test(arguments: [("Zoë", ["z"]), ("Zo", ["z"]), ("Ann (2)", ["a2"]), ("a1", ["a1", "a1"]), ("z", ["z"])])
    func anyNameThatIsShownChoosesItsParticipant(name: String, participants: [String]) throws {
        let recording = try Self.call()
        let report = try Exporter.run(folder: recording.folder, ExportSpec(participant: name))
        #expect(report.tracks.map(\.participant) == participants)
    }

    @Test(arguments: ["Ann", "An"])
    func ofTwoWithOneNameTheIDHasToBeGiven(name: String) throws {
        let recording = try Self.call()
        let error = #expect(throws: ExportError.self) {
            try Exporter.run(folder: recording.folder, ExportSpec(participant: name))
        }
        #expect(error?.code == .noSuchParticipant)
        #expect(
            error?.message == "'\(name)' may be several participants; give the id of one: Ann (a1), Ann (2) (a2)"
        )
    }

    /// The journal lost a participant's name; the file's title has it.
    @Test func aNameThatTheJournalLostIsReadFromTheTrack() throws {
        let media = try EncodedMedia.shared.get()
        let recording = try SimulatedRecording([.audio("alice", media.opus)])
        let path = recording.folder.path + "/journal.jsonl"
        let lines = try String(contentsOfFile: path, encoding: .utf8).split(separator: "\n")
        try lines.filter { !$0.contains("participant-joined") }.joined(separator: "\n").appending("\n")
            .write(toFile: path, atomically: true, encoding: .utf8)
        let report = try Exporter.run(folder: recording.folder)
        #expect(report.tracks.map(\.name) == ["Alice"])
    }
}
