// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Basics
import Foundation
import GStreamer

/// The command tree.
struct Tapedeck: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "tapedeck",
        abstract: "Join WebRTC rooms without a browser: record every track, send a camera.",
        discussion: """
            Exit codes: 0 done, 1 temporary failure (port in use, disk full), 2 usage, 3 could not join or the daemon does not answer, 4 joined but no media came, 5 recorded but damaged or incomplete, \
            6 probed with a score below the threshold, 130 interrupted before anything was recorded or measured, or abandoned by a second Ctrl-C.

            Example: tapedeck record socketio+https://rtc.example.org/123123 --duration 30s
            """,
        version: Program.name,
        subcommands: [
            RecordCommand.self, CameraCommand.self, ProbeCommand.self, ServeCommand.self, RunCommand.self,
            RoomsCommand.self, ClusterCommand.self, DrainCommand.self, UndrainCommand.self, StatusCommand.self,
            EventsCommand.self, LogsCommand.self,
            StartCommand.self,
            StopCommand.self, PauseCommand.self, ResumeCommand.self, MarkCommand.self, MuteCommand.self,
            UnmuteCommand.self, FreezeCommand.self, UnfreezeCommand.self, SwitchCommand.self, ReloadCommand.self,
            RecordingsCommand.self,
            ExportCommand.self, VerifyCommand.self, RepairCommand.self, PipelinesCommand.self, DoctorCommand.self,
            DemoCommand.self, ReplayCommand.self,
            WorkerProcessCommand.self, RTSPProcessCommand.self,
        ]
    )
}

extension Tapedeck {
    /// Says that there is no command of a name, and which one is meant; nil if that is not what is wrong.
    static func complaint(about arguments: [String]) -> String? {
        var known = Self.configuration.subcommands
        var path = ""
        for name in arguments.first == "help" ? arguments.dropFirst() : arguments[...] {
            guard !name.hasPrefix("-"), !known.isEmpty else { return nil }
            if let command = known.first(where: { $0._commandName == name }) {
                known = command.configuration.subcommands
                path += "\(name) "
                continue
            }
            let names = known.filter { $0.configuration.shouldDisplay }.map { $0._commandName }
            let nearest = Spelling.suggestion(for: name, among: names).map { "did you mean \(path)\($0)?" }
            let all = "there are: " + names.map { path + $0 }.joined(separator: ", ")
            return "there is no command \(path)\(name); \(nearest ?? all)"
        }
        return nil
    }
}

@main
enum Main {
    static func main() async {
        // A closed pipe or socket is an error of the write, and so is a file that may not get larger; and what a log rotation or
        // a script sends to daemons in general is nothing to us. Without this each of them ends the process.
        for number in [SIGPIPE, SIGXFSZ, SIGUSR1, SIGUSR2, SIGALRM] { signal(number, SIG_IGN) }
        Runtime.boundHeaps()
        if let complaint = Tapedeck.complaint(about: Array(CommandLine.arguments.dropFirst())) {
            Output.message("tapedeck: \(complaint)")
            Program.end(.usage)
        }
        do {
            var command = try Tapedeck.parseAsRoot()
            do {
                if var asynchronous = command as? any AsyncParsableCommand {
                    try await asynchronous.run()
                } else {
                    try command.run()
                }
            } catch let error where Tapedeck.exitCode(for: error) == .failure {
                // None of the parser's, such as help.
                throw CommandFailure(error)
            }
        } catch let failure as CommandFailure {
            Output.message("tapedeck: \(failure.message)")
            Program.end(failure.code)
        } catch {
            let text = Tapedeck.fullMessage(for: error)
            // Help and version are what was asked for; everything else that the parser throws is about usage.
            guard Tapedeck.exitCode(for: error) == .success else {
                Output.message(text)
                WorkerProcessCommand.refuse(Array(CommandLine.arguments.dropFirst()), Tapedeck.message(for: error))
                Program.end(.usage)
            }
            print(text)
        }
        Program.end(.success)
    }
}
