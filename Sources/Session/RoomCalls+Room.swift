// SPDX-License-Identifier: Apache-2.0

import Signalling

/// What the room does to the calls, while we are a member.
extension RoomCalls {
    /// A member arrived, and we offer.
    ///
    /// A peer with a call came back without leaving: its old connection is dead.
    mutating func peerArrived(_ peer: PeerID) {
        guard peer != self.ownID else { return self.ignore(.echo, peer, "our own arrival") }
        guard self.calls[peer]?.isPublishPoint != true else { return self.publishPointArrived(peer) }
        guard self.admit(peer, announce: true) else { return }
        self.forgetResets(peer)
        self.update(peer) { _ = $0.held.takeAll() }
        if self.calls[peer]?.connection != nil {
            self.rebuild(peer, .offer, reason: "the peer joined again")
        } else {
            self.end(peer, reason: "")
            self.open(peer, .offer)
        }
    }

    /// Nobody is known to be there, and we offer to whoever comes.
    ///
    /// A connected call goes on: only the room has forgotten the peer. One that never connected has nobody at its end.
    mutating func peerAwaited(_ peer: PeerID) {
        guard self.calls[peer]?.connection?.isConnected != true else { return }
        guard self.admit(peer, announce: false), let call = self.calls[peer] else { return }
        if case .givenUp = call.phase { return self.ignore(.givenUpPeer, peer, "awaited") }
        if call.isAnnounced {
            self.update(peer) { $0.isAnnounced = false }
            self.emit(.report(.peerLeft(peer)))
        }
        self.update(peer) { _ = $0.held.takeAll() }
        self.end(peer, reason: "nobody is there yet")
        self.open(peer, .standingOffer)
    }

    /// A member left.
    ///
    /// A signaller says so too when it resets a call; then the peer has some time to come back.
    mutating func peerLeft(_ peer: PeerID) {
        guard let call = self.calls[peer] else { return self.ignore(.unknownPeer, peer, "it left") }
        guard call.returnTimer == nil else { return }
        self.remove(peer, reason: "the peer left", when: .quiet)
    }

    /// A peer offers.
    mutating func offerReceived(_ peer: PeerID, _ sdp: String) {
        guard let identity = self.check(sdp, from: peer) else { return }
        guard identity.origin != nil else { return self.ignore(.malformedDescription, peer, "no o= line") }
        guard !self.isRefused(peer, identity) else { return self.ignore(.refusedPeer, peer, "offer") }
        guard self.admit(peer, announce: true), let call = self.calls[peer] else { return }
        guard !call.isPublishPoint else { return self.ignore(.refusedDescription, peer, "a publish point offers") }
        switch call.phase {
        case .idle:
            self.open(peer, .answer(sdp: sdp))
        case .waiting(let timer, let plan):
            if case .answer(let older) = plan { self.ignore(older == sdp ? .duplicateOffer : .supersededOffer, peer) }
            self.update(peer) { $0.phase = .waiting(timer, .answer(sdp: sdp)) }
        case .givenUp:
            self.ignore(.givenUpPeer, peer)
        case .live(let connection):
            self.offerReceived(peer, sdp, identity, connection)
        }
    }

    private mutating func offerReceived(
        _ peer: PeerID,
        _ sdp: String,
        _ identity: DescriptionIdentity,
        _ connection: Call.Connection
    ) {
        switch connection.negotiation {
        case .creatingOffer, .awaitingAnswer:
            self.rebuild(peer, .answer(sdp: sdp), reason: "the peer offers too")
        case .answering(let offer, let next):
            guard sdp != next ?? offer else { return self.ignore(.duplicateOffer, peer, "not answered yet") }
            guard self.continues(connection, identity) else {
                return self.rebuild(peer, .answer(sdp: sdp), reason: "the peer offers from a new connection")
            }
            if next != nil { self.ignore(.supersededOffer, peer) }
            self.updateConnection(peer) { $0.negotiation = .answering(offer: offer, next: sdp) }
        case .stable:
            if let answered = connection.answered, answered.offer == sdp {
                self.ignore(.duplicateOffer, peer, "answered again")
                self.emit(.send(.answer(to: peer, sdp: answered.answer)))
            } else if self.continues(connection, identity) {
                self.applyOffer(peer, connection.id, sdp)
            } else {
                self.rebuild(peer, .answer(sdp: sdp), reason: "the peer offers from a new connection")
            }
        }
    }

    private func continues(_ connection: Call.Connection, _ identity: DescriptionIdentity) -> Bool {
        connection.remote.map { identity.continues($0) } ?? true
    }

    /// A peer answers.
    mutating func answerReceived(_ peer: PeerID, _ sdp: String) {
        guard let identity = self.check(sdp, from: peer) else { return }
        guard let call = self.calls[peer] else { return self.ignore(.unknownPeer, peer, "it answers") }
        guard let connection = call.connection else { return self.ignore(.answerWithoutOffer, peer) }
        guard call.lastAppliedAnswer != sdp else { return self.ignore(.duplicateAnswer, peer) }
        switch connection.negotiation {
        case .awaitingAnswer: break
        case .creatingOffer, .answering: return self.ignore(.answerWithoutOffer, peer)
        case .stable:
            return self.ignore(connection.role == .answerer ? .answerWithoutOffer : .duplicateAnswer, peer)
        }
        guard !self.isRefused(peer, identity) else {
            self.ignore(.refusedPeer, peer, "answer")
            return self.endFailed(peer, reason: "the peer's fingerprint failed before")
        }
        guard !self.isTwin(identity) else { return self.meetTwin(peer, yields: false) }
        self.greet(peer)
        self.applyAnswer(peer, connection.id, sdp)
    }

    /// A peer trickled a candidate, perhaps before its description.
    mutating func candidateReceived(_ peer: PeerID, _ candidate: ICECandidate) {
        guard peer != self.ownID else { return self.ignore(.echo, peer, "candidate") }
        guard self.admit(peer, announce: false), let call = self.calls[peer] else { return }
        if call.sent.candidates.contains(where: { $0.line == candidate.line }) {
            return self.ignore(.echo, peer, "candidate")
        }
        if let connection = call.connection, self.isReady(connection, for: candidate) {
            self.handOver(candidate, peer, connection.id)
        } else {
            var isTaken = false
            self.update(peer) { isTaken = $0.held.append(candidate) }
            if !isTaken { self.ignore(.candidateOverflow, peer) }
        }
    }

    /// Whether the candidate belongs to the description that the connection has, not to one still to come.
    private func isReady(_ connection: Call.Connection, for candidate: ICECandidate) -> Bool {
        guard let remote = connection.remote, remote.accepts(candidate) else { return false }
        guard case .answering(_, .some) = connection.negotiation else { return true }
        return candidate.usernameFragment != nil && !remote.usernameFragments.isEmpty
    }

    /// Drops descriptions that no connection has to see.
    private mutating func check(_ sdp: String, from peer: PeerID) -> DescriptionIdentity? {
        guard sdp.utf8.count <= self.configuration.maximumDescriptionLength else {
            self.ignore(.oversizedDescription, peer, "\(sdp.utf8.count) bytes")
            return nil
        }
        let identity = DescriptionIdentity(sdp: sdp)
        guard peer != self.ownID, !self.isEcho(identity) else {
            self.ignore(.echo, peer, "description")
            return nil
        }
        return identity
    }

    /// We are a member, perhaps again: candidates that could not be sent meanwhile are sent now.
    mutating func joined(ownID: PeerID?) {
        self.isJoined = true
        self.forgetFull()
        self.ownID = ownID
        self.emit(.report(.joined(ownID: ownID)))
        self.announceCalls()
        for peer in self.arrivals where self.calls[peer]?.connection?.hasSentDescription == true {
            self.sendCandidates(peer)
        }
    }

    /// We are no member at present: what is connected stays, and the rest goes if the room refuses us.
    mutating func lostRoom(closesUnconnected: Bool, reason: String) {
        self.dropOffers(reason: reason)
        self.isJoined = false
        guard closesUnconnected else { return }
        for peer in self.arrivals where self.calls[peer]?.connection?.isConnected != true {
            self.remove(peer, reason: reason)
        }
    }

    /// Closes everything.
    mutating func endAll(reason: String) {
        self.isJoined = false
        self.isAhead = false
        for peer in self.arrivals {
            self.remove(peer, reason: reason)
        }
    }
}
