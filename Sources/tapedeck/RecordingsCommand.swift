// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Basics
import Catalogue
import ConfigurationFile
import Foundation
import Model
import Storage
import Terminal
import Timeline

/// `tapedeck recordings`.
struct RecordingsCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "recordings",
        abstract: "List the recordings of a storage directory, oldest first; explain, delete or fetch them.",
        discussion: """
            A recording is `recording`, `finished`, or `interrupted`: cut off by a crash and not yet closed. Its verdict is \
            `complete`, `with gaps` or `damaged`. Reads the folders directly: except for what other hosts of a cluster have, the \
            daemon need not run. `tapedeck recordings list --help` has the options of the list.

            Example: tapedeck recordings show k3v9 --directory /var/lib/tapedeck
            """,
        subcommands: [
            ListRecordingsCommand.self, ShowRecordingCommand.self, DeleteRecordingsCommand.self,
            FetchRecordingCommand.self,
        ],
        defaultSubcommand: ListRecordingsCommand.self
    )
}

/// `tapedeck recordings list`.
struct ListRecordingsCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list",
        abstract: "List the recordings.",
        discussion: """
            Where the configuration names a cluster, and with --api, the running daemon lists what all hosts have. Hosts \
            that do not answer are reported.

            Example: tapedeck recordings list --directory /var/lib/tapedeck
            """
    )

    @OptionGroup var place: RecordingPlaceOptions
    @OptionGroup var view: ViewOptions
    @OptionGroup var common: CommonOptions

    mutating func run() async throws {
        do {
            if try self.asksDaemon {
                return try self.tell(try await self.shared(), ifNone: "no recordings")
            }
            let directory = try self.place.storage
            try RecordingFolder.requireStorage(directory)
            let uploads = Catalogue.uploadProgress(storage: directory)
            var rows: [RecordingDescription] = []
            for folder in try RecordingFolder.list(storage: directory) {
                do throws(StorageError) {
                    rows.append(RecordingDescription(try RecordingSummary.read(folder), uploads[folder.id]))
                } catch {
                    Output.message("\(folder.path): \(error.message)")
                }
            }
            try self.tell(rows, ifNone: "no recordings in \(directory)")
        } catch {
            throw CommandFailure(error)
        }
    }

    /// Whether the list is that of a cluster.
    private var asksDaemon: Bool {
        get throws {
            guard !self.view.local, self.place.directory == nil else { return false }
            return try self.place.daemon.api != nil || self.place.isOfCluster
        }
    }

    /// The recordings of all hosts, oldest first.
    private func shared() async throws -> [RecordingDescription] {
        let client = try self.place.daemon.client()
        var rows: [RecordingDescription] = []
        var missing: [MissingHost] = []
        var cursor: String?
        repeat {
            let path = "/v1/recordings?limit=200" + (cursor.map { "&cursor=\(PercentCoding.encode($0))" } ?? "")
            let page: RecordingPage
            do {
                page = try await client.get(path)
            } catch var failure as CommandFailure where failure.status == nil {
                failure.message += "\n--local lists what this host has, without it."
                throw failure
            }
            rows += page.recordings.map { RecordingDescription($0) }
            missing += (page.incomplete ?? []).filter { !missing.contains($0) }
            cursor = page.next
        } while cursor != nil
        ViewOptions.tell(missing)
        return rows.reversed()
    }

    private func tell(_ rows: [RecordingDescription], ifNone none: String) throws {
        if self.common.json {
            for row in rows { try Output.json(row) }
        } else {
            for line in rows.isEmpty ? [none] : RecordingDescription.table(rows) { Output.result(line) }
        }
    }
}

/// `tapedeck recordings show`.
struct ShowRecordingCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "show",
        abstract: "Explain one recording: participants, received media, exports.",
        discussion: """
            A recording that this host does not have is looked for on the other hosts of the cluster, through the running daemon.

            Example: tapedeck recordings show k3v9q2wtb4n50xjc --directory /var/lib/tapedeck
            """
    )

    @Argument(help: "The recording's id, the beginning of it, or its folder.")
    var id: String

    @OptionGroup var place: RecordingPlaceOptions
    @OptionGroup var common: CommonOptions

    mutating func run() async throws {
        do {
            let description: RecordingDescription
            switch try await self.place.find(self.id) {
            case .here(let folder):
                let upload = Catalogue.uploadProgress(storage: try self.place.storage)[folder.id]
                description = RecordingDescription(try RecordingSummary.read(folder), upload)
            case .shared(let found, let client):
                description = RecordingDescription(try await client.get(DaemonClient.path(of: found.id)))
            }
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
        var layout: String?
        var durationSeconds: Double?
        var bytes: UInt64
    }

    var id: String
    /// The host of the cluster that has it; nil in a list of one host.
    var host: String?
    /// Its folder on this host; nil in a list of several hosts, as the number of its parts.
    var folder: String?
    var room: String
    var start: String
    var durationSeconds: Double?
    var bytes: Int64
    var parts: Int?
    /// As the HTTP API says it.
    var state: RecordingEntry.State
    var isFinished: Bool
    var verdict: Certificate.Verdict?
    var participants: [String]
    var tags: [String]
    var notes: String?
    var tracks: [RecordingResource.Track]
    var exports: [Export]
    var upload: RecordingResource.Upload?

    private enum CodingKeys: String, CodingKey {
        case id, host, folder, room, start, durationSeconds, bytes, parts, state, isFinished = "finished", verdict,
            participants
        case tags, notes, tracks, exports, upload
    }

    init(_ summary: RecordingSummary, _ upload: UploadProgress?) {
        self.upload = upload.map { .init($0) }
        self.id = summary.folder.id.rawValue
        self.folder = summary.folder.path
        self.room = summary.room
        self.start = summary.start.iso8601
        self.durationSeconds = summary.durationSeconds
        self.bytes = summary.bytes
        self.parts = summary.parts
        self.isFinished = summary.isFinished
        self.state = summary.isFinished ? .finished : summary.folder.isHeld ? .recording : .unfinished
        self.verdict = summary.verdict
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

    /// A recording as the daemon shows it.
    init(_ recording: RecordingResource) {
        (self.id, self.host, self.room, self.start) = (recording.id, recording.host, recording.room, recording.start)
        (self.durationSeconds, self.bytes) = (recording.durationSeconds, recording.bytes)
        self.state = RecordingEntry.State(rawValue: recording.state) ?? .unfinished
        self.isFinished = self.state == .finished
        self.verdict = recording.verdict.flatMap { Certificate.Verdict(rawValue: $0) }
        (self.participants, self.tags, self.notes) = (recording.participants, recording.tags, recording.notes)
        (self.tracks, self.upload) = (recording.tracks, recording.upload)
        self.exports = recording.exports.map { Export(file: $0.name, bytes: UInt64(clamping: $0.bytes)) }
    }

    /// The state in words.
    private var stateTitle: String { self.state == .unfinished ? "interrupted" : self.state.rawValue }
    private var verdictTitle: String { self.verdict?.title ?? "-" }
    private var size: String { ReadableText.bytes(self.bytes) }
    private var length: String { self.durationSeconds.map { ReadableText.clock($0.rounded()) } ?? "-" }
    /// The start in UTC, to the second.
    private var startTitle: String { self.start.prefix(19) + "Z" }
    /// How far the upload is, in a word.
    private var uploadTitle: String {
        guard let upload = self.upload else { return "-" }
        if upload.finished != nil { return "done" }
        return upload.error == nil ? "\(upload.verifiedFiles) of \(upload.files)" : "failing"
    }

    static func table(_ rows: [RecordingDescription]) -> [String] {
        let hasHosts = rows.contains { $0.host != nil }
        let hasUploads = rows.contains { $0.upload != nil }
        let host = hasHosts ? ["HOST"] : []
        let upload = hasUploads ? ["UPLOAD"] : []
        let header = ["ID", "ROOM"] + host + ["START", "LENGTH", "SIZE", "STATE", "VERDICT", "PEOPLE"] + upload
        let lines = rows.map { row -> [String] in
            let host = hasHosts ? [row.host ?? "-"] : []
            let upload = hasUploads ? [row.uploadTitle] : []
            let facts = [row.startTitle, row.length, row.size, row.stateTitle, row.verdictTitle]
            return [row.id, row.room] + host + facts + ["\(row.participants.count)"] + upload
        }
        return TextTable.lines([header] + lines)
    }

    /// Everything about one recording.
    var lines: [String] {
        var facts = [
            ["recording", self.id], ["room", self.room], ["began", self.startTitle], ["length", self.length],
            ["size", self.size], ["state", self.stateTitle], ["verdict", self.verdictTitle],
            ["parts", self.parts.map { "\($0)" } ?? "-"],
            ["people", self.participants.joined(separator: ", ")],
            self.host.map { ["host", $0] } ?? ["folder", self.folder ?? "-"],
        ]
        if !self.tags.isEmpty { facts.append(["tags", self.tags.joined(separator: ", ")]) }
        if let notes = self.notes { facts.append(["notes", notes]) }
        if let upload = self.upload {
            facts.append(["upload", "\(self.uploadTitle), \(upload.place)"])
            if let error = upload.error { facts.append(["", "\(error); next attempt \(upload.nextAttempt ?? "")"]) }
        }
        let tracks = self.tracks.map { track -> [String] in
            let rate = track.bitsPerSecond.map { ReadableText.rate(Double($0)) } ?? "-"
            let sizes = track.sizes?.joined(separator: " ") ?? "-"
            return [
                track.number.map { "\($0)" } ?? "-", track.kind.rawValue, track.codec.rawValue, track.name ?? "",
                "\(track.units) units", ReadableText.bytes(Int64(clamping: track.bytes)), rate, sizes, track.file ?? "",
            ]
        }
        let exports = self.exports.map { export in
            [
                export.file, export.layout ?? "-",
                export.durationSeconds.map { ReadableText.clock($0.rounded()) } ?? "-",
                ReadableText.bytes(Int64(clamping: export.bytes)),
            ]
        }
        return TextTable.lines(facts) + ["", "tracks:"] + TextTable.lines(tracks) + ["", "exports:"]
            + (exports.isEmpty ? ["none"] : TextTable.lines(exports))
    }
}
