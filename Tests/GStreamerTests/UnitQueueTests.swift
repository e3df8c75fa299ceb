// SPDX-License-Identifier: Apache-2.0

import Basics
import CTapedeck
import Dispatch
import Foundation
import Synchronization
import Testing

@testable import GStreamer

extension AllGStreamer {
    @Suite(.serialized)
    struct UnitQueueTests {
        @Test
        func keepsTheOrderAndDropsWhatExceedsTheItemLimit() throws {
            let queue = UnitQueue(maximumItems: 3)
            let feed = try PacketFeed(id: 5, queue: queue)
            defer { feed.stop() }
            for number in UInt16(0)..<5 {
                #expect(feed.push(number, UInt32(number) * 160, payload: [UInt8(number)]), "a full queue is no error")
            }
            #expect(queue.droppedItems == 2)
            let units = queue.drain()
            #expect(units.map(\.bytes) == [[0], [1], [2]])
            #expect(units.map(\.unit.rtpTime) == [0, 160, 320])
            #expect(units.allSatisfy { $0.unit.tap == 5 && $0.unit.lostPackets == 0 })
            // Units that the reader never saw are a loss to it.
            feed.push(5, 800, payload: [5])
            feed.push(6, 960, payload: [6])
            let later = queue.drain()
            #expect(later.map(\.unit.lostPackets) == [2, 0])
            #expect(later.map(\.bytes) == [[5], [6]])
            #expect(queue.droppedItems == 2)
            #expect(feed.tap.counters.packets == 7)
            #expect(feed.tap.counters.units == 5)
            #expect(feed.tap.counters.lostPackets == 0)
        }

        /// In a full queue the source with less replaces a unit of the source with most; the other learns of it with
        /// its next unit.
        @Test(arguments: [true, false])
        func aSourceThatFloodsCostsNoOtherAUnit(isLimitedByItems: Bool) throws {
            let queue =
                isLimitedByItems ? UnitQueue(maximumItems: 8) : UnitQueue(maximumItems: 1000, maximumBytes: 8 * 4)
            let (flood, other) = (try PacketFeed(id: 1, queue: queue), try PacketFeed(id: 2, queue: queue))
            defer { for feed in [flood, other] { feed.stop() } }
            for number in UInt16(0)..<20 { flood.push(number, UInt32(number) * 160) }
            #expect(queue.droppedItems == 12)
            for number in UInt16(0)..<3 { other.push(number, UInt32(number) * 160) }
            #expect(queue.droppedItems == 15)
            #expect(flood.tap.counters.droppedUnits == 15)
            #expect(other.tap.counters.droppedUnits == 0)
            let units = queue.drain()
            #expect(units.map(\.unit.tap) == [1, 1, 1, 1, 1, 2, 2, 2])
            #expect(units.map(\.unit.rtpTime) == [0, 160, 320, 480, 640, 0, 160, 320])
            #expect(units.allSatisfy { $0.unit.lostPackets == 0 })
            flood.push(20, 3200)
            other.push(3, 480)
            #expect(queue.drain().map(\.unit.lostPackets) == [15, 0])
            // Neither takes more than half of it from the other.
            for number in UInt16(21)..<31 { flood.push(number, UInt32(number) * 160) }
            for number in UInt16(4)..<14 { other.push(number, UInt32(number) * 160) }
            #expect(queue.drain().map(\.unit.tap) == [1, 1, 1, 1, 2, 2, 2, 2])
        }

        /// Rows of several sources that are full, cut at their ends and read from their beginnings, in any order.
        @Test
        func whatWasMadePlaceForKeepsItsOrder() throws {
            let queue = UnitQueue(maximumItems: 12)
            let feeds = try (0..<3).map { try PacketFeed(id: UInt64($0), queue: queue) }
            defer { for feed in feeds { feed.stop() } }
            var pushed = [0, 0, 0]
            var read: [[Int64]] = [[], [], []]
            var lost = [0, 0, 0]
            var random = SystemRandomNumberGenerator()
            for step in 0..<3000 {
                // The first sends most, and is cut most.
                let index = [0, 0, 0, 1, 1, 2][Int(random.next() % 6)]
                feeds[index].push(UInt16(pushed[index]), UInt32(pushed[index]) * 160)
                pushed[index] += 1
                for _ in 0..<(step % 5 == 0 ? 3 : 0) {
                    _ = queue.next(timeout: .zero) { item, _ in
                        guard case .unit(let unit) = item else { return }
                        read[Int(unit.tap)].append(unit.rtpTime / 160)
                        lost[Int(unit.tap)] += unit.lostPackets
                    }
                }
            }
            for unit in queue.drain().map(\.unit) {
                read[Int(unit.tap)].append(unit.rtpTime / 160)
                lost[Int(unit.tap)] += unit.lostPackets
            }
            var dropped: UInt64 = 0
            for (index, feed) in feeds.enumerated() {
                #expect(read[index] == read[index].sorted())
                // Each is there, or reported as lost before the next that is.
                #expect(read[index].last.map { Int($0) + 1 == read[index].count + lost[index] } ?? true)
                #expect(feed.tap.counters.droppedUnits == UInt64(pushed[index] - read[index].count))
                dropped += feed.tap.counters.droppedUnits
            }
            #expect(queue.droppedItems == dropped && dropped > 0)
        }

        @Test
        func dropsWhatExceedsTheByteLimit() throws {
            let queue = UnitQueue(maximumItems: 100, maximumBytes: 320)
            let feed = try PacketFeed(id: 1, queue: queue)
            defer { feed.stop() }
            let payload = [UInt8](repeating: 0xD5, count: 160)
            for number in UInt16(0)..<3 { feed.push(number, UInt32(number) * 160, payload: payload) }
            #expect(queue.droppedItems == 1)
            #expect(queue.drain().count == 2)
            // The bytes that were read are free again; one unit above the limit never fits.
            feed.push(3, 480, payload: payload)
            feed.push(4, 640, payload: [UInt8](repeating: 0, count: 321))
            #expect(queue.drain().count == 1)
            #expect(queue.droppedItems == 2)
        }

        @Test
        func givesUpAfterTheTimeout() {
            let queue = UnitQueue()
            #expect(!queue.next(timeout: .milliseconds(10)) { _, _ in Issue.record("there is no item") })
            #expect(!queue.next(timeout: .zero) { _, _ in Issue.record("there is no item") })
        }

        @Test
        func isWokenFromAnotherThread() async {
            let queue = UnitQueue()
            async let woken = onForeignThread { queue.next(timeout: .seconds(60)) { _, _ in } }
            queue.wake()
            #expect(await woken == false)
            // The call is used up.
            #expect(!queue.next(timeout: .milliseconds(1)) { _, _ in })
        }

        @Test
        func aWakeDoesNotHideAnItem() throws {
            let queue = UnitQueue()
            let feed = try PacketFeed(id: 1, queue: queue)
            defer { feed.stop() }
            feed.push(0, 0)
            queue.wake()
            #expect(queue.drain().count == 1)
        }

        @Test
        func takesFromManyThreadsAtOnce() async throws {
            let writers = 8
            let packets = 250
            let queue = UnitQueue()
            let feeds = try (0..<writers).map { try PacketFeed(id: UInt64($0), queue: queue) }
            defer { for feed in feeds { feed.stop() } }
            async let read = onForeignThread {
                let read = Mutex<[UInt64: [Int64]]>([:])
                var count = 0
                while count < writers * packets,
                    queue.next(
                        timeout: .seconds(60),
                        { item, bytes in
                            guard case .unit(let unit) = item, bytes.count == 4 else { return }
                            read.withLock { $0[unit.tap, default: []].append(unit.rtpTime) }
                        }
                    )
                {
                    count += 1
                }
                return read.withLock { $0 }
            }
            await onForeignThread {
                DispatchQueue.concurrentPerform(iterations: writers) { index in
                    for number in 0..<packets { feeds[index].push(UInt16(number), UInt32(number) * 160) }
                }
            }
            let times = await read
            #expect(queue.droppedItems == 0)
            #expect(times.count == writers)
            for writer in times.values { #expect(writer == (0..<packets).map { Int64($0) * 160 }) }
        }

        /// A producer of many units wakes the reader when all are there; a reader that is awake finds waiting units.
        @Test
        func aReaderIsWokenOnceForWhatIsPushedTogether() async throws {
            let (queue, other) = (UnitQueue(), UnitQueue())
            let (feed, otherFeed) = (try PacketFeed(id: 1, queue: queue), try PacketFeed(id: 2, queue: other))
            defer { for feed in [feed, otherFeed] { feed.stop() } }
            let log = Log<Int64>()
            async let isRead: Void = onForeignThread {
                while log.count < 4 {
                    _ = queue.next(timeout: .seconds(60)) { item, _ in
                        if case .unit(let unit) = item { log.append(unit.rtpTime) }
                    }
                }
            }
            feed.push(0, 0)
            #expect(await eventually { log.count == 1 })
            // It waits for the next one.
            usleep(200_000)
            await onForeignThread {
                CTapedeck_queue_hold_wake()
                for number in UInt16(1)..<4 { feed.push(number, UInt32(number) * 160) }
                // Only one queue may wait.
                otherFeed.push(0, 0)
                usleep(200_000)
                #expect(log.count == 1)
                CTapedeck_queue_release_wake()
            }
            await isRead
            #expect(log.all == [0, 160, 320, 480])
            #expect(other.drain().count == 1)
        }

        /// Whether a reader that waits for a bell would find something.
        private static func hasNews(_ bell: UnitBell) -> Bool {
            CTapedeck_bell_wait(bell.pointer, Runtime.monotonicNanoseconds / 1000)
        }

        @Test
        func aBellIsOfAllQueuesThatHaveIt() throws {
            let bell = UnitBell { _ in }
            let queues = [UnitQueue(), UnitQueue()]
            for queue in queues { queue.use(bell) }
            let feeds = try queues.enumerated().map { try PacketFeed(id: UInt64($0), queue: $1) }
            defer { for feed in feeds { feed.stop() } }
            #expect(!Self.hasNews(bell))
            for feed in feeds { feed.push(0, 0) }
            #expect(Self.hasNews(bell))
            #expect(queues[0].drain().count == 1)
            #expect(Self.hasNews(bell), "the other has something")
            #expect(queues[1].drain().count == 1)
            #expect(!Self.hasNews(bell))
            queues[0].wake()
            #expect(Self.hasNews(bell) && queues[0].hasNews && !queues[1].hasNews)
            #expect(!queues[0].next { _, _ in })
            #expect(!Self.hasNews(bell), "the call is used up")
        }

        @Test
        func aQueueTakesWhatItHasToAnotherBell() throws {
            let bells = [UnitBell { _ in }, UnitBell { _ in }]
            let queue = UnitQueue()
            let feed = try PacketFeed(id: 1, queue: queue)
            defer { feed.stop() }
            queue.use(bells[0])
            feed.push(0, 0)
            queue.use(bells[1])
            #expect(!Self.hasNews(bells[0]) && Self.hasNews(bells[1]))
            queue.use(nil)
            #expect(!Self.hasNews(bells[1]) && queue.hasNews)
            #expect(queue.next(timeout: .seconds(60)) { _, _ in }, "its own reader does not wait")
            queue.use(bells[0])
            feed.push(1, 160)
            #expect(Self.hasNews(bells[0]) && !Self.hasNews(bells[1]))
        }

        @Test
        func aTurnThatHangsIsReportedOnce() throws {
            let reports = Log<Int64>()
            let bell = UnitBell { reports.append($0) }
            let queue = UnitQueue()
            queue.use(bell)
            let feed = try PacketFeed(id: 1, queue: queue)
            defer { feed.stop() }
            feed.push(0, 0)
            queue.lookAfterReader()
            #expect(reports.all.isEmpty, "no turn has begun")
            let began = bell.turnBegins()
            usleep(useconds_t(2 * UnitBell.longestTurn.nanoseconds / 1000))
            feed.push(1, 160)
            feed.push(2, 320)
            queue.lookAfterReader()
            #expect(reports.all == [began])
            #expect(!bell.turnEnds(began))
            let next = bell.turnBegins()
            usleep(useconds_t(2 * UnitBell.longestTurn.nanoseconds / 1000))
            queue.lookAfterReader()
            #expect(reports.all == [began, next])
        }

        @Test
        func holdsTheMemoryOfAnItemUntilItIsReleased() throws {
            let freed = Log<Int>()
            let queue = UnitQueue()
            let feed = try PacketFeed(id: 1, queue: queue)
            for number in 0..<3 {
                let isTaken = feed.push(
                    UInt16(number),
                    UInt32(number) * 160,
                    payload: [UInt8](repeating: 9, count: 400)
                ) {
                    freed.append(number)
                }
                #expect(isTaken)
            }
            // An appsink keeps its last sample until it stops.
            feed.stop()
            #expect(freed.all.isEmpty)
            var item = CTapedeckItem()
            #expect(CTapedeck_queue_pop(queue.pointer, &item))
            #expect(item.kind == CTAPEDECK_ITEM_UNIT)
            #expect(item.size == 400)
            #expect(UnsafeRawBufferPointer(start: item.data, count: item.size).allSatisfy { $0 == 9 })
            #expect(freed.all.isEmpty)
            CTapedeck_item_release(&item)
            #expect(freed.all == [0])
            CTapedeck_item_release(&item)
            #expect(freed.all == [0], "a second release does nothing")
            #expect(queue.next(timeout: .zero) { _, _ in })
            #expect(freed.all == [0, 1])
        }

        @Test
        func freesWhatIsLeftWithItself() async throws {
            let freed = Log<Int>()
            var queue: UnitQueue? = UnitQueue()
            var feed: PacketFeed? = try queue.map { try PacketFeed(id: 1, queue: $0) }
            #expect(feed?.push(0, 0, payload: [1]) { freed.append(0) } == true)
            feed?.stop()
            feed = nil
            #expect(freed.all.isEmpty)
            queue = nil
            // The thread that made the pipeline play may hold it, and with it the tap, for a moment longer.
            #expect(await eventually { freed.all == [0] })
        }
    }
}
