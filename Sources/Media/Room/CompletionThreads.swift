// SPDX-License-Identifier: Apache-2.0

import Foundation
import Synchronization

/// Threads on which files and recordings are completed, all of which may wait for the disk at the same time.
///
/// They are no threads of Dispatch: of its global queues only as many run as there are cores, and the tasks of the process,
/// which keep up its calls, run on the same ones. What is beyond the bound waits in order; nothing that runs here waits for
/// something else that does.
final class CompletionThreads: Sendable {
    /// Those of the process: as many as four recorders whose participants all leave at once want.
    static let shared = CompletionThreads(most: 64)

    private struct State {
        var running = 0
        var waiting: [@Sendable () -> Void] = []
    }

    private let most: Int
    private let state = Mutex(State())

    /// So many at a time.
    init(most: Int) { self.most = most }

    /// Runs `body`, at once if there is a thread for it.
    func run(_ body: @escaping @Sendable () -> Void) {
        let hasThread = self.state.withLock { state in
            guard state.running < self.most else {
                state.waiting.append(body)
                return false
            }
            state.running += 1
            return true
        }
        guard hasThread else { return }
        let thread = Thread {
            body()
            while let next = self.next() { next() }
        }
        thread.name = "completion"
        thread.start()
    }

    /// What waits longest; nil, and the thread is gone, if nothing does.
    private func next() -> (@Sendable () -> Void)? {
        self.state.withLock { state in
            guard !state.waiting.isEmpty else {
                state.running -= 1
                return nil
            }
            return state.waiting.removeFirst()
        }
    }
}
