// SPDX-License-Identifier: Apache-2.0

internal import Storage
internal import Synchronization

/// A message that is posted into the chat of a room while it is recorded: once to each peer, as soon as it has a
/// channel.
///
/// Any thread.
public final class Announcement: Sendable {
    private struct State {
        var text: String?
        /// Folders of recordings in progress: two for an instant, where one is the next of a series.
        var recordings: Set<String> = []
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
            case .started(let folder, _, _):
                if state.recordings.isEmpty { state.number += 1 }
                state.recordings.insert(folder.path)
            case .finished(let folder, _, _): state.recordings.remove(folder.path)
            case .notContinued, .degraded, .firstUnit: break
            }
        }
    }

    /// Takes that recording was stopped: the next one is none of the same series, although files may still be open.
    public func stopped() {
        self.state.withLock { $0.recordings = [] }
    }

    /// The number of the recording in progress, counted from 1, and what is posted for it; nil for nothing.
    public var current: (number: UInt64, text: String)? {
        self.state.withLock { state in
            guard !state.recordings.isEmpty, let text = state.text else { return nil }
            return (state.number, text)
        }
    }
}
