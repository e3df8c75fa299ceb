// SPDX-License-Identifier: Apache-2.0

import Signalling

/// What our connections and timers do to the calls.
extension RoomCalls {
    /// One of our connections reported something.
    ///
    /// Events of connections that were told to close are harmless races.
    mutating func connectionEvent(_ id: ConnectionID, _ event: ConnectionEvent) {
        guard let peer = self.owners[id], let connection = self.calls[peer]?.connection else {
            if event == .closed { self.noteClosed(id) }
            return
        }
        switch event {
        case .offerCreated(let sdp): self.offerCreated(peer, connection, sdp)
        case .answerCreated(let sdp): self.answerCreated(peer, connection, sdp)
        case .rebuildNeeded(let reason): self.rebuildNeeded(peer, connection, reason)
        case .offerDeclined(let sdp, let reason): self.offerDeclined(peer, connection, sdp, reason)
        case .descriptionRefused(let reason): self.descriptionRefused(peer, connection, reason)
        case .negotiationFailed(let reason): self.negotiationFailed(peer, connection, reason)
        case .localCandidate(let candidate): self.localCandidate(peer, connection, candidate)
        case .connected: self.connected(peer, connection)
        case .iceDisconnected: self.iceDisconnected(peer, connection)
        case .iceFailed: self.fail(peer, reason: "ICE failed")
        case .mediaSilent: self.mediaSilent(peer, connection)
        case .mediaHeard: self.mediaHeard(peer, connection)
        case .authenticityFailed(let reason): self.authenticityFailed(peer, connection, reason)
        case .closed: self.fail(peer, reason: "the connection ended by itself", isClosed: true)
        }
    }

    // Negotiation

    private mutating func offerCreated(_ peer: PeerID, _ connection: Call.Connection, _ sdp: String) {
        switch connection.negotiation {
        case .creatingOffer: break
        case .awaitingAnswer, .answering, .stable: return self.unexpected(peer, "offerCreated")
        }
        self.updateConnection(peer) { $0.negotiation = .awaitingAnswer }
        self.sendDescription(peer, sdp, .offer(to: peer, sdp: sdp))
    }

    private mutating func answerCreated(_ peer: PeerID, _ connection: Call.Connection, _ sdp: String) {
        switch connection.negotiation {
        case .creatingOffer, .awaitingAnswer, .stable: self.unexpected(peer, "answerCreated")
        case .answering(let offer, let next):
            self.updateConnection(peer) { connection in
                connection.acceptedRemote = connection.remote
                connection.answered = (offer, sdp)
                connection.negotiation = .stable
            }
            if let next {
                self.ignore(.supersededOffer, peer)
                self.applyOffer(peer, connection.id, next)
            } else {
                self.sendDescription(peer, sdp, .answer(to: peer, sdp: sdp))
                // Answered all the same: the other one learns from it who we are.
                if connection.remote.map(self.isTwin) == true { self.meetTwin(peer, yields: true) }
            }
        }
    }

    /// Whether nothing would flow between the writer and us, because both are recorders.
    func isTwin(_ identity: DescriptionIdentity) -> Bool { !self.configuration.sends && identity.isOfRecorder }

    /// Ends the call with another recorder; the one that came later answered, and makes place where there is little.
    mutating func meetTwin(_ peer: PeerID, yields: Bool) {
        self.end(peer, reason: "it is a recorder like us")
        self.update(peer) { $0.isAnnounced = false }
        self.emit(.report(.twinFound(peer)))
        if yields { self.emit(.send(.yield)) }
    }

    private mutating func rebuildNeeded(_ peer: PeerID, _ connection: Call.Connection, _ reason: String) {
        guard case .answering(let offer, let next) = connection.negotiation, connection.acceptedRemote != nil else {
            return self.negotiationFailed(peer, connection, reason)
        }
        guard self.isJoined else { return self.keepWithoutOffer(peer, reason) }
        self.holdAgain(peer)
        self.rebuild(peer, .answer(sdp: next ?? offer), reason: reason)
    }

    /// Goes on with the description that is in force, because the connection did not take the new one.
    private mutating func keepWithoutOffer(_ peer: PeerID, _ reason: String) {
        self.ignore(.refusedDescription, peer, reason)
        self.updateConnection(peer) { connection in
            connection.remote = connection.acceptedRemote
            connection.negotiation = .stable
        }
    }

    /// The peer gets the answer that refuses everything; it may offer more on the same session later.
    private mutating func offerDeclined(
        _ peer: PeerID,
        _ connection: Call.Connection,
        _ sdp: String,
        _ reason: String
    ) {
        switch connection.negotiation {
        case .creatingOffer, .awaitingAnswer, .stable: break
        case .answering(_, nil) where connection.acceptedRemote == nil:
            self.sendDescription(peer, sdp, .answer(to: peer, sdp: sdp))
        case .answering: break
        }
        self.descriptionRefused(peer, connection, reason)
    }

    private mutating func descriptionRefused(_ peer: PeerID, _ connection: Call.Connection, _ reason: String) {
        switch connection.negotiation {
        case .creatingOffer, .awaitingAnswer:
            self.unexpected(peer, "descriptionRefused")
        case .stable:
            if connection.isConnected || connection.role == .answerer {
                self.unexpected(peer, "descriptionRefused")
            } else if connection.role == .publisher {
                self.fail(peer, reason: reason)
            } else {
                self.endFailed(peer, reason: reason)
            }
        case .answering(_, let next):
            guard connection.acceptedRemote != nil else {
                self.endFailed(peer, reason: reason)
                if let next { self.open(peer, .answer(sdp: next)) }
                return
            }
            self.keepWithoutOffer(peer, reason)
            if let next { self.applyOffer(peer, connection.id, next) }
        }
    }

    private mutating func negotiationFailed(_ peer: PeerID, _ connection: Call.Connection, _ reason: String) {
        let plan: Call.Plan
        switch connection.negotiation {
        case .creatingOffer: plan = connection.isStanding ? .standingOffer : .offer
        case .answering(let offer, let next): plan = .answer(sdp: next ?? offer)
        case .awaitingAnswer, .stable: return self.fail(peer, reason: reason)
        }
        guard let call = self.calls[peer], call.rebuilds < self.configuration.maximumRebuilds else {
            return self.fail(peer, reason: reason)
        }
        self.holdAgain(peer)
        self.countBurst(peer) { $0.rebuilds += 1 }
        self.end(peer, reason: reason)
        self.emit(.report(.callRebuilt(peer, closed: connection.id, reason: reason)))
        self.wait(peer, self.configuration.backOff * (1 << min(call.rebuilds, 8)), plan)
    }

    /// Puts the candidates that were handed over back into the queue, for the next connection.
    private mutating func holdAgain(_ peer: PeerID) {
        self.update(peer) { call in
            let newer = call.held.takeAll()
            for candidate in call.handed.takeAll() + newer where !call.held.append(candidate) { break }
        }
    }

    /// Sends a description of ours, and the candidates that waited for it.
    private mutating func sendDescription(_ peer: PeerID, _ sdp: String, _ command: RoomCommand) {
        self.rememberSent(sdp)
        guard self.isJoined else { return self.ignore(.notJoined, peer, "our description was not sent") }
        self.emit(.send(command))
        self.updateConnection(peer) { $0.hasSentDescription = true }
        self.sendCandidates(peer)
    }

    private mutating func localCandidate(_ peer: PeerID, _ connection: Call.Connection, _ candidate: ICECandidate) {
        guard !candidate.line.isEmpty else { return }
        var isTaken = false
        self.update(peer) { isTaken = $0.outgoing.append(candidate) }
        if !isTaken { self.ignore(.candidateOverflow, peer, "one of ours") }
        if self.isJoined, connection.hasSentDescription { self.sendCandidates(peer) }
    }

    /// Sends the candidates that waited.
    mutating func sendCandidates(_ peer: PeerID) {
        var candidates: [ICECandidate] = []
        self.update(peer) { call in
            candidates = call.outgoing.takeAll()
            for candidate in candidates where !call.sent.append(candidate) { break }
        }
        for candidate in candidates {
            self.emit(.send(.candidate(to: peer, candidate)))
        }
    }

    // Liveness

    private mutating func connected(_ peer: PeerID, _ connection: Call.Connection) {
        self.cancel(connection.connectTimer)
        self.cancel(connection.disconnectTimer)
        self.updateConnection(peer) { connection in
            connection.connectTimer = nil
            connection.disconnectTimer = nil
            connection.isConnected = true
        }
        if !connection.isConnected {
            self.emit(.report(.peerConnected(peer, connection.id)))
            if connection.isSilent { self.startStaleTimer(peer, connection.id) }
        } else if connection.disconnectTimer != nil {
            self.emit(.report(.peerRecovered(peer, connection.id)))
        }
    }

    private mutating func iceDisconnected(_ peer: PeerID, _ connection: Call.Connection) {
        guard connection.isConnected, connection.disconnectTimer == nil else { return }
        let timer = self.startTimer(.disconnected, peer, self.configuration.disconnectLimit)
        self.updateConnection(peer) { $0.disconnectTimer = timer }
        self.emit(.report(.peerDisconnected(peer, connection.id)))
    }

    /// Before `connected` silence is no news; it counts from then on, because it is said only once.
    private mutating func mediaSilent(_ peer: PeerID, _ connection: Call.Connection) {
        self.updateConnection(peer) { $0.isSilent = true }
        if connection.isConnected, connection.staleTimer == nil { self.startStaleTimer(peer, connection.id) }
    }

    private mutating func startStaleTimer(_ peer: PeerID, _ id: ConnectionID) {
        let timer = self.startTimer(.stale, peer, self.configuration.staleLimit)
        self.updateConnection(peer) { $0.staleTimer = timer }
        self.emit(.report(.peerStale(peer, id)))
    }

    private mutating func mediaHeard(_ peer: PeerID, _ connection: Call.Connection) {
        self.updateConnection(peer) { $0.isSilent = false }
        guard connection.staleTimer != nil else { return }
        self.cancel(connection.staleTimer)
        self.updateConnection(peer) { $0.staleTimer = nil }
        self.emit(.report(.peerRecovered(peer, connection.id)))
    }

    private mutating func authenticityFailed(_ peer: PeerID, _ connection: Call.Connection, _ reason: String) {
        self.refuse(peer, connection.remote?.fingerprints ?? [])
        self.endFailed(peer, reason: reason)
        let isPublishPoint = self.calls[peer]?.isPublishPoint == true
        self.emit(
            .report(isPublishPoint ? .publishingFailed(peer, reason: reason) : .peerRefused(peer, reason: reason))
        )
    }

    // Failure

    /// Closes the connection; the peer has to offer again.
    mutating func endFailed(_ peer: PeerID, reason: String, isClosed: Bool = false) {
        guard let id = self.calls[peer]?.connection?.id else { return }
        self.end(peer, reason: reason, isClosed: isClosed)
        self.emit(.report(.callFailed(peer, id, reason: reason)))
    }

    /// Closes the connection and resets the call, or gives the peer up.
    ///
    /// While we are not in the room nothing is reset: our re-join makes the peer offer again. A reset ends every call of
    /// the room, so in a room with other calls we offer to this one peer instead.
    mutating func fail(_ peer: PeerID, reason: String, isClosed: Bool = false) {
        self.endFailed(peer, reason: reason, isClosed: isClosed)
        self.update(peer) { _ = $0.held.takeAll() }
        guard self.isJoined, let call = self.calls[peer] else { return }
        guard !call.isPublishPoint else { return self.resetPublishing(peer, call, reason) }
        guard call.resets < self.configuration.maximumResets else {
            self.update(peer) { $0.phase = .givenUp }
            return self.emit(.report(.peerGivenUp(peer, reason: reason)))
        }
        self.countReset(peer)
        self.emit(.report(.callReset(peer, reason: reason)))
        if self.hasOtherCalls(than: peer) {
            self.wait(peer, self.configuration.throttledWait, .offer)
        } else {
            self.emit(.send(.resetCall(peer)))
            let timer = self.startTimer(.returning, peer, self.configuration.returnLimit)
            self.update(peer) { $0.returnTimer = timer }
        }
    }

    /// Counts a call reset in the window, and starts the window if there is none.
    mutating func countReset(_ peer: PeerID) {
        if let call = self.calls[peer], call.resetsTimer == nil {
            let timer = self.startTimer(.resets, peer, self.configuration.resetWindow)
            self.update(peer) { $0.resetsTimer = timer }
        }
        self.update(peer) { $0.resets += 1 }
    }

    /// A peer did not come back after a reset: it is gone, but its failures stay counted.
    private mutating func returnMissed(_ peer: PeerID) {
        self.update(peer) { $0.returnTimer = nil }
        guard let call = self.calls[peer], call.isReplaceable, call.isAnnounced else { return }
        self.update(peer) { $0.isAnnounced = false }
        self.emit(.report(.peerLeft(peer)))
    }

    private mutating func unexpected(_ peer: PeerID, _ event: String) {
        self.ignore(.unexpectedConnectionEvent, peer, event)
    }

    /// Gives the peer its failures back, because it returned or the window ended.
    mutating func forgetResets(_ peer: PeerID) {
        self.cancel(self.calls[peer]?.resetsTimer)
        self.update(peer) { call in
            call.resets = 0
            call.resetsTimer = nil
            if case .givenUp = call.phase { call.phase = .idle }
        }
    }

    /// The window of a peer's failures ended.
    private mutating func resetsForgotten(_ peer: PeerID) {
        let wasGivenUp = if case .givenUp = self.calls[peer]?.phase { true } else { false }
        self.forgetResets(peer)
        if wasGivenUp, self.calls[peer]?.isPublishPoint == true { self.askForPublishPoint(peer) }
    }

    // Timers

    /// A timer of a call fired; stale ones do nothing.
    mutating func timerFired(_ timer: TimerID) {
        guard let peer = self.takeTimer(timer) else { return }
        switch timer.purpose {
        case .connect: self.fail(peer, reason: "no connection within \(self.configuration.connectLimit)")
        case .disconnected: self.fail(peer, reason: "no path for \(self.configuration.disconnectLimit)")
        case .stale: self.fail(peer, reason: "nothing was heard from the peer")
        case .backOff:
            guard case .waiting(_, let plan) = self.calls[peer]?.phase else { return }
            self.update(peer) { $0.phase = .idle }
            self.open(peer, plan)
        case .burst:
            self.update(peer) { call in
                call.openings = 0
                call.rebuilds = 0
                call.burstTimer = nil
            }
        case .resets: self.resetsForgotten(peer)
        case .returning: self.returnMissed(peer)
        case .stop: break
        }
    }
}
