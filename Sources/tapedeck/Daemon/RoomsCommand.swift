// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Model
import Terminal

/// `tapedeck rooms`.
struct RoomsCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "rooms",
        abstract: "List the rooms of the running daemon; apply, get or delete those of its cluster.",
        discussion: """
            `tapedeck rooms list --help` has the options of the list.

            Example: tapedeck rooms --api http://127.0.0.1:8330
            """,
        subcommands: [
            ListRoomsCommand.self, ApplyRoomsCommand.self, GetRoomsCommand.self, DeleteRoomsCommand.self,
        ],
        defaultSubcommand: ListRoomsCommand.self
    )
}

/// `tapedeck rooms list`.
struct ListRoomsCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list",
        abstract: "List the rooms of the running daemon.",
        discussion: """
            In a cluster, rooms of all hosts are listed. Hosts that do not answer are reported.

            Example: tapedeck rooms list --local
            """
    )

    @OptionGroup var view: ViewOptions
    @OptionGroup var daemon: DaemonOptions
    @OptionGroup var common: CommonOptions

    mutating func run() async throws {
        let answer = try await self.daemon.client().rooms(isLocal: self.view.local)
        ViewOptions.tell(answer.incomplete)
        if self.common.json {
            for room in answer.rooms { try Output.json(room) }
        } else {
            for line in RoomTable.lines(answer.rooms) { Output.result(line) }
        }
    }
}

/// Which hosts of a cluster a list is of.
struct ViewOptions: ParsableArguments {
    @Flag(help: "In a cluster, list only what this host has. Default: what all hosts have.")
    var local = false

    /// Reports hosts whose answers are missing.
    static func tell(_ incomplete: [MissingHost]?) {
        for line in Self.lines(incomplete) { Output.message("tapedeck: \(line)") }
    }

    static func lines(_ incomplete: [MissingHost]?) -> [String] {
        (incomplete ?? []).map { "the host \($0.host) is missing: \($0.reason)" }
    }
}

extension DaemonClient {
    /// The rooms of the cluster, or of the daemon that is asked.
    func rooms(isLocal: Bool) async throws -> RoomList {
        try await self.get("/v1/rooms" + (isLocal ? "?local=true" : ""))
    }
}

/// Rooms as a table.
enum RoomTable {
    static func lines(_ rooms: [RoomResource]) -> [String] {
        let hasHosts = rooms.contains { $0.host != nil }
        let host = hasHosts ? ["HOST"] : []
        let header = ["ROOM"] + host + ["STATE", "RECORDING", "PEOPLE", "TRACKS", "CPU", "MEMORY", "WHY"]
        let rows = rooms.map { room -> [String] in
            let host = hasHosts ? [room.host ?? "-"] : []
            let inside = [
                room.status.recordingState.rawValue, "\(room.status.participants.count)",
                "\(room.status.tracks.filter(\.isOpen).count)",
            ]
            let cost = [
                room.worker.map { "\(Int($0.cpuPercent.rounded())) %" } ?? "-",
                room.worker.map { ReadableText.bytes($0.residentBytes) } ?? "-",
            ]
            // Of a room whose host does not answer, nothing is known from inside.
            let known = room.since == nil ? inside.map { _ in "-" } : inside
            return [room.name] + host + [room.phase.rawValue] + known + cost + [self.why(room)]
        }
        return rows.isEmpty ? ["no rooms"] : TextTable.lines([header] + rows)
    }

    /// The reason, and for an idle room when it is joined next.
    private static func why(_ room: RoomResource) -> String {
        let start = room.phase == .idle ? room.next : nil
        let next = start.map { "next at \($0.prefix(16).replacing("T", with: " ")) UTC" }
        return [room.reason, next].compactMap { $0 }.joined(separator: "; ")
    }
}
