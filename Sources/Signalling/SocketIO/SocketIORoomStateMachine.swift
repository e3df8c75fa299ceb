// SPDX-License-Identifier: Apache-2.0

internal import Basics

/// One membership of one Socket.IO room, over as many connections as it takes.
///
/// - `offline`: no connection. `connecting`: the connection is open, its namespace is not.
/// - `joining`: `join` is sent. `fullWait`: the room refused; joins again after a wait of the policy's, or after 5, 10, 20,
///   then every 30 s.
/// - `joined`: member, no other known. `joinedConnected`: member with a peer. `joinedUnbound`: the peer left.
/// - `resetting`: member that leaves in order to join again. `leaving`: waits for `leaved`.
/// - `left`: terminal.
///
///     offline ─► connecting ─► joining ─► joined ─► joinedConnected ◄─► joinedUnbound
///        ▲            ▲          │ ▲         │            │                 │
///        └── any ─────┘  fullWait┘ └─resetting ◄──────────┘    leaving ◄────┘ any joined ─► left
///
/// The server kicks us with a `leaved` that names us and that we did not ask for, or by disconnecting the namespace of
/// a member; it refuses us by disconnecting instead of answering `join`. Both end the membership for good: the caller
/// decides when to come back. Every other end of a connection is an accident, after which we reconnect.
///
/// `leave` is never sent unless we are a member: stock servers relay a `bye` even for strangers.
///
/// The wire: docs/signalling/socketio.md.
public struct SocketIORoomStateMachine: Sendable {
    /// The timers; each exists once, and starting it again moves it.
    public enum Timer: Sendable, Hashable, CaseIterable {
        /// The answer to `join`.
        case join
        /// The next `join` of a full room.
        case full
        /// The answer to `leave`.
        case leave
    }

    /// How a membership ends for good.
    public enum Outcome: Sendable, Equatable {
        /// We left.
        case left
        /// The room is full and the policy does not wait.
        case full
        /// The server kicked us, or answered `join` by disconnecting us.
        case removed
    }

    /// The reason to replace a connection by another one.
    public enum ReconnectReason: Sendable, Hashable {
        /// No answer to `join`, twice.
        case joinUnanswered
        /// The server disconnected us from the namespace while we were no member.
        case disconnectedByServer
        /// The server refused the namespace; its reason, shortened.
        case refused(String)
    }

    /// A step for the driver; steps are in order.
    public enum Action: Sendable, Equatable {
        /// Sends a packet.
        case send(SocketIOPacket)
        /// Sends the event to the session.
        case event(RoomEvent)
        /// Starts or moves a timer; `full` waits are spread by `JoinPolicy.spread`.
        case startTimer(Timer, after: Duration)
        /// Stops a timer.
        case cancelTimer(Timer)
        /// Closes the connection and makes another, as the policy says.
        case reconnect(ReconnectReason)
        /// Closes the connection and ends the run.
        case finish(Outcome)
    }

    /// The states, for log lines and tests.
    public enum Phase: String, Sendable, Hashable, CaseIterable {
        /// No connection.
        case offline
        /// Connected, namespace not yet.
        case connecting
        /// `join` sent.
        case joining
        /// Refused for now.
        case fullWait = "full_wait"
        /// A member.
        case joined
        /// A member with a peer.
        case joinedConnected = "joined_conn"
        /// A member whose peer left.
        case joinedUnbound = "joined_unbind"
        /// Leaving in order to join again.
        case resetting
        /// Leaving.
        case leaving
        /// Terminal.
        case left = "leaved"
    }

    /// Limit for the answer to `join`.
    public static let joinTimeout = Duration.seconds(5)
    /// Limit for the answer to `leave`.
    public static let leaveTimeout = Duration.seconds(2)
    /// Waits of a full room; the last one repeats.
    public static let fullWaits: [Duration] = [.seconds(5), .seconds(10), .seconds(20), .seconds(30)]
    /// Shortest wait after we left the room to people: another recorder records in that time.
    public static let yieldWait = Duration.seconds(300)
    /// Most events kept that come before the namespace is connected.
    public static let maximumEarlyEvents = 16

    private enum State: Equatable {
        case offline
        case connecting(early: [SocketIOPacket])
        case joining(isSecondTry: Bool)
        case fullWait
        case joined
        case joinedConnected
        case joinedUnbound
        case resetting
        case leaving
        case left
    }

    private let room: String
    private let dialect: SocketIORoomDialect
    private let displayName: String?
    private let isRecorder: Bool
    private let waitsWhenFull: Bool
    private let fullWait: Duration?
    private var state = State.offline
    private var ownID: PeerID?
    /// Under which ids we were a member of a mesh, the newest last.
    private var ownIDs: [PeerID] = []
    private var peers = SocketIORoomPeers()
    private var refusals = 0

    /// A membership not yet begun.
    ///
    /// - Parameters:
    ///   - displayName: The name for others; nil for none.
    ///   - isRecorder: Whether others learn that we are there to record.
    ///   - waitsWhenFull: `JoinPolicy.waitsWhenFull`.
    ///   - fullWait: `JoinPolicy.fullWait`.
    public init(
        room: String,
        dialect: SocketIORoomDialect = SocketIORoomDialect(),
        displayName: String? = nil,
        isRecorder: Bool = false,
        waitsWhenFull: Bool,
        fullWait: Duration? = nil
    ) {
        self.room = room
        self.dialect = dialect
        self.displayName = displayName
        self.isRecorder = isRecorder
        self.waitsWhenFull = waitsWhenFull
        self.fullWait = fullWait
    }

    /// The state.
    public var phase: Phase {
        switch self.state {
        case .offline: .offline
        case .connecting: .connecting
        case .joining: .joining
        case .fullWait: .fullWait
        case .joined: .joined
        case .joinedConnected: .joinedConnected
        case .joinedUnbound: .joinedUnbound
        case .resetting: .resetting
        case .leaving: .leaving
        case .left: .left
        }
    }

    /// The connection is open.
    ///
    /// Version 3 grants the default namespace unasked; asking would connect us twice.
    public mutating func opened(sessionID: String, version: EngineIOVersion) -> [Action] {
        switch self.state {
        case .offline:
            self.state = .connecting(early: [])
            self.ownID = version == .three ? PeerID(sessionID) : nil
            return version == .three ? [] : [.send(SocketIOPacket(.connect))]
        case .connecting, .joining, .fullWait, .joined, .joinedConnected, .joinedUnbound, .resetting, .leaving, .left:
            // Our bug: a second connection while one is open. The first continues.
            return []
        }
    }

    /// The server speaks version 4 after all, so the namespace must be asked for.
    public mutating func versionChanged() -> [Action] {
        switch self.state {
        case .connecting:
            self.ownID = nil
            return [.send(SocketIOPacket(.connect))]
        case .offline, .joining, .fullWait, .joined, .joinedConnected, .joinedUnbound, .resetting, .leaving, .left:
            return []
        }
    }

    /// The connection is gone.
    ///
    /// Peers are remembered: their media may live on.
    public mutating func closed(reason: String) -> [Action] {
        switch self.state {
        case .offline, .left:
            return []
        case .connecting:
            self.state = .offline
            return []
        case .joining, .fullWait, .joined, .joinedConnected, .joinedUnbound, .resetting:
            self.state = .offline
            return Self.cancelTimers + [.event(.signallingLost(reason: reason))]
        case .leaving:
            return self.finishLeaving(says: false)
        }
    }

    /// A packet came.
    public mutating func received(_ packet: SocketIOPacket) -> [Action] {
        guard packet.namespace == "/" else {
            return [Self.ignored("A packet of another namespace was ignored", packet.namespace)]
        }
        switch packet.kind {
        case .connect: return self.namespaceConnected(packet)
        case .disconnect: return self.namespaceDisconnected()
        case .event: return Self.acknowledgement(of: packet) + self.eventReceived(packet)
        case .error: return self.namespaceRefused(packet)
        case .acknowledgement, .binaryEvent, .binaryAcknowledgement:
            return [Self.ignored("A packet of a kind that rooms do not use was ignored", "\(packet.kind)")]
        }
    }

    /// A timer fired.
    public mutating func timerFired(_ timer: Timer) -> [Action] {
        switch (timer, self.state) {
        case (.join, .joining(isSecondTry: false)):
            return self.join(isSecondTry: true)
        case (.join, .joining(isSecondTry: true)):
            return [.reconnect(.joinUnanswered)]
        case (.full, .fullWait):
            return self.join()
        case (.leave, .resetting):
            return self.join()
        case (.leave, .leaving):
            return self.finishLeaving(says: true)
        case (.join, _), (.full, _), (.leave, _):
            // A harmless race: the timer fired while its answer was on the way.
            return []
        }
    }

    /// The session wants something sent.
    public mutating func command(_ command: RoomCommand) -> [Action] {
        switch command {
        case .offer(let peer, let sdp): return self.relay(.offer(sdp: sdp), to: peer)
        case .answer(let peer, let sdp): return self.relay(.answer(sdp: sdp), to: peer)
        case .candidate(let peer, let candidate): return self.relay(.candidate(candidate), to: peer)
        case .resetCall(let peer): return self.resetCall(peer)
        case .yield: return self.yield()
        case .leave: return self.leave()
        }
    }
}

// MARK: - Namespace

extension SocketIORoomStateMachine {
    private static let cancelTimers: [Action] = Timer.allCases.map { .cancelTimer($0) }

    private mutating func namespaceConnected(_ packet: SocketIOPacket) -> [Action] {
        guard case .connecting(let early) = self.state else {
            return [Self.ignored("A second connect of the namespace was ignored", self.phase.rawValue)]
        }
        if let id = packet.data?["sid"]?.string, !id.isEmpty, id.utf8.count <= SocketIORoomEvent.maximumIDBytes {
            self.ownID = PeerID(id)
        }
        var actions = self.join()
        for packet in early {
            actions += self.eventReceived(packet)
        }
        return actions
    }

    private mutating func namespaceDisconnected() -> [Action] {
        switch self.state {
        case .offline, .left: return []
        case .leaving: return self.finishLeaving(says: false)
        case .joining, .joined, .joinedConnected, .joinedUnbound: return self.removed()
        case .connecting, .fullWait, .resetting: return [.reconnect(.disconnectedByServer)]
        }
    }

    private mutating func namespaceRefused(_ packet: SocketIOPacket) -> [Action] {
        let reason = String((packet.data?["message"]?.string ?? packet.data?.string ?? "no reason given").prefix(200))
        guard case .connecting = self.state else {
            return [Self.ignored("An error packet outside of connecting was ignored", reason)]
        }
        return [.reconnect(.refused(reason))]
    }

    /// An event with an id is answered exactly once; we never have anything to say.
    private static func acknowledgement(of packet: SocketIOPacket) -> [Action] {
        guard let id = packet.acknowledgementID else { return [] }
        return [.send(SocketIOPacket(.acknowledgement, acknowledgementID: id, data: .array([])))]
    }

    private static func ignored(_ what: String, _ detail: String) -> Action {
        .event(.ignored(what: what, detail: String(detail.prefix(200))))
    }
}

// MARK: - Room

extension SocketIORoomStateMachine {
    private mutating func join(isSecondTry: Bool = false) -> [Action] {
        self.state = .joining(isSecondTry: isSecondTry)
        return [
            .send(.event(self.dialect.joinEvent, [self.dialect.argument(room: self.room)])),
            .startTimer(.join, after: Self.joinTimeout),
        ]
    }

    private mutating func eventReceived(_ packet: SocketIOPacket) -> [Action] {
        if case .connecting(var early) = self.state {
            guard early.count < Self.maximumEarlyEvents else {
                return [Self.ignored("An event before the namespace was connected was dropped", "")]
            }
            early.append(packet)
            self.state = .connecting(early: early)
            return []
        }
        guard let (name, arguments) = packet.event else { return [] }
        guard let known = SocketIORoomEventName(name, messageName: self.dialect.messageEvent) else {
            return [Self.ignored("An unknown event was ignored", name)]
        }
        let event = SocketIORoomEvent(known, arguments)
        switch known {
        case .joined: return self.joinedReceived(event)
        case .full: return self.fullReceived(event)
        case .otherJoined: return self.otherJoinedReceived(event)
        case .left: return self.leftReceived(event)
        case .bye: return self.byeReceived(event.peer, isRoomRight: event.room == nil || event.room == self.room)
        case .userDisconnected: return self.userDisconnected(event)
        case .message: return self.messageReceived(event)
        }
    }

    private mutating func joinedReceived(_ event: SocketIORoomEvent) -> [Action] {
        switch self.state {
        case .joining:
            guard event.room == self.room else {
                return [Self.ignored("A joined event for another room was ignored", event.room ?? "no room")]
            }
            if let own = self.ownID, let id = event.peer, id != own {
                // socket.io 1.4 writes the namespace and "#" before the session's id.
                guard id.rawValue.hasSuffix("#\(own.rawValue)") else {
                    return [Self.ignored("A joined event for another member was ignored", id.rawValue)]
                }
            }
            self.ownID = event.peer ?? self.ownID
            self.refusals = 0
            let gone = self.peers.rejoined(mesh: event.mesh)
            self.noteOwnID()
            self.state = .joined
            let joined = RoomEvent.joined(ownID: self.ownID, capacity: event.mesh?.capacity)
            return [.cancelTimer(.join), .event(joined)] + gone.map { .event(.peerLeft($0)) }
        case .offline, .connecting, .fullWait, .joined, .joinedConnected, .joinedUnbound, .resetting, .leaving, .left:
            return [Self.ignored("A joined event that was not asked for was ignored", self.phase.rawValue)]
        }
    }

    /// Members of a mesh know us by it until the server sends them another.
    private mutating func noteOwnID() {
        guard self.peers.isMesh, let id = self.ownID, self.ownIDs.last != id else { return }
        self.ownIDs.append(id)
        self.ownIDs.removeFirst(max(0, self.ownIDs.count - 1 - SocketIORoomMessage.maximumEarlierIDs))
    }

    private mutating func fullReceived(_ event: SocketIORoomEvent) -> [Action] {
        switch self.state {
        case .joining:
            guard event.room == nil || event.room == self.room else {
                return [Self.ignored("A full event for another room was ignored", event.room ?? "")]
            }
            guard self.waitsWhenFull else {
                self.state = .left
                return Self.cancelTimers + [.event(.full), .finish(.full)]
            }
            let wait = self.fullWait ?? Self.fullWaits[min(self.refusals, Self.fullWaits.count - 1)]
            self.refusals = min(self.refusals + 1, Self.fullWaits.count)
            self.state = .fullWait
            return [.cancelTimer(.join), .event(.full), .startTimer(.full, after: wait)]
        case .offline, .connecting, .fullWait, .joined, .joinedConnected, .joinedUnbound, .resetting, .leaving, .left:
            return [Self.ignored("A full event that was not asked for was ignored", self.phase.rawValue)]
        }
    }

    private mutating func otherJoinedReceived(_ event: SocketIORoomEvent) -> [Action] {
        if let id = event.peer, id == self.ownID { return [] }
        guard event.room == nil || event.room == self.room else {
            return [Self.ignored("An otherjoin event for another room was ignored", event.room ?? "")]
        }
        switch self.state {
        case .joined, .joinedConnected, .joinedUnbound:
            if self.peers.isMesh, event.peer == nil {
                return [Self.ignored("An otherjoin event without an id was ignored in a mesh", "")]
            }
            if self.peers.isMesh, self.peers.known.count >= SocketIORoomEvent.maximumPeers {
                return [Self.ignored("A member beyond the limit of a mesh was ignored", event.peer?.rawValue ?? "")]
            }
            let peer = event.peer ?? .unidentified
            // Known already: it joined again without a bye.
            let old = self.peers.arrived(peer)
            self.state = .joinedConnected
            return old.map { .event(.peerLeft($0)) } + [.event(.peerArrived(peer))]
        case .offline, .connecting, .joining, .fullWait, .resetting, .leaving, .left:
            return [Self.ignored("An otherjoin event outside of the room was ignored", self.phase.rawValue)]
        }
    }

    private mutating func leftReceived(_ event: SocketIORoomEvent) -> [Action] {
        if let id = event.peer, let own = self.ownID, id != own {
            return self.byeReceived(id, isRoomRight: event.room == nil || event.room == self.room)
        }
        switch self.state {
        case .leaving:
            return self.finishLeaving(says: true)
        case .resetting:
            return [.cancelTimer(.leave)] + self.join()
        case .joined, .joinedConnected, .joinedUnbound:
            // Some servers send it without a name when another member left.
            guard event.peer != nil, event.peer == self.ownID, event.room == nil || event.room == self.room else {
                return [Self.ignored("A leaved event that was not asked for was ignored", self.phase.rawValue)]
            }
            return self.removed()
        case .fullWait:
            // The answer to the leave of `yield`.
            return []
        case .offline, .connecting, .joining, .left:
            return [Self.ignored("A leaved event that was not asked for was ignored", self.phase.rawValue)]
        }
    }

    private mutating func byeReceived(_ id: PeerID?, isRoomRight: Bool) -> [Action] {
        if let id, id == self.ownID { return [] }
        guard isRoomRight else { return [Self.ignored("A bye event for another room was ignored", id?.rawValue ?? "")] }
        switch self.state {
        case .joined, .joinedConnected, .joinedUnbound:
            guard let peer = self.peers.left(id) else {
                if case .joined = self.state, !self.peers.isMesh {
                    self.state = .joinedUnbound
                    return []
                }
                return [Self.ignored("A bye event of an unknown member was ignored", id?.rawValue ?? "")]
            }
            if self.peers.known.isEmpty { self.state = .joinedUnbound }
            return [.event(.peerLeft(peer))]
        case .offline, .connecting, .joining, .fullWait, .resetting, .leaving, .left:
            return [Self.ignored("A bye event outside of the room was ignored", self.phase.rawValue)]
        }
    }

    /// Some servers announce every socket that died, also of other rooms: only our peer's matters.
    private mutating func userDisconnected(_ event: SocketIORoomEvent) -> [Action] {
        guard let id = event.peer, self.peers.known.contains(id) else {
            return [Self.ignored("The end of an unknown socket was ignored", event.peer?.rawValue ?? "")]
        }
        return self.byeReceived(id, isRoomRight: true)
    }
}

// MARK: - Messages

extension SocketIORoomStateMachine {
    private mutating func messageReceived(_ event: SocketIORoomEvent) -> [Action] {
        switch self.state {
        case .joined, .joinedConnected, .joinedUnbound: break
        case .offline, .connecting, .joining, .fullWait, .resetting, .leaving, .left:
            return [Self.ignored("A message outside of the room was ignored", self.phase.rawValue)]
        }
        guard event.room == nil || event.room == self.room else {
            return [Self.ignored("A message for another room was ignored", event.room ?? "")]
        }
        let message: SocketIORoomMessage
        do {
            message = try SocketIORoomMessage(event.data ?? .null)
        } catch {
            return [Self.ignored("A message that is no offer, answer or candidate was ignored", "\(error)")]
        }
        if let own = self.ownID {
            if let to = message.to, to != own { return [] }
            // The echo of our own, from servers that relay to the sender too.
            if (message.from ?? event.peer) == own { return [] }
        }
        let named = message.from ?? event.peer
        let sender: PeerID
        switch (named, self.peers.single) {
        case (let named?, _): sender = named
        case (nil, let single?): sender = single
        case (nil, nil): sender = .unidentified
        }
        // A member that we know by another id: its messages now belong to a separate call.
        let gone = message.was.compactMap { self.peers.removeUnlisted($0) }
        return gone.map { .event(.peerLeft($0)) } + self.deliver(message, from: sender)
    }

    private mutating func deliver(_ message: SocketIORoomMessage, from sender: PeerID) -> [Action] {
        let isOffer = if case .offer = message.content { true } else { false }
        var actions: [Action] = []
        var peer = sender
        switch self.peers.heard(sender) {
        case .known: peer = self.peers.single ?? sender
        case .added(let old): actions += old.map { .event(.peerLeft($0)) }
        case .refused:
            return [Self.ignored("A message of another member was ignored: this room has its peer", sender.rawValue)]
        }
        if isOffer { self.state = .joinedConnected }
        return actions + RoomEvent.said(message.content, name: message.name, by: peer).map { .event($0) }
    }

    private mutating func relay(_ content: PeerMessage, to peer: PeerID) -> [Action] {
        switch self.state {
        case .joined, .joinedConnected, .joinedUnbound: break
        case .offline, .connecting, .joining, .fullWait, .resetting, .leaving, .left:
            return [Self.ignored("A command outside of the room was dropped", self.phase.rawValue)]
        }
        // The server relays to all members: a message for one that left would reach another.
        guard self.peers.known.contains(peer) else {
            let dropped = Self.ignored("A command for a member that is not there was dropped", peer.rawValue)
            // There would be no answer.
            guard case .offer = content, self.peers.removeUnlisted(peer) != nil else { return [dropped] }
            return [dropped, .event(.peerLeft(peer))]
        }
        let to = peer == .unidentified ? nil : peer
        let was = content.isDescription && self.peers.isMesh ? self.ownIDs.filter { $0 != self.ownID } : []
        let message = SocketIORoomMessage(
            content,
            to: to,
            from: self.ownID,
            name: self.displayName,
            isOfRecorder: self.isRecorder,
            was: was
        )
        guard let data = message.data else { return [] }
        return [.send(.event(self.dialect.messageEvent, [.string(self.room), data]))]
    }
}

// MARK: - Reset and leave

extension SocketIORoomStateMachine {
    private var leavePacket: SocketIOPacket {
        .event(self.dialect.leaveEvent, [self.dialect.argument(room: self.room)])
    }

    /// Leaves and joins again, which makes the other member close its peer connection and start again.
    ///
    /// With more than one peer that would end the others' calls: there the session itself offers again.
    private mutating func resetCall(_ peer: PeerID) -> [Action] {
        switch self.state {
        case .joined, .joinedConnected, .joinedUnbound:
            // A farewell would not reach it.
            if self.peers.removeUnlisted(peer) != nil { return [.event(.peerLeft(peer))] }
            guard self.peers.known.allSatisfy({ $0 == peer }) else {
                return [Self.ignored("A call reset was dropped: the room has other members", peer.rawValue)]
            }
            let gone = self.peers.known
            self.peers.removeMembers()
            self.state = .resetting
            return gone.map { .event(.peerLeft($0)) } + [
                .send(self.leavePacket), .startTimer(.leave, after: Self.leaveTimeout),
            ]
        case .offline, .connecting, .joining, .fullWait, .resetting, .leaving, .left:
            return [Self.ignored("A call reset outside of the room was dropped", self.phase.rawValue)]
        }
    }

    /// A mesh has room for all; elsewhere two recorders would keep every person out.
    private mutating func yield() -> [Action] {
        switch self.state {
        case .joined, .joinedConnected, .joinedUnbound:
            guard !self.peers.isMesh, self.waitsWhenFull else { return [] }
            self.peers.removeAll()
            self.state = .fullWait
            let wait = max(Self.yieldWait, self.fullWait ?? .zero)
            return [.send(self.leavePacket), .event(.yielded), .startTimer(.full, after: wait)]
        case .offline, .connecting, .joining, .fullWait, .resetting, .leaving, .left:
            return []
        }
    }

    private mutating func leave() -> [Action] {
        switch self.state {
        case .joined, .joinedConnected, .joinedUnbound:
            self.state = .leaving
            return [.send(self.leavePacket), .startTimer(.leave, after: Self.leaveTimeout)]
        case .joining, .fullWait, .resetting:
            return self.finishLeaving(says: true)
        case .offline, .connecting:
            return self.finishLeaving(says: false)
        case .leaving, .left:
            return []
        }
    }

    /// We are no member any more, and not by our own will.
    private mutating func removed() -> [Action] {
        self.state = .left
        self.peers.removeAll()
        return Self.cancelTimers + [.event(.removed), .finish(.removed)]
    }

    /// - Parameter says: Whether the namespace is still open for a message.
    private mutating func finishLeaving(says: Bool) -> [Action] {
        self.state = .left
        self.peers.removeAll()
        let goodbye: [Action] = says ? [.send(SocketIOPacket(.disconnect))] : []
        return Self.cancelTimers + goodbye + [.event(.left), .finish(.left)]
    }
}
