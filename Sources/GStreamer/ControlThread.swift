// SPDX-License-Identifier: Apache-2.0

internal import Basics
internal import Dispatch
internal import Synchronization

/// The thread on which everything of GStreamer that may block is called: state changes, linking, property reads.
///
/// Work runs in the order in which it was given. A piece of work that does not return within its deadline is reported
/// as `timedOut` and continues to hold the thread: its owner abandons the worker.
public final class ControlThread: Sendable {
    private let queue: DispatchQueue

    /// A new thread, named for debuggers.
    public init(name: String) {
        self.queue = DispatchQueue(label: name)
    }

    /// Runs `body` on the thread and returns its result.
    ///
    /// - Parameter deadline: nil for work that its owner waits for, however long it takes.
    /// - Throws: what `body` throws, or `GStreamerError.Code.timedOut`.
    public func run<Result: Sendable>(
        _ what: String,
        deadline: Duration? = .seconds(5),
        _ body: @escaping @Sendable () throws -> Result
    ) async throws -> Result {
        try await withCheckedThrowingContinuation { continuation in
            let once = OneShot(continuation)
            self.queue.async {
                once.resume(with: Swift.Result { try body() })
            }
            if let deadline { once.expire(after: deadline, "\(what) did not return within \(deadline)") }
        }
    }

    /// Runs `body` on the thread if its turn comes by the deadline, and never otherwise: work that was reported as too
    /// late is never begun.
    ///
    /// Work that has begun may take as long as `limit`; then it is reported, and continues to hold the thread, as with
    /// `run`.
    ///
    /// - Throws: what `body` throws, or `GStreamerError.Code.timedOut`.
    public func runInTime<Result: Sendable>(
        _ what: String,
        deadline: Duration,
        limit: Duration,
        _ body: @escaping @Sendable () throws -> Result
    ) async throws -> Result {
        try await withCheckedThrowingContinuation { continuation in
            let once = OneShot(continuation)
            let turn = Turn()
            self.queue.async {
                guard turn.take() else { return }
                once.expire(after: limit, "\(what) did not return within \(limit)")
                once.resume(with: Swift.Result { try body() })
            }
            once.expire(after: deadline, "\(what) did not begin within \(deadline), and was not done") { turn.take() }
        }
    }

    /// Queues `body` without waiting for it.
    ///
    /// Callable from any callback.
    public func enqueue(_ body: @escaping @Sendable () -> Void) {
        self.queue.async(execute: body)
    }

    /// Queues `body` after a delay, without waiting for it.
    public func enqueue(after delay: Duration, _ body: @escaping @Sendable () -> Void) {
        self.queue.asyncAfter(deadline: .now() + delay.seconds, execute: body)
    }
}

/// A piece of work that is begun or abandoned, whichever comes first.
private final class Turn: Sendable {
    private let isTaken = Mutex(false)

    /// True for the first who asks.
    func take() -> Bool {
        self.isTaken.withLock { isTaken in
            defer { isTaken = true }
            return !isTaken
        }
    }
}
