// SPDX-License-Identifier: Apache-2.0

internal import ConfigurationFile
public import Model
internal import Synchronization
public import SystemPackage

/// A worker process that is not the daemon's: it records what it is asked to, and what it uses is asked.
public final class MeasuredWorker: Sendable {
    /// How long it may take to end in order.
    private static let stopLimit = Duration.seconds(15)

    private let mailbox = WorkerMailbox()
    private let state = Mutex(State())

    private struct State {
        var vitals: (WorkerVitals, at: ContinuousClock.Instant)?
        var statuses: [String: RoomStatus] = [:]
        var failure: String?
    }

    private init() {}

    /// Starts a worker, has it ended after `body`, and returns when it has.
    ///
    /// - Parameter executable: this program.
    public static func run<Value: Sendable>(
        _ executable: FilePath,
        _ body: @escaping @Sendable (MeasuredWorker) async throws -> Value
    ) async throws -> Value {
        let worker = MeasuredWorker()
        let launcher = WorkerLauncher(
            executable: executable,
            arguments: ["worker", "--log-level", "error"],
            environment: ChildEnvironment(values: NotedValueSource())
        )
        return try await withTaskGroup(of: Bool.self) { group in
            group.addTask {
                let end = await launcher.run(worker.mailbox) { worker.hear($0) }
                worker.state.withLock { $0.failure = $0.failure ?? "the worker \(end.reason)" }
                return true
            }
            let outcome: Result<Value, any Error>
            do {
                outcome = .success(try await body(worker))
            } catch {
                outcome = .failure(error)
            }
            worker.mailbox.send(WorkerCommand.shutDown)
            group.addTask {
                try? await Task.sleep(for: Self.stopLimit)
                worker.mailbox.end()
                return false
            }
            while let hasEnded = await group.next(), !hasEnded {}
            group.cancelAll()
            return outcome
        }.get()
    }

    /// Has it join a room.
    public func join(_ spec: RoomSpec) { self.mailbox.send(WorkerCommand.be(spec, revision: 1)) }

    /// What it uses, as it reported last, and when that was; once a second.
    public var vitals: (WorkerVitals, at: ContinuousClock.Instant)? { self.state.withLock { $0.vitals } }

    /// The rooms in which something was written, by name.
    public var recording: [String: RoomStatus] {
        self.state.withLock { state in
            state.statuses.filter { !$0.value.tracks.isEmpty && $0.value.tracks.allSatisfy { $0.units > 0 } }
        }
    }

    /// Why it cannot continue.
    public var failure: String? { self.state.withLock { $0.failure } }

    private func hear(_ line: Result<WorkerEvent, any Error>) {
        self.state.withLock { state in
            switch line {
            case .success(.heartbeat(let vitals)): state.vitals = (vitals, at: .now)
            case .success(.status(let room, let status)): state.statuses[room] = status
            case .success(.notJoined(let room, let reason)): state.failure = "\(room) cannot be joined: \(reason)"
            case .success(.recordingDegraded(_, _, let reason, _)): state.failure = "nothing can be recorded: \(reason)"
            case .success: break
            case .failure(let error): state.failure = "the worker cannot be understood: \(error)"
            }
        }
    }
}
