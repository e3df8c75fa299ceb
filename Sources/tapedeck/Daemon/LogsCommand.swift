// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Foundation

/// `tapedeck logs`.
struct LogsCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "logs",
        abstract: "Show the log of the service from systemd's journal.",
        discussion: "Example: tapedeck logs"
    )

    @Flag(name: .shortAndLong, help: "Continue with new lines until Ctrl-C.")
    var follow = false

    @Flag(help: "Print lines as JSON, with every field, one object a line.")
    var json = false

    mutating func run() throws {
        guard FileManager.default.fileExists(atPath: "/run/systemd/journal/socket") else {
            throw CommandFailure(
                .usage,
                "journald does not run here: the daemon's log goes to the standard error of `tapedeck run`"
            )
        }
        var arguments = ["journalctl", "--unit", "tapedeck", "--lines", "200"]
        if self.follow { arguments.append("--follow") }
        if self.json { arguments += ["--output", "json"] }
        if !Output.resultsGoToTerminal || self.follow { arguments.append("--no-pager") }
        // journalctl ends as usual when its reader is gone.
        for number in [SIGPIPE, SIGXFSZ, SIGUSR1, SIGUSR2, SIGALRM] { signal(number, SIG_DFL) }
        var words: [UnsafeMutablePointer<CChar>?] = arguments.map { strdup($0) } + [nil]
        execvp(arguments[0], &words)
        throw CommandFailure(.usage, "journalctl cannot be run: \(String(cString: strerror(errno)))")
    }
}
