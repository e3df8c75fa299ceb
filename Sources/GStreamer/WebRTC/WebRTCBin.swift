// SPDX-License-Identifier: Apache-2.0

internal import CGStreamer
internal import CTapedeck
internal import Synchronization

/// What webrtcbin says about itself.
///
/// Delivered on GStreamer's threads, in order per thread.
public enum WebRTCEvent: Sendable {
    /// Gathering found a candidate of ours. `line` begins with `candidate:`.
    case localCandidate(mLineIndex: Int, line: String)
    /// Everything has been gathered.
    case gatheringComplete
    /// The ICE transport changed.
    case iceState(ICEState)
    /// ICE and DTLS of every transport are up, or not any more.
    case connectionState(ConnectionState)
    /// A remote stream appeared. Its data flow is held until the owner attaches a branch with `receive`.
    case streamAppeared(ReceivedStream)
}

/// State of the ICE transport (W3C WebRTC section 5.6.4).
public enum ICEState: Int, Sendable, Hashable {
    /// Nothing happened yet.
    case new
    /// Candidates are checked.
    case checking
    /// A pair works.
    case connected
    /// All checks are done and a pair works.
    case completed
    /// No pair works.
    case failed
    /// The working pair went silent.
    case disconnected
    /// Closed by us.
    case closed
}

/// State of the peer connection (W3C WebRTC section 4.3.3).
public enum ConnectionState: Int, Sendable, Hashable {
    /// Nothing happened yet.
    case new
    /// ICE or DTLS are at work.
    case connecting
    /// ICE and DTLS are up.
    case connected
    /// A transport went silent.
    case disconnected
    /// A transport failed.
    case failed
    /// Closed by us.
    case closed
}

/// How a WebRTCBin is set up (gstreamer.md R5).
public struct WebRTCSettings: Sendable {
    /// Jitter buffer depth; 500 ms for recording lets retransmissions arrive.
    public var latency: Duration = .milliseconds(500)
    /// Whether TCP candidates are gathered.
    public var gathersTCP = false
    /// Local UDP ports; nil leaves the choice to the system.
    public var portRange: ClosedRange<UInt16>?
    /// Addresses to gather from, loopback included; empty means every interface but loopback.
    public var hostAddresses: [String] = []
    /// `stun://host:port`; nil for none.
    public var stunServer: String?
    /// `turn://user:password@host:port`, `turns://…`, user and password percent-encoded.
    public var turnServers: [String] = []
    /// Streams one connection may carry: a bound against peers that change SSRC for ever.
    public var maximumStreams = 16

    /// The defaults for recording.
    public init() {}
}

/// A source pad of webrtcbin that nothing has been attached to yet; its data flow is blocked.
public struct ReceivedStream: Sendable {
    /// What the pad's caps say.
    public let format: RTPFormat?
    let pad: Pad
    let block: PadBlock
}

/// One webrtcbin in a pipeline of its own: the C object of one peer connection.
///
/// Everything but `requestKeyframe` and the counters is called on the control thread. webrtcbin only sees descriptions
/// that the `SDP` target has normalised.
public final class WebRTCBin: Sendable {
    let pipeline: Pipeline
    let element: Element
    private let transports: Mutex<[Element]> = Mutex([])
    private let sessions: Mutex<[Element]> = Mutex([])
    private let watcher: RTCPWatcher

    /// Builds the pipeline and starts it.
    ///
    /// - Parameters:
    ///   - id: names the connection in the sender reports of `queue`.
    ///   - baseTimeNanoseconds: the session's common base time.
    ///   - onEvent: called on GStreamer's threads; must not block nor call GStreamer.
    ///   - onBus: the same.
    public init(
        id: UInt64,
        settings: WebRTCSettings,
        certificate: Certificate,
        queue: UnitQueue?,
        baseTimeNanoseconds: UInt64,
        onEvent: @escaping @Sendable (WebRTCEvent) -> Void,
        onBus: @escaping @Sendable (BusEvent) -> Void
    ) throws(GStreamerError) {
        self.pipeline = try Pipeline(name: "peer-\(id)", onBus: onBus)
        self.element = try Element(factory: "webrtcbin")
        self.watcher = RTCPWatcher(id: id, queue: queue)
        try self.element.set("bundle-policy", "max-bundle")
        try self.element.set("latency", "\(Int(settings.latency.timeInterval * 1000))")
        self.connect(settings: settings, certificate: certificate, onEvent: onEvent)
        self.pipeline.add(self.element)
        try self.configureAgent(settings)
        try self.configureRTPBin(settings)
        try self.pipeline.play(baseTimeNanoseconds: baseTimeNanoseconds)
    }

    /// The pipeline in the DOT language.
    public var graph: String { self.pipeline.graph }

    /// Frees everything.
    ///
    /// Control thread only.
    public func stop() {
        self.pipeline.stop()
        self.transports.withLock { $0.removeAll() }
        self.sessions.withLock { $0.removeAll() }
    }

    // MARK: Negotiation

    /// Our offer for the m-lines added before.
    public func createOffer() async throws -> String {
        let text = try await awaitReply(field: "offer", "create-offer") {
            CGst_webrtc_create_offer(self.element.pointer, $0)
        }
        return text ?? ""
    }

    /// Our answer to the offer set before.
    public func createAnswer() async throws -> String {
        let text = try await awaitReply(field: "answer", "create-answer") {
            CGst_webrtc_create_answer(self.element.pointer, $0)
        }
        return text ?? ""
    }

    /// Sets our own description; gathering starts.
    public func setLocalDescription(_ type: DescriptionType, _ sdp: String) async throws {
        try await self.setDescription(type, sdp, "set-local-description", CGst_webrtc_set_local_description)
    }

    /// Sets the peer's normalised description.
    public func setRemoteDescription(_ type: DescriptionType, _ sdp: String) async throws {
        try await self.setDescription(type, sdp, "set-remote-description", CGst_webrtc_set_remote_description)
    }

    private func setDescription(
        _ type: DescriptionType,
        _ sdp: String,
        _ what: String,
        _ set: (
            UnsafeMutablePointer<GstElement>?, UnsafeMutablePointer<GstWebRTCSessionDescription>?,
            UnsafeMutablePointer<GstPromise>?
        ) -> Void
    ) async throws {
        let kind = type == .offer ? GST_WEBRTC_SDP_TYPE_OFFER : GST_WEBRTC_SDP_TYPE_ANSWER
        guard let description = CGst_session_description_new(kind, sdp) else {
            throw GStreamerError(.negotiation, "\(what): the description does not parse")
        }
        defer { gst_webrtc_session_description_free(description) }
        _ = try await awaitReply(what) { set(self.element.pointer, description, $0) }
    }

    /// Adds a candidate of the peer.
    public func addRemoteCandidate(mLineIndex: Int, line: String) {
        CGst_webrtc_add_ice_candidate(self.element.pointer, guint(clamping: mLineIndex), line)
    }

    /// Adds a receive-only m-line to the next offer, with retransmission for video.
    public func addReceiver(caps: String, retransmission: Bool) throws(GStreamerError) {
        guard let parsed = gst_caps_from_string(caps) else {
            throw GStreamerError(.parse, "caps '\(caps)' do not parse")
        }
        defer { gst_caps_unref(parsed) }
        guard
            let transceiver = CGst_webrtc_add_transceiver(
                self.element.pointer,
                GST_WEBRTC_RTP_TRANSCEIVER_DIRECTION_RECVONLY,
                parsed
            )
        else { throw GStreamerError(.negotiation, "webrtcbin added no transceiver for '\(caps)'") }
        defer { gst_object_unref(UnsafeMutableRawPointer(transceiver)) }
        if retransmission {
            try setProperty(of: UnsafeMutableRawPointer(transceiver), "do-nack", "true")
        }
    }

    // MARK: Authenticity

    /// The certificates that the peer showed in its DTLS handshakes, PEM.
    ///
    /// Control thread.
    public var peerCertificates: [String] {
        self.transports.withLock { transports in
            transports.compactMap { transport in
                guard let pem = CGst_get_string(transport.pointer, "peer-pem") else { return nil }
                defer { g_free(pem) }
                return String(cString: pem)
            }
        }
    }

    /// `CLOCK_MONOTONIC` of the last RTCP packet; nil before the first.
    ///
    /// Any thread.
    public var lastReportNanoseconds: Int64? {
        self.watcher.lastReportNanoseconds
    }

    /// Interarrival jitter in milliseconds (RFC 3550, 6.4.1); nil for a source that nothing came from.
    ///
    /// Control thread.
    public func jitterMilliseconds(ssrc: UInt32) -> Double? {
        var seconds = 0.0
        let isKnown = self.sessions.withLock { sessions in
            sessions.contains { CGst_rtp_source_jitter($0.pointer, ssrc, &seconds) != 0 }
        }
        return isKnown ? seconds * 1000 : nil
    }

    // MARK: Streams

    /// Attaches a branch to a stream and lets its data flow.
    ///
    /// Control thread.
    ///
    /// - Parameters:
    ///   - launch: a depayloader, without a sink.
    ///   - tap: takes the units at the branch's end.
    public func receive(_ stream: ReceivedStream, through launch: String, into tap: TrackTap) throws(GStreamerError) {
        let branch = try self.pipeline.add(branch: launch + " ! appsink name=units sync=false max-buffers=8")
        guard let sink = branch.child(named: "units") else {
            throw GStreamerError(.parse, "the branch has no appsink")
        }
        tap.attach(to: stream.pad)
        tap.attach(toSink: sink)
        try self.attach(branch, to: stream)
    }

    /// Lets a stream flow to nowhere: a pad that is not linked stops the whole connection (gstreamer.md fact 6).
    public func discard(_ stream: ReceivedStream) throws(GStreamerError) {
        let sink = try Element(factory: "fakesink")
        try sink.set("sync", "false")
        try sink.set("async", "false")
        self.pipeline.add(sink)
        try self.attach(sink, to: stream)
    }

    private func attach(_ branch: Element, to stream: ReceivedStream) throws(GStreamerError) {
        gst_element_sync_state_with_parent(branch.pointer)
        try stream.pad.link(to: try branch.staticPad("sink"))
        stream.block.remove()
    }

    /// Whether a stream can be asked for keyframes: the pad to ask.
    public func keyframeTarget(of stream: ReceivedStream) -> Pad {
        stream.pad
    }

    // MARK: Set-up

    private func configureAgent(_ settings: WebRTCSettings) throws(GStreamerError) {
        guard let ice = CGst_get_object(self.element.pointer, "ice-agent") else {
            throw GStreamerError(.property, "webrtcbin has no ICE agent")
        }
        defer { g_object_unref(ice) }
        try setProperty(of: ice, "ice-tcp", settings.gathersTCP ? "true" : "false")
        if let range = settings.portRange {
            try setProperty(of: ice, "min-rtp-port", "\(range.lowerBound)")
            try setProperty(of: ice, "max-rtp-port", "\(range.upperBound)")
        }
        if let agent = CGst_get_object(ice, "agent") {
            defer { g_object_unref(agent) }
            // libnice may be built without UPnP; then there is nothing to switch off.
            if CGst_has_property(agent, "upnp") != 0 {
                try setProperty(of: agent, "upnp", "false")
            }
            try setProperty(of: agent, "keepalive-conncheck", "true")
        }
        if let server = settings.stunServer { try self.element.set("stun-server", server) }
        // The message must not repeat the server: it holds a password.
        for server in settings.turnServers where CGst_webrtc_add_turn_server(self.element.pointer, server) == 0 {
            throw GStreamerError(.property, "webrtcbin does not take one of the TURN servers")
        }
        for address in settings.hostAddresses where CGst_ice_add_local_address(ice, address) == 0 {
            throw GStreamerError(.property, "'\(address)' is not an address that ICE can gather from")
        }
    }

    private func configureRTPBin(_ settings: WebRTCSettings) throws(GStreamerError) {
        guard let rtpbin = self.element.child(named: "rtpbin") else { return }
        try rtpbin.set("max-streams", "\(settings.maximumStreams)")
        // Our sender reports say when media were captured, not when they were sent: picture and sound take different
        // times to encode, and a receiver would put them apart by the difference.
        try rtpbin.set("rtcp-sync-send-time", "false")
    }

    private func connect(
        settings: WebRTCSettings,
        certificate: Certificate,
        onEvent: @escaping @Sendable (WebRTCEvent) -> Void
    ) {
        let element = self.element
        element.connect("deep-element-added", handleElementAdded) { [weak self] (added: Element) in
            self?.configure(added, certificate: certificate)
        }
        element.connect("on-new-transceiver", handleTransceiver) { (transceiver: UnsafeMutableRawPointer) in
            // Only video: audio is concealed, not repeated. Nothing else may be done here (gstreamer.md fact 13).
            guard CGst_get_int(transceiver, "kind") == Int32(GST_WEBRTC_KIND_VIDEO.rawValue) else { return }
            gst_util_set_object_arg(transceiver.assumingMemoryBound(to: GObject.self), "do-nack", "true")
        }
        element.connect("on-ice-candidate", handleCandidate) { (candidate: (guint, String)) in
            onEvent(.localCandidate(mLineIndex: Int(candidate.0), line: candidate.1))
        }
        element.connect("pad-added", handlePad) { (pad: Pad) in
            let stream = ReceivedStream(format: pad.rtpFormat, pad: pad, block: pad.block())
            onEvent(.streamAppeared(stream))
        }
        element.connect("notify::ice-gathering-state", handleState) { (bin: Element) in
            let complete = Int32(GST_WEBRTC_ICE_GATHERING_STATE_COMPLETE.rawValue)
            if CGst_get_int(bin.pointer, "ice-gathering-state") == complete { onEvent(.gatheringComplete) }
        }
        element.connect("notify::ice-connection-state", handleState) { (bin: Element) in
            let state = Int(CGst_get_int(bin.pointer, "ice-connection-state"))
            if let state = ICEState(rawValue: state) { onEvent(.iceState(state)) }
        }
        element.connect("notify::connection-state", handleState) { (bin: Element) in
            let state = Int(CGst_get_int(bin.pointer, "connection-state"))
            if let state = ConnectionState(rawValue: state) { onEvent(.connectionState(state)) }
        }
    }

    /// Gives the parts that webrtcbin makes for itself our settings.
    ///
    /// The thread that adds them; before they run.
    private func configure(_ added: Element, certificate: Certificate) {
        switch added.factoryName {
        case "dtlssrtpdec":
            // Typed throws cannot cross the signal: an element of this name without the property is no dtlssrtpdec.
            try? added.set("pem", certificate.pem)
            self.transports.withLock { $0.append(added) }
        case "rtpsession":
            self.watcher.watch(rtpSession: added)
            self.sessions.withLock { $0.append(added) }
        case "rtpjitterbuffer":
            // Without it the first packets wait for the whole latency.
            try? added.set("faststart-min-packets", "1")
        default:
            break
        }
    }
}

/// Which side of offer and answer a description is.
public enum DescriptionType: Sendable, Hashable {
    /// The first description of an exchange.
    case offer
    /// The reply to it.
    case answer
}

extension Element {
    /// The element of that name anywhere inside this bin; nil if there is none or this is no bin.
    func child(named name: String) -> Element? {
        let bin = UnsafeMutableRawPointer(self.pointer).assumingMemoryBound(to: GstBin.self)
        return gst_bin_get_by_name(bin, name).map { Element(adopting: $0) }
    }

    /// Connects a signal through a box that C releases when the element goes.
    fileprivate func connect<Value, Thunk>(
        _ signal: String,
        _ thunk: Thunk,
        _ call: @escaping @Sendable (Value) -> Void
    ) {
        let box = CallbackBox<Value>(call)
        let function = unsafeBitCast(thunk, to: UnsafeMutableRawPointer.self)
        _ = CGst_connect(self.pointer, signal, function, box.retained(), releaseClosure)
    }
}

// Thunks: unwrap the C arguments and hand Swift values over. They run on GStreamer's threads and never block.

private let handleElementAdded:
    @convention(c) (
        UnsafeMutablePointer<GstElement>?, UnsafeMutablePointer<GstElement>?, UnsafeMutablePointer<GstElement>?,
        gpointer?
    ) -> Void = { _, _, added, user in
        guard let added else { return }
        CallbackBox<Element>.from(user)?.call(Element(referencing: added))
    }

private let handleTransceiver:
    @convention(c) (UnsafeMutablePointer<GstElement>?, UnsafeMutableRawPointer?, gpointer?) -> Void = {
        _,
        transceiver,
        user in
        guard let transceiver else { return }
        CallbackBox<UnsafeMutableRawPointer>.from(user)?.call(transceiver)
    }

private let handleCandidate:
    @convention(c) (UnsafeMutablePointer<GstElement>?, guint, UnsafePointer<CChar>?, gpointer?) -> Void = {
        _,
        mLineIndex,
        line,
        user in
        guard let line else { return }
        CallbackBox<(guint, String)>.from(user)?.call((mLineIndex, String(cString: line)))
    }

private let handlePad:
    @convention(c) (UnsafeMutablePointer<GstElement>?, UnsafeMutablePointer<GstPad>?, gpointer?) -> Void = {
        _,
        pad,
        user in
        guard let pad, gst_pad_get_direction(pad) == GST_PAD_SRC else { return }
        CallbackBox<Pad>.from(user)?.call(Pad(referencing: pad))
    }

private let handleState:
    @convention(c) (UnsafeMutablePointer<GstElement>?, UnsafeMutableRawPointer?, gpointer?) -> Void = {
        bin,
        _,
        user in
        guard let bin else { return }
        CallbackBox<Element>.from(user)?.call(Element(referencing: bin))
    }
