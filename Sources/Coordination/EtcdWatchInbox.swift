// SPDX-License-Identifier: Apache-2.0

import HTTPRequests
import Synchronization

/// The bytes of a watch between its transfer and its reader.
///
/// Any thread. It holds two changes of the largest size. When a reader is slower, the inbox ends; the reader still gets a whole change
/// from it, so each attempt makes progress.
final class EtcdWatchInbox: Sendable {
    /// The bytes for the reader.
    struct Content: Sendable, Hashable {
        /// The next bytes, perhaps none.
        var bytes: [UInt8] = []
        /// The end behind the bytes.
        var end: EtcdWatchMachine.End?
    }

    /// Most bytes that wait.
    static let maximumBytes = 2 * EtcdWatchReader.maximumBytes

    private struct State {
        var content = Content()
        var hasBegun = false
    }

    private let state = Mutex(State())
    /// Holds one element at most: the reader takes all bytes at once.
    private let (wakes, wake) = AsyncStream<Void>.makeStream(bufferingPolicy: .bufferingNewest(1))

    /// Whether any bytes came.
    var hasBegun: Bool { self.state.withLock { $0.hasBegun } }

    /// Adds bytes; after an end it drops them.
    func add(_ bytes: UnsafeRawBufferPointer) {
        self.state.withLock { state in
            state.hasBegun = true
            guard state.content.end == nil else { return }
            if state.content.bytes.count + bytes.count <= Self.maximumBytes {
                state.content.bytes += bytes
            } else {
                state.content.end = .interrupted
            }
        }
        self.wake.yield()
    }

    /// Ends the watch; the first end counts.
    func end(_ end: EtcdWatchMachine.End) {
        self.state.withLock { $0.content.end = $0.content.end ?? end }
        self.wake.yield()
    }

    /// Waits for bytes or an end; nil when the task is cancelled.
    func next() async -> Content? {
        for await _ in self.wakes {
            let content = self.state.withLock { state in
                defer { state.content.bytes = [] }
                return state.content
            }
            if !content.bytes.isEmpty || content.end != nil { return content }
        }
        return nil
    }
}
