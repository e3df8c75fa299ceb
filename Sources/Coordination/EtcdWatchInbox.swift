// SPDX-License-Identifier: Apache-2.0

import HTTPRequests
import Synchronization

/// What has come of a watch and waits for its reader. Any thread.
///
/// It holds two changes of the largest size. A reader that is slower loses what comes next, and always has a whole change of
/// what came before: after each break it is further.
final class EtcdWatchInbox: Sendable {
    /// What a reader finds.
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
    /// One element is as good as many: the reader takes everything.
    private let (wakes, wake) = AsyncStream<Void>.makeStream(bufferingPolicy: .bufferingNewest(1))

    /// Whether any bytes came.
    var hasBegun: Bool { self.state.withLock { $0.hasBegun } }

    /// The next bytes; none are taken behind an end.
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

    /// Nothing more comes; the first end counts.
    func end(_ end: EtcdWatchMachine.End) {
        self.state.withLock { $0.content.end = $0.content.end ?? end }
        self.wake.yield()
    }

    /// Waits for something that was not taken yet; nil when the task is cancelled.
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
