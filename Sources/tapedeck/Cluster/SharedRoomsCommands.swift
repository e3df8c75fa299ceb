// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Basics
import Cluster
import ConfigurationFile
import Glibc
import Terminal

/// What a command did with a room of a cluster.
private struct RoomChange: Encodable {
    enum Kind: String, Encodable {
        case added, changed, unchanged, deleted
    }

    var room: String
    var change: Kind
    var isDryRun: Bool

    func tell(asJSON: Bool) throws {
        if asJSON {
            try Output.json(self)
        } else {
            Output.result("\(self.change.rawValue) \(self.room)\(self.isDryRun ? " (dry run)" : "")")
        }
    }
}

/// `tapedeck rooms apply`.
struct ApplyRoomsCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "apply",
        abstract: "Add the rooms of a file to the cluster, or change them.",
        discussion: """
            The file has a mapping `rooms`, as a configuration has it. A file with a mistake changes nothing. Other rooms \
            of the cluster stay as they are. Keep the file: an etcd that is lost needs it again. References such as ${file:/path} are looked up by the host that runs a room.

            Example: tapedeck rooms apply -f rooms.yaml --dry-run
            Example: tapedeck rooms apply -f - <rooms.yaml
            """
    )

    @Option(name: .shortAndLong, help: "A YAML or JSON file with a mapping rooms; - reads standard input.")
    var file: String

    @Flag(help: "Say what would change, and change nothing.")
    var dryRun = false

    @OptionGroup var cluster: ConfigurationOptions
    @OptionGroup var common: CommonOptions

    private static let standardInput = "standard input"
    private var isStandardInput: Bool { self.file == "-" }

    mutating func run() async throws {
        let rooms: SharedRooms
        do throws(ConfigurationError) {
            if self.isStandardInput {
                rooms = try SharedRooms(descriptor: STDIN_FILENO, name: Self.standardInput)
            } else {
                rooms = try SharedRooms(path: self.file)
            }
        } catch {
            let place = self.isStandardInput ? Self.standardInput : "the file"
            let lines = ["\(place) has errors"] + error.problems.map(\.description)
            throw CommandFailure(.usage, lines.joined(separator: "\n"))
        }
        let store = try ClusterStore(self.cluster)
        let view = try await store.initialisedView()
        let names = rooms.records.keys.sorted()
        // Before anything is written.
        if let newer = names.first(where: { view.rooms[$0]?.reading.isNewer ?? false }) {
            throw CommandFailure(.usage, "the room \(newer) was written by a newer version: update this one")
        }
        for name in names {
            let (seen, record) = (view.rooms[name]?.stored, rooms.records[name])
            let change: RoomChange.Kind = seen == nil ? .added : seen?.value == record ? .unchanged : .changed
            if change != .unchanged, !self.dryRun {
                guard try await store.write(.room(name), record, insteadOf: seen) else {
                    throw CommandFailure(.unavailable, "another client changed the room \(name) just now: try again")
                }
            }
            try RoomChange(room: name, change: change, isDryRun: self.dryRun).tell(asJSON: self.common.json)
        }
    }
}

/// `tapedeck rooms delete`.
struct DeleteRoomsCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "delete",
        abstract: "Delete rooms of the cluster; their hosts leave them.",
        discussion: """
            Recordings stay. If the cluster does not have one of the rooms, nothing is deleted.

            Example: tapedeck rooms delete standup --dry-run
            """
    )

    @Argument(help: "Names of rooms.")
    var rooms: [String]

    @Flag(help: "Say what would be deleted, and delete nothing.")
    var dryRun = false

    @OptionGroup var cluster: ConfigurationOptions
    @OptionGroup var common: CommonOptions

    mutating func run() async throws {
        let store = try ClusterStore(self.cluster)
        let view = try await store.initialisedView()
        if let unknown = self.rooms.first(where: { view.rooms[$0] == nil }) {
            throw CommandFailure(.usage, "the cluster \(store.name) has no room \(unknown): nothing was deleted")
        }
        for name in self.rooms {
            if !self.dryRun {
                guard try await store.write(.room(name), nil, insteadOf: view.rooms[name]?.stored) else {
                    throw CommandFailure(.unavailable, "another client changed the room \(name) just now: try again")
                }
            }
            try RoomChange(room: name, change: .deleted, isDryRun: self.dryRun).tell(asJSON: self.common.json)
        }
    }
}

/// `tapedeck rooms get`.
struct GetRoomsCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "get",
        abstract: "List the rooms of the cluster and their hosts, or print the definition of one.",
        discussion: "Example: tapedeck rooms get"
    )

    @Argument(help: "The room whose definition is printed, as JSON. Default: all rooms are listed.")
    var room: String?

    @OptionGroup var cluster: ConfigurationOptions
    @OptionGroup var common: CommonOptions

    private struct Row: Encodable {
        var room: String
        var host: String?
        var epoch: Int?
        var phase: String?
        var cost: Int?
        var problem: String?
    }

    mutating func run() async throws {
        let store = try ClusterStore(self.cluster)
        let view = try await store.initialisedView()
        if let room = self.room {
            guard let entry = view.rooms[room] else {
                throw CommandFailure(.usage, "the cluster \(store.name) has no room \(room)")
            }
            return Output.result(entry.record?.definition.text ?? entry.stored.value)
        }
        let rows = view.rooms.sorted { $0.key < $1.key }.map { name, entry in
            let claim = view.claims[name]?.record
            return Row(
                room: name,
                host: claim?.host,
                epoch: claim?.epoch ?? view.owners[name]?.record?.epoch,
                phase: claim?.phase.rawValue,
                cost: entry.record?.cost,
                problem: entry.reading.problem
            )
        }
        if self.common.json {
            for row in rows { try Output.json(row) }
            return
        }
        let header = ["ROOM", "HOST", "EPOCH", "STATE", "COST", "WHY"]
        let lines = rows.map { row in
            [
                row.room, row.host ?? "-", row.epoch.map(String.init) ?? "-", row.phase ?? "-",
                row.cost.map(String.init) ?? "-", row.problem ?? "",
            ]
        }
        for line in rows.isEmpty ? ["no rooms"] : TextTable.lines([header] + lines) { Output.result(line) }
    }
}

extension RecordReading {
    /// Whether a newer version wrote it.
    fileprivate var isNewer: Bool {
        if case .newer = self { true } else { false }
    }
}
