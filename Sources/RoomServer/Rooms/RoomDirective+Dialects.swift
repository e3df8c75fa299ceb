// SPDX-License-Identifier: Apache-2.0

import Basics
import Signalling

/// A client in the rooms, whatever it speaks.
protocol RoomMember: AnyObject {
    /// Its name in the rooms.
    var socketID: PeerID { get }
    /// Which rules it follows.
    var dialect: RoomDialect { get }

    /// Sends an event in the client's own dialect.
    ///
    /// - Parameter data: The data that `RoomDirective.relay` passes on.
    func tell(_ directive: RoomDirective, data: JSONValue?)
}

/// The dialect whose rules a member follows when two meet.
enum RoomDialect: Hashable, Sendable {
    /// The members already present offer to the newcomer, when they hear `otherjoin`.
    case socketIO
    /// The newcomer offers to every member in `_peers`, and waits after `_new_peer`.
    case skyRTC
}

extension RoomDirective {
    /// The directive as members of several dialects need it, so that exactly one of each two offers.
    ///
    /// | there | newcomer | who offers | how |
    /// |---|---|---|---|
    /// | Socket.IO | Socket.IO | who is there | `otherjoin` |
    /// | SkyRTC | SkyRTC | the newcomer | `_peers` |
    /// | Socket.IO | SkyRTC | who is there | `otherjoin`; the newcomer hears `_new_peer` of it, and waits |
    /// | SkyRTC | Socket.IO | the newcomer | it hears `otherjoin` of who is there, who hears `_new_peer`, and waits |
    ///
    /// So between the dialects it is always the Socket.IO member. Each of the two sees the other come after itself, and
    /// needs nothing that its own servers do not do.
    func translated(dialect: (PeerID) -> RoomDialect) -> [RoomDirective] {
        guard case .sendJoined(let socket, let room, let peers) = self else { return [self] }
        let own = dialect(socket)
        let others = peers.filter { dialect($0) != own }
        return [.sendJoined(to: socket, room: room, peers: peers.filter { dialect($0) == own })]
            + others.map { .sendOtherJoined(to: [socket], room: room, newcomer: $0) }
    }

    /// The members that the directive reaches.
    var recipients: [PeerID] {
        switch self {
        case .sendJoined(let socket, _, _), .sendFull(let socket, _), .sendLeaved(let socket, _): [socket]
        case .sendOtherJoined(let sockets, _, _), .sendBye(let sockets, _, _), .relay(let sockets, _, _): sockets
        case .ignore: []
        }
    }
}
