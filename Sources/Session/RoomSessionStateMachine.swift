// SPDX-License-Identifier: Apache-2.0

public import Signalling

/// Decides everything in one room: which peers to connect, who offers, which connections to close, when to drop a peer.
///
/// Pure: no clock, no I/O, no log. The driver feeds one input, runs all actions in order, then feeds the next. It ends
/// each `createOffer` and `applyOffer` with an event within a deadline of its choosing, and each `closeConnection` with
/// `closed`.
///
/// ```
///   joining ──joined──► joined ◄──joined──► detached
///      │                   │   lost, full       │
///      │                   ├── signaller ended ─┤
///      │                   ▼                    │      detached: out of the room, connected peers stay
///      │               orphaned ◄─attempts spent┘      orphaned: until no peer is connected; `joined` while the
///      │                   │                           signaller still tries leads back
///      │ stop, signaller   │ stop, no one connected
///      └──────────► stopping ──all closed, or 2 s──► finished (terminal)
/// ```
///
/// Wrong events: room events out of the room are the server's fault (ignored, reported); events of closed connections,
/// stale timers and anything after `stop` are harmless races (ignored); a connection event that does not fit its
/// negotiation is our bug (ignored, reported). No input traps.
public struct RoomSessionStateMachine: ~Copyable {
    private struct Stopping {
        var closing: Set<ConnectionID>
        var isWaitingForLeave: Bool
        let timer: TimerID
        let outcome: SessionOutcome
    }

    private enum State: ~Copyable {
        case joining(RoomCalls)
        case joined(RoomCalls)
        case detached(RoomCalls)
        case orphaned(RoomCalls, SessionOutcome, isTrying: Bool)
        case stopping(Stopping)
        case finished
    }

    /// A state, and what to do on the way to it.
    private struct Step: ~Copyable {
        var state: State
        var actions: [SessionAction]
    }

    private var state: State

    private init(state: consuming State) {
        self.state = state
    }

    /// A session whose signaller is about to run.
    public init(configuration: SessionConfiguration = SessionConfiguration()) {
        self.state = .joining(RoomCalls(configuration: configuration))
    }

    /// Whether `finished` was returned: nothing happens any more.
    public var isFinished: Bool {
        switch self.state {
        case .finished: true
        case .joining: false
        case .joined: false
        case .detached: false
        case .orphaned: false
        case .stopping: false
        }
    }

    /// The peer of a connection; nil once the machine closed it.
    public func peer(of connection: ConnectionID) -> PeerID? {
        switch self.state {
        case .joining(let calls): calls.context.owners[connection]
        case .joined(let calls): calls.context.owners[connection]
        case .detached(let calls): calls.context.owners[connection]
        case .orphaned(let calls, _, _): calls.context.owners[connection]
        case .stopping: nil
        case .finished: nil
        }
    }

    /// Takes one input and says what to do.
    public mutating func handle(_ input: SessionInput) -> [SessionAction] {
        let step =
            switch input {
            case .room(let event): Self.roomEvent(self.state, event)
            case .signallerEnded(let error): Self.signallerEnded(self.state, error)
            case .connection(let id, let event): Self.connectionEvent(self.state, id, event)
            case .timerFired(let timer): Self.timerFired(self.state, timer)
            case .stop: Self.stop(self.state)
            }
        let actions = step.actions
        self = Self(state: step.state)
        return actions
    }

    // Room

    private static func roomEvent(_ state: consuming State, _ event: RoomEvent) -> Step {
        switch consume state {
        case .joining(var calls):
            if case .attemptsSpent(let error) = event { return Self.attemptsSpent(calls, error) }
            return Self.joins(event, &calls) ? Self.joined(calls) : Self.joining(calls)
        case .joined(var calls):
            return Self.inside(event, &calls) ? Self.joined(calls) : Self.detached(calls)
        case .detached(var calls):
            if case .attemptsSpent(let error) = event { return Self.attemptsSpent(calls, error) }
            return Self.joins(event, &calls) ? Self.joined(calls) : Self.detached(calls)
        case .orphaned(var calls, let outcome, let isTrying):
            guard isTrying else {
                Self.outside(event, &calls)
                return Self.orphaned(calls, outcome, isTrying: false)
            }
            if Self.joins(event, &calls) { return Self.joined(calls) }
            // The server answers again: the offer that it wants may end the call that the session lived on.
            if calls.context.isAhead { return Self.detached(calls) }
            return Self.orphaned(calls, outcome, isTrying: true)
        case .stopping(var stopping):
            if event == .left { stopping.isWaitingForLeave = false }
            return Self.stopping(stopping)
        case .finished:
            return Step(state: .finished, actions: [])
        }
    }

    /// Handles an event while we are no member; true if we are one now.
    private static func joins(_ event: RoomEvent, _ calls: inout RoomCalls) -> Bool {
        switch event {
        case .joined(let ownID, let capacity):
            calls.joined(ownID: ownID, capacity: capacity)
            return true
        case .peerArrived, .publishPointArrived:
            calls.offerWanted(event)
            return false
        default:
            Self.outside(event, &calls)
            return false
        }
    }

    /// Handles an event while we are a member; false if we are none any more.
    private static func inside(_ event: RoomEvent, _ calls: inout RoomCalls) -> Bool {
        switch event {
        case .joined(let ownID, let capacity): calls.joined(ownID: ownID, capacity: capacity)
        case .peerArrived(let peer): calls.peerArrived(peer)
        case .peerAwaited(let peer): calls.peerAwaited(peer)
        case .publishPointArrived(let peer): calls.publishPointArrived(peer)
        case .publishPointRefused(let peer, let reason): calls.publishPointRefused(peer, reason)
        case .peerNamed(let peer, let name): calls.peerNamed(peer, name)
        case .iceServersReceived(let servers): calls.emit(.useICEServers(servers))
        case .offerReceived(let peer, let sdp): calls.offerReceived(peer, sdp)
        case .answerReceived(let peer, let sdp): calls.answerReceived(peer, sdp)
        case .candidateReceived(let peer, let candidate): calls.candidateReceived(peer, candidate)
        case .endOfCandidatesReceived: break
        case .peerLeft(let peer): calls.peerLeft(peer)
        case .ignored(let what, let detail): calls.ignore(.signalling, nil, "\(what): \(detail)")
        case .joinFailed(let reason): calls.emit(.report(.joinFailed(reason: reason)))
        case .attemptsSpent(let error): calls.ignore(.signalling, nil, "attempts spent: \(error.message)")
        case .full, .signallingLost, .left, .removed, .yielded:
            Self.outside(event, &calls)
            return false
        }
        return true
    }

    /// Handles an event that ends our membership, or comes while we are no member.
    private static func outside(_ event: RoomEvent, _ calls: inout RoomCalls) {
        switch event {
        case .full:
            calls.lostRoom(closesUnconnected: true, reason: "the room is full")
            calls.reportFull()
        case .joinFailed(let reason):
            calls.dropOffers(reason: reason)
            calls.emit(.report(.joinFailed(reason: reason)))
        case .signallingLost(let reason):
            calls.lostRoom(closesUnconnected: false, reason: reason)
            calls.emit(.report(.signallingLost(reason: reason)))
        case .left:
            let reason = "the server removed us"
            calls.lostRoom(closesUnconnected: false, reason: reason)
            calls.emit(.report(.signallingLost(reason: reason)))
        case .yielded:
            calls.endAll(reason: "we leave for other participants")
            calls.emit(.report(.yielded))
        case .attemptsSpent: break
        case .removed:
            calls.endAll(reason: "the server kicked us")
            calls.emit(.report(.removed))
        case .peerLeft(let peer): calls.peerLeft(peer)
        case .ignored(let what, let detail): calls.ignore(.signalling, nil, "\(what): \(detail)")
        case .joined: calls.ignore(.notJoined, nil, "joined")
        case .peerArrived(let peer), .peerAwaited(let peer), .publishPointArrived(let peer):
            calls.ignore(.notJoined, peer, "arrival")
        case .publishPointRefused(let peer, _): calls.ignore(.notJoined, peer, "refusal")
        case .peerNamed: break
        case .iceServersReceived(let servers): calls.emit(.useICEServers(servers))
        case .offerReceived(let peer, _): calls.ignore(.notJoined, peer, "offer")
        case .answerReceived(let peer, _): calls.ignore(.notJoined, peer, "answer")
        case .candidateReceived(let peer, _): calls.ignore(.notJoined, peer, "candidate")
        case .endOfCandidatesReceived: break
        }
    }

    private static func signallerEnded(_ state: consuming State, _ error: SignallingError?) -> Step {
        switch consume state {
        case .joining(let calls):
            return Self.signallerEnded(calls, error, hasJoined: false)
        case .joined(let calls):
            return Self.signallerEnded(calls, error)
        case .detached(let calls):
            return Self.signallerEnded(calls, error)
        case .orphaned(let calls, let outcome, _):
            return Self.orphaned(calls, outcome, isTrying: false)
        case .stopping(var stopping):
            stopping.isWaitingForLeave = false
            return Self.stopping(stopping)
        case .finished:
            return Step(state: .finished, actions: [])
        }
    }

    private static func signallerEnded(_ calls: RoomCalls, _ error: SignallingError?, hasJoined: Bool = true) -> Step {
        var calls = calls
        let reason = error?.message ?? "the signaller ended"
        calls.lostRoom(closesUnconnected: true, reason: reason)
        // The fact `removed` has said it.
        if error?.code != .removed {
            calls.emit(.report(hasJoined ? .signallingLost(reason: reason) : .joinFailed(reason: reason)))
        }
        return Self.orphaned(calls, error.map { .failed($0) } ?? .left, isTrying: false)
    }

    /// Continues for connected peers only.
    private static func attemptsSpent(_ calls: RoomCalls, _ error: SignallingError) -> Step {
        var calls = calls
        calls.lostRoom(closesUnconnected: true, reason: error.message)
        return Self.orphaned(calls, .failed(error), isTrying: true)
    }

    // Connections and timers

    private static func connectionEvent(
        _ state: consuming State,
        _ id: ConnectionID,
        _ event: ConnectionEvent
    ) -> Step {
        switch consume state {
        case .joining(var calls):
            calls.connectionEvent(id, event)
            return Self.joining(calls)
        case .joined(var calls):
            calls.connectionEvent(id, event)
            return Self.joined(calls)
        case .detached(var calls):
            calls.connectionEvent(id, event)
            return Self.detached(calls)
        case .orphaned(var calls, let outcome, let isTrying):
            calls.connectionEvent(id, event)
            return Self.orphaned(calls, outcome, isTrying: isTrying)
        case .stopping(var stopping):
            if event == .closed { stopping.closing.remove(id) }
            return Self.stopping(stopping)
        case .finished:
            return Step(state: .finished, actions: [])
        }
    }

    private static func timerFired(_ state: consuming State, _ timer: TimerID) -> Step {
        switch consume state {
        case .joining(var calls):
            calls.timerFired(timer)
            return Self.joining(calls)
        case .joined(var calls):
            calls.timerFired(timer)
            return Self.joined(calls)
        case .detached(var calls):
            calls.timerFired(timer)
            return Self.detached(calls)
        case .orphaned(var calls, let outcome, let isTrying):
            calls.timerFired(timer)
            return Self.orphaned(calls, outcome, isTrying: isTrying)
        case .stopping(let stopping):
            guard timer == stopping.timer else { return Self.stopping(stopping) }
            return Step(state: .finished, actions: [.finished(stopping.outcome)])
        case .finished:
            return Step(state: .finished, actions: [])
        }
    }

    private static func stop(_ state: consuming State) -> Step {
        switch consume state {
        case .joining(let calls):
            return Self.stop(calls, leaves: true, .stopped)
        case .joined(let calls):
            return Self.stop(calls, leaves: true, .stopped)
        case .detached(let calls):
            return Self.stop(calls, leaves: true, .stopped)
        case .orphaned(let calls, _, let isTrying):
            return Self.stop(calls, leaves: isTrying, .stopped)
        case .stopping(let stopping):
            return Self.stopping(stopping)
        case .finished:
            return Step(state: .finished, actions: [])
        }
    }

    // Next states

    private static func joining(_ calls: RoomCalls) -> Step {
        var calls = calls
        let actions = calls.takeActions()
        return Step(state: .joining(calls), actions: actions)
    }

    private static func joined(_ calls: RoomCalls) -> Step {
        var calls = calls
        let actions = calls.takeActions()
        return Step(state: .joined(calls), actions: actions)
    }

    private static func detached(_ calls: RoomCalls) -> Step {
        var calls = calls
        let actions = calls.takeActions()
        return Step(state: .detached(calls), actions: actions)
    }

    /// Stays orphaned while a peer is connected, and ends the session otherwise.
    private static func orphaned(_ calls: RoomCalls, _ outcome: SessionOutcome, isTrying: Bool) -> Step {
        guard calls.hasConnectedPeer else { return Self.stop(calls, leaves: isTrying, outcome) }
        var calls = calls
        let actions = calls.takeActions()
        return Step(state: .orphaned(calls, outcome, isTrying: isTrying), actions: actions)
    }

    private static func stop(_ calls: RoomCalls, leaves: Bool, _ outcome: SessionOutcome) -> Step {
        var calls = calls
        calls.endAll(reason: "the session ends")
        if leaves { calls.emit(.send(.leave)) }
        let timer = calls.makeTimer(.stop, calls.context.configuration.stopLimit)
        let actions = calls.takeActions()
        let stopping = Stopping(
            closing: calls.context.closing,
            isWaitingForLeave: leaves,
            timer: timer,
            outcome: outcome
        )
        return Self.stopping(stopping, after: actions)
    }

    /// Finishes when nothing is left to wait for.
    private static func stopping(_ stopping: Stopping, after actions: [SessionAction] = []) -> Step {
        guard stopping.closing.isEmpty, !stopping.isWaitingForLeave else {
            return Step(state: .stopping(stopping), actions: actions)
        }
        let last: [SessionAction] = [.cancelTimer(stopping.timer), .finished(stopping.outcome)]
        return Step(state: .finished, actions: actions + last)
    }
}
