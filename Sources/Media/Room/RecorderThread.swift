// SPDX-License-Identifier: Apache-2.0

internal import Basics
internal import Foundation
internal import GStreamer
internal import Synchronization

/// The thread that records for every room of the process, one room after the other, woken once for all that has come.
///
///     packet reader's round ──► queues of the rooms ──► bell ──► one turn for each room that has something, or is due
///
/// A room whose turn takes longer than 100 ms, since its disk takes nothing, keeps the thread for itself, for 30 s, and another
/// one takes all others: no room waits for the disk of another. Methods are callable from any thread and do not block.
final class RecorderThread: Sendable {
    /// The one of the process.
    static let shared = RecorderThread()

    private struct State {
        /// Without those that have a thread for themselves.
        var rooms: [RecordedRoom] = []
        /// The room in turn, and since when.
        var turn: (room: RecordedRoom, began: Int64)?
        var hasThread = false
        var setAside = 0
    }

    /// The thread, for its bell.
    private final class Owner: Sendable {
        let thread = Mutex<RecorderThread?>(nil)
    }

    private let timeAlone: Duration
    private let state = Mutex(State())
    private let bell: UnitBell

    /// One without rooms, which lives as long as the process.
    ///
    /// - Parameter timeAlone: how long a room keeps a thread for itself.
    init(timeAlone: Duration = .seconds(30)) {
        self.timeAlone = timeAlone
        let owner = Owner()
        self.bell = UnitBell { began in owner.thread.withLock { $0 }?.setAside(turn: began) }
        owner.thread.withLock { $0 = self }
    }

    /// How many rooms it has, and how often one kept the thread for itself.
    var figures: (rooms: Int, setAside: Int) { self.state.withLock { ($0.rooms.count, $0.setAside) } }

    /// Records for a room until that is over.
    func add(_ room: RecordedRoom) {
        // Its journal may be of days: others do not wait for it.
        guard room.readsJournal else { return self.share(room) }
        self.start {
            room.takeTurn()
            if !room.isOver { self.share(room) }
        }
    }

    private func share(_ room: RecordedRoom) {
        let needsThread = self.state.withLock { state in
            state.rooms.append(room)
            room.queue.use(self.bell)
            defer { state.hasThread = true }
            return !state.hasThread
        }
        // The room is looked after at once.
        room.queue.wake()
        if needsThread { self.start { self.run() } }
    }

    private func start(_ body: @escaping @Sendable () -> Void) {
        let thread = Thread {
            Thread.current.name = "recorder"
            body()
        }
        thread.start()
    }

    // MARK: The thread of all rooms

    private func run() {
        while let wakeAt = self.takeTurns() { self.bell.wait(until: wakeAt) }
    }

    /// Takes a turn for each room that needs one; returns when the next one is due, or nil if the thread is over.
    private func takeTurns() -> Int64? {
        let rooms = self.state.withLock { state in
            state.hasThread = !state.rooms.isEmpty
            return state.rooms
        }
        var wakeAt: Int64?
        for room in rooms {
            if room.isDue(at: Runtime.monotonicNanoseconds), !self.takeTurn(of: room) { return nil }
            wakeAt = min(wakeAt ?? .max, room.latest)
        }
        return wakeAt
    }

    /// False if the room has kept the thread for itself.
    private func takeTurn(of room: RecordedRoom) -> Bool {
        let began = self.bell.turnBegins()
        self.state.withLock { $0.turn = (room, began) }
        room.takeTurn()
        guard self.bell.turnEnds(began) else {
            self.setAside(turn: began)
            self.keep(room, until: Runtime.monotonicNanoseconds + self.timeAlone.nanoseconds)
            return false
        }
        self.state.withLock { state in
            state.turn = nil
            if room.isOver { Self.remove(room, &state) }
        }
        return true
    }

    private static func remove(_ room: RecordedRoom, _ state: inout State) {
        state.rooms.removeAll { $0 === room }
        room.queue.use(nil)
    }

    /// Another thread takes all rooms but the one whose turn began then, if none has yet.
    private func setAside(turn began: Int64) {
        let needsThread = self.state.withLock { state in
            guard let turn = state.turn, turn.began == began else { return false }
            state.turn = nil
            state.setAside += 1
            Self.remove(turn.room, &state)
            state.hasThread = !state.rooms.isEmpty
            return state.hasThread
        }
        if needsThread { self.start { self.run() } }
    }

    // MARK: The thread of one room

    /// Records for one room until an instant, and for as long as its turns take long; then it is one of all again.
    private func keep(_ room: RecordedRoom, until end: Int64) {
        var (end, now) = (end, Runtime.monotonicNanoseconds)
        while !room.isOver, now < end {
            room.queue.wait(until: room.latest)
            let began = Runtime.monotonicNanoseconds
            room.takeTurn()
            now = Runtime.monotonicNanoseconds
            if now - began > UnitBell.longestTurn.nanoseconds { end = now + self.timeAlone.nanoseconds }
        }
        if !room.isOver { self.share(room) }
    }
}
