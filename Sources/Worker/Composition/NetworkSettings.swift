// SPDX-License-Identifier: Apache-2.0

public import Media

/// How peers reach us.
public struct NetworkSettings: Sendable, Hashable {
    /// Local addresses for media; empty: every interface but loopback, and loopback too if the room server is on it.
    public var hostAddresses: [String] = []
    /// Local UDP ports for media; nil leaves them to the system.
    public var portRange: ClosedRange<UInt16>?
    /// STUN and TURN servers, in the order in which they are tried.
    public var servers: [WebRTCServer] = []
    /// Which of the servers that room servers offer are used beside them.
    public var offered = OfferedServerRule()
    /// Whether media go through TURN servers only, so that peers learn no address of this host.
    public var relaysOnly = false

    /// Every interface, any port, no server.
    public init() {}
}
