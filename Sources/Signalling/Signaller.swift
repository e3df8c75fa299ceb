// SPDX-License-Identifier: Apache-2.0

internal import Basics

/// An event of a room for the session, whatever its protocol.
///
/// Events arrive in the order in which the server sent them.
public enum RoomEvent: Sendable, Equatable {
    /// We are a member. `ownID` is nil where the protocol does not say it. Sent again after each re-join.
    ///
    /// `capacity`: how many members the room takes, we among them; nil where it is not known to take more than two.
    case joined(ownID: PeerID?, capacity: Int? = nil)
    /// A member joined and the protocol makes us the offerer.
    ///
    /// Before `joined`: the server admits us by answering our offer; no peer is reported until it did.
    case peerArrived(PeerID)
    /// The protocol wants our offer before any peer is known to be there; the server keeps it for the next one.
    ///
    /// We offer, and the answer may take for ever; with it the peer has arrived. Media that flow continue undisturbed.
    case peerAwaited(PeerID)
    /// The server takes our media here: we offer, to send only. It is no peer, and therefore no participant. A peer
    /// that offers after that takes no media of ours.
    case publishPointArrived(PeerID)
    /// The server does not take our media for now; the signaller asks again automatically, and names the endpoint
    /// again.
    case publishPointRefused(PeerID, reason: String)
    /// The name that a member wants others to see; untrusted text, at most 256 bytes.
    case peerNamed(PeerID, String)
    /// STUN and TURN servers of the signalling server, for peer connections that are opened from now on; they replace
    /// what an earlier event gave, and come in addition to those of the configuration.
    case iceServersReceived([ICEServer])
    /// A peer offers. `sdp` is unparsed text from the peer.
    case offerReceived(from: PeerID, sdp: String)
    /// A peer answers. `sdp` is unparsed text from the peer.
    case answerReceived(from: PeerID, sdp: String)
    /// A peer trickled a candidate; it may precede the peer's description.
    case candidateReceived(from: PeerID, ICECandidate)
    /// A peer sent an empty candidate.
    case endOfCandidatesReceived(from: PeerID)
    /// A member left, or the server says that it is gone.
    case peerLeft(PeerID)
    /// The room refused us for now; the signaller tries again if its policy says so.
    case full
    /// An attempt to get into the room failed; the signaller tries again if its policy says so.
    case joinFailed(reason: String)
    /// The connection to the server is gone; the signaller reconnects if its policy says so. Media may live on.
    case signallingLost(reason: String)
    /// The attempts to come back are used up. The signaller keeps trying for calls that continue without it, and
    /// `joined` may still come. A session without calls ends. The error says why the last attempt failed.
    case attemptsSpent(SignallingError)
    /// Our own leave is done.
    case left
    /// We made place in a room that has no more than one for us, as `RoomCommand.yield` asked; the signaller comes back
    /// to look some minutes later.
    case yielded
    /// The server kicked us: calls end too, and the run ends with `SignallingError.Code.removed`.
    case removed
    /// Something was ignored: one log line, one counter. `what` is a constant sentence, `detail` is from the wire.
    case ignored(what: String, detail: String)
}

/// A command of the session to the room.
public enum RoomCommand: Sendable, Equatable {
    /// Sends our offer to a peer.
    case offer(to: PeerID, sdp: String)
    /// Sends our answer to a peer.
    case answer(to: PeerID, sdp: String)
    /// Trickles one of our candidates to a peer, after the description it belongs to.
    case candidate(to: PeerID, ICECandidate)
    /// Ends the call with a peer whose media failed and restarts it, in the protocol's own way.
    case resetCall(PeerID)
    /// Another recorder is there already: leaves a room that takes no more than two members, so that people find a
    /// place, and looks again later. Has no effect in other rooms, or if the policy does not wait for full rooms.
    case yield
    /// Leaves the room and ends `Signaller.run()`.
    case leave
}

/// One room on one server: joins, stays, rejoins, translates.
///
/// One value serves one run: `run()` is called once and `events` is consumed by one reader.
public protocol Signaller: Sendable {
    /// Events of the room, in order. Bounded at 4096 events: overflow ends the run with an error, nothing is dropped in
    /// silence. Finishes when `run()` returns.
    var events: AsyncStream<RoomEvent> { get }

    /// Joins and stays until `RoomCommand.leave` or until the policy allows no further attempt.
    ///
    /// Cancelling the calling task leaves the room first (2 s limit). Returns after everything it opened is closed.
    /// - Throws: `SignallingError`.
    func run() async throws

    /// Queues a command. Never blocks; callable from any thread. Commands queued while the room is not joined are
    /// dropped and logged, except `leave`.
    func send(_ command: RoomCommand)
}

/// How long a signaller keeps trying.
public struct JoinPolicy: Sendable, Hashable {
    /// Limit for one connection attempt, including TLS and the first handshake.
    public var connectTimeout: Duration
    /// Attempts before giving up; nil means for ever, with exponential back-off and jitter.
    ///
    /// Once the room was joined, that many lead to `RoomEvent.attemptsSpent`, and the session decides.
    public var attempts: Int?
    /// Wait between counted attempts.
    public var attemptInterval: Duration
    /// Whether a full room is waited for or ends the run with `SignallingError.Code.full`.
    public var waitsWhenFull: Bool
    /// About how long a full room is left alone before the next try; nil leaves it to the protocol.
    public var fullWait: Duration?

    /// A policy with each part given.
    public init(
        connectTimeout: Duration,
        attempts: Int?,
        attemptInterval: Duration,
        waitsWhenFull: Bool,
        fullWait: Duration? = nil
    ) {
        self.connectTimeout = connectTimeout
        self.attempts = attempts
        self.attemptInterval = attemptInterval
        self.waitsWhenFull = waitsWhenFull
        self.fullWait = fullWait
    }

    /// A wait of 80 to 120 % of another, so that many do not come back at the same instant.
    ///
    /// - Parameter random: A random number from 0 to 1.
    public static func spread(_ wait: Duration, random: Double) -> Duration {
        wait.varied(by: 800...1200, random: random)
    }

    /// For commands that a person waits for: 3 s to connect, 5 attempts 1 s apart, a full room is an error.
    public static let oneShot = JoinPolicy(
        connectTimeout: .seconds(3),
        attempts: 5,
        attemptInterval: .seconds(1),
        waitsWhenFull: false
    )

    /// For the daemon: 10 s to connect, for ever, a full room is waited for.
    public static let persistent = JoinPolicy(
        connectTimeout: .seconds(10),
        attempts: nil,
        attemptInterval: .seconds(1),
        waitsWhenFull: true
    )
}
