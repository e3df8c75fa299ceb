// SPDX-License-Identifier: Apache-2.0

import SDP
import Signalling

/// Effects of the peer on its call, by way of the room.
extension Call {
    /// The peer arrived, and we offer.
    ///
    /// A peer with a call came back without leaving: its old connection is dead.
    mutating func arrived(_ context: inout CallContext) {
        self.forgetResets(&context)
        _ = self.held.takeAll()
        self.offer(reason: "the peer joined again", &context)
    }

    /// The room knows of no peer at the other end, and we offer to any that comes.
    mutating func awaited(_ context: inout CallContext) {
        if case .givenUp = self.phase { return context.ignore(.givenUpPeer, self.peer, "awaited") }
        if self.isAnnounced {
            self.isAnnounced = false
            context.report(.peerLeft(self.peer))
        }
        _ = self.held.takeAll()
        self.end(reason: "no one is there yet", &context)
        self.open(.standingOffer, &context)
    }

    /// The server takes our media here again; if it does because we asked for it, the failures stay counted.
    mutating func wantedAgain(_ context: inout CallContext) {
        if self.comeback?.isReset != true { self.forgetResets(&context) }
        _ = self.held.takeAll()
        self.offer(reason: "the server takes our media again", &context)
    }

    // Descriptions

    /// The peer offers.
    mutating func offerReceived(_ offer: PeerDescription, _ context: inout CallContext) {
        guard !self.isPublishPoint else {
            return context.ignore(.refusedDescription, self.peer, "a publish point offers")
        }
        switch self.phase {
        case .idle:
            self.open(.answer(offer), &context)
        case .waiting(let timer, let plan):
            if case .answer(let older) = plan {
                context.ignore(older == offer ? .duplicateOffer : .supersededOffer, self.peer)
            }
            self.phase = .waiting(timer, .answer(offer))
        case .givenUp:
            context.ignore(.givenUpPeer, self.peer)
        case .live(let connection):
            self.offerReceived(offer, on: connection, &context)
        }
    }

    private mutating func offerReceived(
        _ offer: PeerDescription,
        on connection: Connection,
        _ context: inout CallContext
    ) {
        let continues = connection.remote.map { offer.identity.continues($0) } ?? true
        switch connection.negotiation {
        case .creatingOffer, .awaitingAnswer:
            self.rebuild(.answer(offer), reason: "the peer offers too", &context)
        case .answering(let current, let next):
            guard offer != next ?? current else {
                return context.ignore(.duplicateOffer, self.peer, "not answered yet")
            }
            guard continues else {
                return self.rebuild(.answer(offer), reason: "the peer offers from a new connection", &context)
            }
            if next != nil { context.ignore(.supersededOffer, self.peer) }
            self.updateConnection { $0.negotiation = .answering(offer: current, next: offer) }
        case .stable:
            if let answered = connection.answered, answered.offer == offer {
                context.ignore(.duplicateOffer, self.peer, "answered again")
                context.emit(.send(.answer(to: self.peer, sdp: answered.answer.text)))
            } else if continues {
                self.apply(offer: offer, on: connection.id, &context)
            } else {
                self.rebuild(.answer(offer), reason: "the peer offers from a new connection", &context)
            }
        }
    }

    /// The peer answers, perhaps with something that cannot be read.
    mutating func answerReceived(_ answer: Result<PeerDescription, SDPError>, _ context: inout CallContext) {
        guard let connection = self.connection else { return context.ignore(.answerWithoutOffer, self.peer) }
        if let last = self.lastAppliedAnswer, case .success(last) = answer {
            return context.ignore(.duplicateAnswer, self.peer)
        }
        switch connection.negotiation {
        case .awaitingAnswer: break
        case .creatingOffer, .answering: return context.ignore(.answerWithoutOffer, self.peer)
        case .stable:
            return context.ignore(
                connection.role.offers ? .duplicateAnswer : .answerWithoutOffer,
                self.peer
            )
        }
        switch answer {
        case .success(let answer): self.answerReceived(answer, on: connection, &context)
        case .failure(let error):
            self.greet(&context)
            self.answerRefused(connection, reason: "\(error)", &context)
        }
    }

    private mutating func answerReceived(
        _ answer: PeerDescription,
        on connection: Connection,
        _ context: inout CallContext
    ) {
        guard !context.isRefused(self.peer, answer.identity) else {
            context.ignore(.refusedPeer, self.peer, "answer")
            return self.endFailed(reason: "the peer's fingerprint failed before", &context)
        }
        guard !context.isOtherRecorder(answer.identity) else {
            return self.meetOtherRecorder(answer.identity, yields: false, &context)
        }
        self.greet(&context)
        self.apply(answer: answer, on: connection.id, &context)
    }

    /// A peer came for a standing offer: from now on it is a call like any other.
    private mutating func greet(_ context: inout CallContext) {
        self.announceMember(&context)
        guard let connection = self.connection, connection.isStanding else { return }
        context.noteGreeting(on: connection.id)
        let timer = context.startTimer(.connect, self.peer, context.configuration.connectLimit)
        self.updateConnection { connection in
            connection.isStanding = false
            connection.connectTimer = timer
        }
    }

    /// Ends the call with another recorder; the one that came later answered, and leaves the room where space is short, unless it is
    /// the next owner of the room.
    mutating func meetOtherRecorder(_ other: DescriptionIdentity, yields: Bool, _ context: inout CallContext) {
        self.end(reason: "it is a recorder like us", &context)
        self.isAnnounced = false
        context.report(.otherRecorderFound(self.peer, epoch: context.rivalEpoch(other)))
        if yields { context.emit(.send(.yield)) }
    }

    /// Gives the offer to the connection, and the held candidates that belong to it.
    mutating func apply(offer: PeerDescription, on id: ConnectionID, _ context: inout CallContext) {
        self.updateConnection { $0.negotiation = .answering(offer: offer, next: nil) }
        context.emit(.applyOffer(id, offer.content))
        self.describe(offer.identity, on: id, &context)
    }

    /// Gives the answer to the connection, and the held candidates that belong to it.
    private mutating func apply(answer: PeerDescription, on id: ConnectionID, _ context: inout CallContext) {
        self.updateConnection { $0.negotiation = .stable }
        self.lastAppliedAnswer = answer
        context.emit(.applyAnswer(id, answer.content))
        self.describe(answer.identity, on: id, &context)
        self.updateConnection { $0.acceptedRemote = $0.remote }
    }

    /// Notes the description passed on, and passes on or drops the held candidates.
    private mutating func describe(
        _ identity: DescriptionIdentity,
        on id: ConnectionID,
        _ context: inout CallContext
    ) {
        self.updateConnection { $0.remote = identity }
        let held = self.held.takeAll()
        _ = self.handed.takeAll()
        var staleCount = 0
        for candidate in held {
            if identity.accepts(candidate) {
                self.handOver(candidate, to: id, &context)
            } else {
                staleCount += 1
            }
        }
        if staleCount > 0 { context.ignore(.staleCandidate, self.peer, "\(staleCount) held candidates") }
    }

    // Candidates

    /// The peer trickled a candidate, perhaps before its description.
    mutating func candidateReceived(_ candidate: ICECandidate, _ context: inout CallContext) {
        guard !context.ownMessages.contains(candidate, amongSent: self.sent) else {
            return context.ignore(.echo, self.peer, "candidate")
        }
        if let connection = self.connection, Self.isReady(connection, for: candidate) {
            self.handOver(candidate, to: connection.id, &context)
        } else if !self.held.append(candidate) {
            context.ignore(.candidateOverflow, self.peer)
        }
    }

    /// Whether the candidate belongs to the description that the connection has, not to one still to come.
    private static func isReady(_ connection: Connection, for candidate: ICECandidate) -> Bool {
        guard let remote = connection.remote, remote.accepts(candidate) else { return false }
        guard case .answering(_, .some) = connection.negotiation else { return true }
        return candidate.usernameFragment != nil && !remote.usernameFragments.isEmpty
    }

    /// Gives one candidate to the connection.
    private mutating func handOver(_ candidate: ICECandidate, to id: ConnectionID, _ context: inout CallContext) {
        if self.handed.append(candidate) {
            context.emit(.addCandidate(id, candidate))
        } else {
            context.ignore(.candidateOverflow, self.peer)
        }
    }
}

extension CallContext {
    /// Whether nothing would flow between the writer and us, because both are recorders.
    func isOtherRecorder(_ identity: DescriptionIdentity) -> Bool {
        self.rivalEpoch(identity) != nil || !self.configuration.sends && identity.isOfRecorder
    }

    /// The epoch under which another host of our cluster is in our room; `nil` if the writer is none.
    func rivalEpoch(_ identity: DescriptionIdentity) -> Int? {
        guard identity.isOurs, let own = self.configuration.claim, let other = identity.claim else { return nil }
        return own.room == other.room ? other.epoch : nil
    }
}

extension DescriptionIdentity {
    /// Whether the candidate can belong to the description.
    fileprivate func accepts(_ candidate: ICECandidate) -> Bool {
        guard !self.usernameFragments.isEmpty, let fragment = candidate.usernameFragment else { return true }
        return self.usernameFragments.contains(String(fragment))
    }
}
