// SPDX-License-Identifier: Apache-2.0

import Signalling

/// The calls of one session: one per peer, each with at most one live connection.
///
/// `RoomSessionStateMachine` decides which events get here. Actions pile up in order until `takeActions`.
struct RoomCalls {
    /// Descriptions of ours remembered to know them when a server sends them back.
    private static let maximumSentDescriptions = 64
    /// Fingerprints remembered after they failed.
    private static let maximumRefusals = 64

    let configuration: SessionConfiguration
    /// Whether commands reach the room.
    var isJoined = false
    /// Whether our offer goes out before we are a member, because the server takes us by answering it.
    var isAhead = false
    /// Whether it was said that the room is full; each attempt would say it again.
    private var isFull = false
    /// Our own name in the room, where the protocol says it.
    var ownID: PeerID?

    private(set) var calls: [PeerID: Call] = [:]
    /// Peers of live connections.
    private(set) var owners: [ConnectionID: PeerID] = [:]
    /// Connections that were told to close and are not closed yet.
    private(set) var closing: Set<ConnectionID> = []
    private var timers: [TimerID: PeerID] = [:]
    private var connectionCount: UInt64 = 0
    private var timerCount: UInt64 = 0
    /// Peers with a record, oldest first.
    private(set) var arrivals: [PeerID] = []
    private var sentDescriptions: [DescriptionIdentity] = []
    private var refusals: [(peer: PeerID, fingerprint: String)] = []
    private var actions: [SessionAction] = []

    init(configuration: SessionConfiguration) {
        self.configuration = configuration
    }

    /// Empties the list of actions.
    mutating func takeActions() -> [SessionAction] {
        defer { self.actions = [] }
        return self.actions
    }

    /// Adds one action.
    mutating func emit(_ action: SessionAction) {
        self.actions.append(action)
    }

    /// Reports something that had no effect.
    mutating func ignore(_ what: IgnoredInput, _ peer: PeerID?, _ detail: String = "") {
        self.emit(.report(.ignored(what, peer: peer, detail: detail)))
    }

    /// Whether media may flow on any connection.
    var hasConnectedPeer: Bool {
        self.calls.values.contains { $0.connection?.isConnected == true }
    }

    /// Whether anybody else is in a call with us.
    func hasOtherCalls(than peer: PeerID) -> Bool {
        self.owners.values.contains { $0 != peer && self.calls[$0]?.connection?.isStanding == false }
    }

    /// Says that the room is full, once until it takes us.
    mutating func reportFull() {
        if !self.isFull { self.emit(.report(.roomFull)) }
        self.isFull = true
    }

    /// Forgets that the room was full.
    mutating func forgetFull() {
        self.isFull = false
    }

    // Peers

    /// Makes sure that the peer has a record; false, with a report, if there is no place for it.
    mutating func admit(_ peer: PeerID, announce: Bool) -> Bool {
        if self.calls[peer] == nil {
            if self.calls.values.count(where: { !$0.isPublishPoint }) >= self.configuration.maximumPeers {
                guard let replaceable = self.replaceablePeer else {
                    self.ignore(.peerLimit, peer)
                    return false
                }
                self.remove(replaceable, reason: "its place was given to another peer")
            }
            self.keepRecord(of: peer, isPublishPoint: false)
        }
        if announce, !self.isAhead, let call = self.calls[peer], !call.isAnnounced, !call.isPublishPoint {
            self.calls[peer]?.isAnnounced = true
            self.emit(.report(.peerJoined(peer)))
        }
        return true
    }

    /// Begins the record of a peer or a publish point that has none.
    mutating func keepRecord(of peer: PeerID, isPublishPoint: Bool) {
        self.calls[peer] = Call(
            candidateLimit: self.configuration.maximumCandidates,
            isPublishPoint: isPublishPoint
        )
        self.arrivals.append(peer)
    }

    /// The oldest peer without a call; one that sent nothing but candidates comes first.
    private var replaceablePeer: PeerID? {
        let peers = self.arrivals.filter { self.calls[$0]?.isReplaceable == true }
        return peers.first { self.calls[$0]?.isAnnounced == false } ?? peers.first
    }

    /// Closes and forgets everything of the peer, except that it was refused.
    mutating func remove(_ peer: PeerID, reason: String, when end: ConnectionEnd = .atOnce) {
        self.end(peer, reason: reason, when: end)
        guard let call = self.calls.removeValue(forKey: peer) else { return }
        self.arrivals.removeAll { $0 == peer }
        self.cancel(call.burstTimer)
        self.cancel(call.resetsTimer)
        self.cancel(call.returnTimer)
        guard call.isAnnounced else { return }
        self.emit(.report(call.isPublishPoint ? .publishPointLeft(peer) : .peerLeft(peer)))
    }

    /// Changes the record of a peer that has one.
    mutating func update(_ peer: PeerID, _ change: (inout Call) -> Void) {
        guard var call = self.calls.removeValue(forKey: peer) else { return }
        change(&call)
        self.calls[peer] = call
    }

    /// Changes the connection of a live call.
    mutating func updateConnection(_ peer: PeerID, _ change: (inout Call.Connection) -> Void) {
        self.update(peer) { call in
            guard case .live(var connection) = call.phase else { return }
            change(&connection)
            call.phase = .live(connection)
        }
    }

    // Connections

    /// Opens the next connection of an idle call, or lets it wait if there were too many.
    ///
    /// Out of the room nothing is opened, because no description could be sent: our re-join makes the peer offer again.
    mutating func open(_ peer: PeerID, _ plan: Call.Plan) {
        guard let call = self.calls[peer] else { return }
        guard self.isJoined else { return self.ignore(.notJoined, peer, "no new connection") }
        guard call.openings < self.configuration.maximumConnections else {
            self.wait(peer, self.configuration.throttledWait, plan)
            return
        }
        self.cancel(call.returnTimer)
        self.countBurst(peer) { call in
            call.openings += 1
            call.returnTimer = nil
        }
        self.connectionCount &+= 1
        let id = ConnectionID(self.connectionCount)
        self.owners[id] = peer
        self.emit(.openConnection(id, peer, call.role(plan)))
        var connection = Call.Connection(id: id, role: call.role(plan), negotiation: .creatingOffer)
        connection.isStanding = plan == .standingOffer
        if !connection.isStanding {
            connection.connectTimer = self.startTimer(.connect, peer, self.configuration.connectLimit)
        }
        self.update(peer) { $0.phase = .live(connection) }
        switch plan {
        case .offer, .standingOffer: self.emit(.createOffer(id))
        case .answer(let sdp): self.applyOffer(peer, id, sdp)
        }
    }

    /// Lets the next connection wait.
    mutating func wait(_ peer: PeerID, _ duration: Duration, _ plan: Call.Plan) {
        let timer = self.startTimer(.backOff, peer, duration)
        self.update(peer) { $0.phase = .waiting(timer, plan) }
    }

    /// Leaves the call idle: closes its connection or ends its wait.
    ///
    /// `isClosed` says that the connection is closed already.
    mutating func end(_ peer: PeerID, reason: String, isClosed: Bool = false, when end: ConnectionEnd = .atOnce) {
        guard let call = self.calls[peer] else { return }
        switch call.phase {
        case .idle, .givenUp: break
        case .waiting(let timer, _): self.cancel(timer)
        case .live(let connection):
            self.cancel(connection.connectTimer)
            self.cancel(connection.disconnectTimer)
            self.cancel(connection.staleTimer)
            self.owners[connection.id] = nil
            if !isClosed {
                self.closing.insert(connection.id)
                self.emit(.closeConnection(connection.id, reason: reason, when: end))
            }
        }
        self.update(peer) { call in
            call.phase = .idle
            _ = call.handed.takeAll()
            _ = call.outgoing.takeAll()
            _ = call.sent.takeAll()
        }
    }

    /// Replaces the connection by a new one.
    mutating func rebuild(_ peer: PeerID, _ plan: Call.Plan, reason: String) {
        guard let id = self.calls[peer]?.connection?.id else { return }
        self.end(peer, reason: reason)
        self.emit(.report(.callRebuilt(peer, closed: id, reason: reason)))
        self.open(peer, plan)
    }

    /// Notes that a connection that was told to close is closed.
    mutating func noteClosed(_ id: ConnectionID) {
        self.closing.remove(id)
    }

    /// Gives the offer to the connection, and the held candidates that belong to it.
    mutating func applyOffer(_ peer: PeerID, _ id: ConnectionID, _ sdp: String) {
        self.updateConnection(peer) { $0.negotiation = .answering(offer: sdp, next: nil) }
        self.emit(.applyOffer(id, sdp: sdp))
        self.describe(peer, id, sdp)
    }

    /// Somebody came for a standing offer: from now on it is a call like any other.
    mutating func greet(_ peer: PeerID) {
        _ = self.admit(peer, announce: true)
        guard self.calls[peer]?.connection?.isStanding == true else { return }
        let timer = self.startTimer(.connect, peer, self.configuration.connectLimit)
        self.updateConnection(peer) { connection in
            connection.isStanding = false
            connection.connectTimer = timer
        }
    }

    /// Gives the answer to the connection, and the held candidates that belong to it.
    mutating func applyAnswer(_ peer: PeerID, _ id: ConnectionID, _ sdp: String) {
        self.updateConnection(peer) { $0.negotiation = .stable }
        self.update(peer) { $0.lastAppliedAnswer = sdp }
        self.emit(.applyAnswer(id, sdp: sdp))
        self.describe(peer, id, sdp)
        self.updateConnection(peer) { $0.acceptedRemote = $0.remote }
    }

    /// Notes the description handed over, and hands over or drops the held candidates.
    private mutating func describe(_ peer: PeerID, _ id: ConnectionID, _ sdp: String) {
        let identity = DescriptionIdentity(sdp: sdp)
        self.updateConnection(peer) { $0.remote = identity }
        var held: [ICECandidate] = []
        self.update(peer) { call in
            held = call.held.takeAll()
            _ = call.handed.takeAll()
        }
        var staleCount = 0
        for candidate in held {
            if identity.accepts(candidate) {
                self.handOver(candidate, peer, id)
            } else {
                staleCount += 1
            }
        }
        if staleCount > 0 { self.ignore(.staleCandidate, peer, "\(staleCount) held candidates") }
    }

    /// Gives one candidate to the connection.
    mutating func handOver(_ candidate: ICECandidate, _ peer: PeerID, _ id: ConnectionID) {
        var isTaken = false
        self.update(peer) { isTaken = $0.handed.append(candidate) }
        if isTaken {
            self.emit(.addCandidate(id, candidate))
        } else {
            self.ignore(.candidateOverflow, peer)
        }
    }

    // Memory

    /// Remembers a description of ours.
    mutating func rememberSent(_ sdp: String) {
        if self.sentDescriptions.count >= Self.maximumSentDescriptions { self.sentDescriptions.removeFirst() }
        self.sentDescriptions.append(DescriptionIdentity(sdp: sdp))
    }

    /// Whether we wrote the description.
    func isEcho(_ identity: DescriptionIdentity) -> Bool {
        self.sentDescriptions.contains { identity.isEcho(of: $0) }
    }

    /// Remembers that the peer could not prove these fingerprints.
    mutating func refuse(_ peer: PeerID, _ fingerprints: Set<String>) {
        for fingerprint in fingerprints {
            if self.refusals.count >= Self.maximumRefusals { self.refusals.removeFirst() }
            self.refusals.append((peer, fingerprint))
        }
    }

    /// Whether the peer could not prove one of these fingerprints before.
    func isRefused(_ peer: PeerID, _ identity: DescriptionIdentity) -> Bool {
        self.refusals.contains { $0.peer == peer && identity.fingerprints.contains($0.fingerprint) }
    }

    // Timers

    /// Starts a timer that belongs to the peer.
    mutating func startTimer(_ purpose: TimerID.Purpose, _ peer: PeerID, _ duration: Duration) -> TimerID {
        let timer = self.makeTimer(purpose, duration)
        self.timers[timer] = peer
        return timer
    }

    /// Starts a timer that belongs to nobody.
    mutating func makeTimer(_ purpose: TimerID.Purpose, _ duration: Duration) -> TimerID {
        self.timerCount &+= 1
        let timer = TimerID(purpose: purpose, serial: self.timerCount)
        self.emit(.startTimer(timer, duration))
        return timer
    }

    /// Stops the timer if it runs.
    mutating func cancel(_ timer: TimerID?) {
        guard let timer, self.timers.removeValue(forKey: timer) != nil else { return }
        self.emit(.cancelTimer(timer))
    }

    /// The peer of a timer that fired; nil if the timer is stale.
    mutating func takeTimer(_ timer: TimerID) -> PeerID? {
        self.timers.removeValue(forKey: timer)
    }

    /// Counts something in the peer's running window, and starts the window if there is none.
    mutating func countBurst(_ peer: PeerID, _ count: (inout Call) -> Void) {
        if let call = self.calls[peer], call.burstTimer == nil {
            let timer = self.startTimer(.burst, peer, self.configuration.burstWindow)
            self.update(peer) { $0.burstTimer = timer }
        }
        self.update(peer, count)
    }
}

extension DescriptionIdentity {
    /// Whether the candidate can belong to the description.
    func accepts(_ candidate: ICECandidate) -> Bool {
        guard !self.usernameFragments.isEmpty, let fragment = candidate.usernameFragment else { return true }
        return self.usernameFragments.contains(fragment)
    }
}
