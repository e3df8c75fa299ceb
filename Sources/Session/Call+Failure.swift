// SPDX-License-Identifier: Apache-2.0

import Signalling

/// How a call fails, waits and redials.
extension Call {
    /// Closes the connection; the peer must offer again.
    mutating func endFailed(reason: String, isClosed: Bool = false, _ context: inout CallContext) {
        guard let id = self.connection?.id else { return }
        self.end(reason: reason, isClosed: isClosed, &context)
        context.report(.callFailed(self.peer, id, reason: reason))
        self.awaitReturn(&context)
    }

    /// Outside the room Tapedeck does not learn that a peer leaves: a peer without a connection has some time to come
    /// back.
    mutating func awaitReturn(_ context: inout CallContext) {
        guard !context.isJoined, self.isReplaceable, self.isAnnounced, self.comeback == nil else { return }
        self.startComeback(isReset: false, &context)
    }

    private mutating func startComeback(isReset: Bool, after wait: Duration? = nil, _ context: inout CallContext) {
        let timer = context.startTimer(.returning, self.peer, wait ?? context.configuration.returnLimit)
        self.comeback = Comeback(timer: timer, isReset: isReset)
    }

    /// We are in the room again: a peer that sees it has some time to redial, before we do.
    mutating func joinedAgain(_ context: inout CallContext) {
        guard self.beginsAnew, case .idle = self.phase else { return }
        context.cancel(self.comeback?.timer)
        self.startComeback(isReset: false, &context)
    }

    /// In a room where only we begin calls, redials after a while if a description could not be applied.
    mutating func tryLater(_ context: inout CallContext) {
        guard context.isTakenByAnswer, context.isJoined else { return }
        // The same answer again would be one to another offer.
        self.lastAppliedAnswer = nil
        self.beginsAnew = true
        self.startComeback(isReset: false, after: context.configuration.refusedWait, &context)
    }

    /// Closes the connection and resets the call, or drops the peer.
    ///
    /// While we are not in the room nothing is reset: in most rooms our re-join makes the peer offer again, if it is
    /// still there. If it does not, we redial after the re-join.
    mutating func fail(reason: String, isClosed: Bool = false, _ context: inout CallContext) {
        let role = self.connection?.role ?? .answerer
        self.endFailed(reason: reason, isClosed: isClosed, &context)
        _ = self.held.takeAll()
        guard context.isJoined else {
            self.beginsAnew = true
            return
        }
        guard self.resets < context.configuration.maximumResets else {
            self.phase = .givenUp(role)
            return context.report(
                self.isPublishPoint
                    ? .publishingFailed(self.peer, reason: reason) : .peerGivenUp(self.peer, reason: reason)
            )
        }
        self.beginAnew(reason: reason, &context)
    }

    /// Resets the call.
    ///
    /// A reset ends every call of the room, so in a room with other calls we offer to this one peer instead. If two
    /// peers do so at the same instant, one waits longer, because their offers would otherwise cross again and again.
    private mutating func beginAnew(reason: String, _ context: inout CallContext) {
        self.countReset(&context)
        context.report(.callReset(self.peer, reason: reason))
        if !self.isPublishPoint, context.hasOtherCalls(than: self.peer) {
            let isLater = context.ownMessages.ownID.map { $0.rawValue > self.peer.rawValue } ?? false
            self.wait(context.configuration.throttledWait * (isLater ? 3 : 1), .offer, &context)
        } else {
            self.askForReset(&context)
        }
    }

    /// Asks the room for a new beginning, and gives the peer or the publish point some time to come back.
    mutating func askForReset(_ context: inout CallContext) {
        guard context.isJoined else {
            self.beginsAnew = true
            return
        }
        context.emit(.send(.resetCall(self.peer)))
        self.startComeback(isReset: true, &context)
    }

    /// A timer of the call fired.
    mutating func timerFired(_ purpose: TimerID.Purpose, _ context: inout CallContext) {
        let limits = context.configuration
        switch purpose {
        case .connect: self.fail(reason: "no connection within \(limits.connectLimit)", &context)
        case .disconnected: self.fail(reason: "no path for \(limits.disconnectLimit)", &context)
        case .stale: self.fail(reason: "nothing was heard from the peer", &context)
        case .backOff:
            guard case .waiting(_, let plan) = self.phase else { return }
            self.phase = .idle
            self.open(plan, &context)
        case .burst:
            self.openings = 0
            self.rebuilds = 0
            self.burstTimer = nil
        case .resets: self.resetsForgotten(&context)
        case .returning: self.returnMissed(&context)
        case .stop: break
        }
    }

    /// The window of a peer's failures ended: we redial without waiting for the peer.
    ///
    /// The other side may wait for us as we for it; a server that refused, or lost, what it sent offers no more.
    private mutating func resetsForgotten(_ context: inout CallContext) {
        let phase = self.phase
        self.forgetResets(&context)
        guard case .givenUp(let role) = phase else { return }
        if self.isPublishPoint { return self.askForReset(&context) }
        guard self.isAnnounced else { return }
        _ = self.held.takeAll()
        guard role != .offerer else { return self.open(.offer, &context) }
        // A reset may be one of the whole room: one in each window.
        self.resets = max(0, context.configuration.maximumResets - 1)
        self.beginAnew(reason: "it was dropped a while ago", &context)
    }

    /// A peer did not come back: it is gone, but its failures stay counted.
    ///
    /// If it is our turn to redial, we do so now.
    private mutating func returnMissed(_ context: inout CallContext) {
        self.comeback = nil
        let isOurTurn = if case .idle = self.phase { self.beginsAnew && context.isJoined } else { false }
        // A server that took us is there, whatever it says.
        if !isOurTurn || !context.isTakenByAnswer { self.noteGone(&context) }
        guard isOurTurn else { return }
        self.beginsAnew = false
        self.beginAnew(reason: "the peer did not begin it again", &context)
    }

    private mutating func noteGone(_ context: inout CallContext) {
        guard self.isReplaceable, self.isAnnounced else { return }
        self.isAnnounced = false
        // Large, and of no use to a peer that is gone; the rest is small, and its failures count on.
        self.lastAppliedAnswer = nil
        context.report(.peerLeft(self.peer))
    }
}
