// SPDX-License-Identifier: Apache-2.0

public import Basics
internal import Session
public import Signalling

/// The state of a room session as seen from outside, now.
public struct RoomSessionStatus: Sendable, Hashable {
    /// Whether we have been a member of the room at all.
    public var hasJoined = false
    /// Whether we are a member of the room.
    public var isJoined = false
    /// How many members the room takes, we among them; nil where it is not known to take more than two.
    public var capacity: Int?
    /// The highest epoch that another host of our cluster showed since we became a member.
    public var rivalEpoch: Int?
    /// Whether `run()` has returned.
    public var hasEnded = false
    /// Peers with a live connection.
    public var connectedPeers: Set<PeerID> = []
    /// Peers that are in the room, as far as we know; a silent one is taken for gone until it is heard again.
    public var presentPeers: Set<PeerID> = []
    /// Whether any peer was ever connected; who it was is not kept, for a session may last for months.
    public var hasConnected = false
    /// Where the server takes our media; there is no peer, and it is in none of the other sets.
    public var publishPoint: PeerID?
    /// Whether what we send reaches the publish point.
    public var isPublishing = false
    /// Names that peers go by, while they are in the room.
    public var names: [PeerID: String] = [:]
    /// Facts counted by kind: what was ignored, refused, rebuilt.
    public var counters: [String: Int] = [:]
    /// Buffers sent, by codec, over all peers there ever were.
    public var sent: [MediaCodec: UInt64] = [:]
    /// How media reach each peer that is connected.
    public var paths: [PeerID: MediaPath] = [:]
    /// The kinds of media that each peer with a connection said it may send, and that we receive.
    public var awaitedKinds: [PeerID: Set<MediaKind>] = [:]
    /// The last reason for which a peer was refused or dropped.
    public var lastRefusal: String?
    /// The last reason for which the room could not be joined.
    public var lastJoinFailure: String?

    /// The status of a session that has not begun.
    public init() {}
}

extension RoomSessionStatus {
    mutating func note(_ fact: SessionEvent) {
        switch fact {
        case .joined(_, let capacity):
            self.hasJoined = true
            self.isJoined = true
            self.rivalEpoch = nil
            self.capacity = capacity
        case .peerNamed(let peer, let name):
            self.note(name, of: peer)
        case .publishPointArrived(let peer):
            self.publishPoint = peer
            self.isPublishing = false
        case .publishPointLeft:
            self.publishPoint = nil
            self.isPublishing = false
        case .publishingFailed(_, let reason):
            self.isPublishing = false
            self.count("publishing_failed")
            self.lastRefusal = reason
        case .peerConnected(let peer, _) where peer == self.publishPoint,
            .peerRecovered(let peer, _) where peer == self.publishPoint:
            self.isPublishing = true
        case .peerStale(let peer, _) where peer == self.publishPoint,
            .callRebuilt(let peer, _, _) where peer == self.publishPoint,
            .callFailed(let peer, _, _) where peer == self.publishPoint:
            self.isPublishing = false
            self.count("publishing_lost")
        case .peerJoined(let peer):
            self.presentPeers.insert(peer)
        case .peerLeft(let peer):
            self.presentPeers.remove(peer)
            self.connectedPeers.remove(peer)
            self.names[peer] = nil
        case .peerConnected(let peer, _), .peerRecovered(let peer, _):
            self.presentPeers.insert(peer)
            self.connectedPeers.insert(peer)
            self.hasConnected = true
        case .peerStale(let peer, _):
            self.count("peer_stale")
            self.presentPeers.remove(peer)
            self.connectedPeers.remove(peer)
        case .callRebuilt(let peer, _, _):
            self.count("call_rebuilt")
            self.connectedPeers.remove(peer)
        case .callFailed(let peer, _, let reason):
            self.count("call_failed")
            self.connectedPeers.remove(peer)
            self.lastRefusal = reason
        case .callReset:
            self.count("call_reset")
        case .peerGivenUp(let peer, let reason):
            self.count("peer_given_up")
            self.presentPeers.remove(peer)
            self.lastRefusal = reason
        case .peerRefused(_, let reason):
            self.count("peer_refused")
            self.lastRefusal = reason
        case .ignored(let what, _, let detail):
            self.count("ignored_\(what.rawValue)")
            self.lastRefusal = detail
        case .roomFull:
            self.isJoined = false
            self.count("room_full")
        case .joinFailed(let reason):
            self.count("join_failed")
            self.lastJoinFailure = reason
        case .signallingLost:
            self.isJoined = false
            self.count("signalling_lost")
        case .otherRecorderFound(let peer, let epoch):
            self.presentPeers.remove(peer)
            if let epoch { self.rivalEpoch = max(self.rivalEpoch ?? epoch, epoch) }
            self.count("twin_found")
        case .yielded:
            self.isJoined = false
            self.count("yielded")
        case .removed:
            self.isJoined = false
            self.count("removed")
        case .peerDisconnected:
            self.count("peer_disconnected")
        }
    }

    /// Keeps the names of as many peers as a room may have.
    private mutating func note(_ name: String, of peer: PeerID) {
        guard self.names[peer] != nil || self.names.count < 256 else { return }
        self.names[peer] = name
    }

    private mutating func count(_ what: String) {
        self.counters[what, default: 0] += 1
    }
}
