// SPDX-License-Identifier: Apache-2.0

internal import Basics
internal import CGStreamer
internal import CTapedeck
internal import Synchronization

/// One webrtcbin in a separate pipeline: the C object of one peer connection.
///
/// Everything but `requestKeyframe` and the counters is called on the control thread. webrtcbin only sees descriptions
/// that the `SDP` target has normalised. docs/gstreamer.md has what it does in its own way.
public final class WebRTCBin: Sendable {
    /// How long packets of what is recorded may gather in the kernel: what two Opus packets last, and far less than the
    /// recording's latency.
    private static let gatherMilliseconds = 40
    /// How often senders hear which packets arrived: as often as from browsers.
    private static let transportFeedbackNanoseconds: UInt = 100_000_000

    let pipeline: Pipeline
    let element: Element
    let transports: Mutex<[Element]> = Mutex([])
    let encryptors: Mutex<[Element]> = Mutex([])
    private let sessions: Mutex<[Element]> = Mutex([])
    let path: ReceivePath
    private let isStopped = Atomic(false)
    private let memory = FreeMemory.current
    /// The signal handler for the selected pair; 0 before it is connected, and afterwards.
    private let pairHandler = Mutex<gulong>(0)
    private let watcher: RTCPWatcher
    let congestion = CongestionWatcher()
    /// Whether TURN servers may lend it addresses.
    public let usesRelays: Bool

    /// Builds the pipeline and starts it.
    ///
    /// - Parameters:
    ///   - id: names the connection in the sender reports of `queue`.
    ///   - queue: where units and reports are recorded from; nil if nothing is. Only what is recorded may wait for more
    ///     packets before it is looked at.
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
        CTapedeck_use_packet_sources()
        self.pipeline = try Pipeline(name: "peer-\(id)", onBus: onBus)
        self.element = try Element(factory: "webrtcbin")
        self.watcher = RTCPWatcher(id: id, queue: queue, baseTimeNanoseconds: baseTimeNanoseconds)
        self.path = ReceivePath(
            maximumSources: settings.maximumSources,
            gatherMilliseconds: queue == nil || settings.takesWholeWay ? 0 : Self.gatherMilliseconds,
            packetsPerLook: settings.packetsPerLook ?? 0,
            takesWholeWay: settings.takesWholeWay
        ) { event in
            switch event {
            case .sourceRefused: onEvent(.sourcesExhausted)
            case .keyRefused: onEvent(.mediaForged)
            case .heldUpOthers: onEvent(.heldUpOthers)
            }
        }
        self.usesRelays = !settings.turnServers.isEmpty
        self.memory.connectionBegan()
        try self.element.set("bundle-policy", "max-bundle")
        try self.element.set("latency", "\(settings.latency.milliseconds)")
        self.connect(certificate: certificate, onEvent: onEvent)
        self.pipeline.add(self.element)
        do {
            try self.configureAgent(settings, onEvent: onEvent)
            try self.configureRTPBin(settings)
            try self.pipeline.play(baseTimeNanoseconds: baseTimeNanoseconds)
        } catch {
            self.pipeline.stop()
            throw error
        }
    }

    deinit { self.memory.connectionEnded() }

    /// The pipeline in the DOT language.
    public var graph: String { self.pipeline.graph }

    /// Stops everything; it is freed with the object.
    ///
    /// Packets that wait for a missing one continue without it.
    ///
    /// TURN servers get their allocations back: where any are used, the object should live on for a moment. Control
    /// thread only.
    public func stop() {
        self.path.close()
        self.pipeline.stop()
        self.isStopped.store(true, ordering: .relaxed)
        if self.usesRelays { self.withAgent { self.endICE($0) } }
        self.transports.withLock { $0.removeAll() }
        self.encryptors.withLock { $0.removeAll() }
        self.sessions.withLock { $0.removeAll() }
    }

    private func endICE(_ agent: UnsafeMutableRawPointer) {
        let handler = self.pairHandler.withLock { handler in
            defer { handler = 0 }
            return handler
        }
        // It reads candidates of the agent, which go with the stream.
        if handler != 0 { g_signal_handler_disconnect(agent, handler) }
        CTapedeck_ice_end(agent)
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

    /// Restarts ICE, before an offer of the peer that asks for it is set (RFC 8445 section 9).
    ///
    /// Media keep their path until there is a new one. Control thread.
    ///
    /// - Returns: our new credentials, which the next local description must name: webrtcbin 1.22 does not know them.
    ///   nil if there is no transport yet.
    public func restartICE() -> (ufrag: String, password: String)? {
        self.withAgent { agent in
            var ufrag: UnsafeMutablePointer<CChar>?
            var password: UnsafeMutablePointer<CChar>?
            guard CTapedeck_ice_restart(agent, &ufrag, &password) != 0, let ufrag, let password else { return nil }
            defer {
                g_free(ufrag)
                g_free(password)
            }
            return (String(cString: ufrag), String(cString: password))
        } ?? nil
    }

    private func withAgent<Result>(_ body: (UnsafeMutableRawPointer) -> Result) -> Result? {
        guard let ice = CGst_get_object(self.element.pointer, "ice-agent") else { return nil }
        defer { g_object_unref(ice) }
        guard let agent = CGst_get_object(ice, "agent") else { return nil }
        defer { g_object_unref(agent) }
        return body(agent)
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

    /// Packets that were dropped because they are of more sources than a connection may have.
    ///
    /// Any thread.
    public var refusedPackets: UInt64 { self.path.counters.refused }

    /// Packets of media that were not made with the key of the handshake.
    ///
    /// Any thread.
    public var forgedPackets: UInt64 { self.path.counters.forged }

    /// Counts of the packets of each source that any came of.
    ///
    /// Any thread; also after `stop`, for the last time.
    public var sourceCounters: [SourceCounters] {
        let isStopped = self.isStopped.load(ordering: .relaxed)
        var sources = self.path.sources
        for index in sources.indices { sources[index].sortWaiting(isStopped: isStopped) }
        return sources
    }

    /// Accepts packets of these payload types, 0 to 127, of those that were accepted before, and of no others.
    ///
    /// Before the description that names them is set. All are accepted before the first call. Any thread.
    public func acceptPayloadTypes(_ payloadTypes: Set<UInt8>) {
        self.path.accept(payloadTypes)
    }

    /// Sender reports that were left out, because there are too many of them.
    ///
    /// Any thread.
    public var droppedReports: UInt64 { self.watcher.droppedReports }

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

    /// Round trip to the peer in milliseconds (RFC 3550, 6.4.1); nil before the peer reported on media of ours.
    ///
    /// Control thread.
    public var roundTripMilliseconds: Double? {
        self.sessions.withLock { sessions in
            sessions.compactMap { session in
                var seconds = 0.0
                return CTapedeck_rtp_session_round_trip(session.pointer, &seconds) != 0 ? seconds * 1000 : nil
            }.max()
        }
    }

    // MARK: Streams

    /// Attaches a branch to a stream and lets its data flow.
    ///
    /// Control thread.
    ///
    /// - Parameters:
    ///   - depayloading: what makes units of its packets.
    ///   - tap: takes the units.
    public func receive(
        _ stream: ReceivedStream,
        by depayloading: Depayloading,
        into tap: TrackTap
    ) throws(GStreamerError) {
        tap.depayload(depayloading)
        if let launch = depayloading.launch {
            // A sink that waits for the others to have something would wait for ever: one thread brings it to all of them.
            let sinkLaunch = "appsink name=units sync=false async=false max-buffers=8"
            let branch = try self.pipeline.add(branch: "\(launch) ! \(sinkLaunch)")
            guard let sink = branch.child(named: "units") else {
                throw GStreamerError(.parse, "the branch has no appsink")
            }
            stream.hold.hasTap.store(true, ordering: .relaxed)
            tap.attach(to: stream.pad)
            tap.attach(toSink: sink)
            try self.attach(branch, to: stream)
        } else {
            stream.hold.hasTap.store(true, ordering: .relaxed)
            tap.attach(to: stream.pad)
            try self.discard(stream)
        }
    }

    /// Lets the packets of a stream that is received go around the parts of rtpbin that have nothing to do for them.
    ///
    /// Control thread.
    ///
    /// - Returns: false if they take the whole way through a part of webrtcbin: an element on it must see every packet,
    ///   is not known here, or the settings want it so.
    public func shortenPath(of stream: ReceivedStream) -> Bool {
        let isShort = self.path.takes(stream)
        if !isShort { ReceivePath.countLongTrack() }
        return isShort
    }

    /// Where a stream can be sent on as it comes; to be called before the stream is received or discarded.
    ///
    /// Control thread.
    public func fork(_ stream: ReceivedStream, ssrc: UInt32, isVideo: Bool) -> RTPFork {
        let fork = RTPFork(watcher: self.watcher, ssrc: ssrc, isVideo: isVideo)
        fork.attach(to: stream.pad)
        return fork
    }

    /// Lets a stream flow to nowhere: a pad that is not linked stops the whole connection.
    public func discard(_ stream: ReceivedStream) throws(GStreamerError) {
        let sink = try Element(factory: "fakesink")
        try sink.set("sync", "false")
        try sink.set("async", "false")
        self.pipeline.add(sink)
        try self.attach(sink, to: stream)
    }

    /// The text of a header extension, 1 to 14, in the first packets of a stream to which nothing is attached yet.
    public func headerExtension(_ id: UInt8, of stream: ReceivedStream) -> String? {
        stream.hold.headerExtension(id)
    }

    /// Lets a stream flow to nowhere, and asks for none of its packets.
    public func refuse(_ stream: ReceivedStream) throws(GStreamerError) {
        if let ssrc = stream.format?.ssrc { self.path.askForMissing(of: ssrc, false) }
        try self.discard(stream)
    }

    private func attach(_ branch: Element, to stream: ReceivedStream) throws(GStreamerError) {
        gst_element_sync_state_with_parent(branch.pointer)
        try stream.hold.release(to: try branch.staticPad("sink"))
    }

    /// Whether a stream can be asked for keyframes: the pad to ask.
    public func keyframeTarget(of stream: ReceivedStream) -> Pad {
        stream.pad
    }

    // MARK: Set-up

    private func configureAgent(
        _ settings: WebRTCSettings,
        onEvent: @escaping @Sendable (WebRTCEvent) -> Void
    ) throws(GStreamerError) {
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
            let box = CallbackBox<SelectedPair> { onEvent(.pairSelected($0)) }
            let function = unsafeBitCast(handlePair, to: UnsafeMutableRawPointer.self)
            let handler = CGst_connect(agent, "new-selected-pair-full", function, box.retained(), releaseClosure)
            self.pairHandler.withLock { $0 = handler }
        }
        if settings.relaysOnly { try self.element.set("ice-transport-policy", "relay") }
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
        self.path.met(rtpbin)
        // Our sender reports state when media were captured, not when they were sent: video and audio take different
        // times to encode, and a receiver would separate them by the difference.
        try rtpbin.set("rtcp-sync-send-time", "false")
    }

    private func connect(certificate: Certificate, onEvent: @escaping @Sendable (WebRTCEvent) -> Void) {
        let element = self.element
        element.connect("deep-element-added", handleElementAdded) { [weak self] (added: Element) in
            self?.configure(added, certificate: certificate)
        }
        element.connect("on-new-transceiver", handleTransceiver) { (transceiver: UnsafeMutableRawPointer) in
            // Only video: audio is concealed, not repeated. Nothing else may be done here.
            guard CGst_get_int(transceiver, "kind") == Int32(GST_WEBRTC_KIND_VIDEO.rawValue) else { return }
            gst_util_set_object_arg(transceiver.assumingMemoryBound(to: GObject.self), "do-nack", "true")
        }
        element.connect("on-ice-candidate", handleCandidate) { (candidate: (guint, String)) in
            onEvent(.localCandidate(mLineIndex: Int(candidate.0), line: candidate.1))
        }
        element.connect("pad-added", handlePad) { [path = self.path] (pad: Pad) in
            let format = pad.rtpFormat
            // webrtcbin 1.22 asks for what the last source in the peer's description is, whatever this one is, and for
            // nothing if the peer names no sources. Audio is concealed, not repeated. Unknown payload types share the
            // buffer of the known ones of their source.
            if let format, let ssrc = format.ssrc {
                path.askForMissing(of: ssrc, format.media == "video" && format.takesNACK)
            }
            let hold = PadHold(pad, counting: format?.ssrc.map { (path, $0) })
            let stream = ReceivedStream(format: format, pad: pad, hold: hold)
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
        self.path.met(added)
        switch added.factoryName {
        case "dtlssrtpdec":
            // Typed throws cannot cross the signal: an element of this name without the property is no dtlssrtpdec.
            try? added.set("pem", certificate.pem)
            self.transports.withLock { $0.append(added) }
        case "dtlssrtpenc":
            self.encryptors.withLock { $0.append(added) }
        case "rtpsession":
            self.watcher.watch(rtpSession: added)
            self.congestion.watch(rtpSession: added)
            CGst_rtp_session_space_transport_feedback(added.pointer, Self.transportFeedbackNanoseconds)
            self.sessions.withLock { $0.append(added) }
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

private let handlePair:
    @convention(c) (
        UnsafeMutableRawPointer?, guint, guint, UnsafeMutableRawPointer?, UnsafeMutableRawPointer?, gpointer?
    ) -> Void = { agent, stream, component, local, remote, user in
        guard let agent, let local, let remote else { return }
        let pair = SelectedPair(local: local, remote: remote, of: agent, stream: stream, component: component)
        CallbackBox<SelectedPair>.from(user)?.call(pair)
    }

private let handleState:
    @convention(c) (UnsafeMutablePointer<GstElement>?, UnsafeMutableRawPointer?, gpointer?) -> Void = {
        bin,
        _,
        user in
        guard let bin else { return }
        CallbackBox<Element>.from(user)?.call(Element(referencing: bin))
    }
