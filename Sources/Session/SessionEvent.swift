// SPDX-License-Identifier: Apache-2.0

public import Signalling

/// An event that the session reports: one log line each.
public enum SessionEvent: Equatable, Sendable {
    /// We are a member of the room; again after each re-join. `capacity`: that of `RoomEvent.joined`.
    case joined(ownID: PeerID?, capacity: Int? = nil)
    /// The room has no place for us at present; said once until it takes us.
    case roomFull
    /// An attempt to get into the room failed.
    case joinFailed(reason: String)
    /// The server is out of reach; connected peers stay connected.
    case signallingLost(reason: String)
    /// We left the room to free a slot, because another recorder is in it.
    case yielded
    /// The server kicked us; every call has ended.
    case removed
    /// A peer arrived or offered for the first time.
    case peerJoined(PeerID)
    /// A peer left, or its place was given to another one after it vanished.
    case peerLeft(PeerID)
    /// A member goes by this name; one line of text, at most 256 bytes.
    case peerNamed(PeerID, String)
    /// The server takes our media here. No participant: the facts of its connection follow under the same id.
    case publishPointArrived(PeerID)
    /// The server takes our media there no more.
    case publishPointLeft(PeerID)
    /// Our media do not reach the place where the server takes them.
    case publishingFailed(PeerID, reason: String)
    /// Media can flow.
    case peerConnected(PeerID, ConnectionID)
    /// ICE looks for another path.
    case peerDisconnected(PeerID, ConnectionID)
    /// The peer is a recorder like us: no media would flow, so there is no call with it, and it does not count as a
    /// participant. The epoch is that of another host of our cluster.
    case otherRecorderFound(PeerID, epoch: Int?)
    /// Nothing is heard from the peer.
    case peerStale(PeerID, ConnectionID)
    /// A disconnected or stale peer is back on the same connection.
    case peerRecovered(PeerID, ConnectionID)
    /// A connection was closed, and another one takes its place.
    case callRebuilt(PeerID, closed: ConnectionID, reason: String)
    /// A connection was closed; the next facts say what follows.
    case callFailed(PeerID, ConnectionID, reason: String)
    /// We asked the peer to restart the call.
    case callReset(PeerID, reason: String)
    /// The peer failed too often: its offers are ignored until it returns or the reset window ends.
    case peerGivenUp(PeerID, reason: String)
    /// The peer is not who its description says; descriptions with the same fingerprint are ignored.
    case peerRefused(PeerID, reason: String)
    /// Something had no effect: one counter.
    case ignored(IgnoredInput, peer: PeerID?, detail: String)
}

/// Why something had no effect; the raw value is the metric's dimension.
public enum IgnoredInput: String, Hashable, Sendable, CaseIterable {
    /// An answer came while no offer of ours was outstanding.
    case answerWithoutOffer = "answer_without_offer"
    /// A second answer to the same offer, or the repetition of an answer to an earlier one.
    case duplicateAnswer = "duplicate_answer"
    /// The same offer again; if it was answered, the answer was sent again.
    case duplicateOffer = "duplicate_offer"
    /// An offer that a newer one replaced before it was answered.
    case supersededOffer = "superseded_offer"
    /// A message of our own came back.
    case echo
    /// A text that cannot be read as a session description.
    case malformedDescription = "malformed_description"
    /// A description longer than the limit.
    case oversizedDescription = "oversized_description"
    /// The media layer cannot apply a description, and the call continues without it.
    case refusedDescription = "refused_description"
    /// A candidate of another ICE session than its peer's description.
    case staleCandidate = "stale_candidate"
    /// More candidates than the limit.
    case candidateOverflow = "candidate_overflow"
    /// A peer more than the limit.
    case peerLimit = "peer_limit"
    /// A description with a fingerprint that failed before.
    case refusedPeer = "refused_peer"
    /// An offer from a peer that was dropped.
    case givenUpPeer = "given_up_peer"
    /// A message of a peer that we do not know.
    case unknownPeer = "unknown_peer"
    /// A message from or for a room of which we are not a member at present.
    case notJoined = "not_joined"
    /// A connection reported something that does not fit its state.
    case unexpectedConnectionEvent = "unexpected_connection_event"
    /// The signaller ignored something.
    case signalling
}
