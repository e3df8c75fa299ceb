// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Rooms
import Subprocess
import Synchronization
import SystemPackage

/// How a job ended that did not go well.
struct JobFailure: Sendable, Hashable, CustomStringConvertible {
    /// The exit code of a program that does not take its arguments.
    private static let usage: Int32 = 2

    /// In a few words.
    var description: String
    /// The exit code; nil if it did not end by itself.
    var exitCode: Int32?

    /// Whether another try may end otherwise: arguments that were not taken are our mistake, and the same each time.
    var isRetriable: Bool { self.exitCode != Self.usage }
}

/// A program that does one job beside the daemon: an export, a repair.
///
/// Whatever a damaged file makes of it, the daemon lives on.
struct JobLauncher: Sendable {
    /// The program: this very one.
    var executable: FilePath
    /// What it inherits.
    var environment: ChildEnvironment
    /// A job that says nothing for this long is ended: on a disk that hangs it would take the place of others for ever.
    var silenceLimit: Duration

    /// A launcher of a program.
    init(executable: FilePath, environment: ChildEnvironment, silenceLimit: Duration = .seconds(1800)) {
        self.executable = executable
        self.environment = environment
        self.silenceLimit = silenceLimit
    }

    /// Runs a job to its end; cancelling the task ends it at once.
    ///
    /// - Returns: `nil` if it went well.
    func run(_ arguments: [String], onLine: @escaping @Sendable (Data) async -> Void) async -> JobFailure? {
        let watch = Watch()
        do {
            let result = try await Subprocess.run(
                .path(self.executable),
                arguments: Arguments(executablePathOverride: "tapedeck", remainingValues: arguments),
                environment: self.environment.environment,
                input: .none,
                output: .sequence,
                error: .currentStandardError
            ) { execution in
                let lines = execution.standardOutput.strings(bufferingPolicy: .maxLineLength(WorkerLine.maximumLength))
                try await withThrowingTaskGroup(of: Void.self) { group in
                    group.addTask {
                        try await watch.waitForSilence(of: self.silenceLimit)
                        try execution.send(signal: .kill)
                    }
                    for try await line in lines {
                        watch.heard()
                        await onLine(Data(line.utf8))
                    }
                    group.cancelAll()
                }
            }
            switch result.terminationStatus {
            case .exited(0): return nil
            case .exited(let code): return JobFailure(description: "exit code \(code)", exitCode: code)
            case .signaled where watch.hasEnded:
                return JobFailure(description: "ended because it said nothing for \(self.silenceLimit)")
            case .signaled(let signal): return JobFailure(description: "ended by signal \(signal)")
            }
        } catch {
            return JobFailure(description: "could not be run: \(error)")
        }
    }
}

/// When a job was last heard.
private final class Watch: Sendable {
    private struct State {
        var heardAt = ContinuousClock.now
        var hasEnded = false
    }

    private let state = Mutex(State())
    /// Swift keeps what a sleep needs until its end, also of one that is cancelled: no long ones, a job each.
    private static let step = Duration.seconds(10)

    /// Whether the job said nothing for too long.
    var hasEnded: Bool { self.state.withLock { $0.hasEnded } }

    func heard() {
        self.state.withLock { $0.heardAt = .now }
    }

    /// Waits until nothing was heard for so long, and notes it; throws if it is cancelled.
    func waitForSilence(of limit: Duration) async throws {
        while !self.hasEnded {
            let end = self.state.withLock { $0.heardAt } + limit
            try await Task.sleep(until: min(end, .now + Self.step), clock: .continuous)
            self.state.withLock { $0.hasEnded = ContinuousClock.now >= $0.heardAt + limit }
        }
    }
}
