// SPDX-License-Identifier: Apache-2.0

internal import Basics

/// A member of a Janus VideoRoom: one session with a handle of ours, on which we publish, and one for each publisher that
/// we receive.
///
/// ```
///              no session                       ack
///   opening ───────────────► creating ──► attaching ──► joining ──► joined
///      │  session of before      ▲                                    ▲
///      └──────────► claiming ────┴─ refused        accepted ──────────┘
///
///   any ── loss ──► idle ── next attempt ──► opening      joined ── leave, kick ──► over (terminal)
/// ```
///
/// The session survives the loss of its WebSocket where the server is configured so; then nothing but the way is new.
/// Otherwise everything is opened again. A session that an earlier process left behind is destroyed first, so that we
/// are in the room once. Messages that fit nothing are harmless races or the server's fault: ignored and reported.
///
/// The wire: docs/signalling/janus.md.
public struct JanusRoomStateMachine: SignallingMachine {
    /// Where our media go; no publisher has such an id, because they are one word or a number.
    static let publishPoint = PeerID("our publisher")
    /// Most publishers received.
    static let maximumFeeds = 64
    static let keepAliveInterval = Duration.seconds(25)

    static let answerTimer = SignallingTimer(rawValue: "answer")
    static let keepAliveTimer = SignallingTimer(rawValue: "keep-alive")
    static let publishTimer = SignallingTimer(rawValue: "publish")
    private static let feedTimerPrefix = "feed "

    /// How far we are on the way into the room.
    enum Stage: Sendable, Hashable {
        case idle
        case opening
        case claiming
        case creating
        case attaching
        case joining
        case joined
        case over
    }

    /// The purpose of a request.
    enum Purpose: Sendable, Hashable {
        case claim
        case destroyOld
        case create
        case attach
        case join
        case list
        case keepAlive
        case publish
        case unpublish
        case attachFeed(PeerID, serial: Int)
        case subscribe(PeerID, serial: Int)
    }

    /// How far the server takes our media.
    enum Publishing: Sendable, Hashable {
        /// Not at all.
        case off
        /// The session was asked to offer.
        case announced
        /// Our offer is there, but no answer.
        case offered
        /// Media may flow.
        case configured
        /// The old peer connection must go first.
        case withdrawing
        /// The next try is due when the timer fires.
        case waiting
    }

    let address: RoomURL.Janus
    let options: SignallingOptions
    var link: JanusLink
    var stage = Stage.idle
    var actions: [SignallingAction] = []
    private var transactionCount = 0
    private var pending: [String: Purpose] = [:]
    /// The server has not answered the last keep-alive.
    var isKeepAliveOpen = false

    /// The session; kept from attempt to attempt until the server says that it is gone.
    var session: Int?
    /// A session of an earlier process.
    var abandoned: Int?
    /// Our handle, once we are a member.
    var handle: Int?
    var ownID: JanusID?
    var privateID: JSONValue?
    /// Whether we were a member in this run.
    var hasJoined = false
    var publishing = Publishing.off
    var publishFailures = 0
    var isPublishTrickling = false
    var feeds: [PeerID: JanusFeed] = [:]
    var feedCount = 0

    init(_ address: RoomURL.Janus, _ options: SignallingOptions) {
        self.address = address
        self.options = options
        self.link = JanusLink(address)
    }

    /// Takes one thing that happened, and says what to do, in order.
    public mutating func handle(_ input: SignallingInput) -> [SignallingAction] {
        guard self.stage != .over else { return [] }
        switch input {
        case .attempt(let note): self.begin(note)
        case .command(let command): self.command(command)
        case .timerFired(let timer): self.timerFired(timer)
        case .webSocket(let event): self.webSocketReported(event)
        case .answered(let request, let answer): self.answered(request, answer)
        case .requestFailed(let request, let error): self.requestFailed(request, error)
        case .stream, .xmpp: break
        }
        defer { self.actions = [] }
        return self.actions
    }

    // MARK: Inputs

    private mutating func command(_ command: RoomCommand) {
        switch command {
        case .leave: self.leave()
        case .yield: break
        case .offer(let peer, let sdp):
            if peer == Self.publishPoint { self.publish(sdp) } else { self.subscribeAnew(peer) }
        case .answer(let peer, let sdp): self.start(peer, sdp)
        case .candidate(let peer, let candidate): self.trickle(peer, candidate)
        case .resetCall(let peer):
            if peer == Self.publishPoint { self.withdraw() } else { self.subscribeAnew(peer) }
        }
    }

    private mutating func timerFired(_ timer: SignallingTimer) {
        guard self.stage != .idle else { return }
        switch timer {
        case Self.answerTimer:
            self.fail(.timedOut, "Janus at \(self.address.serverAddress) did not answer in time.", .network)
        case Self.keepAliveTimer: self.keepAlive()
        case Self.publishTimer: if self.stage == .joined { self.announcePublishing() }
        default:
            guard timer.rawValue.hasPrefix(Self.feedTimerPrefix) else { return }
            let peer = PeerID(String(timer.rawValue.dropFirst(Self.feedTimerPrefix.count)))
            if self.feeds[peer]?.phase == .waiting { self.subscribeAnew(peer) }
        }
    }

    private mutating func webSocketReported(_ event: WebSocketEvent) {
        guard self.stage != .idle else { return }
        switch event {
        case .opened: if self.stage == .opening { self.opened() }
        case .received(let message):
            guard let text = message.text else { return self.ignore("message that is no text", "") }
            self.received(text)
        case .refused(let status, _) where HTTPAnswer.isTransient(status: status):
            self.fail(.unreachable, "\(self.address.serverAddress) answered \(status).", .peer)
        case .refused(let status, _):
            self.fail(
                .refused,
                "\(self.address.serverAddress) answered \(status) instead of a WebSocket: is it Janus?",
                .peer
            )
        case .closed(let error):
            self.fail(error ?? self.error(.unreachable, "Janus at \(self.address.serverAddress) hung up.", .peer))
        }
    }

    private mutating func answered(_ request: HTTPRequest.ID, _ answer: HTTPAnswer) {
        guard self.stage != .idle, request != JanusLink.last else { return }
        if request == JanusLink.post { self.actions += self.link.posted() }
        guard answer.isSuccess else { return self.failed(request, status: answer.status) }
        guard let text = answer.text else { return self.ignore("answer that is no text", "") }
        self.received(text)
        guard request == JanusLink.poll, self.stage != .idle, self.stage != .over, let session else { return }
        self.actions += self.link.pollAgain(session: session)
    }

    private mutating func failed(_ request: HTTPRequest.ID, status: Int) {
        let server = self.address.serverAddress
        switch status {
        case 403:
            self.fail(.refused, "Janus at \(server) wants a token or an API secret, or another one.", .configuration)
        case 404 where request == JanusLink.poll:
            self.forgetSession()
            self.fail(.unreachable, "Janus at \(server) does not know our session any more.", .peer)
        case 400...499 where !HTTPAnswer.isTransient(status: status):
            self.fail(.refused, "\(server) answered \(status): is Janus at \(self.address.url)?", .peer)
        default: self.fail(.unreachable, "\(server) answered \(status).", .peer)
        }
    }

    private mutating func requestFailed(_ request: HTTPRequest.ID, _ error: SignallingError) {
        guard self.stage != .idle, request != JanusLink.last else { return }
        self.fail(error)
    }

    private mutating func received(_ text: String) {
        let values: [JSONValue]
        do throws(JanusMessage.ReadingError) {
            values = try JanusMessage.messages(text)
        } catch {
            return self.ignore("message that is not JSON", "\(text.utf8.count) bytes")
        }
        for value in values where self.stage != .idle && self.stage != .over {
            do throws(JanusMessage.ReadingError) {
                self.take(try JanusMessage(value))
            } catch .unknownKind(let kind) {
                self.ignore("unknown message", kind)
            } catch {
                self.ignore("message that is none of Janus'", "")
            }
        }
    }

    private mutating func take(_ message: JanusMessage) {
        var purpose: Purpose?
        if let transaction = message.transaction, let found = self.pending[transaction] {
            // An acknowledgement is the last word only on a keep-alive.
            if message.kind != .ack || found == .keepAlive { self.pending[transaction] = nil }
            purpose = found
        }
        if purpose == .destroyOld { return }
        guard message.session == nil || message.session == self.session || purpose == .create else {
            return self.ignore("message of another session", message.kind.rawValue)
        }
        switch message.kind {
        case .ack: if purpose == .keepAlive { self.isKeepAliveOpen = false }
        case .success: self.succeeded(message, purpose)
        case .error: self.refused(message.failure ?? JanusMessage.Failure(code: 0, reason: ""), purpose)
        case .event: self.eventReceived(message, purpose)
        case .trickle: self.trickleReceived(message)
        case .webrtcup: self.connectionCameUp(message.sender)
        case .hangup: self.hungUp(message.sender, message.reason ?? "")
        case .detached: self.detached(message.sender)
        case .timeout:
            self.forgetSession()
            self.fail(.unreachable, "Our session at Janus on \(self.address.serverAddress) timed out.", .peer)
        case .media, .slowlink, .keepalive, .serverInfo: break
        }
    }

    // MARK: Outputs

    /// Sends a request to the session, or to a handle of it.
    mutating func send(
        _ kind: String,
        _ members: [String: JSONValue] = [:],
        handle: Int? = nil,
        for purpose: Purpose? = nil,
        session: Int? = nil
    ) {
        self.transactionCount += 1
        let transaction = "\(String(self.options.seed, radix: 36))-\(self.transactionCount)"
        if let purpose { self.pending[transaction] = purpose }
        var members = members
        members["janus"] = .string(kind)
        members["transaction"] = .string(transaction)
        self.actions += self.link.send(members, session: session ?? self.session, handle: handle)
    }

    /// Sends a request to the plugin of a handle, with a description if there is one.
    mutating func ask(
        _ body: [String: JSONValue],
        handle: Int,
        description: JSONValue? = nil,
        for purpose: Purpose? = nil
    ) {
        var members: [String: JSONValue] = ["body": .object(body)]
        if let description { members["jsep"] = description }
        self.send("message", members, handle: handle, for: purpose)
    }

    mutating func emit(_ event: RoomEvent) {
        self.actions.append(.event(event))
    }

    mutating func ignore(_ what: String, _ detail: String) {
        self.emit(.ignored(what: what, detail: String(detail.prefix(200))))
    }

    /// Starts the timer of the feed's next try.
    mutating func startFeedTimer(_ peer: PeerID, after wait: Duration) {
        let timer = SignallingTimer(rawValue: Self.feedTimerPrefix + peer.rawValue)
        self.actions.append(.startTimer(timer, after: wait, isSpread: true))
    }

    func error(_ code: SignallingError.Code, _ message: String, _ blame: SignallingError.Blame) -> SignallingError {
        SignallingError(code, message, blame: blame)
    }

    /// Ends the attempt.
    mutating func fail(_ code: SignallingError.Code, _ message: String, _ blame: SignallingError.Blame) {
        self.fail(self.error(code, message, blame))
    }

    /// Ends the attempt.
    mutating func fail(_ error: SignallingError) {
        self.stage = .idle
        self.actions.append(.attemptFailed(error))
    }

    /// Ends the run.
    mutating func finish(_ error: SignallingError?) {
        self.stage = .over
        self.actions.append(.finished(error))
    }

    /// Forgets what belonged to the attempt before.
    mutating func resetAttempt() {
        self.link = JanusLink(self.address)
        self.pending = [:]
        self.isKeepAliveOpen = false
        self.stage = .opening
    }
}
