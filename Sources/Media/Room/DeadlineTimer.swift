// SPDX-License-Identifier: Apache-2.0

internal import Basics
internal import Dispatch

/// One call in the future that can be taken back; cancelled or fired, nothing of it stays behind.
final class DeadlineTimer: @unchecked Sendable {
    // A dispatch source may be used from any thread; it only lacks the annotation.
    private let source: any DispatchSourceTimer

    /// Calls `body` once after `duration`, on a thread of Dispatch, unless cancelled before.
    init(after duration: Duration, _ body: @escaping @Sendable () -> Void) {
        self.source = DispatchSource.makeTimerSource(queue: .global())
        self.source.schedule(deadline: .now() + .nanoseconds(Int(clamping: duration.nanoseconds)))
        self.source.setEventHandler(handler: body)
        self.source.activate()
    }

    func cancel() {
        self.source.cancel()
    }
}
