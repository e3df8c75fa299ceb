// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Model

/// Commands for one worker process, until it takes them.
///
/// Callable from any thread.
final class WorkerMailbox: Sendable {
    /// Commands are a few per minute; a worker that leaves so many unread hangs, and its heartbeat shows that.
    private static let capacity = 1024

    /// Lines for its standard input.
    let lines: AsyncStream<Data>
    /// One element when it is to be ended at once.
    let kills: AsyncStream<Void>
    private let line: AsyncStream<Data>.Continuation
    private let kill: AsyncStream<Void>.Continuation

    init() {
        (self.lines, self.line) = AsyncStream.makeStream(bufferingPolicy: .bufferingOldest(Self.capacity))
        (self.kills, self.kill) = AsyncStream.makeStream(bufferingPolicy: .bufferingOldest(1))
    }

    /// Queues a command; one that finds no place ends the worker.
    func send(_ command: some Encodable) {
        guard let data = try? WorkerLine.encode(command), case .enqueued = self.line.yield(data) else {
            self.end()
            return
        }
    }

    /// Ends the process.
    func end() {
        self.kill.yield()
    }
}
