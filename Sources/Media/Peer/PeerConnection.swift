// SPDX-License-Identifier: Apache-2.0

public import Basics
public import GStreamer
public import Logging
internal import Matroska
internal import Observability
internal import Recording
public import SDP
public import Session
public import Signalling
internal import Synchronization
internal import Timeline

/// One peer connection: webrtcbin, the negotiation around it, and the tracks on it.
///
/// Its owner calls one async method at a time, in the order of the session machine's actions. Unsolicited events come
/// out through `onEvent`, from GStreamer's and the control thread.
public final class PeerConnection: Sendable {
    private let id: ConnectionID
    let peer: PeerID
    let context: PeerConnectionContext
    let logger: Logger
    let onEvent: @Sendable (ConnectionEvent) -> Void
    let state: Mutex<State>

    struct State {
        var negotiation: NegotiationState
        var bin: WebRTCBin?
        var isClosed = false
        /// The count of `bin` when it was released.
        var refusedPackets: UInt64 = 0
        var forgedPackets: UInt64 = 0
        var sources: [SourceCounters] = []
        var droppedReports: UInt64 = 0
        /// When the first offer of either side was there, and what followed it.
        var setup = SetupTimes()
        var verdict = Verdict.pending
        var isConnected = false
        /// All of ours, in webrtcbin's text.
        var localCandidates: [String] = []
        /// The pair that ICE chose, and the TURN servers by address.
        var pair: SelectedPair?
        var relays: [String: String] = [:]
        /// Multicast names of the peer that were looked up.
        var namesLookedUp = 0
        var isGathered = false
        var waitsForGathering: OneShot<Void, Never>?
        var descriptionSent = false
        var waiting: [ReceivedStream] = []
        /// Which layers are recorded, by m-line, and the streams of layers that wait for a better one.
        var layers: [Int: LayerChoice] = [:]
        var waitingLayers: [WaitingLayer] = []
        /// Sources of layers that are not recorded.
        var otherLayers: Set<UInt32> = []
        var taps: [TrackTap] = []
        /// Senders, by inner m-line, and their feeds; one m-line of each kind is fed.
        var senders: [Int: Sender] = [:]
        var consumers: [Int: FanOut.Consumer] = [:]
        /// Counters of m-lines that are fed no more.
        var sentBefore: [MediaCodec: ConsumerCounters] = [:]
        /// Kinds that the peer listens for and does not get, as last reported.
        var unserved: Set<MediaKind> = []
        /// M-lines on which the peer would send and that were refused, as last said.
        var refused: [Int: String] = [:]
        var chat: ChatReceiver?
        /// The rate that its network takes; nil where the rate is fixed.
        var rate: RateController?
    }

    struct Sender {
        var branch: SendBranch
        var codec: MediaCodec
    }

    /// The result of comparing the peer's certificate with its description.
    enum Verdict {
        case pending
        case genuine
        case forged
    }

    /// A connection of which nothing runs yet.
    public init(
        id: ConnectionID,
        peer: PeerID,
        context: PeerConnectionContext,
        logger: Logger,
        onEvent: @escaping @Sendable (ConnectionEvent) -> Void
    ) {
        self.id = id
        self.peer = peer
        self.context = context
        var logger = logger
        logger[key: .peerID] = "\(peer)"
        logger[key: .connectionID] = "\(id)"
        self.logger = logger
        self.onEvent = onEvent
        let negotiation = NegotiationState(policy: context.policy, ourFingerprints: context.fingerprints)
        self.state = Mutex(State(negotiation: negotiation, rate: context.camera?.rateController))
    }

    // MARK: Actions of the session machine

    /// Builds and starts the pipeline.
    public func open() async {
        await self.perform("open") {
            let servers = await self.context.servers.servers()
            var settings = self.context.settings
            settings.stunServer = servers.stun
            settings.turnServers = servers.turn
            self.state.withLock { $0.relays = servers.names }
            try await self.context.control.run("opening a peer connection") { [weak self, settings] in
                guard let self else { throw GStreamerError(.interrupted, "the connection is gone") }
                let bin = try WebRTCBin(
                    id: self.id.rawValue,
                    settings: settings,
                    certificate: self.context.certificate,
                    queue: self.context.recorder?.queue,
                    baseTimeNanoseconds: self.context.baseTimeNanoseconds,
                    onEvent: { [weak self] event in self?.handle(event) },
                    onBus: { [weak self] event in self?.handle(event) }
                )
                // The caller that waited for it may have left in between: nothing must stay that plays.
                let isClosed = self.state.withLock { state in
                    if !state.isClosed { state.bin = bin }
                    return state.isClosed
                }
                guard !isClosed else { return bin.stop() }
                for sink in self.context.sinks {
                    // Its last counts are read when it is closed.
                    sink.opened(connection: self.id.rawValue, participant: self.peer.rawValue) { self.sourceCounts }
                }
            }
        }
    }

    /// Makes our offer; `offerCreated` follows.
    public func createOffer() async {
        await self.perform("offer") {
            guard let bin = self.bin else { return }
            self.note(\.offer)
            try await self.context.control.run("preparing an offer") { try self.prepareOffer(bin) }
            let inner = try await bin.createOffer()
            let (toSet, outer) = try self.state.withLock { try $0.negotiation.offerCreated(inner: inner) }
            try await bin.setLocalDescription(.offer, toSet)
            self.onEvent(.offerCreated(await self.withCandidates(outer)))
        }
    }

    /// Applies an offer of the peer; `answerCreated`, `rebuildNeeded`, `offerDeclined` or `descriptionRefused` follows.
    public func applyOffer(_ offer: SessionDescription) async {
        await self.perform("answer") {
            guard let bin = self.bin else { return }
            self.note(\.offer)
            let decision: OnOffer
            do {
                decision = try self.state.withLock { state throws(SDPError) in
                    try state.negotiation.offerReceived(offer)
                }
            } catch {
                self.onEvent(.descriptionRefused(reason: "\(error)"))
                return
            }
            switch decision {
            case .reply(let outer):
                try await self.context.control.run("listening to data channels") { self.takeWhatIsNew(bin) }
                for decision in self.state.withLock({ $0.negotiation.onNewCandidates }) { await self.follow(decision) }
                self.tellRefused()
                self.tellAwaited()
                // The peer did not get the answer before if this offer superseded its offer.
                self.onEvent(.answerCreated(self.embeddingCandidates(in: outer)))
            case .rebuild(let reason):
                self.onEvent(.rebuildNeeded(reason: reason.rawValue))
            case .decline(let outer, let reason):
                self.onEvent(.offerDeclined(outer, reason: reason))
            case .apply(let inner):
                self.acceptPayloadTypes(bin)
                let renewed = try await self.restartICE(bin)
                try await bin.setRemoteDescription(.offer, inner)
                try await self.context.control.run("preparing an answer") { try self.prepareAnswer(bin) }
                let made = try await bin.createAnswer()
                let (toSet, outer) = try self.state.withLock {
                    try $0.negotiation.answerCreated(inner: made, ice: renewed)
                }
                try await bin.setLocalDescription(.answer, toSet)
                try await self.context.control.run("listening to data channels") { self.takeWhatIsNew(bin) }
                self.resolveNames(in: offer)
                self.tellRefused()
                self.tellAwaited()
                let described = await self.withCandidates(outer)
                self.note(\.answer)
                self.onEvent(.answerCreated(described))
            }
        }
    }

    /// Applies the peer's answer to our offer.
    public func applyAnswer(_ answer: SessionDescription) async {
        await self.perform("accept the answer") {
            guard let bin = self.bin else { return }
            self.noteAnswer()
            let inner: String
            do {
                inner = try self.state.withLock { state throws(SDPError) in
                    try state.negotiation.answerReceived(answer)
                }
            } catch {
                self.onEvent(.descriptionRefused(reason: "\(error)"))
                return
            }
            for refused in self.state.withLock({ $0.negotiation.refusedMedia }) {
                self.logger.warning(
                    "the answer does not take what we offered: the rest of the call continues without it",
                    metadata: .tagged([.detail: "\(refused.media): \(refused.reason)"])
                )
            }
            try await self.context.control.run("preparing what the answer picked") { try self.adaptSenders(bin) }
            self.logUnserved()
            self.acceptPayloadTypes(bin)
            try await bin.setRemoteDescription(.answer, inner)
            self.resolveNames(in: answer)
            self.tellAwaited()
        }
    }

    /// Gives webrtcbin a candidate of the peer, or says in the log why not.
    public func addCandidate(_ candidate: ICECandidate) async {
        let decision = self.state.withLock { state in
            state.negotiation.innerCandidate(candidate.line, mLineIndex: candidate.mLineIndex, mid: candidate.mid)
        }
        await self.follow(decision)
    }

    private func follow(_ decision: OnRemoteCandidate) async {
        switch decision {
        case .add(let mLineIndex, let line):
            await self.add(line, mLineIndex: mLineIndex, to: self.bin)
        case .resolve(let mLineIndex, let candidate):
            self.resolve([candidate], mLineIndex: mLineIndex)
        case .ignore(let reason):
            self.logger.debug("candidate ignored", metadata: .tagged([.detail: "\(reason.rawValue)"]))
        }
    }

    /// Waits, while it records, until nothing has come for 60 ms, 300 ms at most.
    ///
    /// A room reports that a peer left before the peer's last packets are here.
    public func takeWhatIsOnItsWay() async {
        guard self.context.recorder != nil else { return }
        let deadline = ContinuousClock.now + .milliseconds(300)
        while ContinuousClock.now < deadline, let heard = self.lastHeardNanoseconds,
            Runtime.monotonicNanoseconds - heard < 60_000_000
        {
            try? await Task.sleep(for: .milliseconds(20))
        }
    }

    /// Ends everything and releases it; `closed` follows.
    ///
    /// Safe to call once, in any state.
    public func close(reason: String) async {
        let (bin, consumers, taps, wait) = self.state.withLock { state in
            state.isClosed = true
            state.refusedPackets = state.bin?.refusedPackets ?? 0
            state.forgedPackets = state.bin?.forgedPackets ?? 0
            state.sources = state.bin?.sourceCounters ?? []
            state.droppedReports = state.bin?.droppedReports ?? 0
            defer {
                state.bin = nil
                state.consumers.removeAll()
                state.sentBefore.removeAll()
                state.waiting.removeAll()
                state.waitingLayers.removeAll()
                state.senders.removeAll()
            }
            return (state.bin, Array(state.consumers.values), state.taps, state.waitsForGathering)
        }
        wait?.resume(with: .success(()))
        for consumer in consumers { consumer.remove() }
        do {
            try await self.context.control.run("closing a peer connection") { bin?.stop() }
        } catch {
            self.logger.critical("peer connection did not come down", metadata: .tagged([.errorMessage: "\(error)"]))
        }
        // The agent's own thread gives back what TURN servers lent; without it they would hold it for minutes.
        if let bin, bin.usesRelays { try? await Task.sleep(for: .milliseconds(200)) }
        for tap in taps { tap.close() }
        // With what waited in it until it was stopped.
        if let bin { self.state.withLock { $0.sources = bin.sourceCounters } }
        self.logChat()
        self.state.withLock { $0.taps.removeAll() }
        let (sinks, id) = (self.context.sinks, self.id.rawValue)
        _ = try? await self.context.control.run("closing tracks") {
            for sink in sinks { sink.close(connection: id, reason: reason) }
        }
        self.onEvent(.closed)
    }

    /// Whether RTP or reports about it should come.
    var hasMedia: Bool { self.state.withLock { $0.negotiation.hasAgreedMedia } }

    /// The kinds of media that the peer said it may send, and that we receive.
    var awaitedKinds: Set<MediaKind> { self.state.withLock { $0.negotiation.awaitedKinds } }

    /// `CLOCK_MONOTONIC` of the newest RTP or RTCP packet; nil before the first.
    ///
    /// Any thread.
    public var lastHeardNanoseconds: Int64? {
        let (bin, taps) = self.state.withLock { ($0.bin, $0.taps) }
        let times = taps.compactMap(\.counters.lastPacketNanoseconds) + [bin?.lastReportNanoseconds].compactMap { $0 }
        return times.max()
    }

    /// Interarrival jitter of a received track in milliseconds, if known.
    ///
    /// Control thread.
    func jitterMilliseconds(ssrc: UInt32) -> Double? {
        self.bin?.jitterMilliseconds(ssrc: ssrc)
    }

    /// Round trip in milliseconds, if known.
    ///
    /// Control thread.
    var roundTripMilliseconds: Double? { self.bin?.roundTripMilliseconds }

    /// Packets of more sources than the connection may have.
    ///
    /// Any thread.
    var refusedPackets: UInt64 { self.state.withLock { $0.bin?.refusedPackets ?? $0.refusedPackets } }

    /// Counts of the packets of each source, before they reached its taps.
    ///
    /// Any thread.
    var sources: [SourceCounters] { self.state.withLock { $0.bin?.sourceCounters ?? $0.sources } }

    /// Sender reports of which there were too many.
    ///
    /// Any thread.
    var droppedReports: UInt64 { self.state.withLock { $0.bin?.droppedReports ?? $0.droppedReports } }

    /// The pipeline's name and its graph in the DOT language; nil while there is none.
    ///
    /// Control thread.
    var graph: (name: String, dot: String)? {
        self.bin.map { ("peer-\(self.id)", $0.graph) }
    }

    /// Buffers sent so far, by codec.
    ///
    /// Any thread.
    public var sent: [MediaCodec: ConsumerCounters] {
        self.state.withLock { state in
            var sent = state.sentBefore
            for (line, consumer) in state.consumers {
                guard let codec = state.senders[line]?.codec else { continue }
                sent[codec] = consumer.counters.adding(sent[codec])
            }
            return sent
        }
    }

    /// Names what the peer would send and our answer refuses, once for each m-line and reason.
    private func tellRefused() {
        let new = self.state.withLock { state in
            let refused = state.negotiation.refusedSenders
            let new = refused.filter { state.refused[$0.outerIndex] != $0.reason }
            state.refused = Dictionary(
                refused.map { ($0.outerIndex, $0.reason) },
                uniquingKeysWith: { first, _ in first }
            )
            return new
        }
        for (_, kind, reason) in new {
            self.logger.warning(
                "our answer refuses what a participant would send: it is not recorded",
                metadata: .tagged([.detail: "\(kind.rawValue): \(reason)"])
            )
            for sink in self.context.sinks { sink.refused(connection: self.id.rawValue, kind, reason: reason) }
        }
    }

    /// Says what may come.
    private func tellAwaited() {
        let kinds = self.awaitedKinds
        for sink in self.context.sinks { sink.awaited(connection: self.id.rawValue, kinds) }
    }

    // MARK: Steps of the negotiation

    var bin: WebRTCBin? { self.state.withLock { $0.bin } }

    /// Fewer packets of another key are a handshake's, or a stranger's.
    private static let someForged: UInt64 = 100

    /// The same, with what the descriptions say of the payload types, and the packets of another key as a source.
    private var sourceCounts: [SourceCounts] {
        let counters = self.sources
        return self.state.withLock { state in
            var forged = SourceCounts(ssrc: .max)
            forged.forged = state.bin?.forgedPackets ?? state.forgedPackets
            let isNamed = forged.forged >= Self.someForged
            return (isNamed ? [forged] : [])
                + counters.map { counters in
                    var counts = SourceCounts(ssrc: counters.ssrc, packets: counters.packets)
                    for type in counters.packets.keys {
                        counts.uses[type] = state.negotiation.use(ofPayloadType: type)
                    }
                    counts.beyond = counters.typesBeyond
                    counts.restored = counters.restored
                    counts.late = counters.outOfSequence &+ counters.late
                    counts.notAccepted = counters.notAccepted &+ counters.typesBeyond
                    if state.otherLayers.contains(counters.ssrc) {
                        counts.otherLayer = counters.heldAndDropped
                    } else {
                        counts.queueFull = counters.heldAndDropped
                    }
                    counts.waiting = counters.waiting
                    return counts
                }
        }
    }

    /// Packets of payload types that webrtcbin will not know are dropped, and are no gap to others of their source.
    private func acceptPayloadTypes(_ bin: WebRTCBin) {
        bin.acceptPayloadTypes(self.state.withLock { $0.negotiation.innerPayloadTypes })
    }

    /// A step is done for the first time.
    private func note(_ step: any WritableKeyPath<SetupTimes, Int64?> & Sendable) {
        let now = Runtime.monotonicNanoseconds
        self.state.withLock { $0.setup[keyPath: step] = $0.setup[keyPath: step] ?? now }
    }

    /// An offer that was open for this long waited for a peer to come, which is not to blame for the delay.
    private func noteAnswer() {
        let now = Runtime.monotonicNanoseconds
        self.state.withLock { state in
            if let offer = state.setup.offer, now - offer > 15_000_000_000 { state.setup.offer = now }
            state.setup.answer = state.setup.answer ?? now
        }
    }

    func perform(_ what: String, _ body: () async throws -> Void) async {
        do {
            try await body()
        } catch {
            guard !self.state.withLock({ $0.isClosed }) else { return }
            self.onEvent(.negotiationFailed(reason: "\(what): \(error)"))
        }
    }

    /// Waits for the first candidates, 500 ms at most, and puts them into the description; those
    /// that come later are trickled.
    private func withCandidates(_ outer: SessionDescription) async -> SessionDescription {
        await withCheckedContinuation { (continuation: CheckedContinuation<Void, Never>) in
            let wait = OneShot(continuation)
            let isGathered = self.state.withLock { state in
                state.waitsForGathering = wait
                return state.isGathered || state.isClosed
            }
            if isGathered { wait.resume(with: .success(())) }
            wait.resume(with: .success(()), after: .milliseconds(500))
        }
        return self.embeddingCandidates(in: outer)
    }

    /// Puts the candidates that were found into the description.
    private func embeddingCandidates(in outer: SessionDescription) -> SessionDescription {
        self.state.withLock { state in
            state.descriptionSent = true
            state.waitsForGathering = nil
            return state.negotiation.embedding(
                candidates: state.localCandidates,
                isComplete: state.isGathered,
                in: outer
            )
        }
    }

    // MARK: Unsolicited events

    /// GStreamer's threads: no call into GStreamer, no waiting.
    private func handle(_ event: WebRTCEvent) {
        switch event {
        case .localCandidate(let mLineIndex, let line):
            self.trickle(mLineIndex: mLineIndex, line: line)
        case .gatheringComplete:
            let wait = self.state.withLock { state in
                state.isGathered = true
                return state.waitsForGathering
            }
            wait?.resume(with: .success(()))
        case .iceState(.disconnected):
            self.onEvent(.iceDisconnected)
        case .iceState(.failed):
            self.onEvent(.iceFailed)
        case .iceState(.connected), .iceState(.completed):
            self.note(\.ice)
        case .iceState:
            break
        case .connectionState(.connected):
            self.note(\.dtls)
            self.context.control.enqueue { [weak self] in self?.connectionCameUp() }
        case .connectionState:
            break
        case .pairSelected(let pair):
            self.pairChanged(pair)
        case .streamAppeared(let stream):
            self.state.withLock { $0.waiting.append(stream) }
            self.context.control.enqueue { [weak self] in self?.attachWaitingStreams() }
        case .sourcesExhausted:
            self.logger.warning(
                "a participant sends from too many sources or payload types: what comes of new ones is dropped"
            )
        case .mediaForged:
            self.logger.warning(
                "media came that were not encrypted with the key of the participant's handshake: they are dropped"
            )
        case .heldUpOthers:
            self.logger.notice("what a participant sent held up others: it is read alone for a while")
        }
    }

    private func handle(_ event: BusEvent) {
        switch event {
        case .error(let element, let message, let debug):
            guard !self.state.withLock({ $0.isClosed }) else { return }
            self.logger.debug(
                "pipeline error",
                metadata: .tagged([.elementName: "\(element)", .errorMessage: "\(message) \(debug ?? "")"])
            )
            self.onEvent(.negotiationFailed(reason: "\(element): \(message)"))
        case .warning(let element, let message):
            self.logger.debug(
                "pipeline warning",
                metadata: .tagged([.elementName: "\(element)", .errorMessage: "\(message)"])
            )
        case .endOfStream:
            break
        }
    }

    private func trickle(mLineIndex: Int, line: String) {
        let outgoing = self.state.withLock { state -> ICECandidate? in
            if mLineIndex == 0, state.localCandidates.count < Self.maximumCandidates {
                state.localCandidates.append(line)
            }
            guard state.descriptionSent else { return nil }
            return state.negotiation.outerCandidate(innerMLineIndex: mLineIndex, line: line).map {
                ICECandidate(line: $0.line, mLineIndex: $0.mLineIndex, mid: $0.mid)
            }
        }
        if let outgoing { self.onEvent(.localCandidate(outgoing)) }
    }

    // MARK: Control thread

    /// An offer in mid-call may bring data channels, and accept video or audio of ours that was refused before.
    private func takeWhatIsNew(_ bin: WebRTCBin) {
        self.receiveChat(bin)
        self.logUnserved()
        if self.state.withLock({ $0.isConnected }) { self.startSending(bin) }
    }

    private func connectionCameUp() {
        guard let bin = self.bin, self.isGenuine(bin) else { return }
        let isFirst = self.state.withLock { state in
            defer { state.isConnected = true }
            return !state.isConnected
        }
        self.attachWaitingStreams()
        self.takeChat()
        self.startSending(bin)
        if isFirst {
            for sink in self.context.sinks { sink.cameUp(connection: self.id.rawValue) }
            self.logPath("media path chosen")
            self.onEvent(.connected)
        }
    }

    private func attachWaitingStreams() {
        guard let bin = self.bin, self.isGenuine(bin) else { return }
        let streams = self.state.withLock { state in
            defer { state.waiting.removeAll() }
            return state.waiting
        }
        for stream in streams { self.take(stream, of: bin) }
    }

    /// Records a stream; what cannot be recorded flows to nowhere.
    func record(_ stream: ReceivedStream, of bin: WebRTCBin, layer: TrackLayer? = nil) {
        do {
            try self.attach(stream, to: bin, layer: layer)
        } catch {
            self.logger.error("track is not recorded", metadata: .tagged([.errorMessage: "\(error)"]))
            try? bin.discard(stream)
        }
    }

    private func attach(_ stream: ReceivedStream, to bin: WebRTCBin, layer: TrackLayer?) throws {
        let sinks = self.context.sinks
        guard !sinks.isEmpty, let format = stream.format, let depayloader = Depayloader(format),
            let ssrc = format.ssrc
        else {
            try bin.discard(stream)
            return
        }
        let media = self.state.withLock {
            $0.negotiation.media(forSSRC: ssrc, payloadType: UInt8(clamping: format.payloadType))
        }
        // Those of another payload type of the m-line are of another encoder.
        let stated = media.flatMap { Int($0.codec.payloadType) == format.payloadType ? $0.codec.parameterSets : nil }
        var setup = self.state.withLock { $0.setup }
        setup.packet = stream.appearedNanoseconds
        let track = ReceivedTrack(
            participant: self.peer.rawValue,
            codec: depayloader.codec,
            clockRateHz: format.clockRateHz,
            channels: depayloader.channels,
            ssrc: ssrc,
            payloadType: format.payloadType,
            mid: media?.mid,
            layer: layer,
            connection: self.id.rawValue,
            parameterSets: stated.map { H264ParameterSets(units: $0) }
        )
        let source = TrackSource(
            track,
            stream,
            bin,
            setup: setup,
            profileLevelID: format.profileLevelID,
            codec: media?.codec
        )
        if let tap = sinks.compactMap({ $0.open(source) }).first {
            self.state.withLock { $0.taps.append(tap) }
            try bin.receive(stream, by: depayloader.depayloading, into: tap)
        } else {
            try bin.discard(stream)
        }
        if !bin.shortenPath(of: stream) {
            self.logger.notice("the packets of a track take the whole way", metadata: .tagged([.trackSSRC: "\(ssrc)"]))
        }
        self.logger.info(
            "track received",
            metadata: .tagged([.trackCodec: "\(format.encodingName)", .trackSSRC: "\(ssrc)"])
        )
    }
}
