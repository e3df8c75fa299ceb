// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Model
import Subprocess
import SystemPackage

/// How worker processes are started.
struct WorkerLauncher: Sendable {
    /// The program: this very one.
    var executable: FilePath
    /// What makes it a worker, such as `["worker"]`.
    var arguments: [String]
    /// What it inherits.
    var environment: ChildEnvironment

    /// A launcher of a program.
    init(executable: FilePath, arguments: [String], environment: ChildEnvironment) {
        self.executable = executable
        self.arguments = arguments
        self.environment = environment
    }

    /// How a process ended.
    struct End: Sendable {
        /// Human-readable.
        var reason: String
        /// Whether by a signal: a crash, or a kill.
        var wasSignal = false
    }

    /// Starts a process and returns when it has ended.
    ///
    /// The process inherits standard error, so that its log goes where ours goes. It ends itself when its standard
    /// input closes: a supervisor that dies leaves no worker behind.
    func run<Event: Decodable & Sendable>(
        _ mailbox: WorkerMailbox,
        onLine: @escaping @Sendable (Result<Event, any Error>) async -> Void
    ) async -> End {
        do {
            let result = try await Subprocess.run(
                .path(self.executable),
                arguments: Arguments(executablePathOverride: "tapedeck", remainingValues: self.arguments),
                environment: self.environment.environment,
                input: .inputWriter,
                output: .sequence,
                error: .currentStandardError
            ) { execution in
                await withThrowingTaskGroup(of: Void.self) { group in
                    group.addTask {
                        for await line in mailbox.lines { _ = try await execution.standardInputWriter.write(line) }
                    }
                    group.addTask {
                        for await _ in mailbox.kills { try execution.send(signal: .kill) }
                    }
                    let lines = execution.standardOutput.strings(
                        bufferingPolicy: .maxLineLength(WorkerLine.maximumLength)
                    )
                    do {
                        for try await line in lines where !line.isEmpty {
                            await onLine(Result { try WorkerLine.decode(Event.self, from: Data(line.utf8)) })
                        }
                    } catch {
                        // A line without end: nothing after it can be read.
                        try? execution.send(signal: .kill)
                    }
                    group.cancelAll()
                }
            }
            return Self.describe(result.terminationStatus)
        } catch {
            return End(reason: "could not be run: \(error)")
        }
    }

    private static func describe(_ status: TerminationStatus) -> End {
        switch status {
        case .exited(0): End(reason: "ended")
        case .exited(let code): End(reason: "ended with exit code \(code)")
        case .signaled(let signal): End(reason: "ended by signal \(signal)", wasSignal: true)
        }
    }
}
