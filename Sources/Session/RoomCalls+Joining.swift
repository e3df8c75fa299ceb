// SPDX-License-Identifier: Apache-2.0

import Signalling

/// Calls that come before the membership: protocols whose server takes us by answering our offer.
///
/// Nobody is reported until we are a member, so that an endpoint that refuses us again and again looks like a room that
/// cannot be joined, not like a peer that comes and goes.
extension RoomCalls {
    /// The server wants our offer before it takes us.
    mutating func offerWanted(_ arrival: RoomEvent) {
        self.isAhead = true
        self.isJoined = true
        switch arrival {
        case .peerArrived(let peer): self.peerArrived(peer)
        case .publishPointArrived(let peer): self.publishPointArrived(peer)
        default: break
        }
    }

    /// The server took us: whom we offered to is there.
    mutating func announceCalls() {
        guard self.isAhead else { return }
        self.isAhead = false
        for peer in self.arrivals where self.calls[peer]?.connection != nil {
            _ = self.admit(peer, announce: true)
            self.announcePublishPoint(peer)
        }
    }

    /// The server did not take us: what was offered is void.
    mutating func dropOffers(reason: String) {
        guard self.isAhead else { return }
        self.isAhead = false
        self.isJoined = false
        for peer in self.arrivals where self.calls[peer]?.connection?.isConnected != true {
            self.remove(peer, reason: reason)
        }
    }
}
