// SPDX-License-Identifier: Apache-2.0

/// The errors of one client: what went wrong, where, and what to check.
///
/// They contain only the address of the room URL: its path and the room's name may be what lets people in.
struct SocketIOFailures: Sendable {
    private let address: String
    private let limit: String

    /// - Parameters:
    ///   - address: The server as messages name it, `host:port`.
    ///   - connectTimeout: The limit that messages name.
    init(address: String, connectTimeout: Duration) {
        self.address = address
        self.limit = "\(connectTimeout.components.seconds) s"
    }

    /// The connect limit passed.
    ///
    /// - Parameter isOpen: Whether Engine.IO was open, so that only the namespace is missing.
    func connectTimedOut(isOpen: Bool) -> SignallingError {
        isOpen
            ? SignallingError(
                .timedOut,
                "The server at \(self.address) opened a connection but did not grant the namespace within "
                    + "\(self.limit): check the Engine.IO version (eio=3 or eio=4).",
                blame: .peer
            )
            : SignallingError(
                .timedOut,
                "The server at \(self.address) did not answer within \(self.limit): check the address, the port and "
                    + "firewalls.",
                blame: .network
            )
    }

    /// The answer while connecting is Engine.IO but not Socket.IO.
    func notSocketIO(_ error: SocketIOPacket.ParsingError) -> SignallingError {
        SignallingError(
            .protocolViolation,
            "The server at \(self.address) answered with something that is not Socket.IO (\(error)).",
            blame: .peer
        )
    }

    /// How a connection ended.
    func error(for end: EngineIOEnd) -> SignallingError {
        switch end {
        case .closedByUs:
            SignallingError(.unreachable, "The connection to \(self.address) was closed.", blame: .ours)
        case .closedByServer:
            SignallingError(.unreachable, "The server at \(self.address) closed the connection.", blame: .peer)
        case .transportFailed:
            SignallingError(.unreachable, "The connection to the server at \(self.address) broke.", blame: .network)
        case .notEngineIO(let status) where HTTPAnswer.isTransient(status: status):
            SignallingError(
                .unreachable,
                "The server at \(self.address) answered HTTP \(status): check that the room server behind it runs.",
                blame: .peer
            )
        case .notEngineIO(let status):
            SignallingError(
                .protocolViolation,
                "There is no Engine.IO server on \(self.address) at the URL's path (HTTP \(status)): wrong path or port?",
                blame: .configuration
            )
        case .refused(let status, let message):
            SignallingError(
                .refused,
                "The server at \(self.address) refused the connection (HTTP \(status): \(message)): check the Engine.IO "
                    + "version (eio=3 or eio=4) and transport.",
                blame: .configuration
            )
        case .sessionLost(let status):
            SignallingError(
                .unreachable,
                "The server at \(self.address) does not know our session any more (HTTP \(status)).",
                blame: .peer
            )
        case .heartbeatMissed:
            SignallingError(.timedOut, "The server at \(self.address) stopped answering heartbeats.", blame: .network)
        case .violation(.oversize):
            SignallingError(
                .protocolViolation,
                "The server at \(self.address) sent more than \(EngineIOLimits.maximumPayloadBytes) bytes in one message.",
                blame: .peer
            )
        case .violation(let error):
            SignallingError(
                .protocolViolation,
                "The server at \(self.address) sent something that is not Engine.IO (\(error)).",
                blame: .peer
            )
        case .packetTooLarge:
            SignallingError(
                .protocolViolation,
                "A message of ours is larger than the server at \(self.address) takes.",
                blame: .ours
            )
        case .overloaded:
            SignallingError(.overloaded, "The server at \(self.address) does not take what we send.", blame: .peer)
        }
    }

    /// Why the room's machine wants another connection.
    func error(for reason: SocketIORoomStateMachine.ReconnectReason) -> SignallingError {
        switch reason {
        case .joinUnanswered:
            SignallingError(
                .timedOut,
                "The server at \(self.address) did not answer join for the room: check the room URL's "
                    + "dialect.",
                blame: .peer
            )
        case .disconnectedByServer:
            SignallingError(.unreachable, "The server at \(self.address) disconnected us.", blame: .peer)
        case .refused(let reason):
            SignallingError(
                .refused,
                "The server at \(self.address) refused the connection: \(reason).",
                blame: .peer
            )
        }
    }

    /// How the membership ended; nil after leaving.
    func error(for outcome: SocketIORoomStateMachine.Outcome) -> SignallingError? {
        switch outcome {
        case .left:
            nil
        case .full:
            SignallingError(
                .full,
                "The room on \(self.address) is full.",
                blame: .peer
            )
        case .removed:
            SignallingError(
                .removed,
                "The server at \(self.address) kicked us from the room.",
                blame: .peer
            )
        }
    }
}
