// SPDX-License-Identifier: Apache-2.0

internal import Basics
internal import GStreamer
public import Logging
internal import Observability
internal import Platform
public import Recording
internal import SDP
public import Session
public import Signalling
internal import Synchronization

/// Drives one room: the signaller on one side, a peer connection per remote peer on the other, and the pure session
/// machine between them.
///
/// One consumer takes one input at a time and performs all its actions before it takes the next. Each
/// peer connection performs its own actions in order, independent of the others.
public final class RoomSession: Sendable {
    /// Looked at once a second, so that silence is noticed within 10 s.
    private static let silenceLimit = Duration.seconds(9)

    private let signaller: any Signaller
    private let context: PeerConnectionContext
    private let configuration: SessionConfiguration
    private let logger: Logger
    private let endLevel: Logger.Level
    private let onFact: @Sendable (SessionEvent) -> Void
    private let inputs: AsyncStream<SessionInput>
    private let feed: AsyncStream<SessionInput>.Continuation
    private let state = Mutex(State())

    private struct State {
        var status = RoomSessionStatus()
        var connections: [ConnectionID: Connection] = [:]
        var timers: [TimerID: DeadlineTimer] = [:]
        /// Whether the room is lost for good.
        var hasSignallerEnded = false
        /// Counts of connections that ended.
        var refusedPackets = EndedCounts()
        var droppedReports = EndedCounts()
    }

    private struct Connection {
        let connection: PeerConnection
        let commands: AsyncStream<ConnectionCommand>.Continuation
        /// Why the connection ends, once that is decided.
        var closeReason = "the session is over"
        var end = ConnectionEnd.atOnce
        /// From the first time it is connected; before that, there may be no peer to hear.
        var liveness: LivenessPolicy?
    }

    /// A command to one peer connection; commands are in order.
    private enum ConnectionCommand: Sendable {
        case open
        case createOffer
        case applyOffer(SessionDescription)
        case applyAnswer(SessionDescription)
        case addCandidate(ICECandidate)
    }

    /// A session that has not begun.
    ///
    /// `onFact` is called on the session's task, after `status` knows the fact; it must not block.
    ///
    /// - Parameter endLevel: level of a log line about what ends the session, and is its outcome.
    public init(
        signaller: any Signaller,
        context: PeerConnectionContext,
        configuration: SessionConfiguration = SessionConfiguration(),
        logger: Logger,
        endLevel: Logger.Level = .warning,
        onFact: @escaping @Sendable (SessionEvent) -> Void = { _ in }
    ) {
        self.endLevel = endLevel
        self.signaller = signaller
        self.context = context
        var configuration = configuration
        (configuration.sends, configuration.claim) = (context.camera != nil, context.policy.claim)
        self.configuration = configuration
        self.logger = logger
        self.onFact = onFact
        // Inputs are a few per peer and second; a peer that floods us is bounded by the signaller's own limits.
        (self.inputs, self.feed) = AsyncStream.makeStream(bufferingPolicy: .bufferingOldest(16_384))
    }

    /// The present status.
    ///
    /// Any thread.
    public var status: RoomSessionStatus {
        self.state.withLock { state in
            var status = state.status
            for connection in state.connections.values {
                for (codec, counters) in connection.connection.sent {
                    status.sent[codec, default: 0] += counters.pushed
                }
                status.paths[connection.connection.peer] = connection.connection.path
                status.awaitedKinds[connection.connection.peer] = connection.connection.awaitedKinds
            }
            return status
        }
    }

    /// Interarrival jitter of a received track in milliseconds (RFC 3550, 6.4.1), if known.
    ///
    /// Control thread.
    public func jitterMilliseconds(of track: TrackStatus) -> Double? {
        let connection = self.state.withLock { $0.connections[ConnectionID(track.connection)]?.connection }
        return connection?.jitterMilliseconds(ssrc: track.ssrc)
    }

    /// Round trip to a peer in milliseconds (RFC 3550, 6.4.1); nil until the peer reported on media of ours.
    ///
    /// Control thread.
    public func roundTripMilliseconds(of peer: PeerID) -> Double? {
        self.connections.filter { $0.peer == peer }.compactMap(\.roundTripMilliseconds).max()
    }

    /// Packets of a peer that were dropped because they are of more sources than a connection may have.
    ///
    /// Any thread.
    public func refusedPackets(of peer: PeerID) -> UInt64 {
        self.total(of: peer, \.refusedPackets, \.refusedPackets)
    }

    /// Sender reports of a peer that were left out, because there are too many of them.
    ///
    /// Any thread.
    public func droppedReports(of peer: PeerID) -> UInt64 {
        self.total(of: peer, \.droppedReports, \.droppedReports)
    }

    /// The sum over all connections of a peer, those that ended included.
    private func total(
        of peer: PeerID,
        _ ended: KeyPath<State, EndedCounts>,
        _ count: KeyPath<PeerConnection, UInt64>
    ) -> UInt64 {
        self.state.withLock { state in
            state.connections.values.filter { $0.connection.peer == peer }.reduce(state[keyPath: ended][peer.rawValue])
            {
                $0 &+ $1.connection[keyPath: count]
            }
        }
    }

    /// Those that are there now, in no order.
    var connections: [PeerConnection] { self.state.withLock { $0.connections.values.map(\.connection) } }

    /// The pipeline of each peer connection and those of the camera, in the DOT language, by name.
    public func graphs() async throws -> [String: String] {
        let connections = self.connections
        let camera = self.context.camera
        return try await self.context.control.run("drawing pipelines") {
            var graphs = camera?.graphs ?? [:]
            for connection in connections {
                if let (name, dot) = connection.graph { graphs[name] = dot }
            }
            return graphs
        }
    }

    /// Posts what is to be announced into the chat of every peer that has one.
    ///
    /// Any thread.
    public func announce() {
        for connection in self.connections { self.context.control.enqueue { connection.takeChat() } }
    }

    /// Leaves the room and ends `run()`.
    ///
    /// Any thread.
    public func stop() {
        self.feed.yield(.stop)
    }

    /// Joins and stays until `stop()` or until nothing is left to stay for.
    ///
    /// Returns after everything is released.
    public func run() async -> SessionOutcome {
        var machine = RoomSessionStateMachine(configuration: self.configuration)
        var outcome = SessionOutcome.stopped
        await withDiscardingTaskGroup { group in
            group.addTask { await self.runSignaller() }
            group.addTask { await self.pumpRoomEvents() }
            group.addTask { await self.watchLiveness() }
            if let camera = self.context.camera, camera.settings.sendsVideo {
                group.addTask { await self.followNetworks(camera) }
            }
            loop: for await input in self.inputs {
                if case .signallerEnded = input { self.state.withLock { $0.hasSignallerEnded = true } }
                for action in machine.handle(input) {
                    if case .finished(let result) = action {
                        outcome = result
                        break loop
                    }
                    self.perform(action, in: &group)
                }
            }
            await self.release()
            group.cancelAll()
        }
        self.feed.finish()
        self.state.withLock { $0.status.hasEnded = true }
        return outcome
    }

    /// Closes connections that the machine did not close: only after an overflow of the inputs.
    private func release() async {
        let (timers, connections) = self.state.withLock { state in
            defer { state.timers.removeAll() }
            return (state.timers.values.map { $0 }, state.connections.keys.map { $0 })
        }
        for timer in timers { timer.cancel() }
        for id in connections { self.close(id, reason: "the session is over", when: .atOnce) }
        let deadline = ContinuousClock.now + .seconds(6)
        while !self.state.withLock({ $0.connections.isEmpty }), ContinuousClock.now < deadline {
            try? await Task.sleep(for: .milliseconds(20))
        }
        await self.context.servers.close()
    }

    // MARK: Inputs

    /// Queues an input.
    ///
    /// An overflow ends the session: what was dropped could have been the end of something.
    private func input(_ input: SessionInput) {
        guard case .dropped = self.feed.yield(input) else { return }
        self.logger.critical("session is overloaded and ends")
        self.feed.finish()
    }

    private func runSignaller() async {
        do {
            try await self.signaller.run()
            self.input(.signallerEnded(nil))
        } catch let error as SignallingError {
            self.input(.signallerEnded(error))
        } catch {
            self.input(.signallerEnded(SignallingError(.unreachable, "\(error)", blame: .network)))
        }
    }

    private func pumpRoomEvents() async {
        for await event in self.signaller.events { self.input(.room(event)) }
    }

    /// Once a second: a peer that sends neither RTP nor RTCP, though it should, is reported, which webrtcbin does not notice
    /// in time (docs/gstreamer.md, fact 18).
    private func watchLiveness() async {
        while (try? await CommonSecond.sleep()) != nil {
            if let outputs = self.context.outputs, outputs.areThere { self.context.control.enqueue { outputs.tick() } }
            let now = UInt64(clamping: Runtime.monotonicNanoseconds)
            let transitions = self.state.withLock { state in
                state.connections.keys.compactMap { id -> (ConnectionID, LivenessPolicy.Transition)? in
                    guard let connection = state.connections[id] else { return nil }
                    let heard = connection.connection.lastHeardNanoseconds.map { UInt64(clamping: $0) }
                    let isExpected = connection.connection.hasMedia
                    return state.connections[id]?.liveness?.update(lastHeardAt: heard, isExpected: isExpected, now: now)
                        .map { (id, $0) }
                }
            }
            for (id, transition) in transitions {
                self.input(.connection(id, transition == .silent ? .mediaSilent : .mediaHeard))
            }
        }
    }

    /// Twenty times a second: what the networks of the peers take of the camera.
    private func followNetworks(_ camera: CameraSource) async {
        func follow(_ peers: [MediaCodec: [RateLimit]], at now: UInt64) {
            guard camera.follow(peers, of: ObjectIdentifier(self), at: now) else { return }
            self.context.control.enqueue { camera.applyRates() }
        }
        while (try? await Task.sleep(for: .milliseconds(50))) != nil {
            let now = UInt64(clamping: Runtime.monotonicNanoseconds)
            var peers: [MediaCodec: [RateLimit]] = [:]
            for connection in self.connections {
                guard let (codec, limit) = connection.followNetwork(at: now) else { continue }
                peers[codec, default: []].append(limit)
            }
            follow(peers, at: now)
        }
        follow([:], at: UInt64(clamping: Runtime.monotonicNanoseconds))
    }

    // MARK: Actions

    private func perform(_ action: SessionAction, in group: inout DiscardingTaskGroup) {
        switch action {
        case .openConnection(let id, let peer, let role):
            self.open(id, peer, role, in: &group)
        case .createOffer(let id):
            self.command(id, .createOffer)
        case .applyOffer(let id, let offer):
            self.command(id, .applyOffer(offer))
        case .applyAnswer(let id, let answer):
            self.command(id, .applyAnswer(answer))
        case .addCandidate(let id, let candidate):
            self.command(id, .addCandidate(candidate))
        case .closeConnection(let id, let reason, let end):
            self.close(id, reason: reason, when: end)
        case .send(let command):
            self.signaller.send(command)
        case .useICEServers(let servers):
            self.context.servers.offer(servers)
        case .startTimer(let id, let duration):
            self.startTimer(id, duration)
        case .cancelTimer(let id):
            self.state.withLock { $0.timers.removeValue(forKey: id) }?.cancel()
        case .report(let fact):
            self.note(fact)
        case .finished:
            break
        }
    }

    private func startTimer(_ id: TimerID, _ duration: Duration) {
        // Made under the lock, so that it cannot fire before it is known.
        self.state.withLock { state in
            state.timers[id] = DeadlineTimer(after: duration) { [weak self] in
                guard let self else { return }
                self.state.withLock { $0.timers[id] = nil }
                self.input(.timerFired(id))
            }
        }
    }

    private func open(_ id: ConnectionID, _ peer: PeerID, _ role: CallRole, in group: inout DiscardingTaskGroup) {
        let (commands, continuation) = AsyncStream.makeStream(
            of: ConnectionCommand.self,
            bufferingPolicy: .bufferingOldest(1024)
        )
        var context = self.context
        // The next command shows whether it offers or answers.
        switch role {
        case .publisher: context.policy = context.policy.sendingOnly
        case .subscriber: context.policy = context.policy.receivingOnly
        case .offerer, .answerer: break
        }
        let connection = PeerConnection(id: id, peer: peer, context: context, logger: self.logger) {
            [weak self] event in
            if event == .connected { self?.beginListening(id) }
            self?.input(.connection(id, event))
        }
        self.state.withLock {
            $0.connections[id] = Connection(connection: connection, commands: continuation)
        }
        continuation.yield(.open)
        group.addTask { await self.serve(connection, id, commands) }
    }

    /// From now on the peer must be heard.
    private func beginListening(_ id: ConnectionID) {
        let now = UInt64(clamping: Runtime.monotonicNanoseconds)
        self.state.withLock { state in
            guard state.connections[id] != nil, state.connections[id]?.liveness == nil else { return }
            state.connections[id]?.liveness = LivenessPolicy(startedAt: now, limit: Self.silenceLimit)
        }
    }

    private func command(_ id: ConnectionID, _ command: ConnectionCommand) {
        guard case .dropped = self.state.withLock({ $0.connections[id]?.commands })?.yield(command) else { return }
        self.input(.connection(id, .negotiationFailed(reason: "more commands than a connection can take")))
    }

    /// Ends the stream of commands; the task that serves the connection closes it then.
    private func close(_ id: ConnectionID, reason: String, when end: ConnectionEnd) {
        let commands = self.state.withLock { state in
            state.connections[id]?.closeReason = reason
            state.connections[id]?.end = end
            return state.connections[id]?.commands
        }
        commands?.finish()
    }

    /// The life of one peer connection: its commands in order, and its end.
    private func serve(
        _ connection: PeerConnection,
        _ id: ConnectionID,
        _ commands: AsyncStream<ConnectionCommand>
    ) async {
        for await command in commands {
            switch command {
            case .open: await connection.open()
            case .createOffer: await connection.createOffer()
            case .applyOffer(let offer): await connection.applyOffer(offer)
            case .applyAnswer(let answer): await connection.applyAnswer(answer)
            case .addCandidate(let candidate): await connection.addCandidate(candidate)
            }
        }
        let sent = connection.sent
        let (reason, end) = self.state.withLock { state in
            (state.connections[id]?.closeReason ?? "", state.connections[id]?.end ?? .atOnce)
        }
        if end == .quiet { await connection.takeWhatIsOnItsWay() }
        await connection.close(reason: reason)
        self.state.withLock { state in
            state.connections[id] = nil
            state.refusedPackets.add(connection.refusedPackets, of: connection.peer.rawValue)
            state.droppedReports.add(connection.droppedReports, of: connection.peer.rawValue)
            for (codec, counters) in sent { state.status.sent[codec, default: 0] += counters.pushed }
        }
    }

    // MARK: Facts

    private func note(_ fact: SessionEvent) {
        self.state.withLock { state in
            state.status.note(fact)
        }
        self.log(fact)
        self.onFact(fact)
        switch fact {
        case .peerLeft(let peer): self.noteLeaving(peer, "left")
        case .peerGivenUp(let peer, _): self.noteLeaving(peer, "dropped")
        case .peerNamed(let peer, let name): self.noteName(peer, name)
        default: break
        }
    }

    /// Reports to the sinks that a participant is gone; files may be written, which must not happen on the session's
    /// own thread.
    private func noteLeaving(_ peer: PeerID, _ reason: String) {
        let sinks = self.context.sinks
        guard !sinks.isEmpty else { return }
        self.context.control.enqueue {
            for sink in sinks { sink.left(participant: peer.rawValue, reason: reason) }
        }
    }

    /// Reports a name to the sinks; files may be written, which must not happen on the session's own thread.
    private func noteName(_ peer: PeerID, _ name: String) {
        let sinks = self.context.sinks
        guard !sinks.isEmpty else { return }
        self.context.control.enqueue {
            for sink in sinks { sink.named(participant: peer.rawValue, name) }
        }
    }

    private func log(_ fact: SessionEvent) {
        switch fact {
        case .joined(let ownID, _):
            self.logger.notice("joined the room", metadata: .tagged([.peerID: "\(ownID?.rawValue ?? "-")"]))
        case .roomFull:
            self.logger.info("the room is full")
        case .joinFailed(let reason):
            self.logger.info("could not join the room", metadata: .tagged([.detail: "\(reason)"]))
        case .signallingLost(let reason):
            let isEnd = self.state.withLock { $0.hasSignallerEnded && $0.status.connectedPeers.isEmpty }
            self.logger.log(
                level: isEnd ? self.endLevel : .warning,
                "connection to the room server lost",
                metadata: .tagged([.detail: "\(reason)"])
            )
        case .otherRecorderFound(let peer, _):
            self.logger.info(
                "another recorder is in the room: no call with it",
                metadata: .tagged([.peerID: "\(peer)"])
            )
        case .yielded:
            self.logger.notice("another recorder has the room: this one leaves")
        case .removed:
            self.logger.log(level: self.endLevel, "the room server kicked us")
        case .peerJoined(let peer):
            self.logger.notice("peer joined", metadata: .tagged([.peerID: "\(peer)"]))
        case .peerLeft(let peer):
            self.logger.notice("peer left", metadata: .tagged([.peerID: "\(peer)"]))
        case .peerNamed(let peer, let name):
            self.logger.info("peer has a name", metadata: .tagged([.peerID: "\(peer)", .detail: "\(name)"]))
        case .publishPointArrived(let peer):
            self.logger.info("the server takes what we send", metadata: .tagged([.peerID: "\(peer)"]))
        case .publishPointLeft(let peer):
            self.logger.info("the server takes nothing from us any more", metadata: .tagged([.peerID: "\(peer)"]))
        case .publishingFailed(let peer, let reason):
            self.logger.error(
                "what we send does not reach the room",
                metadata: .tagged([.peerID: "\(peer)", .detail: "\(reason)"])
            )
        case .peerConnected(let peer, let id):
            self.logger.notice("peer connected", metadata: .tagged([.peerID: "\(peer)", .connectionID: "\(id)"]))
        case .peerDisconnected(let peer, let id):
            self.logger.info("peer disconnected", metadata: .tagged([.peerID: "\(peer)", .connectionID: "\(id)"]))
        case .peerStale(let peer, let id):
            self.logger.warning("peer is silent", metadata: .tagged([.peerID: "\(peer)", .connectionID: "\(id)"]))
        case .peerRecovered(let peer, let id):
            self.logger.notice("peer is heard again", metadata: .tagged([.peerID: "\(peer)", .connectionID: "\(id)"]))
        case .callRebuilt(let peer, let id, let reason):
            self.logger.info(
                "call rebuilt",
                metadata: .tagged([.peerID: "\(peer)", .connectionID: "\(id)", .detail: "\(reason)"])
            )
        case .callFailed(let peer, let id, let reason):
            self.logger.warning(
                "call failed",
                metadata: .tagged([.peerID: "\(peer)", .connectionID: "\(id)", .detail: "\(reason)"])
            )
        case .callReset(let peer, let reason):
            self.logger.warning("call reset", metadata: .tagged([.peerID: "\(peer)", .detail: "\(reason)"]))
        case .peerGivenUp(let peer, let reason):
            self.logger.error("peer dropped", metadata: .tagged([.peerID: "\(peer)", .detail: "\(reason)"]))
        case .peerRefused(let peer, let reason):
            self.logger.error("peer refused", metadata: .tagged([.peerID: "\(peer)", .detail: "\(reason)"]))
        case .ignored(.peerLimit, let peer, _) where self.status.counters["ignored_peer_limit"] == 1:
            self.logger.warning(
                "the room has more participants than are served: those on top are not recorded, and see no camera",
                metadata: .tagged([.peerID: "\(peer?.rawValue ?? "-")"])
            )
        case .ignored(let what, let peer, let detail):
            // Counted; a peer may send as many as it likes.
            self.logger.debug(
                "input ignored",
                metadata: .tagged([
                    .peerID: "\(peer?.rawValue ?? "-")", .errorCode: "\(what.rawValue)", .detail: "\(detail)",
                ])
            )
        }
    }
}
