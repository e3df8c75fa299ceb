// SPDX-License-Identifier: Apache-2.0

internal import Basics
internal import CTapedeck

/// What came out of a received track, or beside it.
public enum CapturedItem: Sendable, Hashable {
    /// One access unit, frame or audio packet of the tap with that id.
    case unit(Unit)
    /// One RTCP sender report seen by the receiver with that id.
    case senderReport(Report)

    /// One unit; its bytes are handed over beside it.
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

        /// A unit with each part given.
        public init(
            tap: UInt64,
            rtpTime: Int64,
            arrivalNanoseconds: Int64,
            lostPackets: Int = 0,
            isTruncated: Bool = false
        ) {
            self.tap = tap
            self.rtpTime = rtpTime
            self.arrivalNanoseconds = arrivalNanoseconds
            self.lostPackets = lostPackets
            self.isTruncated = isTruncated
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

/// The bounded queue between the streaming threads of all tracks of a session and its recorder thread.
public final class UnitQueue: @unchecked Sendable {
    // The C queue locks for itself.
    let pointer: OpaquePointer

    /// A queue for one reader.
    ///
    /// What exceeds the limits is dropped and counted.
    public init(maximumItems: Int = 4096, maximumBytes: Int = 64 << 20) {
        self.pointer = CTapedeck_queue_new(UInt32(clamping: maximumItems), maximumBytes)
    }

    deinit {
        CTapedeck_queue_unref(self.pointer)
    }

    /// Waits for the next item and hands it to `body` with its bytes, which are valid during the call only.
    ///
    /// The reader's thread only; blocks for at most `timeout`.
    /// - Returns: false if no item came or the queue was woken.
    public func next(
        timeout: Duration,
        _ body: (CapturedItem, UnsafeRawBufferPointer) -> Void
    ) -> Bool {
        var item = CTapedeckItem()
        let microseconds = Int64(timeout.seconds * 1_000_000)
        guard CTapedeck_queue_pop(self.pointer, &item, microseconds) else { return false }
        defer { CTapedeck_item_release(&item) }
        let bytes = UnsafeRawBufferPointer(start: item.data, count: item.size)
        switch item.kind {
        case CTAPEDECK_ITEM_SENDER_REPORT:
            let report = CapturedItem.Report(
                receiver: item.source,
                ssrc: item.ssrc,
                rtpTimestamp: UInt32(truncatingIfNeeded: item.rtp_time),
                ntpTime: item.ntp_time,
                arrivalNanoseconds: item.arrival_nanoseconds
            )
            body(.senderReport(report), bytes)
        default:
            let unit = CapturedItem.Unit(
                tap: item.source,
                rtpTime: item.rtp_time,
                arrivalNanoseconds: item.arrival_nanoseconds,
                lostPackets: Int(item.lost_before),
                isTruncated: item.truncated
            )
            body(.unit(unit), bytes)
        }
        return true
    }

    /// Makes a waiting `next` return at once.
    ///
    /// Any thread.
    public func wake() {
        CTapedeck_queue_wake(self.pointer)
    }

    /// Items dropped because the reader was too slow.
    public var droppedItems: UInt64 {
        CTapedeck_queue_dropped(self.pointer)
    }
}
