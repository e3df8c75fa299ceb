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
        discussion: "Example: tapedeck rooms list --api http://127.0.0.1:8330"
    )

    @OptionGroup var daemon: DaemonOptions
    @OptionGroup var common: CommonOptions

    mutating func run() async throws {
        let answer = try await self.daemon.client().get("/v1/rooms", as: RoomList.self)
        if self.common.json {
            for room in answer.rooms { try Output.json(room) }
        } else {
            for line in RoomTable.lines(answer.rooms) { Output.result(line) }
        }
    }
}

/// Rooms as a table.
enum RoomTable {
    static func lines(_ rooms: [RoomResource]) -> [String] {
        let header = ["ROOM", "STATE", "RECORDING", "PEOPLE", "TRACKS", "CPU", "MEMORY", "WHY"]
        let rows = rooms.map { room -> [String] in
            [
                room.name, room.phase.rawValue, room.status.recordingState.rawValue,
                "\(room.status.participants.count)", "\(room.status.tracks.filter(\.isOpen).count)",
                room.worker.map { "\(Int($0.cpuPercent.rounded())) %" } ?? "-",
                room.worker.map { ReadableText.bytes($0.residentBytes) } ?? "-", self.why(room),
            ]
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
