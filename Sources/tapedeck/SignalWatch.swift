// SPDX-License-Identifier: Apache-2.0

@preconcurrency import Dispatch

/// Signals that call a handler in place of ending the process, for as long as the watch exists.
///
/// Dispatch registers a source on a separate thread and takes the signal over only then. The initialiser waits for it: a
/// signal that comes before it returns ends the process, and none is lost.
final class SignalWatch: Sendable {
    private let sources: [any DispatchSourceSignal]

    /// - Parameter handler: called on a separate thread, one call at a time.
    init(_ numbers: Int32..., handler: @escaping @Sendable (_ number: Int32) -> Void) {
        let queue = DispatchQueue(label: "signals")
        let registered = DispatchSemaphore(value: 0)
        self.sources = numbers.map { number in
            let source = DispatchSource.makeSignalSource(signal: number, queue: queue)
            source.setRegistrationHandler { registered.signal() }
            source.setEventHandler { handler(number) }
            source.activate()
            return source
        }
        for _ in numbers { registered.wait() }
    }

    deinit { for source in self.sources { source.cancel() } }
}
