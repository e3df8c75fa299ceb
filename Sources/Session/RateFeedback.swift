// SPDX-License-Identifier: Apache-2.0

/// One peer's feedback about the path of our video to it, since the last query.
public struct RateFeedback: Sendable, Equatable {
    /// Transport-wide congestion feedback.
    public struct Arrivals: Sendable, Equatable {
        /// Packets that arrived.
        public var packets: Int
        /// Their bytes.
        public var bytes: Int
        /// Packets that did not arrive.
        public var lostPackets: Int
        /// Queueing delay on the path: how much longer packets take than the fastest of the last minute.
        public var queueing: Duration
        /// How long they took to arrive, by the receiver's clock.
        public var span: Duration
        /// Bytes that are on their way still, or lost.
        public var bytesOnTheirWay: Int

        /// Feedback with each part given.
        public init(
            packets: Int,
            bytes: Int,
            lostPackets: Int = 0,
            queueing: Duration = .zero,
            span: Duration = .zero,
            bytesOnTheirWay: Int = 0
        ) {
            self.packets = packets
            self.bytes = bytes
            self.lostPackets = lostPackets
            self.queueing = queueing
            self.span = span
            self.bytesOnTheirWay = bytesOnTheirWay
        }
    }

    /// Bytes that were sent, repeated ones included.
    public var sentBytes: Int
    /// nil if none came.
    public var arrivals: Arrivals?
    /// Share of packets lost, 0 to 1, by receiver reports (RFC 3550 section 6.4.1); nil if none came.
    public var reportedLoss: Double?
    /// The receiver's own estimate (REMB) in bits a second; nil if none came.
    public var estimate: Int?

    /// Silence, but for what is given.
    public init(
        sentBytes: Int = 0,
        arrivals: Arrivals? = nil,
        reportedLoss: Double? = nil,
        estimate: Int? = nil
    ) {
        self.sentBytes = sentBytes
        self.arrivals = arrivals
        self.reportedLoss = reportedLoss
        self.estimate = estimate
    }

    /// Whether the peer said nothing.
    public var isSilent: Bool {
        self.arrivals == nil && self.reportedLoss == nil && self.estimate == nil
    }
}
