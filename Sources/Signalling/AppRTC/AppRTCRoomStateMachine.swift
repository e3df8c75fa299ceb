// SPDX-License-Identifier: Apache-2.0

/// One membership after the other of one AppRTC room: two servers, two members.
///
/// The room server (HTTP) lets us in, names us, says who offers, and keeps what the first member posts; the collider
/// (WebSocket) carries the rest. The first member offers before any other is there: `RoomEvent.peerAwaited`.
///
/// - `idle`: between attempts. `joining`: waits for the answer.
/// - `fullWait`: two others are there, or we left the room to people.
/// - `member`: connecting to the collider, registered, or registering again with the same names.
/// - `leaving`: in order to end the run, the attempt, or to join again; at first also for an earlier process that could not.
/// - `ended`: terminal.
///
///     idle ───► joining ───► member ───► leaving ───► ended
///      ▲ │       ▲  │ ▲                  ▲ │ │ │
///      │ │       │  ▼ └──────rejoin──────┼─┘ │ │
///      │ │      fullWait ◄────yield──────┼───┘ │
///      │ └──────────────note─────────────┘     │
///      └─────────────────failure───────────────┘
///
/// Answers to abandoned requests, stopped timers, and events of a WebSocket that is not the member's are harmless
/// races. Wrong messages of servers and peers are ignored and reported, or end the attempt.
///
/// The wire: docs/signalling/apprtc.md.
public struct AppRTCRoomStateMachine: SignallingMachine {
    /// The states, for tests.
    enum Phase: String, Sendable, CaseIterable {
        case idle, joining, fullWait, member, leaving, ended
    }

    enum State: Sendable {
        case idle
        case joining(HTTPRequest.ID, leaves: Bool)
        case fullWait
        case member(AppRTCMember)
        case leaving(AppRTCLeaving)
        case ended
    }

    enum Timer: String, CaseIterable {
        /// The next join of a full room.
        case full
        /// The collider must accept us, or accept us again before it forgets us.
        case resume
        /// The next try to reach the collider.
        case reconnect
        /// The collider kept us for a while.
        case stable
        /// Servers for ICE must be known.
        case servers
        /// The next try to post a message.
        case post
        /// The collider must close the WebSocket.
        case close
        /// An offer without an answer is replaced.
        case renewal

        var name: SignallingTimer { SignallingTimer(rawValue: self.rawValue) }
    }

    /// How long a full room is left alone, if the policy does not say.
    public static let fullWait = Duration.seconds(30)
    /// Shortest wait after we left the room to people: another recorder records in that time.
    public static let yieldWait = Duration.seconds(300)
    /// Limit for leaving on behalf of an earlier process.
    static let forgetTimeout = Duration.seconds(3)
    /// Limit for leaving.
    static let leaveTimeout = Duration.milliseconds(800)
    /// Limit for the farewell.
    static let closeTimeout = Duration.milliseconds(400)
    /// Limit for our removal from the collider.
    static let removalTimeout = Duration.milliseconds(500)

    let room: RoomURL.AppRTC
    let policy: JoinPolicy
    let displayName: String?
    var state = State.idle
    private var requestCount = 0
    /// A membership that the server may still have, because it did not answer when we left.
    var abandoned: AppRTCMembership?
    /// The servers that were last reported to the session.
    var toldServers: [ICEServer] = []

    /// A machine before its first attempt.
    ///
    /// - Parameter displayName: The name for the other member; nil for none.
    public init(_ room: RoomURL.AppRTC, policy: JoinPolicy, displayName: String? = nil) {
        self.room = room
        self.policy = policy
        self.displayName = displayName
    }

    /// The state.
    var phase: Phase {
        switch self.state {
        case .idle: .idle
        case .joining: .joining
        case .fullWait: .fullWait
        case .member: .member
        case .leaving: .leaving
        case .ended: .ended
        }
    }

    /// Takes one thing that happened, and says what to do, in order.
    public mutating func handle(_ input: SignallingInput) -> [SignallingAction] {
        switch input {
        case .attempt(let note): self.attempt(note)
        case .command(let command): self.command(command)
        case .timerFired(let timer): self.timerFired(timer)
        case .webSocket(let event): self.webSocketReported(event)
        case .answered(let id, let answer): self.requestEnded(id, .success(answer))
        case .requestFailed(let id, let error): self.requestEnded(id, .failure(error))
        // Our bug: we open none.
        case .stream, .xmpp: []
        }
    }

    /// A name for the next request.
    mutating func nextID(_ what: String) -> HTTPRequest.ID {
        self.requestCount += 1
        return HTTPRequest.ID(rawValue: "\(what)-\(self.requestCount)")
    }

    static func ignored(_ what: String, _ detail: String = "") -> SignallingAction {
        .event(.ignored(what: what, detail: String(detail.prefix(200))))
    }

    private mutating func requestEnded(
        _ id: HTTPRequest.ID,
        _ result: Result<HTTPAnswer, SignallingError>
    ) -> [SignallingAction] {
        switch self.state {
        case .idle, .fullWait, .ended: []
        case .joining(let join, let leaves): id == join ? self.joinAnswered(result, leaves: leaves) : []
        case .member(let member): self.memberRequestEnded(id, result, member)
        case .leaving(let leaving): self.leavingRequestEnded(id, result, leaving)
        }
    }

    private mutating func timerFired(_ name: SignallingTimer) -> [SignallingAction] {
        guard let timer = Timer(rawValue: name.rawValue) else { return [] }
        switch self.state {
        case .idle, .joining, .ended: return []
        case .fullWait: return timer == .full ? self.join() : []
        case .member(let member): return self.memberTimerFired(timer, member)
        case .leaving(let leaving): return timer == .close ? self.socketClosed(leaving) : []
        }
    }
}

// MARK: - Joining

extension AppRTCRoomStateMachine {
    private mutating func attempt(_ note: String?) -> [SignallingAction] {
        switch self.state {
        case .ended: return []
        // The driver closed everything without a request.
        case .member(let member): self.abandoned = member.membership
        case .leaving(let leaving): self.abandoned = leaving.membership
        case .idle, .joining, .fullWait: break
        }
        let purpose: AppRTCLeaving.Purpose = self.abandoned == nil ? .rejoin : .resume
        guard let earlier = self.abandoned ?? note.flatMap({ AppRTCMembership(note: $0) }) else { return self.join() }
        return self.leave(earlier, purpose, socket: .none, timeout: Self.forgetTimeout)
    }

    mutating func join() -> [SignallingAction] {
        let id = self.nextID("join")
        self.state = .joining(id, leaves: false)
        let url = self.room.url("join/\(self.room.room)", keepsQuery: true)
        return [.request(HTTPRequest(id, method: "POST", url: url, body: []))]
    }

    private mutating func joinAnswered(
        _ result: Result<HTTPAnswer, SignallingError>,
        leaves: Bool
    ) -> [SignallingAction] {
        let answer: AppRTCJoinAnswer
        do throws(SignallingError) {
            answer = try self.read(result)
        } catch {
            return leaves ? self.end() : self.failed(error)
        }
        switch answer {
        case .joined(let parameters):
            self.abandoned = nil
            let actions = self.entered(parameters)
            return leaves ? [.note(parameters.membership.note)] + self.leave(.end) : actions
        case _ where leaves:
            return self.end()
        case .full:
            let error = self.error(.full, "The room \(self.room.room) on \(self.room.serverAddress) is full.")
            guard self.policy.waitsWhenFull else {
                self.state = .ended
                return [.event(.full), .finished(error)]
            }
            self.state = .fullWait
            let wait = self.policy.fullWait ?? Self.fullWait
            return [.event(.full), .startTimer(Timer.full.name, after: wait, isSpread: true)]
        case .duplicateClient:
            return self.failed(self.error(.unreachable, "The room server gave us a name that is taken."))
        case .failed:
            return self.failed(self.error(.unreachable, "The room server could not let us in (ERROR)."))
        case .unknown(let result):
            return self.failed(
                self.error(.protocolViolation, "The room server answered with the unknown result \"\(result)\".")
            )
        }
    }

    private func read(_ result: Result<HTTPAnswer, SignallingError>) throws(SignallingError) -> AppRTCJoinAnswer {
        let answer = try result.get()
        guard answer.isSuccess else {
            let message = "The room server at \(self.room.serverAddress) answered with HTTP status \(answer.status)."
            switch answer.status {
            case 401, 403: throw self.error(.refused, message)
            case let status where HTTPAnswer.isTransient(status: status): throw self.error(.unreachable, message)
            default: throw self.error(.protocolViolation, message + " Is it an AppRTC server?")
            }
        }
        do throws(AppRTCJoinAnswer.ReadingError) {
            let server = self.room.url("", keepsQuery: false)
            return try AppRTCJoinAnswer(parsing: answer.text ?? "", server: server, room: self.room.room)
        } catch {
            let what =
                switch error {
                case .notAnAnswer: "something that is no answer to a join"
                case .parameter(let name): "a missing or wrong \(name)"
                }
            throw self.error(.protocolViolation, "The room server at \(self.room.serverAddress) answered with \(what).")
        }
    }

    func error(_ code: SignallingError.Code, _ message: String) -> SignallingError {
        SignallingError(code, message, blame: .peer)
    }

    /// The attempt is over, and there is nothing to leave.
    private mutating func failed(_ error: SignallingError) -> [SignallingAction] {
        self.state = .idle
        return [.attemptFailed(error)]
    }

    /// The run is over, and there is nothing to leave.
    mutating func end() -> [SignallingAction] {
        self.state = .ended
        return [.event(.left), .finished(nil)]
    }
}
