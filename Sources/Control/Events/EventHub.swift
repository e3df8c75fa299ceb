// SPDX-License-Identifier: Apache-2.0

public import Model
import Synchronization

/// Where events are published, and from where event streams read them.
///
/// Publishing never waits and never fails, from any thread. Streams read from one ring at their own speed: a slow one
/// costs no memory, and one that falls behind the ring is ended.
public final class EventHub: Sendable {
    private struct State: Sendable {
        var ring: EventRing
        var wakers: [UInt64: AsyncStream<Void>.Continuation] = [:]
        var lastID: UInt64 = 0
    }

    private let state: Mutex<State>
    /// Distinguishes the ids of this hub's events from those of an earlier run of the daemon.
    let life: String

    /// A hub for the events of one life, of which it remembers at least the last `capacity`.
    public init(capacity: Int = 1000, life: String) {
        self.life = life
        self.state = Mutex(State(ring: EventRing(capacity: capacity)))
    }

    /// Sends an event to all listeners, and keeps it for those that come back.
    public func publish(_ event: DaemonEvent) {
        let wakers = self.state.withLock { state in
            state.ring.append(event)
            return Array(state.wakers.values)
        }
        for waker in wakers { waker.yield() }
    }

    /// Streams that are open.
    public var streamCount: Int { self.state.withLock { $0.wakers.count } }

    /// Opens a stream; `nil` when there are `limit` of them.
    ///
    /// - Parameter last: the event that the client saw last; `nil` begins with the next one.
    func subscribe(after last: EventID?, limit: Int) -> EventSubscription? {
        // One wake-up is as good as many: the reader then takes everything that is there.
        let (wakes, waker) = AsyncStream<Void>.makeStream(bufferingPolicy: .bufferingNewest(1))
        return self.state.withLock { state in
            guard state.wakers.count < limit else { return nil }
            state.lastID += 1
            state.wakers[state.lastID] = waker
            // A number of another run, or of an unknown one, says nothing of the events here.
            let isKnown = last == nil || last?.life == self.life
            let start = isKnown ? state.ring.start(after: last?.sequence) : state.ring.startOfAll
            return EventSubscription(hub: self, id: state.lastID, start: start, wakes: wakes, waker: waker)
        }
    }

    /// Wakes every stream, so that a quiet one shows that it is alive.
    func wakeAll() {
        for waker in self.state.withLock({ Array($0.wakers.values) }) { waker.yield() }
    }

    /// Ends every stream that is open.
    func endStreams() {
        for waker in self.state.withLock({ Array($0.wakers.values) }) { waker.finish() }
    }

    fileprivate func read(from place: UInt64) -> EventRing.Batch {
        self.state.withLock { $0.ring.read(from: place, limit: 100) }
    }

    fileprivate func unsubscribe(_ id: UInt64) {
        self.state.withLock { $0.wakers[id] = nil }
    }
}

/// A place among the streams of a hub, held as long as this object lives.
final class EventSubscription: Sendable {
    /// Where the stream begins.
    let start: EventRing.Start
    /// One element each time that there may be something to read, or to show life; ends when the stream must.
    let wakes: AsyncStream<Void>
    private let hub: EventHub
    private let id: UInt64
    private let waker: AsyncStream<Void>.Continuation

    fileprivate init(
        hub: EventHub,
        id: UInt64,
        start: EventRing.Start,
        wakes: AsyncStream<Void>,
        waker: AsyncStream<Void>.Continuation
    ) {
        self.hub = hub
        self.id = id
        self.start = start
        self.wakes = wakes
        self.waker = waker
    }

    deinit {
        self.hub.unsubscribe(self.id)
    }

    /// The next events from a place on, at most 100.
    func read(from place: UInt64) -> EventRing.Batch {
        self.hub.read(from: place)
    }

    /// Ends `wakes`.
    func end() {
        self.waker.finish()
    }
}
