// SPDX-License-Identifier: Apache-2.0

public import Basics

/// How peers reach us.
public struct NetworkSpec: Sendable, Hashable, Codable {
    /// One STUN or TURN server, or several with the same user name and password.
    public struct Server: Sendable, Hashable, Codable {
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

        /// Whether one of its URLs is of a TURN server.
        public var relays: Bool { self.urls.contains { $0.lowercased().hasPrefix("turn") } }
    }

    /// STUN and TURN servers, in the order in which they are tried.
    public var servers: [Server] = []
    /// Local addresses for media; empty: every interface but loopback, and loopback too if the room server is on it.
    public var hostAddresses: [String] = []
    /// Whether media go through TURN servers only, so that peers learn no address of this host.
    public var relaysOnly = false
    /// Whether servers that the room's server offers are used in addition to `servers`.
    public var usesOffered = true
    /// Hosts that those may have, in lower case: names, addresses, `*.DOMAIN`; empty: any.
    public var offeredHosts: [String] = []
    /// Local UDP ports for media; `nil` leaves them to the system.
    public var portRange: ClosedRange<UInt16>?

    private enum CodingKeys: String, CodingKey {
        case servers, hostAddresses, relaysOnly, usesOffered, offeredHosts, firstPort, lastPort
    }

    /// Every interface, any port, no server.
    public init() {}

    /// Reads what is there; what is missing has its default.
    public init(from decoder: any Decoder) throws {
        let values = try decoder.container(keyedBy: CodingKeys.self)
        try values.read(.servers, into: &self.servers)
        try values.read(.hostAddresses, into: &self.hostAddresses)
        try values.read(.relaysOnly, into: &self.relaysOnly)
        try values.read(.usesOffered, into: &self.usesOffered)
        try values.read(.offeredHosts, into: &self.offeredHosts)
        let first = try values.decodeIfPresent(UInt16.self, forKey: .firstPort)
        let last = try values.decodeIfPresent(UInt16.self, forKey: .lastPort)
        switch (first, last) {
        case (nil, nil): break
        case (let first?, let last?) where first > 0 && first <= last: self.portRange = first...last
        default:
            let sentence = "the port range needs a lowest and a highest port"
            throw DecodingError.dataCorruptedError(forKey: .firstPort, in: values, debugDescription: sentence)
        }
    }

    /// Writes everything, with the passwords.
    public func encode(to encoder: any Encoder) throws {
        var values = encoder.container(keyedBy: CodingKeys.self)
        try values.encode(self.servers, forKey: .servers)
        try values.encode(self.hostAddresses, forKey: .hostAddresses)
        try values.encode(self.relaysOnly, forKey: .relaysOnly)
        try values.encode(self.usesOffered, forKey: .usesOffered)
        try values.encode(self.offeredHosts, forKey: .offeredHosts)
        try values.encodeIfPresent(self.portRange?.lowerBound, forKey: .firstPort)
        try values.encodeIfPresent(self.portRange?.upperBound, forKey: .lastPort)
    }

    /// Whether media are to go through TURN servers and there can be none.
    public var lacksRelay: Bool { self.relaysOnly && !self.usesOffered && !self.servers.contains(where: \.relays) }

    /// Whether a server that the room's server offers may be used, by its host: a name in lower case or an address.
    public func allowsOffered(host: String) -> Bool {
        guard self.usesOffered else { return false }
        guard !self.offeredHosts.isEmpty else { return true }
        return self.offeredHosts.contains { allowed in
            allowed.hasPrefix("*.") ? host.hasSuffix(allowed.dropFirst()) : host == allowed
        }
    }
}
