// SPDX-License-Identifier: Apache-2.0

internal import CTapedeck
internal import Dispatch
internal import Synchronization

/// Gives the system what connections that ended have left free: malloc keeps it, in pieces that other sizes do not fit
/// into, and it counts as this process's (docs/decisions/0105).
final class FreeMemory: Sendable {
    /// The instance of this process; a test of connections has a separate one.
    @TaskLocal static var current = FreeMemory()

    /// A separate queue: the locks of malloc's arenas are held during the work, some milliseconds each.
    private let queue = DispatchQueue(label: "free memory", qos: .utility)
    private let schedule = Mutex(MemorySchedule(now: .now))

    /// Connections that began and were not freed.
    var connections: Int { self.schedule.withLock { $0.connections } }

    /// A connection begins.
    ///
    /// Any thread.
    func connectionBegan() { self.schedule.withLock { $0.connectionBegan() } }

    /// A connection is freed.
    ///
    /// Any thread.
    func connectionEnded() {
        self.schedule.withLock { $0.connectionEnded() }
        self.queue.asyncAfter(deadline: .now() + .seconds(MemorySchedule.settlingSeconds)) {
            guard self.schedule.withLock({ $0.isDue(now: .now) }) else { return }
            Self.release()
        }
    }

    /// Gives the system every page of malloc's heaps in which nothing is in use (malloc_trim(3)).
    ///
    /// Takes up to some ten milliseconds, in which threads that allocate may wait.
    static func release() { CTapedeck_release_free_memory() }
}
