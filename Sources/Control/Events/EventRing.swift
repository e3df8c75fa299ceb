// SPDX-License-Identifier: Apache-2.0

import Model

/// The last events, for streams that read at their own speed and for clients that come back.
///
/// Events have places, counted from 0, which are never used again; the sequence numbers of the events may have gaps.
struct EventRing: Sendable {
    /// The result of a read.
    enum Batch: Sendable, Hashable {
        /// Events, perhaps none, and the index to continue at.
        case events([DaemonEvent], next: UInt64)
        /// Events between the reader and the oldest one are forgotten.
        case lost
    }

    /// Where a reader begins.
    struct Start: Sendable, Hashable {
        /// The place of the first event to read.
        var place: UInt64
        /// Whether the reader may have missed events.
        var hasGap: Bool
    }

    private let capacity: Int
    private var events: [DaemonEvent] = []
    private var first: UInt64 = 0

    /// No event; at most `capacity`, 1 or more.
    init(capacity: Int) {
        self.capacity = max(1, capacity)
    }

    private var end: UInt64 { self.first + UInt64(self.events.count) }

    /// Adds an event, and forgets the oldest when there are too many.
    mutating func append(_ event: DaemonEvent) {
        // Removing one at a time would move all the others each time.
        if self.events.count >= self.capacity + self.capacity / 4 {
            let surplus = self.events.count - self.capacity
            self.events.removeFirst(surplus)
            self.first += UInt64(surplus)
        }
        self.events.append(event)
    }

    /// Where a client begins that saw the event with this number last; `nil` begins with the next event.
    func start(after sequence: UInt64?) -> Start {
        guard let sequence else { return Start(place: self.end, hasGap: false) }
        guard let seen = self.events.lastIndex(where: { $0.sequence <= sequence }) else {
            // Before the oldest that is known; nothing is missing only if that one is the very next.
            let hasGap = self.events.first.map { $0.sequence != sequence &+ 1 } ?? (sequence > 0)
            return Start(place: self.first, hasGap: hasGap)
        }
        // No event had this number yet: whatever it means, it is not what comes next.
        guard sequence <= self.events.last?.sequence ?? 0 else { return self.startOfAll }
        return Start(place: self.first + UInt64(seen) + 1, hasGap: false)
    }

    /// The start for a client whose last seen event is unknown.
    var startOfAll: Start { Start(place: self.first, hasGap: true) }

    /// Up to `limit` events from a place on.
    func read(from place: UInt64, limit: Int) -> Batch {
        guard place >= self.first else { return .lost }
        guard place < self.end else { return .events([], next: self.end) }
        let index = Int(place - self.first)
        let batch = Array(self.events[index...].prefix(limit))
        return .events(batch, next: place + UInt64(batch.count))
    }
}
