// SPDX-License-Identifier: Apache-2.0

internal import Basics
internal import Dispatch
internal import Synchronization

/// A continuation that the first of several callers resumes; the others do nothing.
public final class OneShot<Value: Sendable, Failure: Error>: Sendable {
    private let continuation: Mutex<CheckedContinuation<Value, Failure>?>

    /// Takes a continuation over.
    public init(_ continuation: CheckedContinuation<Value, Failure>) {
        self.continuation = Mutex(continuation)
    }

    /// Resumes it, if that was not done yet.
    ///
    /// Any thread.
    public func resume(with result: Result<Value, Failure>) {
        let waiting = self.continuation.withLock { stored in
            defer { stored = nil }
            return stored
        }
        waiting?.resume(with: result)
    }

    /// Resumes it after a time, if that was not done yet and `mayResume` says so then.
    ///
    /// Any thread.
    public func resume(
        with result: Result<Value, Failure>,
        after delay: Duration,
        if mayResume: @escaping @Sendable () -> Bool = { true }
    ) {
        DispatchQueue.global().asyncAfter(deadline: .now() + delay.seconds) {
            if mayResume() { self.resume(with: result) }
        }
    }
}

extension OneShot where Failure == any Error {
    /// Gives it up after a time, as `GStreamerError.Code.timedOut`, if `mayExpire` says so then and nothing came before.
    func expire(after limit: Duration, _ message: String, if mayExpire: @escaping @Sendable () -> Bool = { true }) {
        self.resume(with: .failure(GStreamerError(.timedOut, message)), after: limit, if: mayExpire)
    }
}
