// SPDX-License-Identifier: Apache-2.0

import CGStreamer
import CTapedeck
import Testing

@testable import GStreamer

extension AllGStreamer {
    @Suite
    struct CongestionTests {
        static let millisecond: Int64 = 1_000_000
        static let ssrc: UInt32 = 0xCAFE

        final class Watcher {
            let pointer = CTapedeck_congestion_new()

            init() throws {
                try Runtime.initialise()
                CTapedeck_congestion_number(self.pointer, 96, 97, 3)
            }

            deinit { CTapedeck_congestion_unref(self.pointer) }

            func send(_ count: Int, every interval: Int64, from start: Int64 = 0) {
                for index in 0..<Int64(count) {
                    CTapedeck_congestion_note_sent(
                        self.pointer,
                        CongestionTests.ssrc,
                        1000,
                        start + index * interval
                    )
                }
            }

            func receive(_ bytes: [UInt8], at now: Int64 = CongestionTests.millisecond) {
                guard let buffer = gst_buffer_new_memdup(bytes, gsize(bytes.count)) else { return }
                CTapedeck_congestion_note_rtcp(self.pointer, buffer, now)
                gst_buffer_unref(buffer)
            }

            func take() -> CTapedeckCongestionNews { CTapedeck_congestion_take(self.pointer) }
        }

        /// A feedback packet with this behind sender and source (RFC 4585 section 6.1).
        static func feedback(_ type: UInt8, format: UInt8, _ content: [UInt8]) -> [UInt8] {
            let padding = [UInt8](repeating: 0, count: (4 - content.count % 4) % 4)
            let words = 2 + (content.count + padding.count) / 4
            return [0x80 | format, type, UInt8(words >> 8), UInt8(words & 0xFF), 0, 0, 0, 1, 0, 0, 0xCA, 0xFE]
                + content + padding
        }

        /// Transport-wide feedback from packet `base` on, at `reference` × 64 ms.
        static func arrivals(_ base: UInt16, _ count: UInt16, _ reference: Int, _ rest: [UInt8]) -> [UInt8] {
            let head = [
                UInt8(base >> 8), UInt8(base & 0xFF), UInt8(count >> 8), UInt8(count & 0xFF),
                UInt8(reference >> 16 & 0xFF), UInt8(reference >> 8 & 0xFF), UInt8(reference & 0xFF), 0,
            ]
            return self.feedback(205, format: 15, head + rest)
        }

        @Test func readsEveryKindOfChunk() throws {
            let watcher = try Watcher()
            watcher.send(24, every: 10 * Self.millisecond)
            // A run of 3 that arrived, 10 ms apart.
            watcher.receive(Self.arrivals(0, 3, 1, [0x20, 0x03, 40, 40, 40]))
            // Seven symbols of two bits: small, large, lost, small, lost, lost, small.
            watcher.receive(Self.arrivals(3, 7, 1, [0b1101_1000, 0b0100_0001, 40, 0x00, 0x28, 40, 40]))
            // Fourteen of one bit, of which twelve arrived.
            watcher.receive(Self.arrivals(10, 14, 1, [0b1011_1111, 0b1111_1100] + [UInt8](repeating: 40, count: 12)))
            let news = watcher.take()
            #expect(news.has_arrivals)
            #expect(news.arrived_packets == 3 + 4 + 12 && news.arrived_bytes == 19_000)
            #expect(news.lost_packets == 3 + 2)
            #expect(news.sent_bytes == 24_000)
            #expect(watcher.take().has_arrivals == false)
        }

        @Test func whatWaitsIsMeasuredAgainstTheFastest() throws {
            let watcher = try Watcher()
            watcher.send(20, every: 64 * Self.millisecond)
            // One feedback for each packet; the tenth takes 150 ms longer.
            for index in 0..<9 { watcher.receive(Self.arrivals(UInt16(index), 1, 100 + index, [0x20, 0x01, 0])) }
            #expect(watcher.take().queueing == 0)
            watcher.receive(Self.arrivals(9, 1, 100 + 9, [0x40, 0x01, 0x02, 0x58]))
            #expect(watcher.take().queueing == 150 * Self.millisecond)
        }

        @Test func theReceiversClockWrapsAround() throws {
            let watcher = try Watcher()
            watcher.send(2, every: 64 * Self.millisecond)
            watcher.receive(Self.arrivals(0, 1, 0xFFFFFF, [0x20, 0x01, 0]))
            watcher.receive(Self.arrivals(1, 1, 0, [0x40, 0x01, 0x00, 0x04]))
            #expect(watcher.take().queueing == 0)
            watcher.send(1, every: 0, from: 128 * Self.millisecond)
            watcher.receive(Self.arrivals(2, 1, 1, [0x40, 0x01, 0x00, 0x08]))
            #expect(watcher.take().queueing == 2 * Self.millisecond)
        }

        /// Half of its range forward with each feedback, which no clock does.
        @Test func aClockThatLeapsIsReadAnew() throws {
            let watcher = try Watcher()
            var longest: Int64 = 0
            for index in 0..<20_000 {
                watcher.send(1, every: 0)
                let number = UInt16(truncatingIfNeeded: index)
                watcher.receive(Self.arrivals(number, 1, index * 0x7F_FFFF & 0xFF_FFFF, [0x20, 0x01, 0]))
                longest = max(longest, watcher.take().queueing)
            }
            #expect(longest > 0 && longest <= 0xFF_FFFF * 64 * Self.millisecond)
        }

        @Test func aLatePacketIsNotLost() throws {
            let watcher = try Watcher()
            watcher.send(2, every: Self.millisecond)
            watcher.receive(Self.arrivals(0, 2, 0, [0x00, 0x02]))
            watcher.receive(Self.arrivals(0, 2, 0, [0x00, 0x02]))
            watcher.receive(Self.arrivals(1, 1, 0, [0x20, 0x01, 4]))
            watcher.receive(Self.arrivals(1, 1, 0, [0x20, 0x01, 4]))
            let news = watcher.take()
            #expect(news.lost_packets == 1 && news.arrived_packets == 1)
        }

        @Test func readsReportsOnOurVideoOnly() throws {
            let watcher = try Watcher()
            watcher.send(1, every: 0)
            /// A receiver report with one block, that says that it has so many.
            func report(_ ssrc: UInt32, blocks: UInt8 = 1) -> [UInt8] {
                [0x80 | blocks, 201, 0, 7, 0, 0, 0, 1]
                    + [UInt8(ssrc >> 24), UInt8(ssrc >> 16 & 0xFF), UInt8(ssrc >> 8 & 0xFF), UInt8(ssrc & 0xFF)]
                    + [64, 0, 0, 9, 0, 0, 0, 0, 0, 0, 0, 0]
                    + [0, 10, 0, 0] + [0, 0, 0x40, 0]
            }
            watcher.receive(report(0xBEEF))
            #expect(watcher.take().has_report == false)
            watcher.receive(report(Self.ssrc))
            let news = watcher.take()
            #expect(news.has_report && news.fraction_lost == 64)
            watcher.receive(report(0xBEEF, blocks: 31))
            #expect(watcher.take().has_report == false)
        }

        @Test func knowsWhatIsOnItsWayAndHowLongArrivalsTook() throws {
            let watcher = try Watcher()
            watcher.send(20, every: 10 * Self.millisecond)
            #expect(watcher.take().bytes_on_their_way == 20_000)
            // Three that arrived 10 ms apart, the first at 64 ms; then two, the first 30 ms after the last of the
            // three.
            watcher.receive(Self.arrivals(0, 3, 1, [0x20, 0x03, 0, 40, 40]))
            #expect(watcher.take().bytes_on_their_way == 17_000)
            watcher.receive(Self.arrivals(3, 2, 1, [0x20, 0x02, 200, 40]))
            let news = watcher.take()
            #expect(news.bytes_on_their_way == 15_000 && news.arrived_bytes == 2000)
            #expect(news.arrival_span == 40 * Self.millisecond)
            // One that is older than the newest changes neither.
            watcher.receive(Self.arrivals(5, 1, 0, [0x20, 0x01, 0]))
            #expect(watcher.take().arrival_span == 0)
        }

        @Test func readsAnEstimate() throws {
            let watcher = try Watcher()
            // 0x2_0000 × 2^2, of one source.
            let content: [UInt8] = Array("REMB".utf8) + [1, 2 << 2 | 2, 0, 0, 0, 0, 0xCA, 0xFE]
            watcher.receive(Self.feedback(206, format: 15, content))
            #expect(watcher.take().estimate == 0x2_0000 << 2)
            var absurd = content
            absurd[5] = 0xFF
            watcher.receive(Self.feedback(206, format: 15, absurd))
            watcher.receive(Self.feedback(206, format: 15, Array("REMX".utf8) + content[4...]))
            #expect(watcher.take().estimate == 0)
        }

        @Test func survivesWhatNoPeerShouldSend() throws {
            let watcher = try Watcher()
            watcher.send(100, every: Self.millisecond)
            var random = SystemRandomNumberGenerator()
            for base in [Self.arrivals(0, 50, 7, [0x20, 0x20, 1, 2]), Self.feedback(205, format: 15, [1])] {
                for length in 0...base.count { watcher.receive(Array(base.prefix(length))) }
                for _ in 0..<2000 {
                    var bytes = base
                    for _ in 0..<4 { bytes[Int.random(in: 0..<bytes.count, using: &random)] = .random(in: 0...255) }
                    watcher.receive(bytes)
                }
            }
            // 65535 packets that all arrived, without a single difference.
            watcher.receive(Self.arrivals(0, .max, 7, [UInt8](repeating: 0xFF, count: 40)))
            let news = watcher.take()
            #expect(news.arrived_packets <= 100 && news.lost_packets <= 100)
        }

        /// An rtpsession that is watched, what goes in, and what came out.
        private final class WatchedSession {
            let watcher: Watcher
            let feed: HandFeed
            let left = Log<SeenBuffer>()
            private var sequence: UInt16 = 0

            init() throws {
                self.watcher = try Watcher()
                self.feed = try HandFeed(
                    launch: "identity name=in rtpsession name=session identity name=out ! fakesink async=false",
                    into: "in",
                    caps: "application/x-rtp,media=video,clock-rate=90000,encoding-name=VP8,payload=96,ssrc=(uint)1"
                )
                let session = try self.feed.pipeline.element(named: "session")
                CTapedeck_congestion_watch(self.watcher.pointer, session.pointer)
                let sink = try #require(gst_element_request_pad_simple(session.pointer, "send_rtp_sink"))
                try self.feed.pipeline.element(named: "in").staticPad("src").link(to: Pad(adopting: sink))
                let out = try self.feed.pipeline.element(named: "out")
                try session.staticPad("send_rtp_src").link(to: out.staticPad("sink"))
                try out.staticPad("src").observe { [left] packet in
                    left.append(packet)
                    return true
                }
            }

            deinit { self.feed.stop() }

            /// A packet of 1000 bytes whose payload begins with these.
            func send(_ payloadType: UInt8, _ payload: [UInt8] = []) {
                self.sequence += 1
                let head = [0x80, payloadType, UInt8(self.sequence >> 8), UInt8(self.sequence & 0xFF)]
                let source: [UInt8] = [0, 0, 0, 0, 0, 0, 0, payloadType == 97 ? 2 : 1]
                let rest = [UInt8](repeating: 0, count: 988 - payload.count)
                #expect(self.feed.push(head + source + payload + rest))
            }

            /// The numbers of the packets of a payload type that left; nil for those that have none.
            func numbers(_ payloadType: UInt8) -> [Int?] {
                self.left.all.map(\.bytes).filter { $0[1] & 0x7F == payloadType }.map { packet in
                    let isNumbered = packet[0] & 0x10 != 0 && packet[12..<17] == [0xBE, 0xDE, 0, 1, 0x31]
                    return isNumbered ? Int(packet[17]) << 8 | Int(packet[18]) : nil
                }
            }
        }

        @Test func numbersWhatLeavesOfOurVideo() throws {
            let session = try WatchedSession()
            session.send(96)
            session.send(111)
            session.send(96)
            #expect(session.numbers(96) == [0, 1])
            #expect(session.numbers(111) == [nil])
            #expect(session.left.all.map(\.bytes.count) == [1008, 1000, 1008])
            #expect(session.watcher.take().sent_bytes == 2000)
        }

        @Test func repeatsAQuarterOfWhatIsSentAndNothingTwiceAtOnce() throws {
            let session = try WatchedSession()
            session.send(97, [0, 1])
            #expect(session.numbers(97) == [], "nothing was sent that may be repeated")
            for _ in 0..<12 { session.send(96) }
            let start = Runtime.monotonicNanoseconds
            session.send(97, [0, 1])
            session.send(97, [0, 1])
            let isQuick = Runtime.monotonicNanoseconds - start < 150_000_000
            if isQuick { #expect(session.numbers(97) == [12], "once") }
            for number: UInt8 in 2...9 { session.send(97, [0, number]) }
            #expect(session.numbers(97) == [12, 13, 14], "3000 of 12 000 bytes")
            for _ in 0..<200 { session.send(96) }
            for number: UInt8 in 10...60 { session.send(97, [0, number]) }
            #expect(session.numbers(97).count == 3 + 16, "16 kB at once")
        }

        @Test func nothingIsKeptBeforeAnythingIsSent() throws {
            try Runtime.initialise()
            let pointer = CTapedeck_congestion_new()
            defer { CTapedeck_congestion_unref(pointer) }
            let bytes = Self.arrivals(0, 3, 1, [0x20, 0x03, 40, 40, 40])
            let buffer = gst_buffer_new_memdup(bytes, gsize(bytes.count))
            CTapedeck_congestion_note_rtcp(pointer, buffer, 0)
            gst_buffer_unref(buffer)
            #expect(CTapedeck_congestion_take(pointer).arrived_packets == 0)
        }
    }
}
