// SPDX-License-Identifier: Apache-2.0

internal import GStreamer
internal import Synchronization

/// A room's recorder as the thread sees it that records for it.
///
/// The thread alone takes turns and asks when one is due.
final class RecordedRoom: Sendable {
    private struct State: ~Copyable {
        /// nil before the first turn, and once the recorder is over.
        var loop: RecorderLoop?
        var next = RecorderLoop.Next.due(earliest: 0, latest: 0)
    }

    /// Where its units wait.
    let queue: UnitQueue
    /// Whether its first turn reads the journal that it continues.
    let readsJournal: Bool
    private let makeLoop: @Sendable () -> RecorderLoop
    private let state = Mutex(State())

    /// - Parameter makeLoop: called once, in the first turn.
    init(_ queue: UnitQueue, readsJournal: Bool, makeLoop: @escaping @Sendable () -> RecorderLoop) {
        (self.queue, self.readsJournal, self.makeLoop) = (queue, readsJournal, makeLoop)
    }

    /// Whether no turn is left to take.
    var isOver: Bool {
        self.state.withLock { if case .over = $0.next { true } else { false } }
    }

    /// When the next turn is due if nothing comes, on `CLOCK_MONOTONIC`; 0 once it is over.
    var latest: Int64 {
        self.state.withLock { if case .due(_, let latest) = $0.next { latest } else { 0 } }
    }

    /// Whether a thread that is awake takes a turn.
    func isDue(at now: Int64) -> Bool {
        let earliest = self.state.withLock { if case .due(let earliest, _) = $0.next { earliest } else { Int64.max } }
        return now >= earliest || self.queue.hasNews
    }

    /// Takes what waits, and does what is due; the first turn makes the session, and may read a long journal.
    func takeTurn() {
        self.state.withLock { state in
            if case .over = state.next { return }
            if state.loop == nil { state.loop = self.makeLoop() }
            state.next = state.loop?.turn() ?? .over
            if case .over = state.next { state.loop = nil }
        }
    }
}
