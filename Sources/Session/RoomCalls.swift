// SPDX-License-Identifier: Apache-2.0

import Basics
import SDP
import Signalling

/// The calls of one session: one per peer, each with at most one live connection.
///
/// `RoomSessionStateMachine` decides which events get here; this decides which call they belong to, and the `Call` what
/// follows. Actions pile up in order until `takeActions`.
struct RoomCalls {
    private(set) var context: CallContext
    private(set) var calls: [PeerID: Call] = [:]
    /// Peers with a call, oldest first.
    private(set) var arrivals: [PeerID] = []
    /// Whether it was said that the room is full; each attempt would say it again.
    private var isFull = false

    init(configuration: SessionConfiguration) {
        self.context = CallContext(configuration: configuration)
    }

    /// Empties the list of actions.
    mutating func takeActions() -> [SessionAction] { self.context.takeActions() }

    /// Adds one action.
    mutating func emit(_ action: SessionAction) { self.context.emit(action) }

    /// Reports something that had no effect.
    mutating func ignore(_ what: IgnoredInput, _ peer: PeerID?, _ detail: String = "") {
        self.context.ignore(what, peer, detail)
    }

    /// Starts a timer that belongs to no call.
    mutating func makeTimer(_ purpose: TimerID.Purpose, _ duration: Duration) -> TimerID {
        self.context.makeTimer(purpose, duration)
    }

    /// Whether media may flow on any connection.
    var hasConnectedPeer: Bool { self.calls.values.contains(where: \.isConnected) }

    /// Gives something to the call with the peer, if there is one.
    mutating func withCall(_ peer: PeerID, _ body: (inout Call, inout CallContext) -> Void) {
        guard var call = self.calls.removeValue(forKey: peer) else { return }
        self.context.hasOthersGivenUp = self.calls.values.contains(where: \.isGivenUp)
        body(&call, &self.context)
        self.calls[peer] = call
    }

    // Records

    /// Makes sure that the peer has a call; false, with a report, if there is no place for it.
    private mutating func admit(_ peer: PeerID, announce: Bool) -> Bool {
        if self.calls[peer] == nil {
            if self.calls.values.count(where: { !$0.isPublishPoint }) >= self.context.configuration.maximumPeers {
                guard let replaceable = self.replaceablePeer else {
                    self.ignore(.peerLimit, peer)
                    return false
                }
                self.remove(replaceable, reason: "its place was given to another peer")
            }
            self.begin(peer, isPublishPoint: false)
        }
        if announce { self.withCall(peer) { $0.announceMember(&$1) } }
        return true
    }

    /// Begins the call of a peer or a publish point that has none.
    private mutating func begin(_ peer: PeerID, isPublishPoint: Bool) {
        self.calls[peer] = Call(
            with: peer,
            candidateLimit: self.context.configuration.maximumCandidates,
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
    private mutating func remove(_ peer: PeerID, reason: String, when end: ConnectionEnd = .atOnce) {
        guard var call = self.calls.removeValue(forKey: peer) else { return }
        self.arrivals.removeAll { $0 == peer }
        call.close(reason: reason, when: end, &self.context)
    }

    // Membership

    /// We are a member, perhaps again: candidates that could not be sent before are sent now, and peers of calls that
    /// ended before have some time to redial.
    mutating func joined(ownID: PeerID?, capacity: Int?) {
        self.context.isJoined = true
        self.isFull = false
        self.context.ownMessages.ownID = ownID
        self.context.report(.joined(ownID: ownID, capacity: capacity))
        self.announceCalls()
        for peer in self.arrivals {
            self.withCall(peer) { call, context in
                if call.connection?.hasSentDescription == true { call.sendCandidates(&context) }
                call.joinedAgain(&context)
            }
        }
    }

    /// We are no member at present: what is connected stays, and the rest goes if the room refuses us.
    mutating func lostRoom(closesUnconnected: Bool, reason: String) {
        self.dropOffers(reason: reason)
        self.context.isJoined = false
        if closesUnconnected { self.removeUnconnected(reason: reason) }
        for peer in self.arrivals { self.withCall(peer) { $0.awaitReturn(&$1) } }
    }

    /// Closes everything.
    mutating func endAll(reason: String) {
        self.context.isJoined = false
        self.context.isAhead = false
        for peer in self.arrivals { self.remove(peer, reason: reason) }
    }

    /// Says that the room is full, once until it takes us.
    mutating func reportFull() {
        if !self.isFull { self.context.report(.roomFull) }
        self.isFull = true
    }

    private mutating func removeUnconnected(reason: String) {
        for peer in self.arrivals where self.calls[peer]?.isConnected != true {
            self.remove(peer, reason: reason)
        }
    }

    // Before the membership: protocols whose server takes us by answering our offer. No peer is reported until we are a
    // member. An endpoint that refuses us again and again then looks like a room that cannot be joined, not like a peer
    // that comes and goes.

    /// The server wants our offer before it takes us.
    mutating func offerWanted(_ arrival: RoomEvent) {
        self.context.isAhead = true
        self.context.isTakenByAnswer = true
        self.context.isJoined = true
        switch arrival {
        case .peerArrived(let peer): self.peerArrived(peer)
        case .publishPointArrived(let peer): self.publishPointArrived(peer)
        default: break
        }
    }

    /// The server took us: whom we offered to is there.
    private mutating func announceCalls() {
        guard self.context.isAhead else { return }
        self.context.isAhead = false
        for peer in self.arrivals where self.calls[peer]?.connection != nil {
            self.withCall(peer) { $0.announce(&$1) }
        }
    }

    /// The server did not take us: what was offered is void.
    mutating func dropOffers(reason: String) {
        guard self.context.isAhead else { return }
        self.context.isAhead = false
        self.context.isJoined = false
        self.removeUnconnected(reason: reason)
    }

    // Effects of the room on a call

    /// A member arrived, and we offer.
    mutating func peerArrived(_ peer: PeerID) {
        guard !self.isOurs(peer, "our own arrival") else { return }
        guard self.calls[peer]?.isPublishPoint != true else { return self.publishPointArrived(peer) }
        guard self.admit(peer, announce: true) else { return }
        self.withCall(peer) { $0.arrived(&$1) }
    }

    /// No peer is known to be there, and we offer to any that comes.
    ///
    /// A connected call continues: only the room has forgotten the peer. A call that never connected has no peer at its
    /// end.
    mutating func peerAwaited(_ peer: PeerID) {
        guard self.calls[peer]?.isConnected != true, self.admit(peer, announce: false) else { return }
        self.withCall(peer) { $0.awaited(&$1) }
    }

    /// A member left.
    ///
    /// A signaller says so too when it resets a call; then the peer has some time to come back.
    mutating func peerLeft(_ peer: PeerID) {
        guard let call = self.calls[peer] else { return self.ignore(.unknownPeer, peer, "it left") }
        guard call.comeback?.isReset != true else { return }
        self.remove(peer, reason: "the peer left", when: .quiet)
    }

    /// A member goes by a name: one line of it is passed on.
    mutating func peerNamed(_ peer: PeerID, _ name: String) {
        guard !self.context.ownMessages.isFromUs(peer), let name = DisplayName.line(name) else { return }
        self.context.report(.peerNamed(peer, name))
    }

    /// A peer offers.
    mutating func offerReceived(_ peer: PeerID, _ sdp: String) {
        switch self.read(sdp, from: peer) {
        case .success(let offer)?:
            guard !self.context.isRefused(peer, offer.identity) else {
                return self.ignore(.refusedPeer, peer, "offer")
            }
            guard self.admit(peer, announce: true) else { return }
            self.withCall(peer) { $0.offerReceived(offer, &$1) }
        case .failure(let error)?: self.ignore(.malformedDescription, peer, "\(error)")
        case nil: break
        }
    }

    /// A peer answers.
    mutating func answerReceived(_ peer: PeerID, _ sdp: String) {
        guard let answer = self.read(sdp, from: peer) else { return }
        guard self.calls[peer] != nil else { return self.ignore(.unknownPeer, peer, "it answers") }
        self.withCall(peer) { $0.answerReceived(answer, &$1) }
    }

    /// A peer trickled a candidate, perhaps before its description.
    mutating func candidateReceived(_ peer: PeerID, _ candidate: ICECandidate) {
        guard !self.isOurs(peer, "candidate"), self.admit(peer, announce: false) else { return }
        self.withCall(peer) { $0.candidateReceived(candidate, &$1) }
    }

    /// Reads a description of a peer: the only place where our own code does.
    ///
    /// - Returns: nil, with a report, if the description is for no call.
    private mutating func read(_ sdp: String, from peer: PeerID) -> Result<PeerDescription, SDPError>? {
        guard sdp.utf8.count <= self.context.configuration.maximumDescriptionLength else {
            self.ignore(.oversizedDescription, peer, "\(sdp.utf8.count) bytes")
            return nil
        }
        guard !self.isOurs(peer, "description") else { return nil }
        let description: PeerDescription
        do {
            description = PeerDescription(try SessionDescription(parsing: sdp))
        } catch {
            return .failure(error)
        }
        guard !self.context.ownMessages.contains(description) else {
            self.ignore(.echo, peer, "description")
            return nil
        }
        return .success(description)
    }

    /// Whether the name is ours, with a report.
    private mutating func isOurs(_ peer: PeerID, _ what: String) -> Bool {
        guard self.context.ownMessages.isFromUs(peer) else { return false }
        self.ignore(.echo, peer, what)
        return true
    }

    // Effects of connections and timers on a call

    /// One of our connections reported something.
    ///
    /// Events of connections that were requested to close are harmless races.
    mutating func connectionEvent(_ id: ConnectionID, _ event: ConnectionEvent) {
        guard let peer = self.context.owners[id] else {
            if event == .closed { self.context.noteClosed(id) }
            return
        }
        self.withCall(peer) { $0.connectionEvent(event, &$1) }
    }

    /// A timer of a call fired; stale ones do nothing.
    mutating func timerFired(_ timer: TimerID) {
        guard let peer = self.context.takeTimer(timer) else { return }
        self.withCall(peer) { $0.timerFired(timer.purpose, &$1) }
    }
}

/// The endpoint where the server takes our media: a call that is only ours, with no peer behind it.
extension RoomCalls {
    private static let nothingToSend = "we have nothing to send: give a camera or a microphone"

    /// The server takes our media here, perhaps again.
    ///
    /// One that comes because we asked for a reset keeps its failures.
    mutating func publishPointArrived(_ peer: PeerID) {
        guard !self.isOurs(peer, "our own arrival") else { return }
        guard self.context.configuration.sends else {
            return self.context.report(.publishingFailed(peer, reason: Self.nothingToSend))
        }
        self.context.hasPublishPoint = true
        guard let call = self.calls[peer] else {
            for other in self.arrivals where self.calls[other]?.isPublishPoint == true {
                self.remove(other, reason: "the server takes our media elsewhere")
            }
            self.begin(peer, isPublishPoint: true)
            return self.withCall(peer) { call, context in
                call.announce(&context)
                call.open(.offer, &context)
            }
        }
        guard call.isPublishPoint else { return self.ignore(.echo, peer, "a member is no publish point") }
        self.withCall(peer) { $0.wantedAgain(&$1) }
    }

    /// The server does not take our media: no connection until it names the endpoint again.
    mutating func publishPointRefused(_ peer: PeerID, _ reason: String) {
        guard self.calls[peer]?.isPublishPoint == true else {
            return self.ignore(.unknownPeer, peer, "refusal")
        }
        self.withCall(peer) { call, context in
            call.end(reason: reason, &context)
            call.beginsAnew = false
            context.report(.publishingFailed(peer, reason: reason))
        }
    }
}
