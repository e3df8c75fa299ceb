// SPDX-License-Identifier: Apache-2.0

import SDP
import Signalling

/// One call: everything that is decided about one peer, or about the place where the server takes our media.
///
/// Pure, like all of the session. `RoomCalls` decides which inputs get here; actions pile up in the `CallContext`, which
/// is all that a call sees of the others.
///
/// ```
///            open                    negotiation failed
///   idle ───────────► live ─────────────────────────────► waiting
///    ▲  ▲              │ │ ▲                                 │
///    │  └── call reset ┘ │ └──────────── timer, open ────────┘
///    │                   ▼ resets used up
///    └── timer, return ─ givenUp ── timer: open, reset or wait
/// ```
struct Call {
    /// How long a peer without a connection is waited for.
    struct Comeback {
        var timer: TimerID
        /// Whether a reset of ours was its reason, of which the signaller may say that the peer left.
        var isReset: Bool
    }

    /// The state of the call.
    enum Phase {
        /// No connection: the peer must offer, or the room must name us the offerer.
        case idle
        /// No connection until the timer fires.
        case waiting(TimerID, Plan)
        /// One connection.
        case live(Connection)
        /// No connection, and offers are ignored; after that we redial.
        case givenUp(CallRole)
    }

    /// How a new connection begins.
    enum Plan: Equatable {
        case offer
        /// An offer to a peer that is not there yet: nothing is expected until the answer.
        case standingOffer
        case answer(PeerDescription)
    }

    /// How far the exchange of descriptions has come on a connection.
    enum Negotiation {
        /// `createOffer` runs.
        case creatingOffer
        /// Our offer is sent.
        case awaitingAnswer
        /// `applyOffer` runs; `next` is a newer offer of the same session.
        case answering(offer: PeerDescription, next: PeerDescription?)
        /// No exchange is open.
        case stable
    }

    /// The one connection of a live call.
    struct Connection {
        let id: ConnectionID
        let role: CallRole
        var negotiation: Negotiation
        /// Whether no peer is there yet that could answer our offer.
        var isStanding = false
        /// The peer's description that was given to the connection last.
        var remote: DescriptionIdentity?
        /// The peer's description that is in force.
        var acceptedRemote: DescriptionIdentity?
        /// The offer answered last, with our answer.
        var answered: (offer: PeerDescription, answer: SessionDescription)?
        /// Whether the peer has a description to which our candidates belong.
        var hasSentDescription = false
        var isConnected = false
        /// Whether `mediaSilent` was the newest word, also before `connected`.
        var isSilent = false
        var connectTimer: TimerID?
        var disconnectTimer: TimerID?
        var staleTimer: TimerID?
    }

    let peer: PeerID
    /// Whether the server takes our media here, with no peer behind it.
    let isPublishPoint: Bool
    var phase = Phase.idle
    /// Whether `peerJoined` or `publishPointArrived` was reported.
    var isAnnounced = false
    /// Candidates of the peer that wait for its description.
    var held: CandidateQueue
    /// Candidates of the peer that were passed on for its current description.
    var handed: CandidateQueue
    /// Our candidates that wait for our description, or for the room.
    var outgoing: CandidateQueue
    /// Our candidates that were sent, to know them when they come back.
    var sent: CandidateQueue
    /// The answer applied last, to know a repetition that comes after a rebuild.
    var lastAppliedAnswer: PeerDescription?
    /// Connections opened in the running window.
    var openings = 0
    /// Negotiations failed in the running window.
    var rebuilds = 0
    var burstTimer: TimerID?
    /// Call resets in the running window.
    var resets = 0
    var resetsTimer: TimerID?
    /// While the peer is waited for: from a call reset, from when it has no connection and we are out of the room or back
    /// in it, or from an answer of a server that we could not take.
    var comeback: Comeback?
    /// Whether we redial if the peer does not offer during the wait.
    ///
    /// True where the call ended while we were out of the room, because not every room then makes the peer offer, and
    /// where the room leaves it to us.
    var beginsAnew = false

    init(with peer: PeerID, candidateLimit: Int, isPublishPoint: Bool) {
        self.peer = peer
        self.isPublishPoint = isPublishPoint
        self.held = CandidateQueue(limit: candidateLimit)
        self.handed = CandidateQueue(limit: candidateLimit)
        self.outgoing = CandidateQueue(limit: candidateLimit)
        self.sent = CandidateQueue(limit: candidateLimit)
    }

    /// The connection, if there is one.
    var connection: Connection? {
        if case .live(let connection) = self.phase { connection } else { nil }
    }

    /// Whether media may flow.
    var isConnected: Bool { self.connection?.isConnected == true }

    /// Whether the peer was dropped, and is there.
    var isGivenUp: Bool {
        if case .givenUp = self.phase { self.isAnnounced && !self.isPublishPoint } else { false }
    }

    /// Whether the call may make room for another peer: the peer vanished, or sent nothing but candidates.
    var isReplaceable: Bool {
        if case .idle = self.phase { !self.isPublishPoint } else { false }
    }

    /// Changes the connection of a live call.
    mutating func updateConnection(_ change: (inout Connection) -> Void) {
        guard case .live(var connection) = self.phase else { return }
        change(&connection)
        self.phase = .live(connection)
    }

    // Presence

    /// Says that the peer or the publish point is there, unless the server has yet to take us.
    mutating func announce(_ context: inout CallContext) {
        guard !context.isAhead, !self.isAnnounced else { return }
        self.isAnnounced = true
        context.report(self.isPublishPoint ? .publishPointArrived(self.peer) : .peerJoined(self.peer))
    }

    /// Says that the peer is there; a publish point is none.
    mutating func announceMember(_ context: inout CallContext) {
        if !self.isPublishPoint { self.announce(&context) }
    }

    /// Closes everything, and says that the peer is gone.
    mutating func close(reason: String, when end: ConnectionEnd, _ context: inout CallContext) {
        self.end(reason: reason, when: end, &context)
        context.cancel(self.burstTimer)
        context.cancel(self.resetsTimer)
        context.cancel(self.comeback?.timer)
        guard self.isAnnounced else { return }
        context.report(self.isPublishPoint ? .publishPointLeft(self.peer) : .peerLeft(self.peer))
    }

    // Connections

    /// Opens the next connection of an idle call, or lets it wait if there were too many.
    ///
    /// Out of the room nothing is opened, because no description could be sent: we redial when we are back.
    mutating func open(_ plan: Plan, _ context: inout CallContext) {
        guard context.isJoined else {
            context.ignore(.notJoined, self.peer, "no new connection")
            self.beginsAnew = true
            return self.awaitReturn(&context)
        }
        self.beginsAnew = false
        guard self.openings < context.configuration.maximumConnections else {
            return self.wait(context.configuration.throttledWait, plan, &context)
        }
        context.cancel(self.comeback?.timer)
        self.comeback = nil
        self.startBurst(&context)
        self.openings += 1
        let isStanding = plan == .standingOffer
        let role = self.role(plan, context)
        let id = context.openConnection(to: self.peer, role, isStanding: isStanding)
        var connection = Connection(id: id, role: role, negotiation: .creatingOffer)
        connection.isStanding = isStanding
        if !isStanding {
            connection.connectTimer = context.startTimer(.connect, self.peer, context.configuration.connectLimit)
        }
        self.phase = .live(connection)
        switch plan {
        case .offer, .standingOffer: context.emit(.createOffer(id))
        case .answer(let offer): self.apply(offer: offer, on: id, &context)
        }
    }

    /// Our side of a connection that begins so.
    private func role(_ plan: Plan, _ context: CallContext) -> CallRole {
        switch plan {
        case .offer, .standingOffer: self.isPublishPoint ? .publisher : .offerer
        case .answer: context.hasPublishPoint ? .subscriber : .answerer
        }
    }

    /// Lets the next connection wait.
    mutating func wait(_ duration: Duration, _ plan: Plan, _ context: inout CallContext) {
        self.phase = .waiting(context.startTimer(.backOff, self.peer, duration), plan)
    }

    /// Leaves the call idle: closes its connection or ends its wait.
    ///
    /// `isClosed` says that the connection is closed already.
    mutating func end(
        reason: String,
        isClosed: Bool = false,
        when end: ConnectionEnd = .atOnce,
        _ context: inout CallContext
    ) {
        switch self.phase {
        case .idle, .givenUp: break
        case .waiting(let timer, _): context.cancel(timer)
        case .live(let connection):
            context.cancel(connection.connectTimer)
            context.cancel(connection.disconnectTimer)
            context.cancel(connection.staleTimer)
            context.endConnection(connection.id, reason: reason, isClosed: isClosed, when: end)
        }
        self.phase = .idle
        _ = self.handed.takeAll()
        _ = self.outgoing.takeAll()
        _ = self.sent.takeAll()
    }

    /// Replaces the connection by a new one.
    mutating func rebuild(_ plan: Plan, reason: String, _ context: inout CallContext) {
        guard let id = self.connection?.id else { return }
        self.end(reason: reason, &context)
        context.report(.callRebuilt(self.peer, closed: id, reason: reason))
        self.open(plan, &context)
    }

    /// Redials, with our offer.
    mutating func offer(reason: String, _ context: inout CallContext) {
        if self.connection != nil {
            self.rebuild(.offer, reason: reason, &context)
        } else {
            self.end(reason: "", &context)
            self.open(.offer, &context)
        }
    }

    // Windows

    /// Starts the window in which openings and rebuilds are counted, if there is none.
    mutating func startBurst(_ context: inout CallContext) {
        guard self.burstTimer == nil else { return }
        self.burstTimer = context.startTimer(.burst, self.peer, context.configuration.burstWindow)
    }

    /// Counts a call reset in the window, and starts the window if there is none.
    mutating func countReset(_ context: inout CallContext) {
        if self.resetsTimer == nil {
            self.resetsTimer = context.startTimer(.resets, self.peer, context.configuration.resetWindow)
        }
        self.resets += 1
    }

    /// Gives the peer its failures back, because it returned or the window ended.
    mutating func forgetResets(_ context: inout CallContext) {
        context.cancel(self.resetsTimer)
        self.resets = 0
        self.resetsTimer = nil
        if case .givenUp = self.phase { self.phase = .idle }
    }
}
