// SPDX-License-Identifier: Apache-2.0

/// State of a member of a room: a plain record that only `AppRTCRoomStateMachine` changes.
struct AppRTCMember: Sendable {
    /// The state of the collider's WebSocket.
    enum Collider: Sendable {
        /// It is being opened.
        case connecting
        /// It is open, and we have registered.
        case registered
        /// It is closed, and opened again in a moment.
        case down
    }

    /// Most messages kept while they cannot be handed on; the collider's own limit.
    static let maximumMessages = 1024

    let membership: AppRTCMembership
    let webSocketURL: WebURL
    /// Whether we offer, and post instead of sending.
    var isInitiator: Bool
    var collider = Collider.connecting
    /// Whether we ever were registered.
    var hasRegistered = false
    /// How often the collider hung up since it last kept the connection for a while.
    var drops = 0
    /// The last complaint of the collider.
    var complaint: String?
    /// Requests for STUN and TURN servers that may still be needed; the first of them is under way.
    var serverRequests: [HTTPRequest] = []
    /// The servers known so far.
    var servers: [ICEServer]
    /// Whether the other member, or its empty place, was reported to the session.
    var isSettled = false
    /// Messages of the other member that wait until we are settled.
    var early: [AppRTCMessage]
    /// Whether our offer is open without an answer.
    var isStanding = false
    /// Messages to post; the first of them is under way, or waits for another try.
    var outbox: [String] = []
    /// The request that carries the first message of the outbox.
    var posting: HTTPRequest.ID?
    /// How often the first message of the outbox was tried in vain.
    var failedPosts = 0
    /// Messages for the collider that wait for the next registration.
    var unsent: [String] = []

    init(_ parameters: AppRTCJoinAnswer.Parameters) {
        self.membership = parameters.membership
        self.webSocketURL = parameters.webSocketURL
        self.isInitiator = parameters.isInitiator
        self.servers = parameters.iceServers
        let messages = parameters.messages
        // A farewell from before we came is none to us.
        self.early = messages.filter(\.isDescription) + messages.filter { !$0.isDescription && $0 != .bye }
    }
}

/// How a member leaves, step by step.
struct AppRTCLeaving: Sendable {
    /// The step after leaving.
    enum Purpose: Sendable, Equatable {
        /// The end of the run.
        case end
        /// Another join.
        case rejoin
        /// Another join, in the middle of a call that may have lived on without its servers.
        case resume
        /// A long wait, to leave the room to people.
        case yield
        /// The end of the attempt.
        case failure(SignallingError)
    }

    /// The WebSocket when leaving began.
    enum Socket: Sendable {
        /// There is none.
        case none
        /// It is not open yet.
        case opening
        /// It is open, and we are registered.
        case open
    }

    /// The awaited answer.
    enum Step: Sendable, Equatable {
        /// The room server's answer.
        case leave(HTTPRequest.ID)
        /// The collider's answer to a posted farewell.
        case bye(HTTPRequest.ID)
        /// The end of the WebSocket.
        case close
        /// The collider's answer to our removal.
        case removal(HTTPRequest.ID)
    }

    var purpose: Purpose
    let membership: AppRTCMembership
    var socket: Socket
    var step = Step.close

    /// Whether we notify the other member: a call that may continue without its servers is not ended by `bye`.
    var saysBye: Bool {
        switch self.purpose {
        case .end, .rejoin, .yield: true
        case .resume, .failure: false
        }
    }
}
