// SPDX-License-Identifier: Apache-2.0

import Basics
import Foundation
import Model
import Subprocess
import Synchronization
import SystemPackage

/// How a job ended that did not go well.
struct JobFailure: Error, Sendable, Hashable, CustomStringConvertible {
    /// The exit code of a program that does not take its arguments.
    private static let usage: Int32 = 2

    /// In a few words.
    var description: String
    /// The exit code; nil if a signal ended it.
    var exitCode: Int32?

    /// Whether another try may end otherwise: arguments that were not taken are our mistake, and the same each time.
    var isRetriable: Bool { self.exitCode != Self.usage }
}

/// A program that does one job next to the daemon: an export, a repair.
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
    /// - Parameter bytes: what it reads from its standard input.
    /// - Returns: `nil` if it went well.
    func run(
        _ arguments: [String],
        _ bytes: Data = Data(),
        onLine: @escaping @Sendable (Data) async -> Void
    ) async -> JobFailure? {
        let watch = Watch()
        do {
            let result = try await Subprocess.run(
                .path(self.executable),
                arguments: Arguments(executablePathOverride: "tapedeck", remainingValues: arguments),
                environment: self.environment.environment,
                input: .fileDescriptor(try Self.memory(holding: bytes), closeAfterSpawningProcess: true),
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
            if case .signaled = result.terminationStatus, watch.hasEnded {
                return JobFailure(description: "ended because it said nothing for \(self.silenceLimit)")
            }
            return JobFailure(result.terminationStatus)
        } catch {
            return JobFailure(description: "could not be run: \(error)")
        }
    }

    /// Runs a job that makes bytes of bytes: it reads its standard input to the end, and writes to standard output.
    ///
    /// - Parameters:
    ///   - maximumBytes: A job that writes more fails.
    ///   - limit: A job that takes longer is ended.
    func convert(
        _ arguments: [String],
        _ bytes: [UInt8],
        maximumBytes: Int,
        limit: Duration
    ) async -> Result<[UInt8], JobFailure> {
        do {
            let input = try Self.memory(holding: bytes)
            let result = try await within(limit) {
                try await Subprocess.run(
                    .path(self.executable),
                    arguments: Arguments(executablePathOverride: "tapedeck", remainingValues: arguments),
                    environment: self.environment.environment,
                    input: .fileDescriptor(input, closeAfterSpawningProcess: true),
                    output: .bytes(limit: maximumBytes),
                    error: .currentStandardError
                )
            }
            guard let result else {
                return .failure(JobFailure(description: "ended because it took longer than \(limit)"))
            }
            if let failure = JobFailure(result.terminationStatus) { return .failure(failure) }
            return .success(result.standardOutput)
        } catch {
            return .failure(JobFailure(description: "could not be run: \(error)"))
        }
    }

    /// A file without a name, in memory: swift-subprocess traps where a job ends before it has read an array.
    private static func memory(holding bytes: some Sequence<UInt8>) throws -> FileDescriptor {
        let name = "/tapedeck-\(UUID().uuidString)"
        let number = shm_open(name, O_RDWR | O_CREAT | O_EXCL, 0o600)
        guard number >= 0 else { throw Errno(rawValue: errno) }
        shm_unlink(name)
        let file = FileDescriptor(rawValue: number)
        do {
            try file.writeAll(bytes)
            try file.seek(offset: 0, from: .start)
        } catch {
            try? file.close()
            throw error
        }
        return file
    }
}

extension JobFailure {
    /// What the end of a process says; `nil` if it went well.
    fileprivate init?(_ status: TerminationStatus) {
        switch status {
        case .exited(0): return nil
        case .exited(let code): self.init(description: "exit code \(code)", exitCode: code)
        case .signaled(SIGXCPU): self.init(description: "ended because it used more processor time than it may")
        case .signaled(let signal): self.init(description: "ended by signal \(signal)")
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
