// SPDX-License-Identifier: Apache-2.0

public import Signalling

/// What the driver has to do, in order.
///
/// Actions of one connection run one at a time, each to its end: candidates may follow their description at once.
public enum SessionAction: Equatable, Sendable {
    /// Makes a peer connection for the peer.
    case openConnection(ConnectionID, PeerID, CallRole)
    /// Makes our offer and sets it locally; ends with `offerCreated` or a failure.
    case createOffer(ConnectionID)
    /// Applies the peer's offer, makes our answer and sets it locally; ends with `answerCreated` or a failure.
    case applyOffer(ConnectionID, sdp: String)
    /// Applies the peer's answer; says nothing when it succeeds.
    case applyAnswer(ConnectionID, sdp: String)
    /// Gives a candidate of the peer to the connection.
    case addCandidate(ConnectionID, ICECandidate)
    /// Takes the connection down; ends with `closed`. No other action for it follows.
    case closeConnection(ConnectionID, reason: String)
    /// Sends a command to the room.
    case send(RoomCommand)
    /// Starts a timer.
    case startTimer(TimerID, Duration)
    /// Stops a timer; it does no harm if it fires all the same.
    case cancelTimer(TimerID)
    /// Logs and counts a fact.
    case report(SessionFact)
    /// The session is over: the last action of all.
    case finished(SessionOutcome)
}

/// How a session ended.
public enum SessionOutcome: Equatable, Sendable {
    /// As asked by `SessionInput.stop`.
    case stopped
    /// The signaller ended without an error although nobody asked, and no peer is connected any more.
    case left
    /// The signaller gave up, and no peer is connected any more.
    case failed(SignallingError)
}
