// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Model
import Terminal

/// `tapedeck status`.
struct StatusCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "status",
        abstract: "Show what the running daemon does; on a terminal, refresh until Ctrl-C.",
        discussion: """
            In a cluster, rooms of all hosts are shown; the figures are those of the daemon that is asked.

            Example: tapedeck status --once
            """
    )

    @Flag(help: "Show it once and end.")
    var once = false

    @OptionGroup var view: ViewOptions
    @OptionGroup var daemon: DaemonOptions
    @OptionGroup var common: CommonOptions

    private struct Answer: Encodable {
        var overview: Overview
        var rooms: [RoomResource]
        var incomplete: [MissingHost]?
    }

    mutating func run() async throws {
        let client = try self.daemon.client()
        let lines = LiveLines(
            self.common.logOutput(),
            isWanted: !self.once && !self.common.json && Output.resultsGoToTerminal
        )
        let isLive = lines.isShown
        repeat {
            let overview = try await client.get("/v1/overview", as: Overview.self)
            let list = try await client.rooms(isLocal: self.view.local)
            let answer = Answer(overview: overview, rooms: list.rooms, incomplete: list.incomplete)
            if self.common.json {
                try Output.json(answer)
            } else if isLive {
                lines.draw { TerminalLine.fitting(Self.lines(answer), columns: $0, rows: $1) }
            } else {
                for line in Self.lines(answer) { Output.result(line) }
            }
            if isLive { try await Task.sleep(for: .seconds(1)) }
        } while isLive
    }

    private static func lines(_ answer: Answer) -> [String] {
        let overview = answer.overview
        var figures =
            "tapedeck \(overview.version), up \(ReadableText.span(overview.uptimeSeconds)), "
            + "\(overview.activeRecordings) recording, \(overview.pendingExports) exports waiting, "
            + "\(ReadableText.bytes(overview.freeBytes)) free"
        if let seconds = overview.secondsUntilFull, seconds < 7 * 86400 {
            figures += ", full in \(ReadableText.span(seconds))"
        }
        return [figures, ""] + ViewOptions.lines(answer.incomplete) + RoomTable.lines(answer.rooms)
    }
}
