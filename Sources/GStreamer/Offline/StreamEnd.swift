// SPDX-License-Identifier: Apache-2.0

internal import Basics
internal import Dispatch
internal import Synchronization

/// The awaited end of a pipeline: that of its stream, or its first error.
public final class StreamEnd: Sendable {
    /// An element that failed.
    public struct Failure: Sendable, Hashable {
        /// Its name.
        public var element: String
        /// Its message.
        public var message: String
    }

    private let first = Mutex<Failure?>(nil)
    private let ended = DispatchSemaphore(value: 0)

    /// An end that has not come.
    public init() {}

    /// How long to wait for a file of this many bytes: a minute, and a second for each MiB; a longer operation hangs.
    public static func limit(forBytes bytes: UInt64) -> Duration {
        .seconds(Int64(60 + bytes >> 20))
    }

    /// The first error that came; any thread.
    public var failure: Failure? { self.first.withLock { $0 } }

    /// Takes what the pipeline's bus says; any thread, and never waits.
    public func take(_ event: BusEvent) {
        switch event {
        case .error(let element, let message, _):
            self.first.withLock { $0 = $0 ?? Failure(element: element, message: message) }
            self.ended.signal()
        case .endOfStream: self.ended.signal()
        case .warning: break
        }
    }

    /// Blocks until it has come; once.
    ///
    /// - Parameters:
    ///   - limit: How long.
    ///   - each: Called after every second; what it throws ends the waiting.
    /// - Returns: False if it did not come in that time.
    public func wait(atMost limit: Duration, _ each: () throws -> Void) rethrows -> Bool {
        var left = limit
        repeat {
            let step = min(left, .seconds(1))
            let timeout = DispatchTime.now() + .nanoseconds(Int(clamping: step.nanoseconds))
            if self.ended.wait(timeout: timeout) == .success { return true }
            try each()
            left -= step
        } while left > .zero
        return false
    }

    /// Blocks until it has come; once.
    ///
    /// - Returns: False if it did not come in that time.
    public func wait(atMost limit: Duration) -> Bool {
        self.wait(atMost: limit) {}
    }
}
