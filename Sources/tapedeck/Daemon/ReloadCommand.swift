// SPDX-License-Identifier: Apache-2.0

import ArgumentParser

/// `tapedeck reload`.
struct ReloadCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "reload",
        abstract: "Make the running daemon read its configuration again.",
        discussion: """
            Rooms that did not change are not touched. A file with a mistake is refused with every problem, and the \
            old configuration stays in force.

            Example: tapedeck reload --config /etc/tapedeck/tapedeck.yaml
            """
    )

    @OptionGroup var daemon: DaemonOptions
    @OptionGroup var common: CommonOptions

    mutating func run() async throws {
        try await self.daemon.client().post("/v1/reload")
        if self.common.json {
            try Output.json(["reloaded": true])
        } else {
            Output.result("configuration reloaded")
        }
    }
}
