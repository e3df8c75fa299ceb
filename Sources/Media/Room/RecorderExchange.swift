// SPDX-License-Identifier: Apache-2.0

internal import Dispatch
internal import GStreamer
internal import Observability
internal import Recording
internal import Synchronization

/// Data between a recorder's thread and all others: units and orders one way, the status the other.
final class RecorderExchange: Sendable {
    /// Something for the thread to report to its session, between two units.
    struct Order: Sendable {
        let perform: @Sendable (inout RecordingSession) -> Void
        /// Signalled when it was performed, and the status shows it.
        let isDone: DispatchSemaphore?
    }

    /// How long the thread runs.
    enum Life: Sendable, Hashable {
        case goesOn
        /// Until the queue is empty.
        case ends(reason: String)
        /// No owner is left that could want anything of it.
        case abandoned
        case over
    }

    struct Published: Sendable {
        var status = RecordingStatus()
        /// The lag of units since the last query.
        var lag = RecordingLag()
    }

    private struct Orders {
        var waiting: [Order] = []
        /// By the mark in the queue that each waits for.
        var behindUnits: [UInt64: Order] = [:]
        var lastMark: UInt64 = 0
        var life = Life.goesOn
    }

    /// Orders that may wait before those that can be spared are dropped; a disk that hangs lets them wait.
    private static let spareLimit = 1024

    let queue = UnitQueue()
    let published = Mutex(Published())
    let tracks = Mutex(RecorderTracks())
    private let orders = Mutex(Orders())
    private let isOver = DispatchSemaphore(value: 0)

    // MARK: Any thread

    /// Makes a call to the session; does not wait, and does nothing if the thread is over.
    ///
    /// - Parameters:
    ///   - isSpare: whether it is dropped if many orders wait.
    ///   - wakes: false if it can wait until the thread is awake for something else, 1 s at most.
    func tell(
        isSpare: Bool = false,
        wakes: Bool = true,
        _ perform: @escaping @Sendable (inout RecordingSession) -> Void
    ) {
        self.put(Order(perform: perform, isDone: nil), isSpare: isSpare, wakes: wakes)
    }

    /// Makes a call to the session when it has taken all units that are in the queue now.
    func tellBehindUnits(_ perform: @escaping @Sendable (inout RecordingSession) -> Void) {
        let mark = self.orders.withLock { orders -> UInt64? in
            guard orders.life != .over else { return nil }
            orders.lastMark += 1
            orders.behindUnits[orders.lastMark] = Order(perform: perform, isDone: nil)
            return orders.lastMark
        }
        if let mark { self.queue.mark(mark) }
    }

    /// Makes a call to the session, and waits for its answer; the other one is returned if the thread is over.
    func ask<Answer: Sendable>(
        or other: Answer,
        _ perform: @escaping @Sendable (inout RecordingSession) -> Answer
    ) -> Answer {
        let isDone = DispatchSemaphore(value: 0)
        let answer = Reply(other)
        guard self.put(Order(perform: { answer.give(perform(&$0)) }, isDone: isDone)) else { return other }
        isDone.wait()
        return answer.value
    }

    @discardableResult
    private func put(_ order: Order, isSpare: Bool = false, wakes: Bool = true) -> Bool {
        let isTaken = self.orders.withLock { orders in
            guard orders.life != .over, !isSpare || orders.waiting.count < Self.spareLimit else { return false }
            orders.waiting.append(order)
            return true
        }
        if isTaken, wakes { self.queue.wake() }
        return isTaken
    }

    /// Ends the thread when everything that waits is written, and waits for that and for every file; once.
    func end(reason: String) {
        self.orders.withLock { $0.life = .ends(reason: reason) }
        self.queue.wake()
        self.isOver.wait()
    }

    /// Ends the thread as soon as can be, with files as they are.
    func abandon() {
        self.orders.withLock { orders in
            if orders.life == .goesOn { orders.life = .abandoned }
        }
        self.queue.wake()
    }

    // MARK: The recorder's thread

    /// Takes the orders that wait.
    func take() -> (orders: [Order], life: Life) {
        self.orders.withLock { orders in
            guard !orders.waiting.isEmpty else { return ([], orders.life) }
            defer { orders.waiting = [] }
            return (orders.waiting, orders.life)
        }
    }

    /// Takes the order that waited for a mark.
    func take(behind mark: UInt64) -> Order? {
        self.orders.withLock { $0.behindUnits.removeValue(forKey: mark) }
    }

    /// Takes no more orders; returns those that wait.
    func close() -> [Order] {
        self.orders.withLock { orders in
            orders.life = .over
            let marked = orders.behindUnits.sorted { $0.key < $1.key }.map(\.value)
            defer { (orders.waiting, orders.behindUnits) = ([], [:]) }
            return orders.waiting + marked
        }
    }

    /// The thread does nothing any more.
    func tellOver() {
        self.isOver.signal()
    }
}

/// An answer that another thread gives.
private final class Reply<Value: Sendable>: Sendable {
    private let stored: Mutex<Value>

    init(_ value: Value) {
        self.stored = Mutex(value)
    }

    func give(_ value: Value) {
        self.stored.withLock { $0 = value }
    }

    var value: Value { self.stored.withLock { $0 } }
}

/// The open tracks of a recorder, as far as others than its session need them.
struct RecorderTracks: Sendable {
    struct Entry: Sendable {
        let tap: TrackTap
        let received: ReceivedTrack
        let setup: SetupTimes
        /// Holds the pad to ask, and with it the whole peer connection.
        let requestKeyframe: @Sendable () -> Void
    }

    private(set) var open: [UInt64: Entry] = [:]
    /// Counts of tracks that are not open any more.
    private var droppedUnits = EndedCounts()
    private var nextID: UInt64 = 1
    private var isEnding = false

    /// Makes a tap for a track.
    mutating func open(
        _ track: ReceivedTrack,
        _ setup: SetupTimes,
        _ queue: UnitQueue,
        _ requestKeyframe: @escaping @Sendable () -> Void
    ) -> (id: UInt64, tap: TrackTap) {
        let id = self.nextID
        self.nextID += 1
        let siblings = self.open.values.filter { $0.received.connection == track.connection }
        // A payload type that no description names has no m-line, but the numbers of its source.
        let other = siblings.first { $0.received.ssrc == track.ssrc }
        let tap = TrackTap(
            id: id,
            ssrc: track.ssrc,
            queue: queue,
            besides: other?.tap,
            with: siblings.first?.tap
        )
        if self.isEnding { tap.close() }
        self.open[id] = Entry(tap: tap, received: track, setup: setup, requestKeyframe: requestKeyframe)
        return (id, tap)
    }

    /// Closes the taps of those tracks, and forgets them.
    mutating func close(where isOver: (Entry) -> Bool) {
        for (id, entry) in self.open where isOver(entry) {
            entry.tap.close()
            self.open[id] = nil
            self.droppedUnits.add(entry.tap.counters.droppedUnits, of: entry.received.participant)
        }
    }

    /// Dropped units of all tracks of a participant.
    func droppedUnits(of participant: String) -> UInt64 {
        self.open.values.filter { $0.received.participant == participant }
            .reduce(self.droppedUnits[participant]) { $0 &+ $1.tap.counters.droppedUnits }
    }

    /// Closes every tap for good; false if that was done before.
    mutating func end() -> Bool {
        defer { self.isEnding = true }
        for entry in self.open.values { entry.tap.close() }
        return !self.isEnding
    }
}
