// SPDX-License-Identifier: Apache-2.0

import Basics
import Signalling

/// The server's end of one SkyRTC client.
///
/// ```
/// waiting --__join--> member --WebSocket closed, or the room is full--> ended
/// ```
/// A client is in one room. It joins again to be listed again; there is no leave but the end of its WebSocket. `ended` is
/// terminal. Differs from the original server: only members of the room are reached, and bad messages are counted, not
/// fatal.
struct SkyRTCServerConnection: ~Copyable {
    private enum State {
        case waiting
        case member(RoomName, announced: Set<PeerID>)
        case ended
    }

    /// A step for the driver; steps are in order.
    enum Action: Hashable, Sendable {
        /// Send a message.
        case send(WebSocketMessage)
        /// Hand a request to the rooms.
        case request(RoomRequest)
        /// Close the WebSocket, because the room is full.
        case closeFull
        /// Count and log, and do nothing else.
        case ignore(Ignored)
    }

    /// Why something has no effect.
    enum Ignored: String, Hashable, Sendable, CaseIterable {
        /// No JSON object with a known event name.
        case unreadableMessage
        /// An offer, answer or candidate before `__join`.
        case messageBeforeJoin
        /// The room's name is too long or has control characters.
        case invalidRoomName
        /// `__join` of another room.
        case secondRoom
        /// A message that names no member, or whose description or candidate cannot be read.
        case incompleteMessage
        /// An event that the server does nothing for.
        case uselessEvent
        /// Another member's message has no form in SkyRTC.
        case unspeakableMessage
    }

    /// The room of clients that name none.
    static let defaultRoom = "__default"

    private let socketID: PeerID
    private var state = State.waiting

    init(socketID: PeerID) {
        self.socketID = socketID
    }

    /// Whether the client has asked for a room.
    var hasJoined: Bool {
        if case .member = self.state { true } else { false }
    }

    /// A message came.
    mutating func received(_ message: WebSocketMessage) -> [Action] {
        guard let message = try? SkyRTCMessage(message) else { return [.ignore(.unreadableMessage)] }
        switch message.event {
        case .join: return self.join(message)
        case .offer, .answer, .iceCandidate: return self.relay(message)
        case .peers, .newPeer, .removePeer, .loginSuccess, .create, .invite, .ring, .cancel, .reject, .leave,
            .disconnect, .audio, .ack:
            return [.ignore(.uselessEvent)]
        }
    }

    /// Something happened in the rooms.
    mutating func told(_ directive: RoomDirective, data: JSONValue?) -> [Action] {
        guard case .member(let room, var announced) = self.state else { return [] }
        defer { if case .member = self.state { self.state = .member(room, announced: announced) } }
        switch directive {
        case .sendJoined(_, _, let peers):
            announced = Set(peers)
            let list = JSONValue.array(peers.map { .string($0.rawValue) })
            return [Self.send(.peers, ["connections": list, "you": .string(self.socketID.rawValue)])]
        case .sendOtherJoined(_, _, let newcomer):
            // Known already: it starts again, and apps keep one connection for each id.
            let before = announced.contains(newcomer) ? [Self.send(.removePeer, Self.id(newcomer))] : []
            announced.insert(newcomer)
            return before + [Self.send(.newPeer, Self.id(newcomer))]
        case .sendBye(_, _, let leaver):
            announced.remove(leaver)
            return [Self.send(.removePeer, Self.id(leaver))]
        case .relay(_, _, let sender):
            guard let data, let content = try? PeerMessage(data),
                let message = SkyRTCMessage(content, classic: Self.id(sender))
            else { return [.ignore(.unspeakableMessage)] }
            let named = message.introducing(PeerMessage.name(data), isRecorder: PeerMessage.isOfRecorder(data))
            return [.send(named.text(prefix: "_"))]
        case .sendFull:
            // The protocol has no word for it.
            self.state = .ended
            return [.closeFull]
        case .sendLeaved, .ignore:
            return []
        }
    }

    /// The WebSocket is gone.
    mutating func ended() {
        self.state = .ended
    }

    private mutating func join(_ message: SkyRTCMessage) -> [Action] {
        let value = message.data["room"]
        let text = value?.string ?? value?.integer.map { String($0) } ?? ""
        guard let room = RoomName(text.isEmpty ? Self.defaultRoom : text) else { return [.ignore(.invalidRoomName)] }
        switch self.state {
        case .waiting: self.state = .member(room, announced: [])
        case .member(let current, _): guard current == room else { return [.ignore(.secondRoom)] }
        case .ended: return []
        }
        return [.request(.join(room))]
    }

    private func relay(_ message: SkyRTCMessage) -> [Action] {
        switch self.state {
        case .waiting: return [.ignore(.messageBeforeJoin)]
        case .ended: return []
        case .member(let room, _):
            guard let addressee = message.peer("socketId", "to"), let content = try? message.content(),
                let data = SocketIORoomMessage(
                    content,
                    to: addressee,
                    name: message.senderName,
                    isOfRecorder: message.isOfRecorder
                ).data
            else { return [.ignore(.incompleteMessage)] }
            return [.request(.message(room, data: data, addressee: addressee))]
        }
    }

    private static func send(_ event: SkyRTCMessage.Event, _ data: [String: JSONValue]) -> Action {
        .send(SkyRTCMessage(event, .object(data)).text(prefix: "_"))
    }

    private static func id(_ peer: PeerID) -> [String: JSONValue] { ["socketId": .string(peer.rawValue)] }
}
