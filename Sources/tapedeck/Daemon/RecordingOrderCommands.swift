// SPDX-License-Identifier: Apache-2.0

import ArgumentParser

/// `tapedeck start`.
struct StartCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "start",
        abstract: "Start recording a room of the running daemon; join it first if need be.",
        discussion: "Example: tapedeck start standup"
    )

    @OptionGroup var room: RoomOptions

    mutating func run() async throws { try await self.room.tell("record") }
}

/// `tapedeck stop`.
struct StopCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "stop",
        abstract: "Finish the recording of a room; leave the room unless it is always joined.",
        discussion: "Example: tapedeck stop standup"
    )

    @OptionGroup var room: RoomOptions

    mutating func run() async throws { try await self.room.tell("stop", done: "recording stopped") }
}

/// `tapedeck pause`.
struct PauseCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "pause",
        abstract: "Pause the recording of a room: leave out what comes until resume.",
        discussion: "Example: tapedeck pause standup"
    )

    @OptionGroup var room: RoomOptions

    mutating func run() async throws { try await self.room.tell("pause") }
}

/// `tapedeck resume`.
struct ResumeCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "resume",
        abstract: "Continue the recording of a room after pause.",
        discussion: "Example: tapedeck resume standup"
    )

    @OptionGroup var room: RoomOptions

    mutating func run() async throws { try await self.room.tell("resume") }
}

/// `tapedeck mark`.
struct MarkCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "mark",
        abstract: "Mark this moment in the recording of a room; exports get a chapter there.",
        discussion: "Example: tapedeck mark standup \"decision about the release\""
    )

    @OptionGroup var room: RoomOptions

    @Argument(help: "Text of the mark, at most 512 characters.")
    var text = "mark"

    mutating func run() async throws {
        try await self.room.tell("mark", ["text": self.text] as [String: String], done: "marked \"\(self.text)\"")
    }
}
