// SPDX-License-Identifier: Apache-2.0

internal import GStreamer
internal import Synchronization

/// The first error that a bus reported: a state change that fails only says that it did.
final class FirstError: Sendable {
    private let message = Mutex<String?>(nil)

    /// The message, if there was an error.
    var first: String? { self.message.withLock { $0 } }

    /// Takes an event; any thread.
    func note(_ event: BusEvent) {
        guard case .error(_, var text, let debug) = event else { return }
        // Of a stream that ended only the last line behind it says why: "streaming stopped, reason not-negotiated (-4)".
        if text.hasPrefix("Internal data"), let reason = debug?.split(separator: "\n").last { text += " \(reason)" }
        self.message.withLock { $0 = $0 ?? text }
    }
}
