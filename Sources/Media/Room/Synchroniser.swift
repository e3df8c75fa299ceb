// SPDX-License-Identifier: Apache-2.0

internal import Basics
internal import Foundation
internal import GStreamer
internal import Synchronization

/// The thread on which the files of all recorders with the same storage are forced to the disk, one at a time.
///
/// It begins 100 ms after the first recorder wants it, and does at once what all of them want by then. They hear of it
/// together, so that they want it together the next time: it wakes once for all rooms of a process. A disk that hangs holds
/// up the files of that storage only. Methods are callable from any thread and wait for none.
final class Synchroniser: Sendable {
    /// The files of a recorder.
    struct Round: Sendable {
        /// Has the kernel begin to write them.
        ///
        /// Rounds that are performed together all begin before the first is performed: one commit of the file system's journal
        /// then serves them all.
        var begin: @Sendable () -> Void = {}
        /// Performs the round, and returns what reports its result; that gets the time that the disk needed.
        let perform: @Sendable () -> @Sendable (Duration) -> Void
    }

    private struct Waiting {
        let round: Round
        /// Since when it has waited for the disk; nil if nothing was at work when it came.
        let since: Int64?
    }

    private struct State {
        var waiting: [Waiting] = []
        var hasThread = false
        var isAtWork = false
    }

    /// Rests of a second and more, as recorders have them, do not end it.
    private static let longestIdle = 10
    private static let shared = Mutex<[String: Synchroniser]>([:])

    private let gather: @Sendable () -> Void
    private let clock: @Sendable () -> Int64
    private let state = Mutex(State())
    private let came = DispatchSemaphore(value: 0)

    /// The one of a storage folder, for the life of the process.
    static func of(storage: String) -> Synchroniser {
        Self.shared.withLock { shared in
            let found = shared[storage] ?? Synchroniser()
            shared[storage] = found
            return found
        }
    }

    /// One without a thread, which the first round starts.
    ///
    /// - Parameters:
    ///   - gather: returns when no more rounds are to be waited for; called on the thread.
    ///   - clock: gives `CLOCK_MONOTONIC`, in nanoseconds.
    init(
        gather: @escaping @Sendable () -> Void = { Thread.sleep(forTimeInterval: 0.1) },
        clock: @escaping @Sendable () -> Int64 = { Runtime.monotonicNanoseconds }
    ) {
        self.gather = gather
        self.clock = clock
    }

    /// Has a round performed.
    func add(_ round: Round) {
        let (isFirst, hadThread) = self.state.withLock { state in
            state.waiting.append(Waiting(round: round, since: state.isAtWork ? self.clock() : nil))
            defer { state.hasThread = true }
            return (state.waiting.count == 1, state.hasThread)
        }
        guard hadThread else {
            let thread = Thread {
                Thread.current.name = "synchroniser"
                self.run()
            }
            thread.start()
            return
        }
        if isFirst { self.came.signal() }
    }

    private func run() {
        while true {
            self.gather()
            self.performWaiting()
            let isOver = self.came.wait(timeout: .now() + .seconds(Self.longestIdle)) == .timedOut
            let ends = self.state.withLock { state in
                guard isOver, state.waiting.isEmpty else { return false }
                state.hasThread = false
                return true
            }
            if ends { return }
        }
    }

    private func performWaiting() {
        var rounds: [Waiting] = []
        let start = self.state.withLock { state in
            swap(&rounds, &state.waiting)
            state.isAtWork = true
            return self.clock()
        }
        for waiting in rounds { waiting.round.begin() }
        rounds.reverse()
        var results: [(tell: @Sendable (Duration) -> Void, since: Int64)] = []
        // Each is let go when it is done: it has the journal, whose lock others wait for.
        while let next = rounds.popLast() { results.append((next.round.perform(), next.since ?? start)) }
        let end = self.state.withLock { state in
            state.isAtWork = false
            return self.clock()
        }
        for (tell, since) in results { tell(.nanoseconds(max(0, end - since))) }
    }
}
