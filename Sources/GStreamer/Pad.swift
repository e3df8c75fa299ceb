// SPDX-License-Identifier: Apache-2.0

internal import CGStreamer
internal import CTapedeck

/// Owner of one reference to a GstPad.
///
/// Pads are thread-safe for everything used here.
public final class Pad: @unchecked Sendable {
    let pointer: UnsafeMutablePointer<GstPad>

    /// Takes over a full reference.
    init(adopting pointer: UnsafeMutablePointer<GstPad>) {
        self.pointer = pointer
    }

    /// Adds a reference of its own.
    init(referencing pointer: UnsafeMutablePointer<GstPad>) {
        gst_object_ref(UnsafeMutableRawPointer(pointer))
        self.pointer = pointer
    }

    deinit {
        gst_object_unref(self.pointer)
    }

    /// What the RTP caps of the pad say; nil if the pad has none yet or they are not RTP.
    public var rtpFormat: RTPFormat? {
        guard let caps = gst_pad_get_current_caps(self.pointer) ?? gst_pad_query_caps(self.pointer, nil) else {
            return nil
        }
        defer { gst_caps_unref(caps) }
        return RTPFormat(caps: caps)
    }

    func link(to sink: Pad) throws(GStreamerError) {
        try Self.check(gst_pad_link(self.pointer, sink.pointer))
    }

    static func check(_ result: GstPadLinkReturn) throws(GStreamerError) {
        guard result == GST_PAD_LINK_OK else {
            let reason = gst_pad_link_get_name(result).map { String(cString: $0) } ?? "\(result.rawValue)"
            throw GStreamerError(.link, "pads did not link: \(reason)")
        }
    }

    func unlink(from sink: Pad) {
        gst_pad_unlink(self.pointer, sink.pointer)
    }

    /// Asks the sender for a keyframe: a PLI, never a FIR.
    ///
    /// Any thread; the request is not waited for.
    public func requestKeyframe() {
        _ = CGst_request_keyframe(self.pointer)
    }

    /// Lets the reorder buffer behind a source pad of webrtcbin ask the sender for packets that are missing, or not.
    func setRetransmission(_ asks: Bool) {
        _ = CGst_set_retransmission(self.pointer, asks ? 1 : 0)
    }
}

/// Keeps what comes out of a ghost pad until somebody takes it; the streaming thread does not wait.
final class PadHold: @unchecked Sendable {
    // The C hold is changed under the stream lock only.
    private let pointer: OpaquePointer
    private let pad: Pad

    /// Before the pad's first packet.
    init(_ pad: Pad) {
        self.pointer = CTapedeck_hold_new(pad.pointer)
        self.pad = pad
    }

    deinit {
        CTapedeck_hold_unref(self.pointer)
    }

    /// Links the pad to `sink`, gives it what was kept, and lets the rest follow.
    func release(to sink: Pad) throws(GStreamerError) {
        try Pad.check(CTapedeck_hold_release(self.pointer, sink.pointer))
    }
}

/// What identifies a received RTP stream, from the caps of webrtcbin's source pad.
public struct RTPFormat: Sendable, Hashable {
    /// `audio` or `video`.
    public var media: String
    /// RTP encoding name in upper case, for example `VP8`.
    public var encodingName: String
    /// RTP clock in Hz.
    public var clockRateHz: Int
    /// RTP payload type, 0 to 127.
    public var payloadType: Int
    /// Synchronisation source, if the caps carry it.
    public var ssrc: UInt32?
    /// Audio channels (`encoding-params`), if the caps carry them.
    public var channels: Int?
    /// Profile and level of H.264 (RFC 6184 section 8.1), if the caps carry them.
    public var profileLevelID: String?

    init?(caps: UnsafeMutablePointer<GstCaps>) {
        guard gst_caps_get_size(caps) > 0, let structure = gst_caps_get_structure(caps, 0),
            let media = gst_structure_get_string(structure, "media"),
            let encodingName = gst_structure_get_string(structure, "encoding-name")
        else { return nil }
        var clockRate: gint = 0
        var payloadType: gint = -1
        var ssrc: guint = 0
        gst_structure_get_int(structure, "clock-rate", &clockRate)
        gst_structure_get_int(structure, "payload", &payloadType)
        self.media = String(cString: media)
        self.encodingName = String(cString: encodingName).uppercased()
        self.clockRateHz = Int(clockRate)
        self.payloadType = Int(payloadType)
        self.ssrc = gst_structure_get_uint(structure, "ssrc", &ssrc) != 0 ? ssrc : nil
        self.channels = gst_structure_get_string(structure, "encoding-params").flatMap { Int(String(cString: $0)) }
        self.profileLevelID = gst_structure_get_string(structure, "profile-level-id").map { String(cString: $0) }
    }
}
