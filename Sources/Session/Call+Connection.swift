// SPDX-License-Identifier: Apache-2.0

import SDP
import Signalling

/// Effects of our connection on its call.
extension Call {
    /// The live connection reported something.
    mutating func connectionEvent(_ event: ConnectionEvent, _ context: inout CallContext) {
        guard let connection = self.connection else { return }
        switch event {
        case .offerCreated(let offer): self.offerCreated(offer, on: connection, &context)
        case .answerCreated(let answer): self.answerCreated(answer, on: connection, &context)
        case .rebuildNeeded(let reason): self.rebuildNeeded(connection, reason: reason, &context)
        case .offerDeclined(let answer, let reason): self.offerDeclined(connection, answer, reason: reason, &context)
        case .descriptionRefused(let reason): self.descriptionRefused(connection, reason: reason, &context)
        case .negotiationFailed(let reason): self.negotiationFailed(connection, reason: reason, &context)
        case .localCandidate(let candidate): self.localCandidate(candidate, of: connection, &context)
        case .connected: self.connected(connection, &context)
        case .iceDisconnected: self.iceDisconnected(connection, &context)
        case .iceFailed: self.fail(reason: "ICE failed", &context)
        case .mediaSilent: self.mediaSilent(connection, &context)
        case .mediaHeard: self.mediaHeard(connection, &context)
        case .authenticityFailed(let reason): self.authenticityFailed(connection, reason: reason, &context)
        case .closed: self.fail(reason: "the connection ended without a command", isClosed: true, &context)
        }
    }

    private func unexpected(_ event: String, _ context: inout CallContext) {
        context.ignore(.unexpectedConnectionEvent, self.peer, event)
    }

    // Negotiation

    private mutating func offerCreated(
        _ offer: SessionDescription,
        on connection: Connection,
        _ context: inout CallContext
    ) {
        switch connection.negotiation {
        case .creatingOffer: break
        case .awaitingAnswer, .answering, .stable: return self.unexpected("offerCreated", &context)
        }
        self.updateConnection { $0.negotiation = .awaitingAnswer }
        self.send(offer, as: .offer(to: self.peer, sdp: offer.text), &context)
    }

    private mutating func answerCreated(
        _ answer: SessionDescription,
        on connection: Connection,
        _ context: inout CallContext
    ) {
        switch connection.negotiation {
        case .creatingOffer, .awaitingAnswer, .stable: self.unexpected("answerCreated", &context)
        case .answering(let offer, let next):
            self.updateConnection { connection in
                connection.acceptedRemote = connection.remote
                connection.answered = (offer, answer)
                connection.negotiation = .stable
            }
            if let next {
                context.ignore(.supersededOffer, self.peer)
                self.apply(offer: next, on: connection.id, &context)
            } else {
                self.send(answer, as: .answer(to: self.peer, sdp: answer.text), &context)
                // Answered all the same: the other one learns from it who we are.
                if let remote = connection.remote, context.isOtherRecorder(remote) {
                    let own = context.configuration.claim?.epoch ?? 0
                    let isAhead = context.rivalEpoch(remote).map { $0 < own } ?? false
                    self.meetOtherRecorder(remote, yields: !isAhead, &context)
                }
            }
        }
    }

    private mutating func rebuildNeeded(_ connection: Connection, reason: String, _ context: inout CallContext) {
        guard case .answering(let offer, let next) = connection.negotiation, connection.acceptedRemote != nil else {
            return self.negotiationFailed(connection, reason: reason, &context)
        }
        guard context.isJoined else { return self.keepWithoutOffer(reason: reason, &context) }
        self.holdAgain()
        self.rebuild(.answer(next ?? offer), reason: reason, &context)
    }

    /// Continues with the description that is in force, because the connection did not accept the new one.
    private mutating func keepWithoutOffer(reason: String, _ context: inout CallContext) {
        context.ignore(.refusedDescription, self.peer, reason)
        self.updateConnection { connection in
            connection.remote = connection.acceptedRemote
            connection.negotiation = .stable
        }
    }

    /// The peer gets the answer that refuses everything; it may offer more on the same session later.
    private mutating func offerDeclined(
        _ connection: Connection,
        _ answer: SessionDescription,
        reason: String,
        _ context: inout CallContext
    ) {
        switch connection.negotiation {
        case .creatingOffer, .awaitingAnswer, .stable: break
        case .answering(_, nil) where connection.acceptedRemote == nil:
            self.send(answer, as: .answer(to: self.peer, sdp: answer.text), &context)
        case .answering: break
        }
        self.descriptionRefused(connection, reason: reason, &context)
    }

    private mutating func descriptionRefused(_ connection: Connection, reason: String, _ context: inout CallContext) {
        switch connection.negotiation {
        case .creatingOffer, .awaitingAnswer:
            self.unexpected("descriptionRefused", &context)
        case .stable:
            if connection.isConnected || !connection.role.offers {
                self.unexpected("descriptionRefused", &context)
            } else {
                self.answerRefused(connection, reason: reason, &context)
            }
        case .answering(_, let next):
            guard connection.acceptedRemote != nil else {
                self.endFailed(reason: reason, &context)
                if let next { self.open(.answer(next), &context) } else { self.tryLater(&context) }
                return
            }
            self.keepWithoutOffer(reason: reason, &context)
            if let next { self.apply(offer: next, on: connection.id, &context) }
        }
    }

    /// The answer to our offer cannot be taken.
    mutating func answerRefused(_ connection: Connection, reason: String, _ context: inout CallContext) {
        guard connection.role != .publisher else { return self.fail(reason: reason, &context) }
        self.endFailed(reason: reason, &context)
        self.tryLater(&context)
    }

    private mutating func negotiationFailed(_ connection: Connection, reason: String, _ context: inout CallContext) {
        let plan: Plan
        switch connection.negotiation {
        case .creatingOffer: plan = connection.isStanding ? .standingOffer : .offer
        case .answering(let offer, let next): plan = .answer(next ?? offer)
        case .awaitingAnswer, .stable: return self.fail(reason: reason, &context)
        }
        let rebuilds = self.rebuilds
        guard rebuilds < context.configuration.maximumRebuilds else { return self.fail(reason: reason, &context) }
        self.holdAgain()
        self.startBurst(&context)
        self.rebuilds += 1
        self.end(reason: reason, &context)
        context.report(.callRebuilt(self.peer, closed: connection.id, reason: reason))
        self.wait(context.configuration.backOff * (1 << min(rebuilds, 8)), plan, &context)
    }

    /// Puts the candidates that were passed on back into the queue, for the next connection.
    private mutating func holdAgain() {
        let newer = self.held.takeAll()
        for candidate in self.handed.takeAll() + newer where !self.held.append(candidate) { break }
    }

    /// Sends a description of ours, and the candidates that waited for it.
    private mutating func send(
        _ description: SessionDescription,
        as command: RoomCommand,
        _ context: inout CallContext
    ) {
        context.ownMessages.remember(description)
        guard context.isJoined else {
            return context.ignore(.notJoined, self.peer, "our description was not sent")
        }
        context.emit(.send(command))
        self.updateConnection { $0.hasSentDescription = true }
        self.sendCandidates(&context)
    }

    private mutating func localCandidate(
        _ candidate: ICECandidate,
        of connection: Connection,
        _ context: inout CallContext
    ) {
        guard !candidate.line.isEmpty else { return }
        if !self.outgoing.append(candidate) { context.ignore(.candidateOverflow, self.peer, "one of ours") }
        if context.isJoined, connection.hasSentDescription { self.sendCandidates(&context) }
    }

    /// Sends the candidates that waited.
    mutating func sendCandidates(_ context: inout CallContext) {
        let candidates = self.outgoing.takeAll()
        for candidate in candidates where !self.sent.append(candidate) { break }
        for candidate in candidates {
            context.emit(.send(.candidate(to: self.peer, candidate)))
        }
    }

    // Liveness

    private mutating func connected(_ connection: Connection, _ context: inout CallContext) {
        context.cancel(connection.connectTimer)
        context.cancel(connection.disconnectTimer)
        self.updateConnection { connection in
            connection.connectTimer = nil
            connection.disconnectTimer = nil
            connection.isConnected = true
        }
        if !connection.isConnected {
            context.report(.peerConnected(self.peer, connection.id))
            if connection.isSilent { self.startStaleTimer(connection.id, &context) }
        } else if connection.disconnectTimer != nil {
            context.report(.peerRecovered(self.peer, connection.id))
        }
    }

    private mutating func iceDisconnected(_ connection: Connection, _ context: inout CallContext) {
        guard connection.isConnected, connection.disconnectTimer == nil else { return }
        let timer = context.startTimer(.disconnected, self.peer, context.configuration.disconnectLimit)
        self.updateConnection { $0.disconnectTimer = timer }
        context.report(.peerDisconnected(self.peer, connection.id))
    }

    /// Before `connected` silence is no news; it counts from then on, because it is said only once.
    private mutating func mediaSilent(_ connection: Connection, _ context: inout CallContext) {
        self.updateConnection { $0.isSilent = true }
        if connection.isConnected, connection.staleTimer == nil { self.startStaleTimer(connection.id, &context) }
    }

    private mutating func startStaleTimer(_ id: ConnectionID, _ context: inout CallContext) {
        let timer = context.startTimer(.stale, self.peer, context.configuration.staleLimit)
        self.updateConnection { $0.staleTimer = timer }
        context.report(.peerStale(self.peer, id))
    }

    private mutating func mediaHeard(_ connection: Connection, _ context: inout CallContext) {
        self.updateConnection { $0.isSilent = false }
        guard connection.staleTimer != nil else { return }
        context.cancel(connection.staleTimer)
        self.updateConnection { $0.staleTimer = nil }
        context.report(.peerRecovered(self.peer, connection.id))
    }

    private mutating func authenticityFailed(_ connection: Connection, reason: String, _ context: inout CallContext) {
        context.refuse(self.peer, connection.remote?.fingerprints ?? [])
        self.endFailed(reason: reason, &context)
        context.report(
            self.isPublishPoint
                ? .publishingFailed(self.peer, reason: reason) : .peerRefused(self.peer, reason: reason)
        )
    }
}
