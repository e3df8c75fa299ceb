// SPDX-License-Identifier: Apache-2.0

import Basics
import Matroska
import Synchronization
import Testing

@testable import Recording

@Suite struct UnitRateTests {
    private static let second: Int64 = 1_000_000_000

    @Test(
        arguments: [
            // Units that a queue drops after a disk that hung for a minute.
            (60, 4800, 2000, .few),
            (60, 24_000, 20_000, .few),
            (10, 100_000, 0, .nothing),
            (1, 700, 400, .flood),
            (0, 12_000, 3, .flood),
            // A burst that was counted in no time at all.
            (0, 400, 20, .few),
        ] as [(Int64, UInt64, UInt64, UnitRate.OnLook)]
    )
    func tellsFloodsFromSlowDisks(seconds: Int64, units: UInt64, dropped: UInt64, expected: UnitRate.OnLook) {
        var rate = UnitRate(at: 0, PacketCounters(units: 50, droppedUnits: 7))
        let counters = PacketCounters(units: 50 + units, droppedUnits: 7 + dropped)
        #expect(rate.look(at: seconds * Self.second, counters) == expected)
        #expect(rate.look(at: seconds * Self.second, counters) == .nothing)
    }

    @Test func aRateIsThatSinceItWasCounted() {
        var rate = UnitRate(at: 0, PacketCounters())
        rate.count(at: 10 * Self.second, PacketCounters(units: 100_000))
        #expect(rate.look(at: 15 * Self.second, PacketCounters(units: 100_400, droppedUnits: 1)) == .few)
        #expect(rate.look(at: 16 * Self.second, PacketCounters(units: 110_000, droppedUnits: 2)) == .flood)
    }

    /// A flooder is named once, and the disk is not to blame; it is where others lose something too.
    @Test func whoFloodsIsNamed() {
        let feed = RecordingFeed()
        let (many, few) = (RecordingFeed.Counters(), RecordingFeed.Counters())
        let flood = feed.open(.opus, participant: "mallory", ssrc: 1, counters: many)
        let other = feed.open(.opus, participant: "alice", ssrc: 2, counters: few)
        for track in [flood, other] { feed.push(track, FedUnit.opus, at: 0, rateHz: 48_000) }
        many.now.withLock { ($0.units, $0.droppedUnits) = (5000, 3000) }
        feed.tick(at: 1000, droppedUnits: 3000)
        many.now.withLock { ($0.units, $0.droppedUnits) = (15_000, 6000) }
        feed.tick(at: 2000, droppedUnits: 6000)
        #expect(
            feed.degraded.map(\.reason) == [
                "mallory sends more units than can be written: what is too much is left out"
            ]
        )
        many.now.withLock { ($0.units, $0.droppedUnits) = (25_000, 9000) }
        few.now.withLock { ($0.units, $0.droppedUnits) = (150, 1) }
        feed.tick(at: 3000, droppedUnits: 9001)
        #expect(feed.degraded.map(\.reason).dropFirst() == ["units were lost: the disk is too slow"])
        // In the next recording it is reported again.
        feed.tell { _ = $0.stopOrdered(reason: "test") }
        feed.tell { _ = $0.recordOrdered() }
        feed.push(other, FedUnit.opus, at: 4000, rateHz: 48_000)
        many.now.withLock { ($0.units, $0.droppedUnits) = (45_000, 12_000) }
        feed.tick(at: 4000, droppedUnits: 12_001)
        #expect(feed.degraded.count == 3 && feed.degraded.last?.reason.contains("mallory") == true)
        feed.end()
    }
}
