// SPDX-License-Identifier: Apache-2.0

import Foundation
import Synchronization

/// Threads for work that may block, such as that of a disk or a resolver: a bounded number at a time, made when they
/// are needed.
///
/// They are no threads of Dispatch: of its global queues only as many run as there are cores, and the tasks of the
/// process, which keep up its calls, run on the same ones. Work beyond the bound waits in order; nothing that runs here
/// waits for something else that does.
final class BlockingThreads: Sendable {
    /// Those on which the files and recordings of the process are completed: as many as four recorders whose participants all
    /// leave at once want.
    static let completion = BlockingThreads(name: "completion", most: 64)

    private struct State {
        var running = 0
        var waiting: [@Sendable () -> Void] = []
    }

    private let name: String
    private let most: Int
    private let mostWaiting: Int
    private let state = Mutex(State())

    /// No thread yet.
    ///
    /// - Parameters:
    ///   - name: of each thread, for debuggers.
    ///   - most: how many run at a time, 1 and up.
    ///   - mostWaiting: how much may wait for one of them, 0 and up.
    init(name: String, most: Int, mostWaiting: Int = .max) {
        self.name = name
        self.most = most
        self.mostWaiting = mostWaiting
    }

    /// Runs `body`, at once if there is a thread for it; false, and it never runs, if too much waits.
    @discardableResult
    func run(_ body: @escaping @Sendable () -> Void) -> Bool {
        let (hasThread, isTaken) = self.state.withLock { state in
            if state.running < self.most {
                state.running += 1
                return (true, true)
            }
            guard state.waiting.count < self.mostWaiting else { return (false, false) }
            state.waiting.append(body)
            return (false, true)
        }
        guard hasThread else { return isTaken }
        let thread = Thread {
            body()
            while let next = self.next() { next() }
        }
        thread.name = self.name
        thread.start()
        return true
    }

    /// The work that waits longest; nil, and the thread is gone, if there is none.
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
