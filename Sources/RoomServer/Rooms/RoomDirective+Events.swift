// SPDX-License-Identifier: Apache-2.0

import Basics
import Signalling

extension RoomDirective {
    /// An event on the wire, and whom it goes to.
    struct Delivery: Hashable, Sendable {
        /// The sockets that get it.
        var recipients: [PeerID]
        /// The event.
        var packet: SocketIOPacket
    }

    /// The event of this directive; nil if it sends none.
    ///
    /// - Parameters:
    ///   - data: The data that `relay` passes on. Objects get the sender's id as `from`, whatever the sender put there.
    ///   - capacity: Members of one room; more than two makes it a mesh.
    func delivery(data: JSONValue?, capacity: Int) -> Delivery? {
        switch self {
        case .sendJoined(let socket, let room, let peers):
            let details: [String: JSONValue] = [
                "peers": .array(peers.map { .string($0.rawValue) }),
                "capacity": .integer(capacity),
                "mesh": .bool(capacity > 2),
            ]
            return Delivery(to: [socket], "joined", room, [.string(socket.rawValue), .object(details)])
        case .sendOtherJoined(let sockets, let room, let newcomer):
            return Delivery(to: sockets, "otherjoin", room, [.string(newcomer.rawValue)])
        case .sendFull(let socket, let room):
            let details = JSONValue.object(["capacity": .integer(capacity)])
            return Delivery(to: [socket], "full", room, [.string(socket.rawValue), details])
        case .sendLeaved(let socket, let room):
            return Delivery(to: [socket], "leaved", room, [.string(socket.rawValue)])
        case .sendBye(let sockets, let room, let leaver):
            return Delivery(to: sockets, "bye", room, [.string(leaver.rawValue)])
        case .relay(let sockets, let room, let sender):
            guard let data else { return nil }
            return Delivery(to: sockets, "message", room, [Self.signed(data, by: sender)])
        case .ignore:
            return nil
        }
    }

    private static func signed(_ data: JSONValue, by sender: PeerID) -> JSONValue {
        guard var object = data.object else { return data }
        object["from"] = .string(sender.rawValue)
        return .object(object)
    }
}

extension RoomDirective.Delivery {
    fileprivate init(to recipients: [PeerID], _ name: String, _ room: RoomName, _ arguments: [JSONValue]) {
        self.recipients = recipients
        self.packet = .event(name, [.string(room.rawValue)] + arguments)
    }
}
