// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Basics

/// `tapedeck mark`.
struct MarkCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "mark",
        abstract: "Mark this moment in the recording of a room; exports get a chapter there.",
        discussion: "Example: tapedeck mark standup \"decision about the release\""
    )

    @Argument(help: "The room's name in the configuration.")
    var room: String

    @Argument(help: "Text of the mark, at most 512 characters.")
    var text = "mark"

    @OptionGroup var daemon: DaemonOptions
    @OptionGroup var common: CommonOptions

    private struct Body: Encodable {
        var text: String
    }

    mutating func run() async throws {
        try await self.daemon.client().post("/v1/rooms/\(PercentCoding.encode(self.room))/mark", Body(text: self.text))
    }
}
