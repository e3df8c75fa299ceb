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
                CTapedeck_use_reorder_buffers(self.bin.pointer)
            }

            /// Nothing is linked behind the bin: that its packets go nowhere is no concern of the buffers.
            func push(_ sequence: UInt16, source: UInt8 = 1) {
                var packet = PacketFeed.packet(sequence, UInt32(sequence) * 3000, payload: [9])
                packet[1] |= 96
                packet[11] = source
                self.feed.push(packet)
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

            func finish() { CTapedeck_finish_reorder_buffers(self.bin.pointer) }
        }

        /// What is behind a packet that will not come any more, when a call ends.
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
