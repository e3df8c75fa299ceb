// SPDX-License-Identifier: Apache-2.0

/// One STUN or TURN server, or several with the same user name and password.
public struct ICEServer: Sendable, Hashable {
    /// Its URLs (RFC 7064, RFC 7065), at least one.
    public var urls: [String]
    /// The user name of a TURN server.
    public var username: String?
    /// The password of a TURN server.
    public var credential: Secret?

    /// A server with each part given.
    public init(urls: [String], username: String? = nil, credential: Secret? = nil) {
        self.urls = urls
        self.username = username
        self.credential = credential
    }
}

/// How peers reach us.
public struct ICEConfiguration: Sendable, Hashable {
    /// STUN and TURN servers.
    public var servers: [ICEServer] = []
    /// Local addresses for media, IPv4 or IPv6; empty: every interface but loopback.
    public var hostAddresses: [String] = []
    /// The ways that media may take.
    public enum Policy: String, Sendable, Hashable, CaseIterable {
        /// Every one.
        case all
        /// Through TURN servers only: peers learn no address of this host.
        case relay
    }

    /// The ways that media may take.
    public var policy: Policy = .all
    /// Whether servers that the rooms' servers offer are used beside `servers`.
    public var usesOffered = true
    /// Hosts that those may have, in lower case: names, addresses, `*.DOMAIN`; empty: any.
    public var offeredHosts: [String] = []
    /// Local UDP ports for media; `nil` leaves them to the system.
    public var portRange: ClosedRange<UInt16>?

    /// Every key at its default.
    public init() {}
}
