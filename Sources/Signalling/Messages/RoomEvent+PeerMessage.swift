// SPDX-License-Identifier: Apache-2.0

extension RoomEvent {
    /// The event of a peer's message.
    init(_ content: PeerMessage, from peer: PeerID) {
        switch content {
        case .offer(let sdp): self = .offerReceived(from: peer, sdp: sdp)
        case .answer(let sdp): self = .answerReceived(from: peer, sdp: sdp)
        case .candidate(let candidate): self = .candidateReceived(from: peer, candidate)
        case .endOfCandidates: self = .endOfCandidatesReceived(from: peer)
        }
    }

    /// The events of a peer's message, preceded by the name that the peer sent with it.
    static func said(_ content: PeerMessage, name: String?, by peer: PeerID) -> [RoomEvent] {
        let event = RoomEvent(content, from: peer)
        guard let name, content.isDescription else { return [event] }
        return [.peerNamed(peer, name), event]
    }
}
