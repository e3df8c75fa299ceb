// SPDX-License-Identifier: Apache-2.0

public import SDP
public import Signalling

/// An action for the driver; actions are in order.
///
/// Actions of one connection run one at a time, each to its end: candidates may follow their description at once.
public enum SessionAction: Equatable, Sendable {
    /// Makes a peer connection for the peer.
    case openConnection(ConnectionID, PeerID, CallRole)
    /// Makes our offer and sets it locally; ends with `offerCreated` or a failure.
    case createOffer(ConnectionID)
    /// Applies the peer's offer, makes our answer and sets it locally; ends with `answerCreated` or a failure.
    case applyOffer(ConnectionID, SessionDescription)
    /// Applies the peer's answer; says nothing when it succeeds.
    case applyAnswer(ConnectionID, SessionDescription)
    /// Gives a candidate of the peer to the connection.
    case addCandidate(ConnectionID, ICECandidate)
    /// Takes the connection down, now or when it is quiet; ends with `closed`. No other action for it follows.
    case closeConnection(ConnectionID, reason: String, when: ConnectionEnd)
    /// Sends a command to the room.
    case send(RoomCommand)
    /// Uses these STUN and TURN servers, in addition to those of the configuration, for connections opened from now on.
    case useICEServers([ICEServer])
    /// Starts a timer.
    case startTimer(TimerID, Duration)
    /// Stops a timer; it does no harm if it fires all the same.
    case cancelTimer(TimerID)
    /// Logs and counts a fact.
    case report(SessionEvent)
    /// The session is over: the last action of all.
    case finished(SessionOutcome)
}

/// How a session ended.
public enum SessionOutcome: Equatable, Sendable {
    /// As asked by `SessionInput.stop`.
    case stopped
    /// The signaller ended without an error and without a request, and no peer is connected any more.
    case left
    /// The signaller gave up, and no peer is connected any more.
    case failed(SignallingError)
}

/// When a connection that is to end is taken down.
public enum ConnectionEnd: Sendable, Hashable {
    case atOnce
    /// Soon after nothing comes any more: the peer is gone, but what it sent last may be on its way.
    case quiet
}
