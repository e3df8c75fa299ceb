// SPDX-License-Identifier: Apache-2.0

internal import CTapedeck

/// A peer's feedback since the last look about the path of our video to it.
public struct CongestionNews: Sendable, Hashable {
    /// Transport-wide congestion feedback on packets of our video.
    public struct Arrivals: Sendable, Hashable {
        /// Packets and their bytes that arrived, RTP headers included.
        public var packets: Int
        /// Bytes of those packets.
        public var bytes: Int
        /// Packets that did not.
        public var lostPackets: Int
        /// How much longer the fastest packet was on its way than the fastest of the last minute.
        public var queueing: Duration
        /// How long they took to arrive, by the receiver's clock.
        public var span: Duration
        /// Bytes that are on their way still, or lost.
        public var bytesOnTheirWay: Int
    }

    /// Bytes of RTP packets that left, repeated ones included.
    public var sentBytes: Int
    /// nil if no feedback came.
    public var arrivals: Arrivals?
    /// Share of packets lost by the newest receiver reports (RFC 3550 section 6.4.1), 0 to 1; nil if none came.
    public var reportedLoss: Double?
    /// The receiver's own estimate (REMB) in bits a second; nil if none came.
    public var estimate: Int?
}

/// Numbers the packets of our video and reads what the peer reports about them.
final class CongestionWatcher: @unchecked Sendable {
    // The C object locks for itself.
    private let pointer = CTapedeck_congestion_new()

    deinit {
        CTapedeck_congestion_unref(self.pointer)
    }

    /// Watches what leaves an `rtpsession` element; before it has pads.
    func watch(rtpSession element: Element) {
        CTapedeck_congestion_watch(self.pointer, element.pointer)
    }

    /// Says what our video is; any thread.
    func number(payloadType: Int, retransmission: Int?, extensionID: Int?) {
        CTapedeck_congestion_number(
            self.pointer,
            UInt8(clamping: payloadType),
            Int32(clamping: retransmission ?? -1),
            UInt8(clamping: extensionID ?? 0)
        )
    }

    /// Any thread.
    func take() -> CongestionNews {
        let news = CTapedeck_congestion_take(self.pointer)
        let arrivals = CongestionNews.Arrivals(
            packets: Int(clamping: news.arrived_packets),
            bytes: Int(clamping: news.arrived_bytes),
            lostPackets: Int(clamping: news.lost_packets),
            queueing: .nanoseconds(news.queueing),
            span: .nanoseconds(news.arrival_span),
            bytesOnTheirWay: Int(clamping: news.bytes_on_their_way)
        )
        return CongestionNews(
            sentBytes: Int(clamping: news.sent_bytes),
            arrivals: news.has_arrivals ? arrivals : nil,
            reportedLoss: news.has_report ? Double(news.fraction_lost) / 256 : nil,
            estimate: news.estimate > 0 ? Int(clamping: news.estimate) : nil
        )
    }
}
