// SPDX-License-Identifier: Apache-2.0

import CGStreamer
import CTapedeck
import Testing

@testable import GStreamer

extension AllGStreamer {
    /// The element around a reorder window, in an rtpbin.
    @Suite(.serialized)
    struct ReorderBufferTests {
        /// An rtpbin with reorder buffers, and what comes out of them.
        private final class Receiver {
            let feed: HandFeed
            let bin: Element
            let packets = Log<SeenBuffer>()
            let path = ReceivePath(maximumSources: 4)

            init(latencyMilliseconds: Int) throws {
                self.feed = try HandFeed(
                    launch: """
                        identity name=in ! bin.recv_rtp_sink_0 \
                        rtpbin name=bin latency=\(latencyMilliseconds) do-retransmission=true
                        """,
                    into: "in",
                    caps: "application/x-rtp,media=video,clock-rate=90000,encoding-name=VP8,payload=96"
                )
                self.bin = try self.feed.pipeline.element(named: "bin")
                self.path.met(self.bin)
            }

            /// Nothing is linked behind the bin: that its packets go nowhere is no concern of the buffers.
            func push(_ sequence: UInt16, source: UInt8 = 1, type: UInt8 = 96, payload: [UInt8] = [9]) {
                self.feed.push(Self.packet(sequence, source: source, type: type, payload: payload))
            }

            private static func packet(_ sequence: UInt16, source: UInt8, type: UInt8, payload: [UInt8]) -> [UInt8] {
                var packet = PacketFeed.packet(sequence, UInt32(sequence) * 3000, payload: payload, isMarked: true)
                packet[1] |= type
                packet[11] = source
                return packet
            }

            /// A packet as rtprtxreceive restores it.
            func pushRestored(_ sequence: UInt16) {
                let packet = Self.packet(sequence, source: 1, type: 96, payload: [9])
                guard let buffer = gst_buffer_new_memdup(packet, gsize(packet.count)) else { return }
                buffer.pointee.mini_object.flags |= GST_BUFFER_FLAG_LAST.rawValue
                _ = self.feed.push(buffer)
            }

            /// The counts of a source.
            func counts(of source: UInt32 = 1) -> SourceCounters {
                self.path.sources.first { $0.ssrc == source } ?? SourceCounters(ssrc: source)
            }

            /// Takes units of what comes out of the first buffer.
            func tap(_ depayloading: Depayloading, besides other: TrackTap? = nil) throws -> TrackTap {
                let tap = TrackTap(id: 1, ssrc: 1, queue: UnitQueue(), besides: other)
                tap.depayload(depayloading)
                let buffer = try #require(self.buffers.first)
                tap.attach(to: try Element(referencing: buffer).staticPad("src"))
                return tap
            }

            var buffers: [UnsafeMutablePointer<GstElement>] {
                let bin = UnsafeMutableRawPointer(self.bin.pointer).assumingMemoryBound(to: GstBin.self)
                let name = "tapedeckreorderbuffer"
                guard let found = gst_bin_iterate_all_by_element_factory_name(bin, name) else { return [] }
                defer { gst_iterator_free(found) }
                var elements: [UnsafeMutablePointer<GstElement>] = []
                var value = GValue()
                while gst_iterator_next(found, &value) == GST_ITERATOR_OK {
                    if let element = g_value_get_object(&value) {
                        elements.append(element.assumingMemoryBound(to: GstElement.self))
                    }
                    g_value_unset(&value)
                }
                return elements
            }

            /// Packets that were asked for, each time they were.
            var requests: UInt64 {
                self.buffers.reduce(0) { sum, buffer in
                    var value = GValue()
                    defer { g_value_unset(&value) }
                    let object = UnsafeMutableRawPointer(buffer).assumingMemoryBound(to: GObject.self)
                    g_object_get_property(object, "stats", &value)
                    var count: guint64 = 0
                    let structure = g_value_get_boxed(&value)?.assumingMemoryBound(to: GstStructure.self)
                    gst_structure_get_uint64(structure, "rtx-count", &count)
                    return sum + UInt64(count)
                }
            }

            func watch() throws {
                for buffer in self.buffers {
                    try Element(referencing: buffer).staticPad("src").observe { [packets] packet in
                        packets.append(packet)
                        return true
                    }
                }
            }

            func finish() { self.path.close() }
        }

        /// Packets after one that will not come any more, when a call ends.
        @Test func whatWaitsGoesOnAtTheEnd() throws {
            let receiver = try Receiver(latencyMilliseconds: 60_000)
            defer { receiver.feed.stop() }
            for sequence in [0, 1, 2] as [UInt16] { receiver.push(sequence) }
            try receiver.watch()
            for sequence in [4, 5, 8] as [UInt16] { receiver.push(sequence) }
            #expect(receiver.packets.count == 0)
            receiver.finish()
            #expect(receiver.packets.all.map { $0.bytes[3] } == [4, 5, 8])
            receiver.finish()
            receiver.push(9)
            #expect(receiver.packets.all.map { $0.bytes[3] } == [4, 5, 8, 9])
        }

        /// Each packet that comes to a buffer is in one place.
        @Test func whatBecomesOfEachPacketIsCounted() throws {
            let receiver = try Receiver(latencyMilliseconds: 60_000)
            defer { receiver.feed.stop() }
            for sequence in [0, 1, 2] as [UInt16] { receiver.push(sequence) }
            let tap = try receiver.tap(.sound)
            #expect(receiver.counts().entered == 3 && receiver.counts().waiting == 0)
            receiver.push(4)
            receiver.push(6)
            #expect(receiver.counts().waiting == 2)
            // Twice, and behind its place.
            receiver.push(6)
            receiver.push(1)
            #expect(receiver.counts().late == 2 && receiver.counts().waiting == 2)
            receiver.pushRestored(3)
            #expect(receiver.counts().restored == 1 && receiver.counts().waiting == 1)
            #expect(tap.counters.packets == 2 && tap.counters.repairedPackets == 1)
            receiver.finish()
            let counts = receiver.counts()
            #expect(counts.entered == 8 && counts.waiting == 0 && counts.late == 2)
            #expect(tap.counters.packets == 3)
            // Others count for themselves.
            for sequence in [0, 1] as [UInt16] { receiver.push(sequence, source: 2) }
            #expect(receiver.counts() == counts && receiver.counts(of: 2).entered == 2)
            // Packets that wait when the stream ends are dropped.
            receiver.push(20)
            receiver.feed.stop()
            #expect(receiver.counts().late == 3 && receiver.counts().waiting == 0)
        }

        /// Comfort noise, events and redundancy share the sequence numbers of what is recorded: they are no loss.
        @Test(arguments: [Depayloading.sound, .vp8])
        func whatIsNotAcceptedIsNoGap(depayloading: Depayloading) throws {
            let receiver = try Receiver(latencyMilliseconds: 60_000)
            defer { receiver.feed.stop() }
            for sequence in [0, 1, 2] as [UInt16] { receiver.push(sequence) }
            let tap = try receiver.tap(depayloading)
            receiver.path.accept([96])
            // A keyframe of VP8 and inter frames.
            let frame = { (isKeyframe: Bool) in [0x10, isKeyframe ? 0 : 1] + [UInt8](repeating: 7, count: 12) }
            receiver.push(3, payload: frame(true))
            for sequence in 4..<100 as Range<UInt16> {
                let isOther = sequence % 3 != 0
                receiver.push(sequence, type: isOther ? 13 : 96, payload: frame(false))
            }
            #expect(receiver.counts().notAccepted == 64)
            #expect(tap.counters.packets == 33 && tap.counters.units == 33)
            #expect(tap.counters.lostPackets == 0 && tap.counters.incomplete == 0)
            // Among them what is lost is found: 100 to 102 are not accepted, 103 and 105 never come.
            for sequence in [100, 101, 102, 104, 106] as [UInt16] {
                receiver.push(sequence, type: sequence < 103 || sequence == 104 ? 13 : 96, payload: frame(false))
            }
            receiver.finish()
            #expect(tap.counters.lostPackets == 2 && tap.counters.packets == 34)
            let counts = receiver.counts()
            #expect(counts.notAccepted == 68 && counts.entered == 105 && counts.waiting == 0)
            // They may be agreed on later.
            receiver.path.accept([13])
            receiver.push(107, type: 13, payload: frame(false))
            #expect(receiver.counts().notAccepted == 68 && tap.counters.packets == 35)
        }

        /// GStreamer's depayloaders see the gap in the numbers as well.
        @Test func whatIsNotAcceptedTearsNoPicture() throws {
            let receiver = try Receiver(latencyMilliseconds: 60_000)
            defer { receiver.feed.stop() }
            for sequence in [0, 1, 2] as [UInt16] { receiver.push(sequence) }
            receiver.path.accept([96])
            let tap = try receiver.tap(.h264)
            try receiver.watch()
            for sequence in 3..<30 as Range<UInt16> { receiver.push(sequence, type: sequence % 4 == 0 ? 97 : 96) }
            #expect(tap.counters.lostPackets == 0)
            let numbers = receiver.packets.all.map { $0.bytes[3] }
            #expect(numbers == Array(3..<3 + UInt8(numbers.count)) && numbers.count == 20)
        }

        /// A peer may have many sources, of each of which hundreds of packets are missing.
        @Test func aConnectionAsksForSoManyPacketsAndNoMore() async throws {
            let receiver = try Receiver(latencyMilliseconds: 60_000)
            defer { receiver.feed.stop() }
            let began = Runtime.monotonicNanoseconds
            for source in 1...40 as ClosedRange<UInt8> {
                for sequence in [0, 1, 500] as [UInt16] { receiver.push(sequence, source: source) }
            }
            #expect(await eventually { receiver.requests >= 1024 })
            let requests = Int64(receiver.requests)
            let milliseconds = (Runtime.monotonicNanoseconds - began) / 1_000_000
            #expect(requests <= 1024 + 2 * milliseconds + 2)
            // All of them get their turn.
            #expect(await eventually { Int64(receiver.requests) > requests + 100 })
        }
    }
}
