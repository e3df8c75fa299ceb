// SPDX-License-Identifier: Apache-2.0

internal import Basics

/// Calls by chat messages of XMPP: pure, driven by `MachineClient`.
///
/// ```
///   idle ── attempt ──► opening ── signed in ──► online ── leave ──► left
///    ▲                     │                        │
///    └──── attemptFailed ──┴────────────────────────┘
/// ```
///
/// Calls outlive the stream: their media do too. Each is one full address of a peer, so several may call at once. A call
/// that we begin is made once when we come, when its media failed, and when the peer comes online again.
///
/// The wire: docs/signalling/xmpp.md.
public struct XMPPRoomStateMachine: SignallingMachine {
    enum State: Sendable, Equatable {
        case idle
        case opening
        case online
        case left
    }

    static let openTimer = SignallingTimer(rawValue: "open")
    static let quietTimer = SignallingTimer(rawValue: "quiet")
    static let pingTimer = SignallingTimer(rawValue: "ping")
    static let callTimer = SignallingTimer(rawValue: "call")
    static let ringTimer = SignallingTimer(rawValue: "ring")

    /// Silence of the server after which it is asked whether it is there (XEP-0199).
    static let quietLimit = Duration.seconds(60)
    /// How long its answer may take.
    static let pingLimit = Duration.seconds(30)
    /// How long we wait for the peer's presence before its account is called without knowing a client of it.
    static let presenceWait = Duration.seconds(3)
    /// Wait before a call whose media failed is made again.
    static let resetWait = Duration.seconds(2)
    /// Wait before calling again a peer that no message reached.
    static let unreachableWait = Duration.seconds(60)
    /// How long we ring.
    static let ringLimit = Duration.seconds(120)
    /// How long a client may be gone before its call is over: servers that restart report all clients as gone.
    static let absenceLimit = Duration.seconds(10)
    /// Most calls at once.
    static let maximumCalls = 64
    /// Most clients of the peer that are remembered as online.
    static let maximumClients = 16

    let address: RoomURL.XMPP
    let policy: JoinPolicy
    let displayName: String?
    private let secret: String?
    private let resource: String
    var seed: UInt64

    var state = State.idle
    var calls: [PeerID: XMPPCall] = [:]
    /// Clients of the peer that are online.
    var clients: Set<JID> = []
    /// Whether the last of them went since we called.
    var hasSeenPeerLeave = false
    /// Whether the peer is to be called as soon as that makes sense.
    var wantsCall: Bool
    private var pingCount = 0

    init(_ address: RoomURL.XMPP, _ options: SignallingOptions) {
        self.address = address
        self.policy = options.policy
        self.displayName = DisplayName.line(options.displayName)
        self.secret = options.secret
        self.seed = options.seed
        self.wantsCall = address.isCaller
        // The same after a crash, so that the server takes the dead stream away, and another for each room of an account.
        self.resource = "tapedeck-" + String(fnv1a("\(address)".utf8), radix: 16)
    }

    /// Takes one thing that happened, and says what to do, in order.
    public mutating func handle(_ input: SignallingInput) -> [SignallingAction] {
        switch input {
        case .attempt: self.attempt()
        case .command(let command): self.command(command)
        case .timerFired(let timer): self.timerFired(timer)
        case .xmpp(let event): self.streamReported(event)
        case .answered(let id, let answer): self.answered(id, answer)
        case .requestFailed(let id, let error): self.requestFailed(id, error)
        case .webSocket, .stream: []
        }
    }

    // MARK: - Stream

    private mutating func attempt() -> [SignallingAction] {
        guard self.state != .left else { return [] }
        guard let secret else {
            return [
                .finished(
                    SignallingError(
                        .invalidURL,
                        "The account \(self.address.account) needs its password: give it as secret in the configuration, or "
                            + "in the environment variable TAPEDECK_XMPP_PASSWORD.",
                        blame: .configuration
                    )
                )
            ]
        }
        self.state = .opening
        self.clients = []
        for peer in self.calls.keys { self.calls[peer]?.isPresent = false }
        // Messages to a peer that had not answered may be lost: the call is made again.
        let unanswered = self.calls.filter { !$0.value.isAnswered }.keys
        let restarts = unanswered.flatMap { self.forget($0) }
        if !unanswered.isEmpty { self.wantsCall = true }
        let request = XMPPRequest(
            account: self.address.account.with(resource: self.resource),
            password: secret,
            host: self.address.server?.host,
            port: self.address.port,
            verifiesCertificate: self.address.verifiesCertificate
        )
        // Connecting, TLS, signing in and binding.
        return restarts + [.openXMPP(request), .startTimer(Self.openTimer, after: self.policy.connectTimeout * 3)]
    }

    private mutating func streamReported(_ event: XMPPEvent) -> [SignallingAction] {
        switch (event, self.state) {
        case (.opened(let jid), .opening): return self.opened(jid)
        case (.received(let stanza), .online):
            return [.startTimer(Self.quietTimer, after: Self.quietLimit), .cancelTimer(Self.pingTimer)]
                + self.received(stanza)
        case (.closed(let error), .opening), (.closed(let error), .online):
            self.state = .idle
            return [
                .attemptFailed(
                    error
                        ?? SignallingError(
                            .unreachable,
                            "The XMPP server \(self.address.serverAddress) closed the stream.",
                            blame: .peer
                        )
                )
            ]
        case (.opened, _), (.received, _), (.closed, _): return []
        }
    }

    private mutating func opened(_ jid: JID) -> [SignallingAction] {
        self.state = .online
        var actions: [SignallingAction] = [
            .cancelTimer(Self.openTimer), .startTimer(Self.quietTimer, after: Self.quietLimit),
            .event(.joined(ownID: PeerID("\(jid)"))), .sendXMPP(XMPPStanza(.presence, priority: 1)),
        ]
        if self.address.isCaller, let peer = self.address.peer {
            // Its presence names the client to call; without it the account is called.
            actions.append(.sendXMPP(XMPPStanza(.presence, type: "subscribe", to: peer)))
            if self.wantsCall { actions.append(.startTimer(Self.callTimer, after: Self.presenceWait)) }
        }
        return actions
    }

    private mutating func timerFired(_ timer: SignallingTimer) -> [SignallingAction] {
        switch (timer, self.state) {
        case (Self.openTimer, .opening):
            self.state = .idle
            return [.attemptFailed(self.silence("did not sign us in in time"))]
        case (Self.quietTimer, .online):
            self.pingCount &+= 1
            let server = JID(self.address.account.domain)
            let ping = XMPPStanza(.iq, type: "get", to: server, id: "ping-\(self.pingCount)", payload: .ping)
            return [.sendXMPP(ping), .startTimer(Self.pingTimer, after: Self.pingLimit)]
        case (Self.pingTimer, .online):
            self.state = .idle
            return [.attemptFailed(self.silence("does not answer any more"))]
        case (Self.callTimer, .online): return self.callIfWanted()
        case (Self.ringTimer, .online): return self.nobodyAnswered()
        case (_, .online): return self.absenceEnded(timer)
        case (_, .idle), (_, .opening), (_, .left): return []
        }
    }

    private func silence(_ what: String) -> SignallingError {
        SignallingError(
            .timedOut,
            "The XMPP server \(self.address.serverAddress) \(what): check the address, the port and firewalls.",
            blame: .network
        )
    }

    // MARK: - Stanzas

    private mutating func received(_ stanza: XMPPStanza) -> [SignallingAction] {
        switch stanza.kind {
        case .message: self.messageReceived(stanza)
        case .presence: self.presenceReceived(stanza)
        case .iq: self.questionReceived(stanza)
        }
    }

    /// Every question is answered (RFC 6120 section 8.2.3); ours is answered by whatever comes.
    private func questionReceived(_ stanza: XMPPStanza) -> [SignallingAction] {
        guard stanza.type == "get" || stanza.type == "set" else { return [] }
        let isOurServer = stanza.from.map { $0.bare == self.address.account.bare } ?? true
        var answer = XMPPStanza(.iq, type: "result", to: stanza.from, id: stanza.id)
        switch stanza.payload {
        case .some(.ping) where stanza.type == "get": break
        case .some(.roster) where stanza.type == "set" && isOurServer: break
        default:
            answer.type = "error"
            answer.condition = "service-unavailable"
        }
        return [.sendXMPP(answer)]
    }

    // MARK: - Commands

    private mutating func command(_ command: RoomCommand) -> [SignallingAction] {
        if command == .leave { return self.leave() }
        guard self.state == .online else {
            return [.ignored("A command outside of the room was dropped", "\(self.state)")]
        }
        return switch command {
        case .offer(let peer, let sdp): self.offer(peer, sdp)
        case .answer(let peer, let sdp): self.say(.answer(sdp: sdp), to: peer)
        case .candidate(let peer, let candidate): self.say(.candidate(candidate), to: peer)
        case .resetCall(let peer): self.resetCall(peer)
        // Every caller can be accepted.
        case .yield, .leave: []
        }
    }

    private mutating func leave() -> [SignallingAction] {
        let wasOnline = self.state == .online
        guard self.state != .left else { return [] }
        self.state = .left
        var actions: [SignallingAction] = []
        if wasOnline {
            for peer in self.calls.keys.sorted(by: { $0.rawValue < $1.rawValue }) {
                actions += self.say(.bye, to: peer) + self.leaveRoom(peer)
            }
            actions += [.sendXMPP(XMPPStanza(.presence, type: "unavailable")), .closeXMPP]
        }
        self.calls = [:]
        return actions + [.event(.left), .finished(nil)]
    }
}

extension XMPPStanza.Element {
    /// Asks whether the other side is there (XEP-0199).
    static let ping = XMPPStanza.Element("ping", "urn:xmpp:ping")
    /// The contact list (RFC 6121 section 2).
    static let roster = XMPPStanza.Element("query", "jabber:iq:roster")
}
