// SPDX-License-Identifier: Apache-2.0

import Foundation

/// Threads on which files and recordings are completed, all of which may wait for the disk at the same time.
///
/// A recorder wants only so many at a time, but a process has many recorders, and Dispatch some 255 threads for everything
/// that waits. What is beyond the bound waits in order; nothing that runs here waits for something else that does.
final class CompletionThreads: Sendable {
    /// Those of the process: as many as four recorders whose participants all leave at once want.
    static let shared = CompletionThreads(most: 64)

    private let queue = OperationQueue()

    /// So many at a time.
    init(most: Int) {
        self.queue.name = "recorder.completion"
        self.queue.maxConcurrentOperationCount = most
    }

    /// Runs `body`, at once if there is a thread for it.
    func run(_ body: @escaping @Sendable () -> Void) {
        self.queue.addOperation(body)
    }
}
