// SPDX-License-Identifier: Apache-2.0

import Dispatch

/// The thread of an actor that works with files.
///
/// A disk that hangs holds this thread; the few that all tasks share continue.
final class DiskThread: SerialExecutor {
    private let queue: DispatchQueue

    /// A separate thread, named for debuggers.
    init(name: String) {
        self.queue = DispatchQueue(label: name)
    }

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        self.queue.async { job.runSynchronously(on: self.asUnownedSerialExecutor()) }
    }
}
