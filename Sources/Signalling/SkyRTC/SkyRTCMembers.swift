// SPDX-License-Identifier: Apache-2.0

/// The other members of a room, in order of arrival; 64 at most.
struct SkyRTCMembers: Sendable {
    private(set) var known: [PeerID] = []

    /// Whether no other member is there.
    var isEmpty: Bool { self.known.isEmpty }

    /// Whether the peer is a member.
    func contains(_ peer: PeerID) -> Bool { self.known.contains(peer) }

    /// Adds a member; false if there are too many.
    mutating func add(_ peer: PeerID) -> Bool {
        if self.known.contains(peer) { return true }
        guard self.known.count < SkyRTCMessage.maximumMembers else { return false }
        self.known.append(peer)
        return true
    }

    /// Removes a member; false if it was none.
    mutating func remove(_ peer: PeerID) -> Bool {
        guard let index = self.known.firstIndex(of: peer) else { return false }
        self.known.remove(at: index)
        return true
    }

    /// Forgets all members, and returns those that were there.
    mutating func removeAll() -> [PeerID] {
        defer { self.known = [] }
        return self.known
    }
}
