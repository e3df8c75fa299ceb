// SPDX-License-Identifier: Apache-2.0

/// The members of the room besides us, as far as the events show.
struct SocketIORoomPeers: Equatable {
    /// Whether the server keeps many members and names every sender (our extension).
    var isMesh = false
    /// The members that the session knows of, in order of arrival; at most one unless `isMesh`.
    private(set) var known: [PeerID] = []
    /// Whether the single member is surely the one with that id: not after a re-join, when another may have taken its
    /// slot unseen.
    private(set) var isCertain = true
    /// Members of a mesh from before a re-join that the server does not list any more.
    ///
    /// They left unseen, or the server was restarted: then their media continue, and they come back under other ids.
    private(set) var unlisted: [PeerID] = []

    /// The result of adding a member.
    enum Adding: Equatable {
        /// It is new, and replaced the given members.
        case added(replacing: [PeerID])
        /// It is known already.
        case known
        /// The room has its member or its limit.
        case refused
    }

    /// The single member of a room of two.
    var single: PeerID? { self.isMesh ? nil : self.known.first }

    /// A member arrived, or arrived again.
    /// - Returns: The members that are gone for it.
    mutating func arrived(_ peer: PeerID) -> [PeerID] {
        if self.isMesh {
            let old = self.remove(peer) ?? self.removeUnlisted(peer)
            self.known.append(peer)
            return (old.map { [$0] } ?? []) + self.makeRoom()
        }
        let old = self.known
        self.known = [peer]
        self.isCertain = true
        return old
    }

    /// A message came from this member.
    mutating func heard(_ peer: PeerID) -> Adding {
        if self.known.contains(peer) { return .known }
        if self.isMesh {
            guard self.known.count < SocketIORoomEvent.maximumPeers else { return .refused }
            self.known.append(peer)
            _ = self.removeUnlisted(peer)
            return .added(replacing: self.makeRoom())
        }
        guard let old = self.known.first else {
            self.known = [peer]
            self.isCertain = true
            return .added(replacing: [])
        }
        if old == .unidentified || self.isCertain { return old == .unidentified ? .known : .refused }
        self.known = [peer]
        self.isCertain = true
        return .added(replacing: [old])
    }

    /// A member left.
    ///
    /// `id` is nil if the server does not say who.
    /// - Returns: The member as the session knows it.
    mutating func left(_ id: PeerID?) -> PeerID? {
        if self.isMesh { return id.flatMap { self.remove($0) ?? self.removeUnlisted($0) } }
        guard let single = self.known.first else { return nil }
        guard let id, self.isCertain, single != .unidentified, single != id else {
            self.known = []
            return single
        }
        return nil
    }

    /// We joined again: members may have changed unseen.
    /// - Returns: The members that are surely gone.
    mutating func rejoined(mesh: SocketIORoomEvent.Mesh?) -> [PeerID] {
        let wasMesh = self.isMesh
        self.isMesh = mesh != nil
        guard let mesh else {
            // A room of two again: one of many cannot be distinguished from the others.
            let gone = wasMesh ? self.known + self.unlisted : []
            if wasMesh { self.known = [] }
            self.unlisted = []
            self.isCertain = false
            return gone
        }
        self.unlisted += self.known.filter { !mesh.peers.contains($0) }
        self.known.removeAll { !mesh.peers.contains($0) }
        return self.makeRoom()
    }

    /// Members come before those that may be back already: a session has a limited number of calls.
    /// - Returns: The oldest of those whom the server does not list, as far as they are too many.
    private mutating func makeRoom() -> [PeerID] {
        let count = self.known.count + self.unlisted.count
        let excess = min(max(0, count - SignallingOptions.maximumPeers), self.unlisted.count)
        defer { self.unlisted.removeFirst(excess) }
        return Array(self.unlisted.prefix(excess))
    }

    /// Forgets all members except those that the server does not list: their media do not need the room.
    mutating func removeMembers() {
        self.known = []
        self.isCertain = true
    }

    /// Forgets all members.
    mutating func removeAll() {
        self.removeMembers()
        self.unlisted = []
    }

    /// A member whom the server does not list is gone, or back under another id.
    /// - Returns: The member; nil if it is none of them.
    mutating func removeUnlisted(_ peer: PeerID) -> PeerID? {
        guard let index = self.unlisted.firstIndex(of: peer) else { return nil }
        return self.unlisted.remove(at: index)
    }

    private mutating func remove(_ peer: PeerID) -> PeerID? {
        guard let index = self.known.firstIndex(of: peer) else { return nil }
        return self.known.remove(at: index)
    }
}
