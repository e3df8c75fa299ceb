// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Foundation
import Worker

/// `tapedeck worker`: what the daemon starts; people have no use for it.
struct WorkerProcessCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "worker",
        abstract: "Is in the rooms that the daemon names, by JSON lines on standard input and output.",
        discussion: "docs/worker-protocol.md describes the lines.",
        shouldDisplay: false
    )

    @OptionGroup var common: CommonOptions

    mutating func run() async throws {
        let worker = WorkerProcess(
            input: STDIN_FILENO,
            output: STDOUT_FILENO,
            host: ProcessInfo.processInfo.hostName,
            logger: self.common.logger
        ) { Foundation.exit(1) }
        await worker.run()
    }
}
