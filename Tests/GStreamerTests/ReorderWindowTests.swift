// SPDX-License-Identifier: Apache-2.0

import CGStreamer
import CTapedeck
import Testing

extension AllGStreamer {
    @Suite
    struct ReorderWindowTests {
        static let millisecond: Int64 = 1_000_000
        static let latency = 500 * Self.millisecond

        /// A window, and what came out of it.
        final class Window {
            let pointer = CTapedeck_reorder_window_new(ReorderWindowTests.latency)
            var taken: [UInt16] = []
            var lost: [UInt16] = []

            deinit { CTapedeck_reorder_window_free(self.pointer) }

            var counters: CTapedeckReorderCounters { CTapedeck_reorder_window_counters(self.pointer) }

            var held: UInt32 { CTapedeck_reorder_window_held(self.pointer) }

            var dropped: UInt64 { CTapedeck_reorder_window_dropped(self.pointer) }

            func deadline(asks: Bool = true) -> Int64 {
                CTapedeck_reorder_window_deadline(self.pointer, asks)
            }

            /// Puts a packet in as the element does.
            @discardableResult
            func put(_ sequence: UInt16, at now: Int64 = 0) -> CTapedeckPacketFate {
                let packet = gst_buffer_new()
                packet?.pointee.offset = UInt(sequence)
                while true {
                    let fate = CTapedeck_reorder_window_put(self.pointer, sequence, packet, now)
                    if fate == CTAPEDECK_PACKET_NO_ROOM {
                        self.take(at: now)
                        continue
                    }
                    if fate == CTAPEDECK_PACKET_LATE || fate == CTAPEDECK_PACKET_DUPLICATE { gst_buffer_unref(packet) }
                    self.take(at: now)
                    return fate
                }
            }

            func take(at now: Int64) {
                while true {
                    let next = CTapedeck_reorder_window_take(self.pointer, now)
                    switch next.kind {
                    case CTAPEDECK_NEXT_PACKET:
                        #expect(next.packet?.pointee.offset == UInt(next.sequence))
                        self.taken.append(next.sequence)
                        gst_buffer_unref(next.packet)
                    case CTAPEDECK_NEXT_LOSS: self.lost.append(next.sequence)
                    default: return
                    }
                }
            }

            func requests(at now: Int64) -> [UInt16] {
                var found: [UInt16] = []
                var request = CTapedeckRequest()
                while CTapedeck_reorder_window_request(self.pointer, now, &request) { found.append(request.sequence) }
                return found
            }
        }

        @Test
        func whatComesInOrderGoesAtOnce() {
            let window = Window()
            let sequences = (0..<200).map { UInt16(truncatingIfNeeded: 65_400 + $0) }
            for sequence in sequences { #expect(window.put(sequence) == CTAPEDECK_PACKET_KEPT) }
            #expect(window.taken == sequences)
            #expect(window.deadline() == .max)
        }

        /// A sender that leaves out most of its packets does not make us ask for all of them.
        @Test
        func onlySoManyAreAskedForTogether() {
            let window = Window()
            for sequence in stride(from: UInt16(0), through: 4000, by: 500) { window.put(sequence) }
            #expect(window.requests(at: 10 * Self.millisecond) == Array(1...499))
            #expect(window.requests(at: 11 * Self.millisecond).isEmpty)
            // Packets that came make room for others.
            for sequence in UInt16(1)...499 { window.put(sequence, at: 11 * Self.millisecond) }
            window.put(4400, at: 12 * Self.millisecond)
            #expect(window.requests(at: 22 * Self.millisecond) == Array(4001...4399))
            // Abandoned packets make room as well.
            window.take(at: Self.latency + 22 * Self.millisecond)
            #expect(window.taken.last == 4400)
            window.put(4800, at: 600 * Self.millisecond)
            #expect(window.requests(at: 610 * Self.millisecond) == Array(4401...4799))
        }

        /// The next round of requests comes no sooner because another packet is missing in between.
        @Test
        func eachMissingPacketIsAskedForAtItsOwnTimes() {
            let window = Window()
            for sequence in UInt16(0)..<10 where sequence != 3 { window.put(sequence) }
            #expect(window.requests(at: 10 * Self.millisecond) == [3])
            window.put(12, at: 50 * Self.millisecond)
            #expect(window.requests(at: 60 * Self.millisecond) == [10, 11])
            #expect(window.requests(at: 109 * Self.millisecond).isEmpty)
            #expect(window.requests(at: 110 * Self.millisecond) == [3])
            #expect(window.requests(at: 160 * Self.millisecond) == [10, 11])
        }

        @Test(arguments: [UInt16(0), 65_533])
        func everyOrderOfFivePacketsIsMended(first: UInt16) {
            var orders: [[UInt16]] = [[]]
            for number in UInt16(1)...5 {
                orders = orders.flatMap { order in
                    (0...order.count).map { Array(order[..<$0]) + [number] + Array(order[$0...]) }
                }
            }
            #expect(orders.count == 120)
            for order in orders {
                let window = Window()
                window.put(first)
                for number in order { window.put(first &+ number) }
                #expect(window.taken == (0...5).map { first &+ $0 }, "\(order)")
                #expect(window.lost.isEmpty)
                #expect(window.deadline() == .max)
            }
        }

        @Test
        func aMissingPacketIsGivenUpAfterTheLatency() {
            let window = Window()
            window.put(10)
            window.put(12, at: Self.millisecond)
            window.put(13, at: 2 * Self.millisecond)
            #expect(window.taken == [10])
            #expect(window.deadline(asks: false) == Self.latency + Self.millisecond)
            window.take(at: Self.latency + Self.millisecond - 1)
            #expect(window.taken == [10])
            window.take(at: Self.latency + Self.millisecond)
            #expect(window.taken == [10, 12, 13])
            #expect(window.lost == [11])
            #expect(window.put(11, at: Self.latency * 2) == CTAPEDECK_PACKET_LATE)
            #expect(window.counters.lost == 1)
            #expect(window.counters.late == 1)
        }

        @Test
        func whatIsMissingIsAskedForUntilItComes() {
            let window = Window()
            window.put(10)
            window.put(13)
            #expect(window.deadline() == 10 * Self.millisecond)
            #expect(window.requests(at: 9 * Self.millisecond).isEmpty)
            #expect(window.requests(at: 10 * Self.millisecond) == [11, 12])
            #expect(window.requests(at: 10 * Self.millisecond).isEmpty)
            // The round trip is known from here on: 30 ms, and half of it more until the next request.
            window.put(11, at: 40 * Self.millisecond)
            #expect(window.counters.round_trip_nanoseconds == 30 * Self.millisecond)
            #expect(window.taken == [10, 11])
            #expect(window.deadline() == 110 * Self.millisecond)
            #expect(window.requests(at: 110 * Self.millisecond) == [12])
            #expect(window.deadline() == 155 * Self.millisecond)
            window.put(12, at: 120 * Self.millisecond)
            #expect(window.taken == [10, 11, 12, 13])
            #expect(window.counters.repaired == 2)
            // Which of the two requests was answered is not known.
            #expect(window.counters.round_trip_nanoseconds == 30 * Self.millisecond)
            #expect(window.requests(at: Self.latency).isEmpty)
        }

        @Test
        func requestsAreBounded() {
            let window = Window()
            window.put(1)
            window.put(3)
            window.put(5, at: 4 * Self.millisecond)
            var count = 0
            for time in Int64(0)..<1000 {
                count += window.requests(at: time * Self.millisecond).filter { $0 == 2 }.count
            }
            // At 10, 110, 210, 310 and 410 ms: an answer to one more would come too late.
            #expect(count == 5)
            // More at once than a burst of loss: the path was gone.
            window.put(1000)
            #expect(!window.requests(at: 2000 * Self.millisecond).contains(500))
        }

        @Test
        func aQuickSenderIsAskedTenTimes() {
            let window = Window()
            window.put(1)
            window.put(3)
            _ = window.requests(at: 10 * Self.millisecond)
            window.put(2, at: 11 * Self.millisecond)
            window.put(5, at: 20 * Self.millisecond)
            var count = 0
            for time in Int64(20)..<520 { count += window.requests(at: time * Self.millisecond).count }
            #expect(count == 10)
        }

        @Test
        func duplicatesAreToldApart() {
            let window = Window()
            window.put(1)
            #expect(window.put(1) == CTAPEDECK_PACKET_LATE)
            window.put(3)
            #expect(window.put(3) == CTAPEDECK_PACKET_DUPLICATE)
            #expect(window.counters.duplicates == 1)
            #expect(window.taken == [1])
        }

        @Test(arguments: [UInt16(30_000), 60_000])
        func aSenderMayCountAnew(sequence: UInt16) {
            let window = Window()
            window.put(100)
            window.put(102)
            #expect(window.put(sequence) == CTAPEDECK_PACKET_ASIDE)
            #expect(window.taken == [100])
            #expect(window.put(sequence + 1) == CTAPEDECK_PACKET_KEPT)
            #expect(window.taken == [100, 102, sequence, sequence + 1])
            #expect(window.put(sequence + 2) == CTAPEDECK_PACKET_KEPT)
        }

        @Test
        func oneStrayChangesNothing() {
            let window = Window()
            window.put(100)
            #expect(window.put(30_000) == CTAPEDECK_PACKET_ASIDE)
            window.put(101)
            #expect(window.put(30_001) == CTAPEDECK_PACKET_ASIDE)
            window.put(102)
            #expect(window.taken == [100, 101, 102])
        }

        @Test
        func aFullWindowGivesUpItsOldest() {
            let window = Window()
            window.put(0)
            for sequence in UInt16(2)..<20_000 { window.put(sequence) }
            #expect(window.lost == [1])
            #expect(window.taken == [0] + (2..<20_000))
        }

        /// The number of packets that one missing packet may hold up is bounded: 4096.
        @Test
        func soManyPacketsAreHeldAndNoMore() {
            for (sequence, fate) in [(4096, CTAPEDECK_PACKET_KEPT), (4097, CTAPEDECK_PACKET_ASIDE)] {
                let window = Window()
                window.put(0)
                #expect(window.put(UInt16(sequence)) == fate)
            }
            let window = Window()
            window.put(0)
            for sequence in UInt16(2)...4096 { window.put(sequence) }
            #expect(window.held == 4095 && window.taken == [0])
            window.put(4097)
            #expect(window.held == 0 && window.lost == [1] && window.taken == [0] + (2...4097))
        }

        /// A packet further behind than 4096 is no late one: its sender may have restarted its numbers.
        @Test(arguments: [UInt16(10_000), 1000])
        func aPacketIsLateUpToABound(newest: UInt16) {
            let window = Window()
            window.put(newest)
            let next = newest &+ 1
            #expect(window.put(next &- 4096) == CTAPEDECK_PACKET_LATE)
            #expect(window.put(next &- 4097) == CTAPEDECK_PACKET_ASIDE)
            #expect(window.counters.late == 1)
        }

        /// Each packet that does not come out is counted for one reason.
        @Test
        func whatIsDroppedIsCounted() {
            let window = Window()
            window.put(100)
            window.put(102)
            window.put(102)
            window.put(99)
            #expect(window.counters.duplicates == 1 && window.counters.late == 1)
            #expect(window.held == 1 && window.dropped == 2)
            // One that another one replaces, and one that the stream continues after.
            window.put(30_000)
            #expect(window.held == 2 && window.dropped == 2)
            window.put(40_000)
            #expect(window.held == 2 && window.counters.strays == 1)
            window.put(103)
            #expect(window.held == 2 && window.counters.strays == 2)
            // One that is confirmed.
            window.put(50_000)
            window.put(50_001)
            #expect(window.taken == [100, 102, 103, 50_000, 50_001])
            #expect(window.held == 0 && window.dropped == 4)
            // Packets at the end.
            window.put(50_003)
            window.put(10)
            CTapedeck_reorder_window_clear(window.pointer)
            #expect(window.held == 0 && window.counters.cleared == 2 && window.dropped == 6)
        }

        @Test
        func clearForgets() {
            let window = Window()
            window.put(7)
            window.put(9)
            CTapedeck_reorder_window_clear(window.pointer)
            #expect(window.deadline() == .max)
            window.put(40_000)
            #expect(window.taken == [7, 40_000])
        }

        @Test(arguments: UInt64(1)...20)
        func everyPacketComesOutOnceAndInOrder(seed: UInt64) {
            var state = seed
            func random(_ bound: UInt64) -> UInt64 {
                state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
                return (state >> 33) % bound
            }
            // The sent packets: some lost, some late by up to 60 ms, some twice; 1000 packets a second.
            var arrivals: [(time: Int64, number: Int)] = []
            var dropped: Set<Int> = []
            for number in 0..<3000 {
                let time = Int64(number) * Self.millisecond
                if number > 0, random(20) == 0 {
                    dropped.insert(number)
                    continue
                }
                let delay = number > 0 && random(10) == 0 ? Int64(random(60)) * Self.millisecond : 0
                arrivals.append((time + delay, number))
                if random(30) == 0 { arrivals.append((time + delay + Int64(random(700)) * Self.millisecond, number)) }
            }
            arrivals.sort { $0.time < $1.time }
            let window = Window()
            let base = UInt16(truncatingIfNeeded: 64_000 &+ seed)
            for arrival in arrivals {
                while window.deadline(asks: false) <= arrival.time { window.take(at: arrival.time) }
                window.put(base &+ UInt16(truncatingIfNeeded: arrival.number), at: arrival.time)
            }
            window.take(at: .max / 4)
            let kept = (0..<3000).filter { !dropped.contains($0) }.map { base &+ UInt16(truncatingIfNeeded: $0) }
            let last = kept.last ?? base
            #expect(window.taken == kept)
            #expect(window.held == 0 && Int(window.dropped) == arrivals.count - kept.count)
            let missing = dropped.sorted().map { base &+ UInt16($0) }
            #expect(window.lost == missing.filter { Int16(bitPattern: last &- $0) > 0 })
        }
    }
}
