// SPDX-License-Identifier: Apache-2.0

/// Why an Engine.IO session is over.
public enum EngineIOEnd: Error, Sendable, Hashable {
    /// We closed it.
    case closedByUs
    /// The server sent a close packet, closed the WebSocket, or ended polling.
    case closedByServer
    /// The handshake's answer is not Engine.IO: wrong path, or another kind of server. `status` is HTTP's, 200 for a
    /// body that cannot be read.
    case notEngineIO(status: Int)
    /// The server refused the handshake. `message` is its reason, shortened.
    case refused(status: Int, message: String)
    /// The server does not know the session any more, or answered a request of it with an error.
    case sessionLost(status: Int)
    /// A heartbeat was not answered, or did not come, in time.
    case heartbeatMissed
    /// The server's bytes are not Engine.IO.
    case violation(EngineIOError)
    /// A packet of ours is larger than the server takes.
    case packetTooLarge
    /// More packets wait than `EngineIOSessionStateMachine.maximumQueuedPackets`: the server takes none.
    case overloaded
    /// The network failed; the driver knows how.
    case transportFailed
}
