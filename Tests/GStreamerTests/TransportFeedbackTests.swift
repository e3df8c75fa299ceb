// SPDX-License-Identifier: Apache-2.0

import CGStreamer
import CTapedeck
import Testing

@testable import GStreamer

extension AllGStreamer {
    @Suite struct TransportFeedbackTests {
        private static let interval: UInt = 100_000_000
        private static let caps = """
            application/x-rtp,media=video,clock-rate=90000,encoding-name=VP8,payload=96,ssrc=(uint)1,extmap-3=(string)\
            http://www.ietf.org/id/draft-holmer-rmcat-transport-wide-cc-extensions-01
            """

        /// A packet that ends a frame, with its number in the transport.
        private static func packet(_ number: UInt8) -> [UInt8] {
            [0x90, 0x80 | 96, 0, number, 0, 0, 0, number, 0, 0, 0, 1, 0xBE, 0xDE, 0, 1, 0x31, 0, number, 0, 1, 2, 3, 4]
        }

        /// How many packets each transport-wide feedback (RTPFB, format 15) reports.
        private static func counts(_ datagrams: [SeenBuffer]) -> [Int] {
            datagrams.flatMap { datagram -> [Int] in
                var (rest, found) = (datagram.bytes[...], [Int]())
                while rest.count >= 16 {
                    let bytes = [UInt8](rest)
                    if bytes[0] & 0x1F == 15, bytes[1] == 205 { found.append(Int(bytes[14]) << 8 | Int(bytes[15])) }
                    rest = rest.dropFirst((Int(bytes[2]) << 8 | Int(bytes[3])) * 4 + 4)
                }
                return found
            }
        }

        @Test func tellsOfManyPicturesAtOnce() async throws {
            let feed = try HandFeed(
                launch: """
                    identity name=in rtpsession name=session identity name=media ! fakesink async=false \
                    identity name=reports ! fakesink async=false
                    """,
                into: "in",
                caps: Self.caps
            )
            defer { feed.stop() }
            let session = try feed.pipeline.element(named: "session")
            CGst_rtp_session_space_transport_feedback(session.pointer, Self.interval)
            let sink = try #require(gst_element_request_pad_simple(session.pointer, "recv_rtp_sink"))
            try feed.pipeline.element(named: "in").staticPad("src").link(to: Pad(adopting: sink))
            try session.staticPad("recv_rtp_src").link(to: feed.pipeline.element(named: "media").staticPad("sink"))
            let source = try #require(gst_element_request_pad_simple(session.pointer, "send_rtcp_src"))
            let reports = try feed.pipeline.element(named: "reports")
            try Pad(adopting: source).link(to: reports.staticPad("sink"))
            let sent = Log<SeenBuffer>()
            try reports.staticPad("src").observe { packet in
                sent.append(packet)
                return true
            }

            // All but the last within the interval, unless this host stands still.
            for number: UInt8 in 0..<20 { feed.push(Self.packet(number)) }
            try await Task.sleep(for: .nanoseconds(Self.interval * 3 / 2))
            feed.push(Self.packet(20))
            let hasCome = await eventually { !Self.counts(sent.all).isEmpty }
            #expect(hasCome)
            // By default `rtpsession` reports each frame separately.
            #expect((Self.counts(sent.all).first ?? 0) > 1, "\(Self.counts(sent.all))")
        }
    }
}
