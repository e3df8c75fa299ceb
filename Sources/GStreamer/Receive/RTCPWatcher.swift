// SPDX-License-Identifier: Apache-2.0

internal import CGStreamer
internal import CTapedeck

/// Times the RTCP of one peer connection and hands its sender reports to the unit queue.
final class RTCPWatcher: @unchecked Sendable {
    // The C receiver is made of atomics and of a table that it locks.
    let pointer: OpaquePointer

    /// - Parameter baseTimeNanoseconds: of the pipeline that the reports come through.
    init(id: UInt64, queue: UnitQueue?, baseTimeNanoseconds: UInt64 = 0) {
        self.pointer = CTapedeck_receiver_new(id, queue?.pointer, Int64(clamping: baseTimeNanoseconds))
    }

    deinit {
        CTapedeck_receiver_unref(self.pointer)
    }

    /// Watches the RTPSession behind an `rtpsession` element.
    func watch(rtpSession element: Element) {
        guard let session = CGst_get_object(element.pointer, "internal-session") else { return }
        CTapedeck_receiver_watch(self.pointer, session)
        g_object_unref(session)
    }

    /// `CLOCK_MONOTONIC` of the last RTCP packet; nil before the first.
    var lastReportNanoseconds: Int64? {
        let time = CTapedeck_receiver_last_report_nanoseconds(self.pointer)
        return time == 0 ? nil : time
    }

    /// Sender reports that were left out, because there are too many of them.
    var droppedReports: UInt64 { CTapedeck_receiver_dropped_reports(self.pointer) }
}
