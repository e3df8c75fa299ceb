// SPDX-License-Identifier: Apache-2.0

import Model
import Testing

@testable import Control

func event(_ sequence: UInt64, _ kind: DaemonEvent.Kind = .roomJoined) -> DaemonEvent {
    DaemonEvent(id: EventID(life: "life", sequence: sequence), time: "2026-11-21T06:00:00.000Z", kind: kind)
}

@Suite struct EventRingTests {
    private func ring(_ sequences: ClosedRange<UInt64>, capacity: Int = 8) -> EventRing {
        var ring = EventRing(capacity: capacity)
        for sequence in sequences { ring.append(event(sequence)) }
        return ring
    }

    private func read(_ ring: EventRing, from place: UInt64, limit: Int = 100) -> [UInt64]? {
        guard case .events(let events, _) = ring.read(from: place, limit: limit) else { return nil }
        return events.map(\.sequence)
    }

    @Test func aNewReaderBeginsAtTheEnd() {
        let ring = self.ring(1...3)
        let start = ring.start(after: nil)
        #expect(start == .init(place: 3, hasGap: false))
        #expect(self.read(ring, from: start.place) == [])
    }

    @Test(arguments: [(0, [1, 2, 3, 4, 5]), (1, [2, 3, 4, 5]), (4, [5]), (5, [])] as [(UInt64, [UInt64])])
    func aReaderThatComesBackGoesOn(_ seen: UInt64, _ expected: [UInt64]) {
        let ring = self.ring(1...5)
        let start = ring.start(after: seen)
        #expect(!start.hasGap)
        #expect(self.read(ring, from: start.place) == expected)
    }

    @Test func aReaderThatWasAwayTooLongIsTold() {
        let ring = self.ring(1...50)
        let start = ring.start(after: 3)
        #expect(start.hasGap)
        let events = self.read(ring, from: start.place) ?? []
        #expect(events.count >= 8 && events.last == 50)
    }

    @Test(arguments: [6, 1000, UInt64.max] as [UInt64])
    func aNumberThatNeverWasIsTold(_ seen: UInt64) {
        let ring = self.ring(1...5)
        let start = ring.start(after: seen)
        #expect(start.hasGap)
        #expect(self.read(ring, from: start.place) == [1, 2, 3, 4, 5])
    }

    @Test func anEmptyRingHasAGapUnlessNothingWasSeen() {
        let ring = EventRing(capacity: 8)
        #expect(ring.start(after: 0) == .init(place: 0, hasGap: false))
        #expect(ring.start(after: 7) == .init(place: 0, hasGap: true))
    }

    @Test func aSlowReaderIsLost() {
        var ring = self.ring(1...4)
        let place = ring.start(after: 1).place
        for sequence in 5...100 { ring.append(event(UInt64(sequence))) }
        #expect(ring.read(from: place, limit: 10) == .lost)
    }

    @Test func readingGoesOnInBatches() {
        let ring = self.ring(1...8)
        var place = ring.start(after: 0).place
        var seen: [UInt64] = []
        while case .events(let events, let next) = ring.read(from: place, limit: 3), !events.isEmpty {
            #expect(events.count <= 3)
            seen += events.map(\.sequence)
            place = next
        }
        #expect(seen == Array(1...8))
    }

    @Test(arguments: [1, 2, 3, 4, 5, 8, 1000])
    func itIsBoundedAndKeepsWhatItPromises(_ capacity: Int) {
        var ring = EventRing(capacity: capacity)
        for sequence in 1...3000 {
            ring.append(event(UInt64(sequence)))
            guard sequence > capacity else { continue }
            let first = ring.start(after: UInt64(sequence - capacity))
            #expect(!first.hasGap)
            let all = ring.start(after: 0)
            let count = ring.read(from: all.place, limit: .max)
            guard case .events(let events, _) = count else {
                Issue.record("lost")
                return
            }
            #expect((capacity...capacity + capacity / 4 + 1).contains(events.count))
        }
    }
}
