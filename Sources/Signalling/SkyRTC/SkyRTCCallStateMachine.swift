// SPDX-License-Identifier: Apache-2.0

internal import Basics

/// One user of a server of the call dialect: in the room of the URL, in a room that a user called us to, or waiting.
///
/// - `idle`: no attempt yet. `connecting`: the WebSocket opens.
/// - `creating`: `__create` is sent; silence means that there is such a room already.
/// - `lookingUp`: asks which rooms there are, because `__join` of a room that does not exist breaks the server.
/// - `joining`: `__join` is sent; silence means that the room is full. `fullWait`: tries again later.
/// - `waiting`: in no room; people can call us, and now and then we look whether the room of the URL is there.
/// - `member`: in a room. `left`: terminal.
///
///     idle ─► connecting ─┬► creating ──┬─► joining ─► member ─► left
///                         └► lookingUp ─┘     │ ▲        │
///                                ▲ │          ▼ │        ▼
///                                │ └──────► waiting, fullWait
///                                └─────────────┘
///
/// Members of a room offer to newcomers. Servers notify no one when a WebSocket closes and fail on members that have
/// none. `__leave` therefore goes before every close, and for an earlier user of ours that may still be listed. A room
/// of two is gone when one of them leaves; then nothing more may be said to it.
///
/// The wire: docs/signalling/skyrtc.md.
public struct SkyRTCCallStateMachine: SignallingMachine {
    /// Limits for the answers to `__create` and `__join`.
    static let createLimit = Duration.seconds(2)
    static let joinLimit = Duration.seconds(5)
    /// How long we wait before we look again for a room that does not exist.
    static let lookAgainWait = Duration.seconds(30)
    /// Waits of a full room; the last one repeats.
    static let fullWaits: [Duration] = [.seconds(5), .seconds(10), .seconds(20), .seconds(30)]
    static let answerTimer = SignallingTimer(rawValue: "answer")
    static let againTimer = SignallingTimer(rawValue: "again")
    static let roomList = HTTPRequest.ID(rawValue: "roomList")

    /// The room that we are in or want to be in.
    struct Room: Equatable, Sendable {
        var name: String
        /// Whether a user called us to it.
        var isCall: Bool
        /// Its places, if they are known.
        var size: Int?
        /// Whether it ended with the other one's leave.
        var isGone = false
    }

    enum State: Equatable, Sendable {
        case idle
        case connecting
        case creating
        case lookingUp
        case joining(Room)
        case fullWait
        case waiting
        case member(Room)
        case left
    }

    let address: RoomURL.SkyRTC
    let userID: String
    let failures: SkyRTCFailures
    let displayName: String?
    let isRecorder: Bool
    private let policy: JoinPolicy
    var state = State.idle
    var members = SkyRTCMembers()
    /// A user of ours that may still be a member of the URL's room: of a lost connection or of a crashed run.
    private var leftBehind: String?
    private var refusals = 0
    /// Whether the last report to the session was that people can reach us.
    private var isAnnounced = false

    /// A user before the first attempt.
    init(_ address: RoomURL.SkyRTC, _ options: SignallingOptions) {
        self.address = address
        self.userID = address.user ?? "tapedeck-" + String(options.seed, radix: 36)
        self.failures = SkyRTCFailures(address: address.serverAddress)
        self.policy = options.policy
        self.displayName = DisplayName.line(options.displayName)
        self.isRecorder = options.records
    }

    /// Takes one thing that happened, and says what to do, in order.
    public mutating func handle(_ input: SignallingInput) -> [SignallingAction] {
        if self.state == .left { return [] }
        switch input {
        case .attempt(let note): return self.connect(note)
        case .command(let command): return self.command(command)
        case .timerFired(let timer): return self.timerFired(timer)
        case .webSocket(.opened): return self.state == .connecting ? self.enter() : []
        case .webSocket(.received(let message)): return self.received(message)
        case .webSocket(.refused(let status, _)): return self.lost(self.failures.refused(status: status))
        case .webSocket(.closed(let error)): return self.closed(error)
        case .answered(Self.roomList, let answer): return self.listed(answer)
        case .requestFailed(Self.roomList, _): return self.state == .lookingUp ? self.wait() : []
        case .answered, .requestFailed, .stream, .xmpp: return []
        }
    }

    // MARK: - Connection

    private mutating func connect(_ note: String?) -> [SignallingAction] {
        self.state = .connecting
        _ = self.members.removeAll()
        self.leftBehind = note ?? self.leftBehind
        self.isAnnounced = false
        return [
            .openWebSocket(WebSocketRequest(url: self.address.callURL(user: self.userID))),
            .startTimer(Self.answerTimer, after: self.policy.connectTimeout + Self.joinLimit),
        ]
    }

    private mutating func closed(_ error: SignallingError?) -> [SignallingAction] {
        switch self.state {
        case .idle, .left: return []
        case .connecting, .creating, .lookingUp, .joining:
            return self.lost(self.failures.closed(error, isMember: false))
        case .fullWait, .waiting, .member: return self.lost(self.failures.closed(error, isMember: true))
        }
    }

    private mutating func lost(_ error: SignallingError) -> [SignallingAction] {
        if case .member(let room) = self.state, !room.isCall { self.leftBehind = self.userID }
        self.state = .idle
        return [.attemptFailed(error)]
    }

    private mutating func timerFired(_ timer: SignallingTimer) -> [SignallingAction] {
        switch self.state {
        case .connecting where timer == Self.answerTimer:
            return self.lost(self.failures.unanswered("the WebSocket handshake"))
        case .creating where timer == Self.answerTimer: return self.exists()
        case .joining(let room) where timer == Self.answerTimer: return room.isCall ? self.enter() : self.full()
        case .fullWait where timer == Self.againTimer: return self.enter()
        case .waiting where timer == Self.againTimer: return self.enter()
        // A harmless race: the timer fired while its answer was on the way.
        case .idle, .connecting, .creating, .lookingUp, .joining, .fullWait, .waiting, .member, .left: return []
        }
    }

    // MARK: - The way into a room

    /// Goes where we belong: into the room of the URL, if there is one.
    mutating func enter() -> [SignallingAction] {
        guard let name = self.address.name else { return self.wait() }
        guard let size = self.address.createdSize else {
            self.state = .lookingUp
            return [
                .cancelTimer(Self.answerTimer),
                .request(HTTPRequest(Self.roomList, method: "GET", url: self.address.roomListURL)),
            ]
        }
        self.state = .creating
        return [
            self.send(.create, ["room": .string(name), "roomSize": .integer(size), "userID": .string(self.userID)]),
            .startTimer(Self.answerTimer, after: Self.createLimit),
        ]
    }

    /// The room of the URL exists.
    private mutating func exists() -> [SignallingAction] {
        guard let name = self.address.name else { return self.wait() }
        if let user = self.leftBehind {
            // The room may go with its last member, so it is asked for again.
            self.leftBehind = nil
            return [self.leaveMessage(name, user), .note(nil)] + self.enter()
        }
        return self.join(Room(name: name, isCall: false))
    }

    mutating func join(_ room: Room) -> [SignallingAction] {
        self.state = .joining(room)
        return [
            self.send(.join, ["room": .string(room.name), "userID": .string(self.userID)]),
            .cancelTimer(Self.againTimer), .startTimer(Self.answerTimer, after: Self.joinLimit),
        ]
    }

    private mutating func listed(_ answer: HTTPAnswer) -> [SignallingAction] {
        guard self.state == .lookingUp else { return [] }
        guard answer.isSuccess, let text = answer.text, let rooms = try? JSONValue(parsing: text).array else {
            return [.ignored("The list of rooms could not be read", "HTTP \(answer.status)")] + self.wait()
        }
        return rooms.contains { $0["roomId"]?.string == self.address.name } ? self.exists() : self.wait()
    }

    /// Lets people call us.
    private mutating func wait() -> [SignallingAction] {
        self.state = .waiting
        let again: [SignallingAction] =
            self.address.name == nil ? [] : [.startTimer(Self.againTimer, after: Self.lookAgainWait, isSpread: true)]
        let news: [SignallingAction] = self.isAnnounced ? [] : [.event(.joined(ownID: PeerID(self.userID)))]
        self.isAnnounced = true
        return [.cancelTimer(Self.answerTimer)] + news + again
    }

    private mutating func full() -> [SignallingAction] {
        guard self.policy.waitsWhenFull else {
            self.state = .left
            return [.event(.full), .finished(self.failures.full)]
        }
        let wait = self.policy.fullWait ?? Self.fullWaits[min(self.refusals, Self.fullWaits.count - 1)]
        self.refusals = min(self.refusals + 1, Self.fullWaits.count)
        self.state = .fullWait
        self.isAnnounced = false
        return [.event(.full), .startTimer(Self.againTimer, after: wait, isSpread: true)]
    }

    /// `__peers`: we are in.
    mutating func entered(_ message: SkyRTCMessage) -> [SignallingAction] {
        var room: Room
        switch self.state {
        case .creating:
            room = Room(name: self.address.room, isCall: false, size: self.address.createdSize)
            // The room did not exist, and no user of ours was left in it.
            self.leftBehind = nil
        case .joining(let joining):
            room = joining
        case .idle, .connecting, .lookingUp, .fullWait, .waiting, .member, .left:
            return [.ignored("A list of members that was not asked for was ignored", "")]
        }
        room.size = Self.size(message.data["roomSize"]) ?? room.size
        self.state = .member(room)
        self.refusals = 0
        self.isAnnounced = true
        for peer in message.connections where peer.rawValue != self.userID { _ = self.members.add(peer) }
        let note: [SignallingAction] = room.isCall ? [] : [.note(self.userID)]
        return [.cancelTimer(Self.answerTimer), .cancelTimer(Self.againTimer)] + note
            + [.event(.joined(ownID: PeerID(self.userID)))]
    }

    private static func size(_ value: JSONValue?) -> Int? {
        switch value {
        case .integer(let size)?: size
        case .string(let text)?: Int(text)
        default: nil
        }
    }

    // MARK: - The way out

    /// Takes us out of a room that still exists, and says who was in it.
    mutating func leaveRoom(_ room: Room) -> [SignallingAction] {
        let gone = self.members.removeAll().map { SignallingAction.event(.peerLeft($0)) }
        let note: [SignallingAction] = room.isCall ? [] : [.note(nil)]
        return (room.isGone ? [] : [self.leaveMessage(room.name, self.userID)]) + note + gone
    }

    mutating func leave() -> [SignallingAction] {
        var actions: [SignallingAction] = []
        switch self.state {
        case .member(let room): actions = self.leaveRoom(room)
        // The answer may be on its way, and we a member.
        case .joining(let room): actions = self.leaveRoom(room)
        case .idle, .connecting, .creating, .lookingUp, .fullWait, .waiting, .left: break
        }
        self.state = .left
        return actions + [
            .cancelTimer(Self.answerTimer), .cancelTimer(Self.againTimer), .event(.left), .finished(nil),
        ]
    }

    private func leaveMessage(_ room: String, _ user: String) -> SignallingAction {
        self.send(.leave, ["room": .string(room), "fromID": .string(user), "userID": .string(user)])
    }

    func send(_ event: SkyRTCMessage.Event, _ data: [String: JSONValue]) -> SignallingAction {
        .sendWebSocket(SkyRTCMessage(event, .object(data)).text(prefix: "__"))
    }
}
