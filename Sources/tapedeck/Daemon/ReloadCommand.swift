// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Model

/// `tapedeck reload`.
struct ReloadCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "reload",
        abstract: "Make the running daemon read its configuration again.",
        discussion: """
            Rooms that did not change are not touched. A file with a mistake is refused with every problem, and the \
            old configuration stays in force. Sections that take effect at the next start only are listed.

            Example: tapedeck reload --config /etc/tapedeck/tapedeck.yaml
            """
    )

    @OptionGroup var daemon: DaemonOptions
    @OptionGroup var common: CommonOptions

    mutating func run() async throws {
        let report: ReloadReport = try await self.daemon.client().order("/v1/reload")
        if self.common.json {
            try Output.json(report)
            return
        }
        Output.result(
            "configuration reloaded; rooms: \(report.added) added, \(report.changed) changed, \(report.removed) removed, "
                + "\(report.unchanged) unchanged"
        )
        guard !report.afterRestart.isEmpty else { return }
        let sections = report.afterRestart.joined(separator: ", ")
        Output.result("changed in the file, but in force only after a restart: \(sections)")
    }
}
