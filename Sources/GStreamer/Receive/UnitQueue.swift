// SPDX-License-Identifier: Apache-2.0

internal import Basics
internal import CTapedeck

/// The bounded queue between the streaming threads of all tracks of a session and its reader, a recorder.
public final class UnitQueue: @unchecked Sendable {
    // The C queue locks for itself.
    let pointer: OpaquePointer

    /// A queue for one reader.
    ///
    /// Items beyond the limits are dropped and counted. By default it holds what 16 participants with video send in 20
    /// s, at 1.6 Mbit/s each.
    public init(maximumItems: Int = 65_536, maximumBytes: Int = 64 << 20) {
        self.pointer = CTapedeck_queue_new(UInt32(clamping: maximumItems), maximumBytes)
    }

    deinit {
        CTapedeck_queue_unref(self.pointer)
    }

    /// Waits until there is an item, the queue was woken since the last `next`, or an instant of `CLOCK_MONOTONIC`, in nanoseconds.
    ///
    /// The reader's thread, if its bell is of no other queue.
    public func wait(until deadline: Int64) {
        _ = CTapedeck_queue_wait(self.pointer, deadline / 1000)
    }

    /// Hands the next item to `body` with its bytes, which are valid during the call only.
    ///
    /// The reader's thread only; blocks for at most `timeout`, and not at all if that is zero.
    /// - Returns: false if no item came or the queue was woken.
    public func next(
        timeout: Duration = .zero,
        _ body: (ReceivedItem, UnsafeRawBufferPointer) -> Void
    ) -> Bool {
        if timeout > .zero { self.wait(until: Runtime.monotonicNanoseconds + timeout.nanoseconds) }
        var item = CTapedeckItem()
        guard CTapedeck_queue_pop(self.pointer, &item) else { return false }
        defer { CTapedeck_item_release(&item) }
        let bytes = UnsafeRawBufferPointer(start: item.data, count: item.size)
        switch item.kind {
        case CTAPEDECK_ITEM_SENDER_REPORT:
            let report = ReceivedItem.Report(
                receiver: item.source,
                ssrc: item.ssrc,
                rtpTimestamp: UInt32(truncatingIfNeeded: item.rtp_time),
                ntpTime: item.ntp_time,
                arrivalNanoseconds: item.arrival_nanoseconds
            )
            body(.senderReport(report), bytes)
        case CTAPEDECK_ITEM_MARK:
            body(.mark(item.source, arrivalNanoseconds: item.arrival_nanoseconds), bytes)
        default:
            let unit = ReceivedItem.Unit(
                tap: item.source,
                rtpTime: item.rtp_time,
                arrivalNanoseconds: item.arrival_nanoseconds,
                lostPackets: Int(item.lost_before),
                isTruncated: item.truncated,
                packets: Int(item.packets),
                rotation: item.orientation < 0 ? nil : VideoRotation(orientationByte: UInt8(item.orientation))
            )
            body(.unit(unit), bytes)
        }
        return true
    }

    /// Puts a mark behind what is in the queue; it is never dropped.
    ///
    /// Any thread.
    public func mark(_ number: UInt64) {
        CTapedeck_queue_mark(self.pointer, number)
    }

    /// Has the reader look after the queue at once.
    ///
    /// Any thread.
    public func wake() {
        CTapedeck_queue_wake(self.pointer)
    }

    /// Whether there is an item, or the queue was woken since the last `next`.
    ///
    /// Any thread.
    public var hasNews: Bool { CTapedeck_queue_has_news(self.pointer) }

    /// Gives the reader's bell to the queue; nil if the reader has no other queue.
    ///
    /// Any thread.
    public func use(_ bell: UnitBell?) {
        CTapedeck_queue_use_bell(self.pointer, bell?.pointer)
    }

    /// Reports a turn of the reader that hangs, if nothing comes that would.
    ///
    /// Any thread.
    public func lookAfterReader() {
        CTapedeck_queue_look_after_reader(self.pointer)
    }

    /// Items dropped because the reader was too slow.
    public var droppedItems: UInt64 {
        CTapedeck_queue_dropped(self.pointer)
    }
}
