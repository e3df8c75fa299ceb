// SPDX-License-Identifier: Apache-2.0

public import Basics

/// An item from a received track, or about one.
public enum ReceivedItem: Sendable, Hashable {
    /// One access unit, frame or audio packet of the tap with that id.
    case unit(Unit)
    /// One RTCP sender report seen by the receiver with that id.
    case senderReport(Report)
    /// All that was in the queue before its owner put a mark with that number into it has been taken; when that was,
    /// `CLOCK_MONOTONIC`.
    case mark(UInt64, arrivalNanoseconds: Int64)

    /// One unit; its bytes are passed separately.
    public struct Unit: Sendable, Hashable {
        /// The tap that it came from.
        public var tap: UInt64
        /// Unwrapped RTP time stamp, in units of the track's RTP clock.
        public var rtpTime: Int64
        /// `CLOCK_MONOTONIC` when the unit's first packet came.
        public var arrivalNanoseconds: Int64
        /// RTP packets missing since the unit before.
        public var lostPackets: Int
        /// Whether packets of the unit itself are missing, so that its bytes are a part of it.
        public var isTruncated: Bool
        /// RTP packets that it is made of.
        public var packets: Int
        /// How its frame is turned; nil if its sender never said.
        public var rotation: VideoRotation?

        /// A unit with each part given.
        public init(
            tap: UInt64,
            rtpTime: Int64,
            arrivalNanoseconds: Int64,
            lostPackets: Int = 0,
            isTruncated: Bool = false,
            packets: Int = 1,
            rotation: VideoRotation? = nil
        ) {
            self.tap = tap
            self.rtpTime = rtpTime
            self.arrivalNanoseconds = arrivalNanoseconds
            self.lostPackets = lostPackets
            self.isTruncated = isTruncated
            self.packets = packets
            self.rotation = rotation
        }
    }

    /// One sender report (RFC 3550 section 6.4.1).
    public struct Report: Sendable, Hashable {
        /// The receiver (peer connection) that saw it.
        public var receiver: UInt64
        /// SSRC of the sender.
        public var ssrc: UInt32
        /// RTP time stamp as sent, 32 bits.
        public var rtpTimestamp: UInt32
        /// NTP time stamp, 32.32 fixed point.
        public var ntpTime: UInt64
        /// `CLOCK_MONOTONIC` when the report came.
        public var arrivalNanoseconds: Int64
    }
}
