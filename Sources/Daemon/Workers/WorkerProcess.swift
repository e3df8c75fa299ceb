// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Subprocess
public import Supervision
public import SystemPackage

/// How worker processes are started.
public struct WorkerLauncher: Sendable {
    /// The program: this very one.
    public var executable: FilePath
    /// What makes it a worker, such as `["worker"]`.
    public var arguments: [String]

    /// A launcher of a program.
    public init(executable: FilePath, arguments: [String]) {
        self.executable = executable
        self.arguments = arguments
    }

    /// Starts a process and returns when it has ended: the reason, for people.
    ///
    /// The process inherits standard error, so that its log goes where ours goes. It ends itself when its standard
    /// input closes: a supervisor that dies leaves no worker behind.
    func run(_ mailbox: WorkerMailbox, onLine: @escaping @Sendable (Result<WorkerEvent, any Error>) async -> Void) async
        -> String
    {
        do {
            let result = try await Subprocess.run(
                .path(self.executable),
                arguments: Arguments(self.arguments),
                input: .inputWriter,
                output: .sequence,
                error: .currentStandardError
            ) { execution in
                try await withThrowingTaskGroup(of: Void.self) { group in
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
                            await onLine(Result { try WorkerLine.decode(WorkerEvent.self, from: Data(line.utf8)) })
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
            return "could not be run: \(error)"
        }
    }

    private static func describe(_ status: TerminationStatus) -> String {
        switch status {
        case .exited(0): "ended"
        case .exited(let code): "ended with exit code \(code)"
        case .signaled(let signal): "ended by signal \(signal)"
        }
    }
}
