// SPDX-License-Identifier: Apache-2.0

import TestSupport
import Testing

@testable import GStreamer

extension AllGStreamer {
    /// The fate of each packet that reaches a tap.
    @Suite(.serialized)
    struct PacketFateTests {
        /// Packets made by hand, through a tap of a kind.
        private final class Feed {
            let queue: UnitQueue
            let tap: TrackTap
            private let feed: HandFeed
            private let payloadType: UInt8

            init(_ depayloading: Depayloading, id: UInt64 = 1, queue: UnitQueue = UnitQueue()) throws {
                self.queue = queue
                self.tap = TrackTap(id: id, ssrc: 7, queue: queue)
                self.payloadType = depayloading == .sound ? 0 : 96
                let units = "appsink name=units sync=false async=false max-buffers=8"
                let branch = depayloading.launch.map { "identity name=in ! \($0) ! \(units)" }
                let name =
                    switch depayloading {
                    case .sound: "PCMU"
                    case .vp8: "VP8"
                    case .h264: "H264"
                    case .vp9: "VP9"
                    }
                let media =
                    depayloading == .sound ? "media=audio,clock-rate=8000" : "media=video,clock-rate=90000"
                self.feed = try HandFeed(
                    launch: branch ?? "fakesink name=in sync=false async=false",
                    into: "in",
                    caps: "application/x-rtp,\(media),encoding-name=\(name),payload=\(self.payloadType)"
                )
                self.tap.depayload(depayloading)
                self.tap.attach(to: self.feed.pad)
                if branch != nil { self.tap.attach(toSink: try self.feed.pipeline.element(named: "units")) }
            }

            deinit { self.feed.stop() }

            func push(
                _ sequence: UInt16,
                _ time: UInt32,
                _ payload: [UInt8],
                isMarked: Bool = false,
                isPadded: Bool = false
            ) {
                var packet = PacketFeed.packet(sequence, time, payload: payload, isMarked: isMarked)
                packet[0] |= isPadded ? 0x20 : 0
                packet[1] |= self.payloadType
                self.feed.push(packet)
            }

            var fates: Fates { Fates(self.tap.counters) }

            /// The packets of each unit that waits in the queue.
            func drain() -> [Int] { self.queue.drain().map(\.unit.packets) }
        }

        /// How many packets met each fate.
        struct Fates: Hashable {
            var empty: UInt64 = 0
            var late: UInt64 = 0
            var beforeKeyframe: UInt64 = 0
            var incomplete: UInt64 = 0
            var undecodable: UInt64 = 0
            var queueFull: UInt64 = 0
            var inUnits: UInt64 = 0
            var waiting: UInt64 = 0

            var sum: UInt64 {
                self.empty + self.late + self.beforeKeyframe + self.incomplete + self.undecodable + self.queueFull
                    + self.inUnits + self.waiting
            }
        }

        private static let part = [UInt8](repeating: 8, count: 12)
        /// The beginning of a keyframe of VP8, of another frame, and the continuation of either (RFC 7741 section 4.2).
        private static let key: [UInt8] = [0x10, 0] + Self.part
        private static let inter: [UInt8] = [0x10, 1] + Self.part
        private static let rest: [UInt8] = [0x00] + Self.part

        @Test
        func packetsOfSoundAreUnitsOrEmptyOrLate() throws {
            let feed = try Feed(.sound)
            feed.push(1, 160, [1])
            feed.push(2, 320, [])
            feed.push(4, 640, [2])
            feed.push(3, 480, [3])
            #expect(feed.fates == Fates(empty: 1, late: 1, inUnits: 2))
            #expect(feed.drain() == [1, 1])
            #expect(feed.tap.counters.packets == 4)
        }

        /// Media before padding, the padding before its count, and whether it looks like media that the count cuts off.
        @Test(
            arguments: [
                ([1, 2], [], false), ([1, 2], [0, 0, 0], false), ([1, 2], [UInt8](repeating: 0, count: 200), false),
                ([1, 2], [UInt8](repeating: 0xAB, count: 40), false), ([1, 2], [7, 1, 9], false),
                ([1, 2], [UInt8](0..<15), false), ([1, 2], [UInt8](0..<16), true), ([1, 2], [UInt8](0..<254), true),
                // Nothing but padding, as senders fill it.
                ([], [UInt8](0..<100), false),
            ] as [([UInt8], [UInt8], Bool)]
        )
        func paddingThatLooksLikeMediaIsCounted(media: [UInt8], padding: [UInt8], isDoubtful: Bool) throws {
            let feed = try Feed(.sound)
            feed.push(1, 160, media + padding + [UInt8(padding.count + 1)], isPadded: true)
            // The same bytes, none of which is padding.
            feed.push(2, 320, media + padding + [UInt8(padding.count + 1)])
            #expect(feed.tap.counters.doubtful == (isDoubtful ? 1 : 0))
            #expect(feed.fates == (media.isEmpty ? Fates(empty: 1, inUnits: 1) : Fates(inUnits: 2)))
        }

        /// Descriptors of VP8: a number of 15 bits, one of 7, and one with a temporal layer and the number of its base.
        private static func numbered(_ number: UInt16) -> [UInt8] {
            [0x90, 0x80, UInt8(0x80 | number >> 8), UInt8(number & 0xFF)]
        }
        private static func shortly(_ number: UInt8) -> [UInt8] { [0x90, 0x80, number] }
        private static func layered(_ number: UInt8, _ base: UInt8, _ layer: UInt8) -> [UInt8] {
            [0x90, 0xE0, number, base, layer << 6]
        }
        /// The same of VP9, whose first byte says whether it is a keyframe.
        private static func layeredOfVP9(_ number: UInt8, _ base: UInt8, _ layer: UInt8) -> [UInt8] {
            [number == 1 ? 0xAC : 0xEC, number, layer << 5, base]
        }
        private static let (whole, other): ([UInt8], [UInt8]) = ([0] + Self.part, [1] + Self.part)

        /// The beginnings of frames, the first of which is a keyframe, and how many their numbers show to be missing.
        @Test(
            arguments: [
                ([numbered(32766) + whole, numbered(32767) + other, numbered(0) + other], 0),
                ([numbered(5) + whole, numbered(6) + other, numbered(9) + other, numbered(11) + other], 3),
                // A new encoder's numbers begin anywhere, as its first frame is a keyframe; others count back.
                ([numbered(5) + whole, numbered(900) + whole, numbered(800) + other, numbered(801) + other], 0),
                ([shortly(126) + whole, shortly(127) + other, shortly(1) + other], 1),
                ([numbered(5) + whole, shortly(9) + other, [0x10] + other, numbered(20) + other], 0),
                // A server may leave out upper layers, but not the lowest.
                (
                    [
                        layered(1, 1, 0) + whole, layered(5, 2, 0) + other, layered(7, 2, 1) + other,
                        layered(9, 3, 0) + other,
                    ], 0
                ),
                ([layered(1, 1, 0) + whole, layered(5, 3, 0) + other, layered(9, 5, 1) + other], 3),
            ] as [([[UInt8]], UInt64)]
        )
        func framesOfVP8ThatAServerLostAreCounted(beginnings: [[UInt8]], skipped: UInt64) throws {
            let feed = try Feed(.vp8)
            for (place, payload) in beginnings.enumerated() {
                feed.push(UInt16(place), UInt32(place) * 3000, payload, isMarked: true)
            }
            #expect(feed.tap.counters.skipped == skipped && feed.tap.counters.lostPackets == 0)
        }

        @Test
        func framesThatPacketsAreMissingOfAreCountedOnce() throws {
            let feed = try Feed(.vp8)
            feed.push(1, 0, Self.numbered(5) + Self.whole, isMarked: true)
            feed.push(3, 6000, Self.numbered(7) + Self.other, isMarked: true)
            feed.push(4, 9000, Self.numbered(9) + Self.other, isMarked: true)
            #expect(feed.tap.counters.skipped == 1 && feed.tap.counters.lostPackets == 1)
        }

        @Test
        func framesOfVP9ThatAServerLostAreCounted() throws {
            let feed = try Feed(.vp9)
            let numbers: [(UInt8, UInt8, UInt8)] = [(1, 1, 0), (2, 1, 1), (3, 2, 0), (5, 3, 0), (9, 5, 0)]
            for (place, numbers) in numbers.enumerated() {
                let payload = Self.layeredOfVP9(numbers.0, numbers.1, numbers.2) + Self.part
                feed.push(UInt16(place), UInt32(place) * 3000, payload, isMarked: true)
            }
            #expect(feed.tap.counters.skipped == 1)
        }

        @Test
        func packetsOfVP8MeetEachFate() throws {
            let feed = try Feed(.vp8)
            var expected = Fates()
            // The end of a frame, a whole frame and the beginning of another one, before there is a keyframe.
            feed.push(1, 0, Self.rest, isMarked: true)
            feed.push(2, 3000, Self.inter)
            feed.push(3, 3000, Self.rest, isMarked: true)
            feed.push(4, 6000, Self.inter)
            #expect(feed.fates == Fates(beforeKeyframe: 3, waiting: 1))
            feed.push(5, 9000, Self.key)
            feed.push(6, 9000, Self.rest)
            #expect(feed.fates == Fates(beforeKeyframe: 4, waiting: 2))
            feed.push(7, 9000, Self.rest, isMarked: true)
            expected.beforeKeyframe = 4
            expected.inUnits = 3
            #expect(feed.fates == expected && feed.drain() == [3])
            // Padding, and a descriptor with nothing behind it.
            feed.push(8, 9000, [])
            feed.push(9, 9000, [0x90, 0xF0])
            expected.empty = 2
            #expect(feed.fates == expected)
            // A frame that its sender does not end.
            feed.push(10, 12_000, Self.inter)
            feed.push(11, 12_000, Self.rest)
            feed.push(12, 15_000, Self.inter, isMarked: true)
            expected.incomplete = 2
            expected.inUnits = 4
            #expect(feed.fates == expected && feed.drain() == [1])
            // A frame of which one is missing, and what is left of it.
            feed.push(13, 18_000, Self.inter)
            feed.push(15, 18_000, Self.rest)
            feed.push(16, 18_000, Self.rest, isMarked: true)
            expected.incomplete = 5
            #expect(feed.fates == expected)
            // It came at last.
            feed.push(14, 18_000, Self.rest)
            expected.late = 1
            #expect(feed.fates == expected)
            // A payload that is too short for a frame.
            feed.push(17, 21_000, [0x10, 1], isMarked: true)
            expected.undecodable = 1
            #expect(feed.fates == expected)
            // A frame that has begun when the tap is closed will never end.
            feed.push(18, 24_000, Self.inter)
            expected.waiting = 1
            #expect(feed.fates == expected)
            feed.tap.close()
            expected.waiting = 0
            expected.incomplete = 6
            #expect(feed.fates == expected)
            #expect(feed.tap.counters.packets == 18 && expected.sum == 18)
        }

        /// The first parts of a frame that gets too large, and all that come of it.
        @Test
        func aFrameThatIsTooLargeHasNoRoom() throws {
            let feed = try Feed(.vp8)
            feed.push(0, 0, Self.key, isMarked: true)
            let large = [UInt8](repeating: 6, count: 60_000)
            for number in 1...600 as ClosedRange<UInt16> {
                feed.push(number, 3000, [number == 1 ? 0x10 : 0, 1] + large, isMarked: number == 600)
            }
            feed.push(601, 6000, Self.inter, isMarked: true)
            #expect(feed.fates == Fates(queueFull: 600, inUnits: 2))
        }

        @Test
        func aFullQueueIsTheFateOfItsPackets() throws {
            let queue = UnitQueue(maximumItems: 4)
            let (many, few) = (try Feed(.vp8, id: 1, queue: queue), try Feed(.sound, id: 2, queue: queue))
            for frame in 0..<6 as Range<UInt16> {
                many.push(3 * frame, UInt32(frame) * 3000, frame == 0 ? Self.key : Self.inter)
                many.push(3 * frame + 1, UInt32(frame) * 3000, Self.rest)
                many.push(3 * frame + 2, UInt32(frame) * 3000, Self.rest, isMarked: true)
            }
            #expect(many.fates == Fates(queueFull: 6, inUnits: 12))
            // The other source takes the places of two.
            few.push(0, 0, [1])
            few.push(1, 160, [1])
            #expect(many.fates == Fates(queueFull: 12, inUnits: 6))
            #expect(few.fates == Fates(inUnits: 2))
            #expect(queue.drain().map(\.unit.packets) == [3, 3, 1, 1])
            few.push(2, 320, [1])
            #expect(many.fates == Fates(queueFull: 12, inUnits: 6) && few.fates == Fates(inUnits: 3))
        }

        @Test
        func packetsOfH264MeetEachFate() throws {
            let feed = try Feed(.h264)
            var expected = Fates()
            // Parameter sets and a slice are one unit, however many packets they are.
            feed.push(1, 0, [0x67, 0x42, 0xC0, 0x0A, 0xD9, 0x04])
            feed.push(2, 0, [0x68, 0xCB, 0x83, 0xCB, 0x20])
            #expect(feed.fates == Fates(waiting: 2))
            feed.push(3, 0, [0x65, 0x88, 1, 2], isMarked: true)
            expected.inUnits = 3
            #expect(feed.fates == expected && feed.drain() == [3])
            feed.push(4, 0, [])
            expected.empty = 1
            // Packetization mode 2 in the midst of a frame.
            feed.push(5, 3000, [0x7D, 0x85, 0, 0, 1])
            feed.push(6, 3000, [0x41, 0x9A, 7, 8], isMarked: true)
            expected.undecodable = 1
            expected.inUnits = 4
            #expect(feed.fates == expected && feed.drain() == [1])
            // The beginning of a fragmented slice whose end is missing: the next frame comes without it.
            feed.push(7, 6000, [0x5C, 0x81, 5, 6])
            feed.push(8, 6000, [0x5C, 0x01, 5, 6])
            feed.push(10, 9000, [0x41, 0x9B, 9, 9], isMarked: true)
            expected.incomplete = 2
            expected.inUnits = 5
            #expect(feed.fates == expected && feed.drain() == [1])
            feed.push(9, 6000, [0x5C, 0x41, 5, 6])
            expected.late = 1
            #expect(feed.fates == expected)
            #expect(feed.tap.counters.packets == expected.sum)
        }

        @Test
        func aPictureThatIsTooLargeForADepayloaderHasNoRoom() throws {
            let feed = try Feed(.h264)
            let part = [UInt8](repeating: 8, count: 60_000)
            for number in UInt16(0)..<600 { feed.push(number, 0, [0x7C, number == 0 ? 0x85 : 0x05] + part) }
            feed.push(600, 3000, [0x65, 0x88, 1, 2], isMarked: true)
            feed.push(601, 6000, [0x41, 0x9A, 1, 2], isMarked: true)
            #expect(feed.fates.queueFull >= 600 && feed.fates.sum == 602 && feed.fates.waiting == 0)
            #expect(feed.fates.inUnits == UInt64(feed.drain().reduce(0, +)) && feed.fates.inUnits > 0)
        }

        /// A stream with losses, packets that come twice, in another order, torn, empty, or made up, and a reader that is often
        /// too slow.
        @Test(arguments: [Depayloading.sound, .vp8, .h264, .vp9], UInt64(1)...5)
        func everyPacketHasOneFate(depayloading: Depayloading, seed: UInt64) throws {
            let queue = UnitQueue(maximumItems: 16, maximumBytes: 2000)
            let feed = try Feed(depayloading, queue: queue)
            let other = try Feed(.sound, id: 2, queue: queue)
            var random = SeededGenerator(seed: seed)
            func chance(_ number: Int) -> Bool { Int.random(in: 0..<number, using: &random) == 0 }
            var sent: [(sequence: UInt16, time: UInt32, payload: [UInt8], isMarked: Bool)] = []
            var sequence = UInt16(truncatingIfNeeded: random.next())
            for picture in 0..<800 as Range<UInt32> {
                let count = depayloading == .sound ? 1 : Int.random(in: 1...6, using: &random)
                for part in 0..<count {
                    sequence &+= 1
                    var payload = Self.payload(
                        depayloading,
                        picture: picture,
                        part: part,
                        of: count,
                        size: Int.random(in: 1...60, using: &random)
                    )
                    if chance(20) { payload = [] }
                    if chance(30) { payload = (0..<8).map { _ in UInt8.random(in: 0...255, using: &random) } }
                    let isMarked = part == count - 1 && !chance(15)
                    sent.append((sequence, picture &* 3000, payload, isMarked))
                }
            }
            var pushed: UInt64 = 0
            var read: [UInt64: UInt64] = [:]
            func drain() {
                for unit in queue.drain().map(\.unit) { read[unit.tap, default: 0] += UInt64(unit.packets) }
            }
            for (place, packet) in sent.enumerated() where !chance(25) {
                var packet = packet
                // Another one in its place: late, or twice.
                if chance(20) { packet = sent[max(0, place - Int.random(in: 0...5, using: &random))] }
                feed.push(packet.sequence, packet.time, packet.payload, isMarked: packet.isMarked)
                pushed += 1
                if chance(3) { other.push(UInt16(truncatingIfNeeded: place), UInt32(place) * 160, [1, 2]) }
                if chance(40) { drain() }
                #expect(feed.tap.counters.packets == pushed && feed.fates.sum == pushed)
            }
            drain()
            for feed in [feed, other] { feed.tap.close() }
            let fates = feed.fates
            #expect(fates.sum == pushed && fates.waiting == 0)
            #expect(fates.inUnits == read[1] && other.fates.inUnits == read[2])
            #expect(other.fates.sum == other.tap.counters.packets)
            // Each of them was met.
            #expect(fates.inUnits > 100 && fates.late > 0 && fates.queueFull > 0 && fates.empty > 0)
            if depayloading != .sound { #expect(fates.incomplete > 0) }
        }

        /// A part of a frame: H.264 in fragments of one slice (RFC 6184 section 5.8), VP9 with the bits B and E of its
        /// descriptor (RFC 9628 section 4.2).
        private static func payload(
            _ kind: Depayloading,
            picture: UInt32,
            part: Int,
            of count: Int,
            size: Int
        ) -> [UInt8] {
            let bytes = [UInt8](repeating: 8, count: size + 9)
            let (isFirst, isLast) = (part == 0, part == count - 1)
            switch kind {
            case .sound: return bytes
            case .vp8: return [isFirst ? 0x10 : 0, picture % 50 == 0 && isFirst ? 0 : 1] + bytes
            case .h264:
                let type: UInt8 = picture % 50 == 0 ? 5 : 1
                if count == 1 { return [0x60 | type, 0x88] + bytes }
                return [0x7C, type | (isFirst ? 0x80 : 0) | (isLast ? 0x40 : 0), 0x88] + bytes
            case .vp9: return [(isFirst ? 0x08 : 0) | (isLast ? 0x04 : 0), 1] + bytes
            }
        }
    }
}

extension AllGStreamer.PacketFateTests.Fates {
    init(_ counters: TapCounters) {
        self.init(
            empty: counters.empty,
            late: counters.late,
            beforeKeyframe: counters.beforeKeyframe,
            incomplete: counters.incomplete,
            undecodable: counters.undecodable,
            queueFull: counters.queueFull,
            inUnits: counters.inUnits,
            waiting: counters.waiting
        )
    }
}
