// SPDX-License-Identifier: Apache-2.0

internal import NIOPosix

extension NIOThreadPool {
    /// Threads that live as long as the process, for what blocks on something that others do not wait for.
    static func started(_ count: Int) -> NIOThreadPool {
        let pool = NIOThreadPool(numberOfThreads: count)
        pool.start()
        return pool
    }
}
