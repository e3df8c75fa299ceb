// SPDX-License-Identifier: Apache-2.0

internal import CGStreamer
internal import CTapedeck

/// Counters of a tap so far.
public struct TapCounters: Sendable, Hashable {
    /// RTP packets that left the reorder buffer.
    public var packets: UInt64
    /// Their bytes, RTP headers included.
    public var bytes: UInt64
    /// Packets that never came, after retransmission.
    public var lostPackets: UInt64
    /// Packets that were lost and came again, in time, over RTX.
    public var repairedPackets: UInt64
    /// Units handed to the queue.
    public var units: UInt64
    /// Units that the queue had no place for, or not for long enough.
    public var droppedUnits: UInt64
    /// Packets that say that they end in padding, which looks like media; what became of them is counted as well.
    public var doubtful: UInt64
    /// Frames that their numbers show to be missing, though no packet is: a server lost them.
    public var skipped: UInt64
    /// Packets without anything to record in them: padding.
    ///
    /// This and the next seven are what became of `packets`, and are as many together.
    public var empty: UInt64
    /// Packets that came after those that follow them.
    public var late: UInt64
    /// Packets of VP8 that came before the first whole keyframe.
    public var beforeKeyframe: UInt64
    /// Packets of units of which others never came, or whose sender did not end them; once the tap is closed also those of
    /// units that have begun.
    public var incomplete: UInt64
    /// Packets that cannot be decoded, or that made a unit that cannot.
    public var undecodable: UInt64
    /// Packets of units for which there was no room, before they ended or in the queue.
    public var queueFull: UInt64
    /// Packets of units that the queue took and kept for its reader.
    public var inUnits: UInt64
    /// Packets that wait for the rest of their unit.
    public var waiting: UInt64
    /// `CLOCK_MONOTONIC` of the last packet; nil before the first.
    public var lastPacketNanoseconds: Int64?
}

/// The maker of units from a track's packets.
public enum Depayloading: Sendable, Hashable {
    /// The tap: each packet's payload is one.
    case sound
    /// The tap: VP8 (RFC 7741).
    case vp8
    /// GStreamer's depayloader of H.264, which is given only what it can take.
    case h264
    /// GStreamer's depayloader of VP9; the frames of spatial layers become a superframe.
    case vp9

    /// The elements; nil if the tap does it.
    var launch: String? {
        switch self {
        case .sound, .vp8: nil
        case .h264: "rtph264depay ! video/x-h264,stream-format=byte-stream,alignment=au"
        case .vp9: "rtpvp9depay"
        }
    }
}

/// Carries one received track from webrtcbin's pad to the unit queue.
///
/// Everything per packet happens in C on the streaming thread. The C object lives as long as its callbacks do.
public final class TrackTap: @unchecked Sendable {
    // The C tap is made of atomics and of fields that only the streaming thread touches.
    private let pointer: OpaquePointer
    /// The source whose packets it takes.
    public let ssrc: UInt32

    /// `id` names the tap in the items of the queue.
    ///
    /// - Parameters:
    ///   - other: a tap of another payload type of the same SSRC on the same connection: sequence numbers continue over
    ///     both.
    ///   - sibling: a tap of the same connection: unfinished units of their sender are bounded together.
    public init(
        id: UInt64,
        ssrc: UInt32,
        queue: UnitQueue,
        besides other: TrackTap? = nil,
        with sibling: TrackTap? = nil
    ) {
        self.ssrc = ssrc
        self.pointer = CTapedeck_tap_new(id, ssrc, queue.pointer, other?.pointer, sibling?.pointer)
    }

    deinit {
        CTapedeck_tap_close(self.pointer)
        CTapedeck_tap_unref(self.pointer)
    }

    /// Reads how the video is turned from the header extension of that id (3GPP TS 26.114, 7.4.5), 1 to 14; before it is attached.
    public func readOrientation(extensionID: UInt8) {
        CTapedeck_tap_read_orientation(self.pointer, extensionID)
    }

    /// Reads audio levels from the header extension of that id (RFC 6464), 1 to 14; before it is attached.
    public func readLevels(extensionID: UInt8) {
        CTapedeck_tap_read_levels(self.pointer, extensionID)
    }

    /// Makes units of the packets itself, which go no further then, or leaves it to elements; before it is attached.
    func depayload(_ depayloading: Depayloading) {
        let kind =
            switch depayloading {
            case .sound: CTAPEDECK_DEPAYLOAD_SOUND
            case .vp8: CTAPEDECK_DEPAYLOAD_VP8
            case .h264: CTAPEDECK_DEPAYLOAD_H264_ELSEWHERE
            case .vp9: CTAPEDECK_DEPAYLOAD_VP9_ELSEWHERE
            }
        CTapedeck_tap_depayload(self.pointer, kind)
    }

    func attach(to rtpPad: Pad) {
        CTapedeck_tap_attach_rtp(self.pointer, rtpPad.pointer)
    }

    func attach(toSink appsink: Element) {
        CTapedeck_tap_attach_sink(self.pointer, appsink.pointer)
    }

    /// Stops handing over units.
    ///
    /// Any thread.
    public func close() {
        CTapedeck_tap_close(self.pointer)
    }

    /// The audio level; nil if the sender does not send it.
    ///
    /// Any thread.
    public var audioLevel: AudioLevel? { AudioLevel(CTapedeck_tap_sound_level(self.pointer)) }

    /// The counters now.
    ///
    /// Any thread.
    public var counters: TapCounters {
        let counters = CTapedeck_tap_counters(self.pointer)
        return TapCounters(
            packets: counters.packets,
            bytes: counters.bytes,
            lostPackets: counters.lost,
            repairedPackets: counters.repaired,
            units: counters.units,
            droppedUnits: counters.dropped,
            doubtful: counters.doubtful,
            skipped: counters.skipped,
            empty: counters.empty,
            late: counters.late,
            beforeKeyframe: counters.before_keyframe,
            incomplete: counters.incomplete,
            undecodable: counters.undecodable,
            queueFull: counters.queue_full,
            inUnits: counters.in_units,
            waiting: counters.waiting,
            lastPacketNanoseconds: counters.last_packet_nanoseconds == 0 ? nil : counters.last_packet_nanoseconds
        )
    }
}
