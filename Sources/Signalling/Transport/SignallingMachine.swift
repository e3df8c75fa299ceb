// SPDX-License-Identifier: Apache-2.0

/// One room of one protocol: pure, driven by `MachineClient`.
///
/// The machine decides what to send and what to report to the session; one driver opens sockets, sends requests, runs
/// timers and tries again under the `JoinPolicy`. An attempt begins with `SignallingInput.attempt` and ends with
/// `SignallingAction.attemptFailed` or `finished`.
///
/// Copyable, because an associated type cannot be anything else yet; machines are never copied.
public protocol SignallingMachine: Sendable {
    /// Takes one thing that happened, and says what to do, in order.
    mutating func handle(_ input: SignallingInput) -> [SignallingAction]
}

/// An input of a machine.
public enum SignallingInput: Sendable, Equatable {
    /// An attempt begins: nothing of an earlier one is open, and no timer runs.
    ///
    /// `note` is what `SignallingAction.note` kept last for this room, perhaps in an earlier process.
    case attempt(note: String?)
    /// A command of the session; between two attempts the driver itself leaves, and drops the rest.
    case command(RoomCommand)
    /// A timer ran out.
    case timerFired(SignallingTimer)
    /// Something happened on the WebSocket.
    case webSocket(WebSocketEvent)
    /// A request was answered.
    case answered(HTTPRequest.ID, HTTPAnswer)
    /// A request was not answered.
    case requestFailed(HTTPRequest.ID, SignallingError)
    /// Something happened on the stream.
    case stream(StreamEvent)
    /// Something happened on the XMPP stream.
    case xmpp(XMPPEvent)
}

/// An action of a machine for its driver.
public enum SignallingAction: Sendable, Equatable {
    /// Sends an event to the session. `joinFailed` and `signallingLost` are reported by the driver, at `attemptFailed`.
    case event(RoomEvent)
    /// Opens the WebSocket, instead of one that is open.
    case openWebSocket(WebSocketRequest)
    /// Sends a message on the WebSocket; lost if it is not open.
    case sendWebSocket(WebSocketMessage)
    /// Sends a close frame; `WebSocketEvent.closed` follows.
    case closeWebSocket
    /// Sends a request.
    case request(HTTPRequest)
    /// Opens the stream, instead of one that is open.
    case openStream(StreamRequest)
    /// Sends bytes on the stream's connection; lost if there is none.
    case sendStream([UInt8])
    /// Closes the stream's connection; a listening port stays open.
    case closeStream
    /// Opens the XMPP stream, instead of one that is open.
    case openXMPP(XMPPRequest)
    /// Sends a stanza; lost if the stream is not open.
    case sendXMPP(XMPPStanza)
    /// Ends the stream; `XMPPEvent.closed` follows.
    case closeXMPP
    /// Starts or moves a timer; `isSpread` varies it by 20 % either way, so that many do not come at the same instant.
    case startTimer(SignallingTimer, after: Duration, isSpread: Bool = false)
    /// Stops a timer; it does no harm if it fires all the same.
    case cancelTimer(SignallingTimer)
    /// Keeps a text for this room beyond a crash, in place of an earlier one; nil forgets it.
    case note(String?)
    /// The attempt or the connection is over: the driver closes everything, reports it to the session, and tries again
    /// or ends, as the policy says.
    case attemptFailed(SignallingError)
    /// The run is over, by our leave (nil) or for ever. Data sent before still goes out, for a second at most.
    case finished(SignallingError?)
}

/// The name of a machine's timer.
public struct SignallingTimer: Hashable, Sendable, RawRepresentable {
    /// The name.
    public let rawValue: String

    /// A timer's name.
    public init(rawValue: String) {
        self.rawValue = rawValue
    }
}

/// Properties of ours that a machine must know.
public struct SignallingOptions: Sendable, Hashable {
    /// Peers that a session serves at the same time, unless it is configured otherwise.
    public static let maximumPeers = 40

    /// How long the signaller keeps trying; machines use its limits for their own waits.
    public var policy: JoinPolicy
    /// The name under which others see us, where the protocol has names.
    public var displayName: String
    /// Whether we have media to send.
    public var sends: Bool
    /// Whether we take media.
    public var receives: Bool
    /// Whether we are there to record: members learn it where the protocol has a place for it.
    public var records: Bool
    /// The password, PIN or token of the room or account; nil without one.
    ///
    /// A secret.
    public var secret: String?
    /// Differs from run to run; for protocols that need unique names.
    public var seed: UInt64

    /// Options with each part given.
    public init(
        policy: JoinPolicy,
        displayName: String = "tapedeck",
        sends: Bool = false,
        receives: Bool = true,
        records: Bool = false,
        secret: String? = nil,
        seed: UInt64 = 0
    ) {
        self.policy = policy
        self.displayName = displayName
        self.sends = sends
        self.receives = receives
        self.records = records
        self.secret = secret
        self.seed = seed
    }
}
