// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Export
import Media
import Observability
import Signalling

/// `tapedeck record`.
struct RecordCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "record",
        abstract: "Joins a room, records every track, and exports the call as one MKV.",
        discussion: """
            Records until Ctrl-C, --duration, --until-empty or the loss of the room, then exports.

            Example: tapedeck record socketio+http://127.0.0.1:3000/standup --duration 30s --output call.mkv
            Example: tapedeck record socketio+http://127.0.0.1:3000/standup --send v4l2:/dev/video0 --send alsa:default
            """
    )

    @Argument(help: "The room, for example socketio+https://rtc.example.org/123123.")
    var url: String

    @Option(help: "Stop this long after the first media, for example 30s or 5m.")
    var duration: TimeArgument?

    @Flag(help: "Stop when the last participant has left.")
    var untilEmpty = false

    @Option(help: "Where the exported file goes; beside the recording if left out.")
    var output: String?

    @Option(help: "Storage directory: the recording goes to recordings/<room>/ inside it.")
    var directory = "."

    @Option(
        help: ArgumentHelp(
            "What to send: none, test, file:PATH, v4l2:/dev/video0 or alsa:default; none if left out.",
            discussion: "May be given twice, once for pictures and once for sound."
        )
    )
    var send: [SentSource] = []

    @Option(help: "How long to wait for the first media.")
    var wait = TimeArgument(.seconds(60))

    @OptionGroup var network: NetworkOptions
    @OptionGroup var common: CommonOptions

    mutating func validate() throws {
        _ = try RoomArgument.parse(self.url)
        _ = try SentSource.settings(self.send)
    }

    mutating func run() async throws {
        let job = RecordJob(
            url: try RoomArgument.parse(self.url),
            duration: self.duration?.duration,
            untilEmpty: self.untilEmpty,
            output: self.output,
            directory: self.directory,
            sends: try SentSource.settings(self.send),
            wait: self.wait.duration,
            network: self.network,
            showsProgress: !self.common.json,
            logger: self.common.logger.forSession()
        )
        let result = try await job.run(interrupts: Interrupts())
        if self.common.json {
            try Output.json(result)
        } else {
            Output.result(result.output)
            Output.result(result.report.table())
        }
        try result.check()
    }
}
