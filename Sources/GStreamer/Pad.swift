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

    /// Adds a reference.
    init(referencing pointer: UnsafeMutablePointer<GstPad>) {
        gst_object_ref(UnsafeMutableRawPointer(pointer))
        self.pointer = pointer
    }

    deinit {
        gst_object_unref(self.pointer)
    }

    /// The RTP caps of the pad; nil if the pad has none yet or they are not RTP.
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

    /// Asks the sender for a keyframe: by PLI or FIR, whichever was agreed on.
    ///
    /// Any thread; the request is not waited for.
    public func requestKeyframe() {
        _ = CGst_request_keyframe(self.pointer)
    }
}
