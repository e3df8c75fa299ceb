// SPDX-License-Identifier: Apache-2.0

import Signalling

/// What the session knows of one peer: a plain record that only `RoomCalls` changes.
///
/// ```
///            open                    negotiation failed
///   idle ───────────► live ─────────────────────────────► waiting
///    ▲  ▲              │ │ ▲                                 │
///    │  └── call reset ┘ │ └──────────── timer, open ────────┘
///    │                   ▼ resets used up
///    └── timer, return ─ givenUp
/// ```
struct Call {
    /// Where the call with the peer stands.
    enum Phase {
        /// No connection: the peer has to offer, or the room has to name us the offerer.
        case idle
        /// No connection until the timer fires.
        case waiting(TimerID, Plan)
        /// One connection.
        case live(Connection)
        /// No connection, and offers are ignored.
        case givenUp
    }

    /// What a new connection begins with.
    enum Plan: Equatable {
        case offer
        /// An offer for somebody who is not there yet: nothing is expected until the answer.
        case standingOffer
        case answer(sdp: String)
    }

    /// How far the exchange of descriptions has come on a connection.
    enum Negotiation {
        /// `createOffer` runs.
        case creatingOffer
        /// Our offer is sent.
        case awaitingAnswer
        /// `applyOffer` runs; `next` is a newer offer of the same session.
        case answering(offer: String, next: String?)
        /// No exchange is open.
        case stable
    }

    /// The one connection of a live call.
    struct Connection {
        let id: ConnectionID
        let role: CallRole
        var negotiation: Negotiation
        /// Whether nobody is there yet who could answer our offer.
        var isStanding = false
        /// The peer's description that was given to the connection last.
        var remote: DescriptionIdentity?
        /// The peer's description that is in force.
        var acceptedRemote: DescriptionIdentity?
        /// The offer answered last, with our answer.
        var answered: (offer: String, answer: String)?
        /// Whether the peer has a description to which our candidates belong.
        var hasSentDescription = false
        var isConnected = false
        /// Whether `mediaSilent` was the newest word, also before `connected`.
        var isSilent = false
        var connectTimer: TimerID?
        var disconnectTimer: TimerID?
        var staleTimer: TimerID?
    }

    var phase = Phase.idle
    /// Whether `peerJoined` or `publishPointArrived` was reported.
    var isAnnounced = false
    /// Whether the server takes our media here, and nobody is behind it.
    let isPublishPoint: Bool
    /// Candidates of the peer that wait for its description.
    var held: CandidateQueue
    /// Candidates of the peer that were handed over for its current description.
    var handed: CandidateQueue
    /// Our candidates that wait for our description, or for the room.
    var outgoing: CandidateQueue
    /// Our candidates that were sent, to know them when they come back.
    var sent: CandidateQueue
    /// The answer applied last, to know a repetition that comes after a rebuild.
    var lastAppliedAnswer: String?
    /// Connections opened in the running window.
    var openings = 0
    /// Negotiations failed in the running window.
    var rebuilds = 0
    var burstTimer: TimerID?
    /// Call resets in the running window.
    var resets = 0
    var resetsTimer: TimerID?
    /// Runs from a call reset until the peer comes back.
    var returnTimer: TimerID?

    init(candidateLimit: Int, isPublishPoint: Bool) {
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

    /// Whether the record may make room for another peer: the peer vanished, or sent nothing but candidates.
    var isReplaceable: Bool {
        if case .idle = self.phase { !self.isPublishPoint } else { false }
    }

    /// Our side of a connection that begins so.
    func role(_ plan: Plan) -> CallRole {
        switch plan {
        case .offer, .standingOffer: self.isPublishPoint ? .publisher : .offerer
        case .answer: .answerer
        }
    }
}
