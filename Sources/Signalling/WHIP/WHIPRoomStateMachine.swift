// SPDX-License-Identifier: Apache-2.0

/// One WHIP or WHEP session after the other on one endpoint; we always make the offer first (RFC 9725, WHEP draft).
///
/// - `idle`: no attempt. `asking`: OPTIONS for the ICE servers, and the end of a session that was left behind.
/// - `offering`: the session makes the offer. `posting`: the endpoint has it. `waiting`: it wants to be left alone.
/// - `answering`: the endpoint made another offer, which we answer. `active`: media may flow.
/// - `leaving`: our session ends, or a request that may still make one. `ended`: terminal.
///
///     idle ─► asking ─► offering ─► posting ─┬─► active ─► leaving ─► ended
///       ▲       ▲ ▲                   │ │ ▲  └─► answering ─► active
///       │       │ └── call reset ─────┼─┼─┼── active
///       │    attempt           redirect │ │
///       └── attempt failed ◄── waiting ◄┘ └── up to 5 times
///
/// The endpoint is a peer like any other to the room session. It is announced before `joined`, because the endpoint takes
/// us by answering the offer. A call reset ends the session and posts a fresh offer, for webrtcbin cannot restart ICE.
///
/// Wrong inputs: answers to requests of an earlier round and commands that come too late are harmless races, ignored.
///
/// The wire: docs/signalling/whip.md.
public struct WHIPRoomStateMachine: SignallingMachine {
    static let offerTimer = SignallingTimer(rawValue: "offer")
    static let retryTimer = SignallingTimer(rawValue: "retry")
    static let trickleTimer = SignallingTimer(rawValue: "trickle")

    /// Longest time for the session to make an offer or an answer: twice what gathering may take, and some.
    static let descriptionLimit = Duration.seconds(10)
    /// Limit for ending a session, as for leaving.
    static let endLimit = Duration.seconds(2)
    /// How long candidates are collected for one request.
    static let trickleDelay = Duration.milliseconds(50)
    /// Redirects followed for one offer.
    static let maximumRedirects = 5

    /// The purpose of a request.
    enum Purpose: String {
        case ask, end, offer, answer, trickle
    }

    struct Posting {
        var url: WebURL
        var offer: String
        var redirects = 0
        var candidates: [ICECandidate] = []
    }

    enum State {
        case idle
        case asking(awaited: Set<HTTPRequest.ID>)
        case offering
        case posting(Posting)
        case waiting(SignallingError)
        case answering(WHIPSession, answer: String?)
        case active(WHIPSession)
        case leaving
        case ended
    }

    let direction: WHIPDirection
    let endpoint: WebURL
    private let verifiesCertificate: Bool
    let peer: PeerID
    let options: SignallingOptions
    var state = State.idle
    /// Distinguishes the requests of one round from those of the next.
    private var round = 0
    /// A session that may still be there, to be ended at the next chance.
    var leftover: WebURL?
    private var servers: [ICEServer] = []
    private var isJoined = false

    /// A machine before its first attempt.
    init(_ direction: WHIPDirection, endpoint: WHIPEndpoint, options: SignallingOptions) {
        self.direction = direction
        self.endpoint = endpoint.url
        self.verifiesCertificate = endpoint.verifiesCertificate
        self.peer = PeerID(endpoint.name)
        self.options = options
    }

    /// Takes one thing that happened, and says what to do, in order.
    public mutating func handle(_ input: SignallingInput) -> [SignallingAction] {
        if case .ended = self.state { return [] }
        switch input {
        case .attempt(let note): return self.attempt(note: note)
        case .command(let command): return self.command(command)
        case .timerFired(let timer): return self.timerFired(timer)
        case .answered(let id, let answer): return self.answered(id, answer)
        case .requestFailed(let id, let error): return self.requestFailed(id, error)
        case .webSocket, .stream, .xmpp: return []
        }
    }

    // MARK: - Beginning

    private mutating func attempt(note: String?) -> [SignallingAction] {
        self.isJoined = false
        if let problem = self.misuse {
            self.state = .ended
            return [.finished(problem)]
        }
        let noted = note.flatMap { WebURL(parsing: $0) }
        self.leftover = noted.flatMap { self.sessionURL("\($0)", from: self.endpoint) } ?? self.leftover
        return self.begin()
    }

    /// The error of a use that must not even be tried.
    private var misuse: SignallingError? {
        if self.direction == .publish, !self.options.sends {
            return SignallingError(
                .invalidURL,
                "WHIP publishes, but there is nothing to send: give the room a camera or a microphone.",
                blame: .configuration
            )
        }
        if self.direction == .play, !self.options.receives {
            return SignallingError(
                .invalidURL,
                "WHEP plays, and takes nothing that we could send: WHIP publishes.",
                blame: .configuration
            )
        }
        guard self.options.secret?.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F }) ?? true else {
            return SignallingError(
                .refused,
                "The room's secret cannot be a token: it has spaces, or characters that are not ASCII.",
                blame: .configuration
            )
        }
        return nil
    }

    /// Asks for the ICE servers, which webrtcbin needs before it makes the offer, and ends what was left behind.
    ///
    /// Both go out at once, so that the whole costs one round trip.
    mutating func begin() -> [SignallingAction] {
        self.round += 1
        var requests = [self.request(.ask, "OPTIONS", self.endpoint, timeout: self.options.policy.connectTimeout)]
        if let url = self.leftover { requests.append(self.request(.end, "DELETE", url, timeout: Self.endLimit)) }
        self.state = .asking(awaited: Set(requests.map(\.id)))
        return requests.map { .request($0) }
    }

    /// Lets the session make the offer when nothing more is awaited.
    private mutating func asked(_ id: HTTPRequest.ID) -> [SignallingAction] {
        guard case .asking(var awaited) = self.state else { return [] }
        awaited.remove(id)
        self.state = .asking(awaited: awaited)
        guard awaited.isEmpty else { return [] }
        self.state = .offering
        return [
            .startTimer(Self.offerTimer, after: Self.descriptionLimit),
            .event(self.direction == .publish ? .publishPointArrived(self.peer) : .peerArrived(self.peer)),
        ]
    }

    /// Reports the servers that an answer names, if they are others than before.
    func offered(_ servers: [ICEServer]) -> [SignallingAction] {
        servers == self.servers ? [] : [.event(.iceServersReceived(servers))]
    }

    // MARK: - Inputs

    private mutating func answered(_ id: HTTPRequest.ID, _ answer: HTTPAnswer) -> [SignallingAction] {
        guard let purpose = self.purpose(of: id) else { return [] }
        switch purpose {
        case .ask:
            // An endpoint that does not answer OPTIONS may take offers. One that names no servers here may have named some in its
            // answer to the last offer (RFC 9725 section 4.6): they stay.
            let servers = answer.isSuccess ? LinkHeader.iceServers(of: answer) : []
            return (servers.isEmpty ? [] : self.learn(servers)) + self.asked(id)
        case .end:
            self.leftover = nil
            if case .leaving = self.state { return self.left(forgets: true) }
            return [.note(nil)] + self.asked(id)
        case .offer: return self.offerAnswered(answer)
        case .answer: return self.answerAnswered(answer)
        case .trickle: return self.trickleAnswered(answer)
        }
    }

    private mutating func requestFailed(_ id: HTTPRequest.ID, _ error: SignallingError) -> [SignallingAction] {
        guard let purpose = self.purpose(of: id) else { return [] }
        if case .leaving = self.state { return self.left(forgets: false) }
        switch purpose {
        case .end: return self.asked(id)
        // Some endpoints let OPTIONS lie, and answer an offer.
        case .ask where error.code == .timedOut: return self.asked(id)
        case .ask, .offer, .answer: return self.fail(error)
        case .trickle: return self.trickleFailed()
        }
    }

    private mutating func timerFired(_ timer: SignallingTimer) -> [SignallingAction] {
        switch (timer, self.state) {
        case (Self.offerTimer, .offering), (Self.offerTimer, .answering(_, answer: nil)):
            return self.fail(self.timedOut("No description of ours was made in time"))
        case (Self.retryTimer, .waiting(let error)):
            return self.fail(error)
        case (Self.trickleTimer, .active(let session)):
            return self.trickle(session)
        default:
            return []
        }
    }

    private mutating func command(_ command: RoomCommand) -> [SignallingAction] {
        switch command {
        case .offer(_, let sdp): return self.offer(sdp)
        case .answer(_, let sdp): return self.answer(sdp)
        case .candidate(_, let candidate): return self.candidate(candidate)
        case .resetCall: return self.resetCall()
        case .leave: return self.leave()
        case .yield: return []
        }
    }

    // MARK: - Ending

    /// The session's media failed, or never came.
    private mutating func resetCall() -> [SignallingAction] {
        switch self.state {
        case .active(let session):
            self.leftover = session.url ?? self.leftover
            return [.cancelTimer(Self.trickleTimer)] + self.begin()
        case .offering, .posting, .answering:
            return self.fail(self.timedOut("There was no connection in time"))
        case .idle, .asking, .waiting, .leaving, .ended:
            return []
        }
    }

    private mutating func leave() -> [SignallingAction] {
        switch self.state {
        case .active(let session), .answering(let session, _):
            guard let url = session.url else { return self.left(forgets: true) }
            return self.end(url)
        case .posting:
            // A session that it creates must be ended too.
            self.state = .leaving
            return []
        case .asking(let awaited) where awaited.contains(self.id(.end)):
            self.state = .leaving
            return []
        case .idle, .asking, .offering, .waiting:
            return self.left(forgets: false)
        case .leaving, .ended:
            return []
        }
    }

    /// Ends the session at the endpoint, and then the run.
    mutating func end(_ url: WebURL) -> [SignallingAction] {
        self.state = .leaving
        return [.request(self.request(.end, "DELETE", url, timeout: Self.endLimit))]
    }

    mutating func left(forgets: Bool) -> [SignallingAction] {
        self.state = .ended
        return (forgets ? [.note(nil)] : []) + [.event(.left), .finished(nil)]
    }

    mutating func fail(_ error: SignallingError) -> [SignallingAction] {
        if case .answering(let session, _) = self.state { self.leftover = session.url ?? self.leftover }
        self.state = .idle
        self.round += 1
        return [.attemptFailed(error)]
    }

    func timedOut(_ what: String) -> SignallingError {
        SignallingError(
            .timedOut,
            "\(what) at the \(WHIPRefusal.name(self.direction)) endpoint at \(self.endpoint.address).",
            blame: .network
        )
    }

    // MARK: - Requests

    func id(_ purpose: Purpose) -> HTTPRequest.ID { HTTPRequest.ID(rawValue: "\(purpose.rawValue)-\(self.round)") }

    private func purpose(of id: HTTPRequest.ID) -> Purpose? {
        let parts = id.rawValue.split(separator: "-")
        guard parts.count == 2, Int(parts[1]) == self.round else { return nil }
        return Purpose(rawValue: String(parts[0]))
    }

    /// A request with our token, unless it goes to another origin than the one that the token is for.
    func request(
        _ purpose: Purpose,
        _ method: String,
        _ url: WebURL,
        headers: [HTTPField] = [],
        body: String? = nil,
        timeout: Duration = .seconds(10)
    ) -> HTTPRequest {
        var headers = headers
        if let secret = self.options.secret, url.origin == self.endpoint.origin {
            headers.append(HTTPField("Authorization", "Bearer \(secret)"))
        }
        return HTTPRequest(
            self.id(purpose),
            method: method,
            url: url,
            headers: headers,
            body: body.map { Array($0.utf8) },
            timeout: timeout
        )
    }

    /// The URL that a reference means; nil for what we do not send anything to: no HTTP, HTTP where the endpoint has
    /// TLS, or a host that we may not be sent to.
    func sessionURL(_ reference: String, from base: WebURL) -> WebURL? {
        guard let url = base.resolving(reference), !url.isWebSocket, url.isSecure || !base.isSecure,
            self.mayGo(to: url)
        else { return nil }
        return url
    }

    /// Whether the endpoint may send us to a host: its own, or another one that shows a certificate which is checked.
    ///
    /// Clusters hand clients on to one of their hosts (RFC 9725 section 4.5). They are known by name and certificate, and
    /// services of a private network, which were never meant to be open to the endpoint, as a rule have none.
    func mayGo(to url: WebURL) -> Bool {
        url.host == self.endpoint.host || url.isSecure && self.verifiesCertificate
    }

    // MARK: - Membership

    /// Says once for each attempt that we are a member.
    mutating func joined() -> [SignallingAction] {
        guard !self.isJoined else { return [] }
        self.isJoined = true
        return [.event(.joined(ownID: nil))]
    }

    /// Remembers the servers that an answer names.
    mutating func learn(_ servers: [ICEServer]) -> [SignallingAction] {
        let actions = self.offered(servers)
        self.servers = servers
        return actions
    }
}
