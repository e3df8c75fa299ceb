// SPDX-License-Identifier: Apache-2.0

internal import Basics

/// A room server's event, read in every form that known servers give it.
struct SocketIORoomEvent: Equatable {
    /// The server's rules for the room, in the third argument of `joined` (our extension).
    struct Mesh: Equatable {
        /// The members that were there before us.
        var peers: [PeerID]
        /// How many members the room takes; nil if the server does not say it.
        var capacity: Int?
    }

    /// Longest member id taken, in bytes.
    static let maximumIDBytes = 256
    /// Most members of a mesh.
    static let maximumPeers = 64

    /// The event's meaning.
    var name: SocketIORoomEventName
    /// The room, if the server names it.
    var room: String?
    /// The member concerned, if the server names it.
    var peer: PeerID?
    /// The relayed data of a message.
    var data: JSONValue?
    /// The rules of a mesh, in `joined` only.
    var mesh: Mesh?

    /// Reads the arguments.
    init(_ name: SocketIORoomEventName, _ arguments: [JSONValue]) {
        self.name = name
        self.room = arguments.first.flatMap(Self.room)
        switch name {
        case .message:
            self.peer = arguments.count > 2 ? Self.peer(arguments[1]) : nil
            self.data = arguments.dropFirst().last { $0.object != nil } ?? arguments.dropFirst().last
        case .userDisconnected:
            self.peer = arguments.compactMap(Self.peer).last
        case .joined, .otherJoined, .full, .left, .bye:
            self.peer = arguments.count > 1 ? Self.peer(arguments[1]) : nil
            if name == .joined, arguments.count > 2, arguments[2]["mesh"]?.bool == true {
                let peers = (arguments[2]["peers"]?.array ?? []).compactMap(Self.peer)
                let capacity = arguments[2]["capacity"]?.integer ?? 0
                self.mesh = Mesh(
                    peers: [PeerID](peers.prefix(Self.maximumPeers)),
                    capacity: capacity > 2 ? min(capacity, Self.maximumPeers + 1) : nil
                )
            }
        }
    }

    private static func room(_ value: JSONValue) -> String? {
        switch value {
        case .string(let room): room
        case .integer(let room): String(room)
        case .object(let object):
            (object["room"] ?? object["receiver"]).flatMap { $0.string ?? $0.integer.map(String.init) }
        case .null, .bool, .number, .array: nil
        }
    }

    private static func peer(_ value: JSONValue) -> PeerID? {
        guard let id = value.string, !id.isEmpty, id.utf8.count <= Self.maximumIDBytes else { return nil }
        return PeerID(id)
    }
}
