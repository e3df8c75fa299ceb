// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Foundation
import GStreamer
import RTSPServer

/// `tapedeck rtsp-server`: what the daemon starts; people have no use for it.
struct RTSPProcessCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "rtsp-server",
        abstract: "Serve what workers send to RTSP clients, by JSON lines on standard input and output.",
        discussion: """
            docs/worker-protocol.md describes the lines.

            Example: tapedeck rtsp-server < commands.jsonl
            """,
        shouldDisplay: false
    )

    @OptionGroup var common: CommonOptions

    mutating func run() throws {
        // A terminal sends the first two to the supervisor as well, which decides; a pipe without a reader is an end of it.
        for number in [SIGINT, SIGHUP, SIGPIPE] { signal(number, SIG_IGN) }
        do throws(GStreamerError) {
            try Runtime.initialise()
        } catch {
            throw CommandFailure(error)
        }
        var process = RTSPProcess(input: STDIN_FILENO, output: STDOUT_FILENO, logger: self.common.logger)
        process.run()
    }
}
