// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Model

/// `tapedeck status`.
struct StatusCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "status",
        abstract: "Show what the running daemon does; on a terminal, until Ctrl-C.",
        discussion: "Example: tapedeck status --once"
    )

    @Flag(help: "Show it once and end.")
    var once = false

    @OptionGroup var daemon: DaemonOptions
    @OptionGroup var common: CommonOptions

    private struct Answer: Encodable {
        var overview: Overview
        var rooms: [RoomResource]
    }

    mutating func run() async throws {
        let client = try self.daemon.client()
        let isLive = !self.once && !self.common.json && Output.resultsGoToTerminal && Output.errorsGoToTerminal
        var lines = LiveLines()
        repeat {
            let answer = Answer(
                overview: try await client.get("/v1/overview"),
                rooms: try await client.get("/v1/rooms", as: RoomList.self).rooms
            )
            if self.common.json {
                try Output.json(answer)
            } else if isLive {
                lines.draw(Self.lines(answer))
            } else {
                for line in Self.lines(answer) { Output.result(line) }
            }
            if isLive { try await Task.sleep(for: .seconds(1)) }
        } while isLive
    }

    private static func lines(_ answer: Answer) -> [String] {
        let overview = answer.overview
        var figures =
            "tapedeck \(overview.version), up \(Self.span(overview.uptimeSeconds)), "
            + "\(overview.activeRecordings) recording, \(overview.pendingExports) exports waiting, "
            + "\(overview.freeBytes / 1_000_000_000) GB free"
        if let seconds = overview.secondsUntilFull, seconds < 7 * 86400 { figures += ", full in \(Self.span(seconds))" }
        return [figures, ""] + RoomTable.lines(answer.rooms)
    }

    private static func span(_ seconds: Double) -> String {
        let whole = Int(min(max(seconds, 0), 1e12))
        return switch whole {
        case ..<120: "\(whole) s"
        case ..<7200: "\(whole / 60) min"
        case ..<172_800: "\(whole / 3600) h"
        default: "\(whole / 86400) days"
        }
    }
}
