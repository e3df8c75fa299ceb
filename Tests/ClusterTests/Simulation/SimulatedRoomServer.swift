// SPDX-License-Identifier: Apache-2.0

/// Rooms with people and recorders in them; a recorder whose host vanished stays as a ghost until the ping timeout.
struct SimulatedRoomServer {
    struct Member: Hashable {
        let host: Int
        /// Another one each time that the host joins.
        let visit: Int
        /// When the server notices that it is a ghost; nil while it lives.
        var endsAt: Int?
    }

    struct Room {
        let limit: Int
        var people = 0
        var members: [Member] = []

        var takesOneMore: Bool { self.people + self.members.count < self.limit }
    }

    static let pingTimeout = 20_000_000

    var rooms: [String: Room]
    /// When the first ghost is noticed.
    private var firstEnd = Int.max

    init(rooms: [String: Room]) { self.rooms = rooms }

    /// Joins; false where the room is full.
    mutating func join(_ room: String, host: Int, visit: Int) -> Bool {
        guard let state = self.rooms[room], state.takesOneMore else { return false }
        self.rooms[room]?.members.append(Member(host: host, visit: visit))
        return true
    }

    mutating func leave(_ room: String, host: Int, visit: Int) {
        self.rooms[room]?.members.removeAll { $0.host == host && $0.visit == visit }
    }

    /// The host is gone without a word.
    mutating func abandon(host: Int, at now: Int) {
        for room in self.rooms.keys {
            for index in self.rooms[room]?.members.indices ?? 0..<0
            where self.rooms[room]?.members[index].host == host && self.rooms[room]?.members[index].endsAt == nil {
                self.rooms[room]?.members[index].endsAt = now + Self.pingTimeout
            }
        }
        self.firstEnd = min(self.firstEnd, now + Self.pingTimeout)
    }

    /// Puts out the ghosts whose time is over.
    mutating func clean(at now: Int) {
        guard now >= self.firstEnd else { return }
        for room in self.rooms.keys { self.rooms[room]?.members.removeAll { $0.endsAt.map { $0 <= now } ?? false } }
        self.firstEnd = self.rooms.values.flatMap(\.members).compactMap(\.endsAt).min() ?? .max
    }

    func isIn(_ room: String, host: Int) -> Bool {
        self.rooms[room]?.members.contains { $0.host == host && $0.endsAt == nil } ?? false
    }
}
