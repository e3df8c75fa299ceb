// SPDX-License-Identifier: Apache-2.0

internal import CGStreamer
internal import CTapedeck

/// A track that we send on one m-line: appsrc, payloader and caps, linked to a sink pad of webrtcbin.
///
/// Control thread only. It sends nothing until a fan-out feeds `source`.
public final class SendBranch: Sendable {
    /// Where encoded media go in.
    public let source: Element
    /// Synchronisation source of the packets.
    public let ssrc: UInt32
    private let branch: Element
    private let sink: Pad

    fileprivate init(source: Element, ssrc: UInt32, branch: Element, sink: Pad) {
        self.source = source
        self.ssrc = ssrc
        self.branch = branch
        self.sink = sink
    }

    /// The same m-line with another payloader: the answer picked another codec than the one we offered first.
    fileprivate func detach() throws(GStreamerError) -> Pad {
        try self.branch.staticPad("src").unlink(from: self.sink)
        gst_element_set_locked_state(self.branch.pointer, 1)
        gst_element_set_state(self.branch.pointer, GST_STATE_NULL)
        return self.sink
    }

    fileprivate func leave(_ pipeline: Pipeline) {
        pipeline.remove(self.branch)
    }
}

/// How a codec is put into RTP packets.
public struct SendFormat: Sendable, Hashable {
    /// `audio` or `video`.
    public var media: String
    /// RTP encoding name in upper case: `H264`, `VP8`, `VP9` or `OPUS`.
    public var encodingName: String
    /// RTP clock in Hz.
    public var clockRateHz: Int
    /// Negotiated payload type.
    public var payloadType: Int

    /// A format with each part given.
    public init(media: String, encodingName: String, clockRateHz: Int, payloadType: Int) {
        self.media = media
        self.encodingName = encodingName
        self.clockRateHz = clockRateHz
        self.payloadType = payloadType
    }

    /// The settings are those that browsers decoded without loss.
    fileprivate func launch(ssrc: UInt32) -> String? {
        let payloader: String
        switch self.encodingName {
        case "H264": payloader = "rtph264pay config-interval=-1 aggregate-mode=zero-latency"
        case "VP8": payloader = "rtpvp8pay picture-id-mode=15-bit"
        case "VP9": payloader = "rtpvp9pay picture-id-mode=15-bit"
        // Packets of silence from libopus with DTX, two bytes at most, need not be sent.
        case "OPUS": payloader = "rtpopuspay dtx=true"
        default: return nil
        }
        return """
            appsrc name=media is-live=true format=time block=false max-bytes=0 ! \(payloader) pt=\(self.payloadType) \
            ssrc=\(ssrc) ! capsfilter caps="\(self.caps(ssrc: ssrc))"
            """
    }

    /// The source is in it so that descriptions name it, and the one that repeats its packets (RFC 5576, RFC 4588).
    fileprivate func caps(ssrc: UInt32) -> String {
        """
        application/x-rtp,media=\(self.media),encoding-name=\(self.encodingName),clock-rate=\(self.clockRateHz),\
        payload=\(self.payloadType),ssrc=(uint)\(ssrc)
        """
    }
}

extension WebRTCBin {
    /// Adds an m-line that sends (and may receive) before an offer is created, or takes m-line `mLineIndex` of an offer
    /// of the peer before the answer is created.
    ///
    /// Control thread.
    public func addSender(_ format: SendFormat, mLineIndex: Int? = nil) throws(GStreamerError) -> SendBranch {
        let template = gst_element_get_pad_template(self.element.pointer, "sink_%u")
        let ssrc = UInt32.random(in: 1...UInt32.max)
        let text = format.caps(ssrc: ssrc)
        guard let caps = gst_caps_from_string(text) else {
            throw GStreamerError(.parse, "caps '\(text)' do not parse")
        }
        defer { gst_caps_unref(caps) }
        let name = mLineIndex.map { "sink_\($0)" }
        if let mLineIndex { CGst_webrtc_allow_sending(self.element.pointer, guint(clamping: mLineIndex)) }
        guard let template, let pad = gst_element_request_pad(self.element.pointer, template, name, caps) else {
            throw GStreamerError(.negotiation, "webrtcbin has no room for a \(format.media) track of ours")
        }
        let sink = Pad(adopting: pad)
        if let transceiver = CGst_get_object(pad, "transceiver") {
            defer { g_object_unref(transceiver) }
            if format.media == "video" { try setProperty(of: transceiver, "do-nack", "true") }
        }
        return try self.link(format, to: sink, ssrc: ssrc)
    }

    /// Puts another payloader in front of the m-line of `old`, before any data flowed.
    public func replace(_ old: SendBranch, with format: SendFormat) throws(GStreamerError) -> SendBranch {
        let sink = try old.detach()
        old.leave(self.pipeline)
        return try self.link(format, to: sink, ssrc: old.ssrc)
    }

    private func link(_ format: SendFormat, to sink: Pad, ssrc: UInt32) throws(GStreamerError) -> SendBranch {
        guard let launch = format.launch(ssrc: ssrc) else {
            throw GStreamerError(.parse, "there is no payloader for \(format.encodingName)")
        }
        let branch = try self.pipeline.add(branch: launch)
        guard let source = branch.child(named: "media") else {
            throw GStreamerError(.parse, "the branch has no appsrc")
        }
        try branch.staticPad("src").link(to: sink)
        gst_element_sync_state_with_parent(branch.pointer)
        return SendBranch(source: source, ssrc: ssrc, branch: branch, sink: sink)
    }

    /// Feeds a track of ours from a fan-out.
    public func feed(_ branch: SendBranch, from fanOut: FanOut) throws(GStreamerError) -> FanOut.Consumer {
        try fanOut.add(branch.source, of: self.pipeline)
    }

    /// Begins to watch the way of our video: its packets are numbered under the negotiated header extension id for
    /// transport-wide congestion feedback; without one they are only counted.
    ///
    /// Any thread.
    public func watchCongestion(payloadType: Int, retransmission: Int?, extensionID: Int?) {
        self.congestion.number(payloadType: payloadType, retransmission: retransmission, extensionID: extensionID)
    }

    /// The peer's feedback about our video since the last call.
    ///
    /// Any thread.
    public func takeCongestionNews() -> CongestionNews { self.congestion.take() }
}
