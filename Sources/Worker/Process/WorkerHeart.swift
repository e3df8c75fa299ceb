// SPDX-License-Identifier: Apache-2.0

internal import Foundation
internal import Glibc
internal import Logging
internal import Observability
internal import Synchronization

/// Says once a second that the worker lives, as long as everything of it answers that must.
///
/// It has a separate thread: where a process gets too little time, tasks and timers wait for each other, and a worker that
/// is slow must not look like one that hangs. For the same reason what does not answer is given a number of beats, not a time:
/// where a beat comes late, an answer may.
final class WorkerHeart: Sendable {
    /// Beats that may go without an answer: longer than anything that a control thread may rightly take for one piece of work.
    static let patience = 20
    /// Beats from one question to a room to the next, since each wakes a thread; the rooms are asked in turns.
    static let roomInterval = 5

    /// What must answer.
    private struct Part {
        /// Runs what it is given once it is its turn.
        ///
        /// Any thread; must not block.
        var ask: @Sendable (@escaping @Sendable () -> Void) -> Void
        var isLeft: @Sendable () -> Bool
        /// Beats since it was asked; 0 once it has answered.
        var unanswered = 0
        /// Which beat of a few it is asked with, if it has answered.
        var turn = 0
    }

    private struct State {
        var task: Part
        var rooms: [String: Part] = [:]
        var beats = 0
        var silent: [String] = []
        var hasEnded = false
    }

    private let state: Mutex<State>
    private let logger: Logger
    private let onBeat: @Sendable () -> Void

    /// A heart that does not beat yet.
    ///
    /// - Parameters:
    ///   - task: asks the worker's task, which runs what it is given when it comes to it.
    ///   - onBeat: called for each beat, and for none while something does not answer. On the heart's thread.
    init(
        logger: Logger,
        task: @escaping @Sendable (@escaping @Sendable () -> Void) -> Void,
        onBeat: @escaping @Sendable () -> Void
    ) {
        self.state = Mutex(State(task: Part(ask: task, isLeft: { false })))
        self.logger = logger
        self.onBeat = onBeat
    }

    /// Starts the thread, which ends a second after `stop` at the latest.
    func start() {
        let thread = Thread { [weak self] in
            while self?.beat() == true { Self.sleep() }
        }
        thread.name = "heartbeat"
        thread.start()
    }

    func stop() { self.state.withLock { $0.hasEnded = true } }

    /// From now on a room must answer.
    ///
    /// - Parameters:
    ///   - ask: gives the room's control thread something to run.
    ///   - isLeft: whether the room is being left.
    func watch(
        _ room: String,
        ask: @escaping @Sendable (@escaping @Sendable () -> Void) -> Void,
        isLeft: @escaping @Sendable () -> Bool
    ) {
        self.state.withLock { state in
            state.rooms[room] = Part(ask: ask, isLeft: isLeft, turn: state.rooms.count % Self.roomInterval)
        }
    }

    /// The room is gone.
    func forget(_ room: String) { self.state.withLock { $0.rooms[room] = nil } }

    /// One beat; false once it was stopped.
    func beat() -> Bool {
        let (task, rooms, hasEnded) = self.state.withLock { state in
            state.task.unanswered += 1
            let turn = state.beats % Self.roomInterval
            state.beats += 1
            for (name, room) in state.rooms where room.turn == turn || room.unanswered > 0 {
                state.rooms[name]?.unanswered += 1
            }
            return (state.task, state.rooms, state.hasEnded)
        }
        guard !hasEnded else { return false }
        // Each is asked once, and again after it has answered.
        if task.unanswered == 1 {
            task.ask { [weak self] in self?.state.withLock { $0.task.unanswered = 0 } }
        }
        for (name, room) in rooms where room.unanswered == 1 {
            room.ask { [weak self] in self?.state.withLock { $0.rooms[name]?.unanswered = 0 } }
        }
        let hanging = rooms.filter { $0.value.unanswered > Self.patience }
        self.tell(hanging.keys.sorted() + (task.unanswered > Self.patience ? ["the worker's task"] : []))
        let areLeft = hanging.values.map { $0.isLeft() }
        if task.unanswered <= Self.patience, Self.isWell(hangingRoomsAreLeft: areLeft, rooms: rooms.count) {
            self.onBeat()
        }
        return true
    }

    private func tell(_ silent: [String]) {
        let isNew = self.state.withLock { state in
            defer { state.silent = silent }
            return state.silent != silent
        }
        guard isNew, !silent.isEmpty else { return }
        self.logger.critical("no answer", metadata: .tagged([.detail: "\(silent.joined(separator: ", "))"]))
    }

    /// Whether a worker is well although rooms of it hang.
    ///
    /// A room that is being left has a separate time limit, while there is another that a kill would end.
    ///
    /// - Parameters:
    ///   - hangingRoomsAreLeft: of each room that hangs, whether it is being left.
    ///   - rooms: how many rooms there are.
    static func isWell(hangingRoomsAreLeft: [Bool], rooms: Int) -> Bool {
        hangingRoomsAreLeft.isEmpty || hangingRoomsAreLeft.allSatisfy(\.self) && hangingRoomsAreLeft.count < rooms
    }

    /// For a second, whatever becomes of the wall clock; less if a signal comes.
    private static func sleep() {
        var second = timespec(tv_sec: 1, tv_nsec: 0)
        nanosleep(&second, nil)
    }
}
