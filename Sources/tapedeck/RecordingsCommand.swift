// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Basics
import Foundation
import Model
import Storage
import Timeline

/// `tapedeck recordings`.
struct RecordingsCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "recordings",
        abstract: "List the recordings of a storage directory, oldest first, or explain one.",
        discussion: """
            Reads the folders directly; the daemon need not run.

            Example: tapedeck recordings show k3v9 --directory /var/lib/tapedeck
            """,
        subcommands: [ListRecordingsCommand.self, ShowRecordingCommand.self],
        defaultSubcommand: ListRecordingsCommand.self
    )
}

/// `tapedeck recordings list`.
struct ListRecordingsCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list",
        abstract: "List the recordings.",
        discussion: "Example: tapedeck recordings list --directory /var/lib/tapedeck"
    )

    @Option(help: "Storage directory.")
    var directory = "."

    @OptionGroup var common: CommonOptions

    mutating func run() async throws {
        do {
            try RecordingFolder.requireStorage(self.directory)
            var rows: [RecordingDescription] = []
            for folder in try RecordingFolder.list(storage: self.directory) {
                do throws(StorageError) {
                    rows.append(RecordingDescription(try RecordingSummary.read(folder)))
                } catch {
                    Output.message("\(folder.path): \(error.message)")
                }
            }
            if self.common.json {
                for row in rows { try Output.json(row) }
            } else {
                for line in RecordingDescription.table(rows) { Output.result(line) }
            }
        } catch {
            throw CommandFailure(error)
        }
    }
}

/// `tapedeck recordings show`.
struct ShowRecordingCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "show",
        abstract: "Explain one recording: participants, received media, exports.",
        discussion: "Example: tapedeck recordings show k3v9q2wtb4n50xjc --directory /var/lib/tapedeck"
    )

    @Argument(help: "The recording's id, the beginning of it, or its folder.")
    var id: String

    @Option(help: "Storage directory in which an id is looked up.")
    var directory = "."

    @OptionGroup var common: CommonOptions

    mutating func run() async throws {
        do {
            let folder = try RecordingFolder.find(storage: self.directory, self.id)
            let description = RecordingDescription(try RecordingSummary.read(folder))
            if self.common.json {
                try Output.json(description)
            } else {
                for line in description.lines { Output.result(line) }
            }
        } catch {
            throw CommandFailure(error)
        }
    }
}

/// A recording as the command shows it.
struct RecordingDescription: Encodable {
    struct Export: Encodable {
        var file: String
        var layout: String
        var durationSeconds: Double
        var bytes: UInt64
    }

    var id: String
    var folder: String
    var room: String
    var start: String
    var durationSeconds: Double?
    var bytes: Int64
    var parts: Int
    var isFinished: Bool
    var verdict: String?
    var participants: [String]
    var tags: [String]
    var notes: String?
    var tracks: [RecordingResource.Track]
    var exports: [Export]

    private enum CodingKeys: String, CodingKey {
        case id, folder, room, start, durationSeconds, bytes, parts, isFinished = "finished", verdict, participants
        case tags, notes, tracks, exports
    }

    init(_ summary: RecordingSummary) {
        self.id = summary.folder.id.rawValue
        self.folder = summary.folder.path
        self.room = summary.room
        self.start = summary.start.iso8601
        self.durationSeconds = summary.durationSeconds
        self.bytes = summary.bytes
        self.parts = summary.parts
        self.isFinished = summary.isFinished
        self.verdict = summary.verdict?.rawValue
        let shown = summary.shownNames
        self.participants = summary.participants.map { shown[$0.id] }
        self.tags = summary.tags
        self.notes = summary.notes
        self.tracks = summary.tracks.map { .init($0, name: shown[$0.participant], inFull: true) }
        self.exports = summary.exports.map {
            Export(
                file: $0.file,
                layout: $0.layout,
                durationSeconds: Double($0.durationNanoseconds) / 1e9,
                bytes: $0.bytes
            )
        }
    }

    private var state: String { self.isFinished ? self.verdict ?? "finished" : "unfinished" }
    private var size: String { "\(self.bytes / 1_000_000) MB" }
    private var length: String { self.durationSeconds.map { "\(Int($0.rounded())) s" } ?? "-" }

    static func table(_ rows: [RecordingDescription]) -> [String] {
        guard !rows.isEmpty else { return ["no recordings"] }
        let header = ["ID", "ROOM", "START", "LENGTH", "SIZE", "STATE", "PEOPLE"]
        return TextTable.lines(
            [header]
                + rows.map { row in
                    [
                        row.id, row.room, String(row.start.prefix(19)), row.length, row.size, row.state,
                        "\(row.participants.count)",
                    ]
                }
        )
    }

    /// Everything about one recording.
    var lines: [String] {
        var facts = [
            ["recording", self.id], ["room", self.room], ["began", self.start], ["length", self.length],
            ["size", self.size], ["state", self.state], ["parts", "\(self.parts)"],
            ["people", self.participants.joined(separator: ", ")], ["folder", self.folder],
        ]
        if !self.tags.isEmpty { facts.append(["tags", self.tags.joined(separator: ", ")]) }
        if let notes = self.notes { facts.append(["notes", notes]) }
        let tracks = self.tracks.map { track -> [String] in
            let rate = track.bitsPerSecond.map { "\($0 / 1000) kbit/s" } ?? "-"
            let sizes = track.sizes?.joined(separator: " ") ?? "-"
            return [
                track.number.map { "\($0)" } ?? "-", track.kind.rawValue, track.codec.rawValue, track.name ?? "",
                "\(track.units) units", "\(track.bytes / 1000) kB", rate, sizes, track.file ?? "",
            ]
        }
        let exports = self.exports.map { export in
            [export.file, export.layout, "\(Int(export.durationSeconds.rounded())) s", "\(export.bytes / 1000) kB"]
        }
        return TextTable.lines(facts) + ["", "tracks:"] + TextTable.lines(tracks) + ["", "exports:"]
            + (exports.isEmpty ? ["none"] : TextTable.lines(exports))
    }
}
