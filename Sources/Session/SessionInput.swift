// SPDX-License-Identifier: Apache-2.0

public import SDP
public import Signalling

/// An input of a room session.
public enum SessionInput: Equatable, Sendable {
    /// The signaller reported something; every event, in order.
    case room(RoomEvent)
    /// `Signaller.run()` returned, or threw the error.
    case signallerEnded(SignallingError?)
    /// One of our peer connections reported something.
    case connection(ConnectionID, ConnectionEvent)
    /// A timer that the machine started ran out.
    case timerFired(TimerID)
    /// The user wants the session to end.
    case stop
}

/// A report of a peer connection.
public enum ConnectionEvent: Equatable, Sendable {
    /// Our offer is set locally; this is what the peer is to get.
    case offerCreated(SessionDescription)
    /// The peer's offer is applied and our answer is set locally; this is what the peer is to get.
    case answerCreated(SessionDescription)
    /// The offer just given is good, but only a fresh peer connection can take it.
    case rebuildNeeded(reason: String)
    /// The peer's offer is good, but we accept nothing of it; the answer says so to the peer. The connection was not
    /// touched by it.
    case offerDeclined(SessionDescription, reason: String)
    /// The description just given cannot be taken by any connection; this one was not touched by it.
    case descriptionRefused(reason: String)
    /// A step of the negotiation failed; the connection is not to be used any more.
    case negotiationFailed(reason: String)
    /// We gathered a candidate.
    case localCandidate(ICECandidate)
    /// ICE and DTLS are up, and the peer's certificate is the one of its description.
    case connected
    /// ICE lost its path and looks for another one.
    case iceDisconnected
    /// ICE gave up.
    case iceFailed
    /// Neither RTP nor RTCP came for the limit of `LivenessPolicy`.
    case mediaSilent
    /// RTP or RTCP came after `mediaSilent`.
    case mediaHeard
    /// The peer's certificate is not the one of its description (RFC 8122 section 5).
    case authenticityFailed(reason: String)
    /// Everything that the connection held is released. Follows `SessionAction.closeConnection`; before it,
    /// the connection ended without a command.
    case closed
}
