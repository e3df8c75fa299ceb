// SPDX-License-Identifier: Apache-2.0

internal import Synchronization

/// A continuation that the first of several callers resumes; the others do nothing.
public final class OneShot<Value: Sendable, Failure: Error>: Sendable {
    private let continuation: Mutex<CheckedContinuation<Value, Failure>?>

    /// Takes a continuation over.
    public init(_ continuation: CheckedContinuation<Value, Failure>) {
        self.continuation = Mutex(continuation)
    }

    /// Resumes it, if nobody has.
    ///
    /// Any thread.
    public func resume(with result: Result<Value, Failure>) {
        let waiting = self.continuation.withLock { stored in
            defer { stored = nil }
            return stored
        }
        waiting?.resume(with: result)
    }
}
