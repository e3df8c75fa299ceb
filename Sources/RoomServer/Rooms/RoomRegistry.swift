// SPDX-License-Identifier: Apache-2.0

import Signalling

/// The members of each room, and the rules of a room: who is admitted, who is notified.
///
/// A value without a clock or connection: every event returns what to do, in the order in which to do it. Three rules
/// differ from the course's server: only members may send or leave, a vanished member yields `bye`, and a message
/// may be addressed to one member, which makes rooms of more than two possible (every member that is already there
/// offers to the newcomer, over one peer connection for each pair).
struct RoomRegistry: Sendable {
    /// The bounds of a registry.
    struct Limits: Hashable, Sendable {
        /// Members of one room.
        var capacity: Int
        /// Rooms that have members.
        var rooms: Int
        /// Rooms of one socket.
        var roomsPerSocket: Int
    }

    private let limits: Limits
    /// Members in the order in which they joined.
    ///
    /// No room is empty.
    private var members: [RoomName: [PeerID]] = [:]
    private var rooms: [PeerID: Set<RoomName>] = [:]

    /// A registry without rooms.
    init(limits: Limits) {
        self.limits = limits
    }

    /// Rooms that have members.
    var roomCount: Int { self.members.count }

    /// Memberships in all rooms.
    var memberCount: Int { self.members.values.reduce(0) { $0 + $1.count } }

    /// Members of a room, oldest first.
    func members(of room: RoomName) -> [PeerID] { self.members[room] ?? [] }

    /// A socket asks to become a member.
    ///
    /// A member that asks again gets `joined` and is announced again: its page lost its peer connections, and the
    /// others offer again.
    mutating func join(_ sender: PeerID, room: RoomName) -> [RoomDirective] {
        let present = self.members(of: room)
        let others = present.filter { $0 != sender }
        if others.count == present.count {
            let ownRooms = self.rooms[sender, default: []]
            guard present.count < self.limits.capacity, ownRooms.count < self.limits.roomsPerSocket,
                !present.isEmpty || self.members.count < self.limits.rooms
            else { return [.sendFull(to: sender, room: room)] }
            self.members[room, default: []].append(sender)
            self.rooms[sender, default: []].insert(room)
        }
        var directives = [RoomDirective.sendJoined(to: sender, room: room, peers: others)]
        if !others.isEmpty { directives.append(.sendOtherJoined(to: others, room: room, newcomer: sender)) }
        return directives
    }

    /// A socket ends its membership.
    mutating func leave(_ sender: PeerID, room: RoomName) -> [RoomDirective] {
        guard self.remove(sender, from: room) else {
            return [.ignore(.leaveByNonMember, sender: sender, room: room)]
        }
        return self.bye(sender, room: room) + [.sendLeaved(to: sender, room: room)]
    }

    /// A socket sends data to a room, or to the one member that `addressee` names.
    func message(from sender: PeerID, room: RoomName, addressee: PeerID?) -> [RoomDirective] {
        let present = self.members(of: room)
        guard present.contains(sender) else { return [.ignore(.senderNotMember, sender: sender, room: room)] }
        let others = present.filter { $0 != sender }
        if let addressee {
            guard others.contains(addressee) else { return [.ignore(.addresseeNotMember, sender: sender, room: room)] }
            return [.relay(to: [addressee], room: room, sender: sender)]
        }
        if others.isEmpty { return [.ignore(.nobodyToHear, sender: sender, room: room)] }
        return [.relay(to: others, room: room, sender: sender)]
    }

    /// A socket is gone, whether it left before or not.
    mutating func disconnect(_ sender: PeerID) -> [RoomDirective] {
        let rooms = (self.rooms[sender] ?? []).sorted { $0.rawValue < $1.rawValue }
        return rooms.flatMap { room in
            self.remove(sender, from: room) ? self.bye(sender, room: room) : []
        }
    }

    private func bye(_ leaver: PeerID, room: RoomName) -> [RoomDirective] {
        let others = self.members(of: room)
        return others.isEmpty ? [] : [.sendBye(to: others, room: room, leaver: leaver)]
    }

    /// False if the socket was not a member.
    private mutating func remove(_ socket: PeerID, from room: RoomName) -> Bool {
        guard var present = self.members[room], let index = present.firstIndex(of: socket) else { return false }
        present.remove(at: index)
        self.members[room] = present.isEmpty ? nil : present
        self.rooms[socket]?.remove(room)
        if self.rooms[socket]?.isEmpty == true { self.rooms[socket] = nil }
        return true
    }
}
