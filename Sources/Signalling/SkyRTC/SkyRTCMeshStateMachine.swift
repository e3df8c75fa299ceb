// SPDX-License-Identifier: Apache-2.0

internal import Basics

/// One membership of one room of the classic dialect, over as many connections as it takes.
///
/// - `idle`: no attempt yet. `connecting`: the WebSocket opens. `joining`: `__join` is sent.
/// - `joined`: a member. `resetting`: the WebSocket closes, to join again under a new id.
/// - `left`: terminal.
///
///     idle ─► connecting ─► joining ─► joined ─► left
///               ▲   ▲                   │  │
///               │   └──── resetting ◄───┘  │
///               └────── any, lost ◄────────┘
///
/// The newcomer offers to every member that `_peers` names, members wait for offers. Nothing says that we leave but the
/// end of the WebSocket. Each connection gives us another id, and after a server restart every member has another;
/// peers that are not listed any more keep their media until they fail.
///
/// The wire: docs/signalling/skyrtc.md.
public struct SkyRTCMeshStateMachine: SignallingMachine {
    /// Limit for the answer to `__join`, and for the close of an abandoned WebSocket.
    static let answerLimit = Duration.seconds(5)
    static let closeLimit = Duration.seconds(2)
    /// Messages kept that come before `_peers`.
    static let maximumEarlyMessages = 64
    /// How many of our earlier ids are remembered, to know them as our own.
    static let maximumEarlierIDs = 8
    static let answerTimer = SignallingTimer(rawValue: "answer")

    private enum State: Sendable {
        case idle
        case connecting
        case joining(early: [SkyRTCMessage])
        case joined
        case resetting
        case left
    }

    private let address: RoomURL.SkyRTC
    private let connectLimit: Duration
    private let displayName: String?
    private let isRecorder: Bool
    private let failures: SkyRTCFailures
    private var state = State.idle
    private var members = SkyRTCMembers()
    private var ownID: PeerID?
    private var earlierIDs: [PeerID] = []

    /// A membership before its first attempt.
    init(_ address: RoomURL.SkyRTC, _ options: SignallingOptions) {
        self.address = address
        self.connectLimit = options.policy.connectTimeout
        self.displayName = DisplayName.line(options.displayName)
        self.isRecorder = options.records
        self.failures = SkyRTCFailures(address: address.serverAddress)
    }

    /// Takes one thing that happened, and says what to do, in order.
    public mutating func handle(_ input: SignallingInput) -> [SignallingAction] {
        if case .left = self.state { return [] }
        switch input {
        case .attempt: return self.connect()
        case .command(let command): return self.command(command)
        case .timerFired(let timer): return timer == Self.answerTimer ? self.answerMissed() : []
        case .webSocket(.opened): return self.opened()
        case .webSocket(.received(let message)): return self.received(message)
        case .webSocket(.refused(let status, _)): return self.lost(self.failures.refused(status: status))
        case .webSocket(.closed(let error)): return self.closed(error)
        case .answered, .requestFailed, .stream, .xmpp: return []
        }
    }

    // MARK: - Connection

    private mutating func connect() -> [SignallingAction] {
        self.state = .connecting
        _ = self.members.removeAll()
        self.forgetOwnID()
        return [
            .openWebSocket(WebSocketRequest(url: self.address.meshURL)),
            .startTimer(Self.answerTimer, after: self.connectLimit + Self.answerLimit),
        ]
    }

    private mutating func opened() -> [SignallingAction] {
        guard case .connecting = self.state else { return [] }
        self.state = .joining(early: [])
        let join = SkyRTCMessage(.join, .object(["room": .string(self.address.room)]))
        return [.sendWebSocket(join.text(prefix: "__")), .startTimer(Self.answerTimer, after: Self.answerLimit)]
    }

    private mutating func closed(_ error: SignallingError?) -> [SignallingAction] {
        switch self.state {
        case .resetting: return self.connect()
        case .joined: return self.lost(self.failures.closed(error, isMember: true))
        case .connecting, .joining: return self.lost(self.failures.closed(error, isMember: false))
        case .idle, .left: return []
        }
    }

    private mutating func answerMissed() -> [SignallingAction] {
        switch self.state {
        case .connecting: return self.lost(self.failures.unanswered("the WebSocket handshake"))
        case .joining: return self.lost(self.failures.unanswered("join"))
        case .resetting: return self.connect()
        case .idle, .joined, .left: return []
        }
    }

    private mutating func lost(_ error: SignallingError) -> [SignallingAction] {
        self.state = .idle
        return [.attemptFailed(error)]
    }

    /// A dead connection of ours may be a member until the server notices.
    private mutating func forgetOwnID() {
        guard let id = self.ownID else { return }
        self.ownID = nil
        self.earlierIDs.append(id)
        self.earlierIDs.removeFirst(max(0, self.earlierIDs.count - Self.maximumEarlierIDs))
    }

    private func isOurs(_ peer: PeerID) -> Bool { peer == self.ownID || self.earlierIDs.contains(peer) }

    // MARK: - Messages

    private mutating func received(_ message: WebSocketMessage) -> [SignallingAction] {
        do {
            return self.received(try SkyRTCMessage(message))
        } catch {
            return [.ignored("A message that is no SkyRTC event was ignored", "\(error)")]
        }
    }

    private mutating func received(_ message: SkyRTCMessage) -> [SignallingAction] {
        switch (self.state, message.event) {
        case (.joining(let early), .peers):
            return self.joined(message, early)
        case (.joining(var early), _):
            guard early.count < Self.maximumEarlyMessages else {
                return [.ignored("A message before the list of members was dropped", message.event.rawValue)]
            }
            early.append(message)
            self.state = .joining(early: early)
            return []
        case (.joined, _):
            return self.memberReceived(message)
        case (.idle, _), (.connecting, _), (.resetting, _), (.left, _):
            return [.ignored("A message outside of the room was ignored", message.event.rawValue)]
        }
    }

    private mutating func joined(_ message: SkyRTCMessage, _ early: [SkyRTCMessage]) -> [SignallingAction] {
        self.state = .joined
        self.ownID = message.peer("you")
        // Rooms of this protocol have no limit, but for ours.
        let joined = RoomEvent.joined(ownID: self.ownID, capacity: SkyRTCMessage.maximumMembers + 1)
        var actions: [SignallingAction] = [.cancelTimer(Self.answerTimer), .event(joined)]
        for peer in message.connections where !self.isOurs(peer) && self.members.add(peer) {
            actions.append(.event(.peerArrived(peer)))
        }
        for message in early { actions += self.memberReceived(message) }
        return actions
    }

    private mutating func memberReceived(_ message: SkyRTCMessage) -> [SignallingAction] {
        switch message.event {
        case .newPeer:
            guard let peer = message.peer("socketId", "id", "userID"), !self.isOurs(peer) else { return [] }
            // It offers; until then there is nothing to do.
            return self.members.add(peer) ? [] : [Self.tooMany(peer)]
        case .removePeer:
            guard let peer = message.peer("socketId", "id", "userID"), self.members.remove(peer) else {
                return [.ignored("The end of an unknown member was ignored", message.peer("socketId")?.rawValue ?? "")]
            }
            return [.event(.peerLeft(peer))]
        case .offer, .answer, .iceCandidate:
            return self.relayed(message)
        case .peers, .join, .loginSuccess, .create, .invite, .ring, .cancel, .reject, .leave, .disconnect, .audio, .ack:
            return [.ignored("An event that means nothing to a member was ignored", message.event.rawValue)]
        }
    }

    private mutating func relayed(_ message: SkyRTCMessage) -> [SignallingAction] {
        guard let sender = message.peer("socketId", "fromID", "from") else {
            return [.ignored("A message without a sender was ignored", message.event.rawValue)]
        }
        if self.isOurs(sender) { return [] }
        let content: PeerMessage?
        do {
            content = try message.content()
        } catch {
            return [.ignored("A message that is no offer, answer or candidate was ignored", "\(error)")]
        }
        // Some servers or apps announce a newcomer only by its offer.
        guard let content, self.members.add(sender) else { return [Self.tooMany(sender)] }
        return RoomEvent.said(content, name: message.senderName, by: sender).map { .event($0) }
    }

    private static func tooMany(_ peer: PeerID) -> SignallingAction {
        .ignored("A member beyond the limit was ignored", peer.rawValue)
    }

    // MARK: - Commands

    private mutating func command(_ command: RoomCommand) -> [SignallingAction] {
        switch command {
        case .offer(let peer, let sdp): return self.send(.offer(sdp: sdp), to: peer)
        case .answer(let peer, let sdp): return self.send(.answer(sdp: sdp), to: peer)
        case .candidate(let peer, let candidate): return self.send(.candidate(candidate), to: peer)
        case .resetCall(let peer): return self.resetCall(peer)
        // The room has room for all.
        case .yield: return []
        case .leave: return self.leave()
        }
    }

    private mutating func send(_ content: PeerMessage, to peer: PeerID) -> [SignallingAction] {
        guard case .joined = self.state else {
            return [.ignored("A command outside of the room was dropped", peer.rawValue)]
        }
        guard self.members.contains(peer) else { return self.missing(content, peer) }
        var addressing: [String: JSONValue] = ["socketId": .string(peer.rawValue), "to": .string(peer.rawValue)]
        // Some servers do not write the sender but take the client's word for it.
        addressing["me"] = self.ownID.map { .string($0.rawValue) }
        guard let message = SkyRTCMessage(content, classic: addressing) else { return [] }
        return [.sendWebSocket(message.introducing(self.displayName, isRecorder: self.isRecorder).text(prefix: "__"))]
    }

    /// Reports a member of an earlier connection that is not listed any more: messages to it would vanish at the
    /// server.
    private func missing(_ content: PeerMessage, _ peer: PeerID) -> [SignallingAction] {
        let dropped = SignallingAction.ignored("A command for a member that is not there was dropped", peer.rawValue)
        if case .offer = content { return [dropped, .event(.peerLeft(peer))] }
        return [dropped]
    }

    /// Leaves and joins again as a newcomer, which offers to all members: apps forget a peer whose path was lost and
    /// wait for a new one.
    ///
    /// The session asks for it only if no other call is there; else the session itself offers to that peer.
    private mutating func resetCall(_ peer: PeerID) -> [SignallingAction] {
        guard case .joined = self.state else {
            return [.ignored("A call reset outside of the room was dropped", peer.rawValue)]
        }
        guard self.members.contains(peer) else {
            return [.ignored("A call reset of a member that is not there was dropped", peer.rawValue)]
        }
        self.state = .resetting
        return self.members.removeAll().map { .event(.peerLeft($0)) } + [
            .closeWebSocket, .startTimer(Self.answerTimer, after: Self.closeLimit),
        ]
    }

    private mutating func leave() -> [SignallingAction] {
        self.state = .left
        return [.cancelTimer(Self.answerTimer), .event(.left), .finished(nil)]
    }
}
