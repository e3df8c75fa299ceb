// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Subprocess
import SystemPackage

/// A program that does one job beside the daemon: an export, a repair.
///
/// Whatever a damaged file makes of it, the daemon lives on.
struct JobLauncher: Sendable {
    /// Longest line that is taken from a job.
    private static let maximumLine = 64 * 1024

    /// The program: this very one.
    var executable: FilePath
    /// What it inherits.
    var environment: ChildEnvironment

    /// A launcher of a program.
    init(executable: FilePath, environment: ChildEnvironment) {
        self.executable = executable
        self.environment = environment
    }

    /// Runs a job to its end; cancelling the task ends it at once.
    ///
    /// - Returns: `nil` if it went well, else the reason.
    func run(_ arguments: [String], onLine: @escaping @Sendable (Data) async -> Void) async -> String? {
        do {
            let result = try await Subprocess.run(
                .path(self.executable),
                arguments: Arguments(executablePathOverride: "tapedeck", remainingValues: arguments),
                environment: self.environment.environment,
                input: .none,
                output: .sequence,
                error: .currentStandardError
            ) { execution in
                let lines = execution.standardOutput.strings(bufferingPolicy: .maxLineLength(Self.maximumLine))
                for try await line in lines { await onLine(Data(line.utf8)) }
            }
            switch result.terminationStatus {
            case .exited(0): return nil
            case .exited(let code): return "exit code \(code)"
            case .signaled(let signal): return "ended by signal \(signal)"
            }
        } catch {
            return "could not be run: \(error)"
        }
    }
}
