// SPDX-License-Identifier: Apache-2.0

internal import Synchronization

/// What is posted into the chat of a room while it is recorded: once to each peer, as soon as it has a channel.
///
/// Any thread.
public final class Announcement: Sendable {
    private struct State {
        var text: String?
        /// Recordings in progress: two for an instant, where one is the next of a series.
        var recordings = 0
        var number: UInt64 = 0
    }

    private let state: Mutex<State>

    /// An announcement before the first recording.
    ///
    /// - Parameter text: one line of at most 1000 bytes; nil for none.
    public init(_ text: String?) {
        self.state = Mutex(State(text: text))
    }

    /// Has the next recordings announced so.
    public func take(_ text: String?) {
        self.state.withLock { $0.text = text }
    }

    /// Takes what a recorder says.
    public func note(_ event: RecorderEvent) {
        self.state.withLock { state in
            switch event {
            case .started:
                if state.recordings == 0 { state.number += 1 }
                state.recordings += 1
            case .finished: state.recordings = max(0, state.recordings - 1)
            case .notContinued, .degraded, .firstUnit: break
            }
        }
    }

    /// The number of the recording in progress, counted from 1, and what is posted for it; nil for nothing.
    public var current: (number: UInt64, text: String)? {
        self.state.withLock { state in
            guard state.recordings > 0, let text = state.text else { return nil }
            return (state.number, text)
        }
    }
}
