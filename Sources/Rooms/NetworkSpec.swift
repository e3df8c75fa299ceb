// SPDX-License-Identifier: Apache-2.0

/// How peers reach us.
public struct NetworkSpec: Sendable, Hashable, Codable {
    /// One STUN or TURN server.
    public struct Server: Sendable, Hashable, Codable {
        /// Its URLs (RFC 7064, RFC 7065).
        public var urls: [String]
        /// The user name of a TURN server.
        public var username: String?
        /// The password of a TURN server.
        public var credential: String?

        /// A server with each part given.
        public init(urls: [String], username: String? = nil, credential: String? = nil) {
            self.urls = urls
            self.username = username
            self.credential = credential
        }
    }

    /// STUN and TURN servers.
    public var servers: [Server] = []
    /// Local addresses for media; empty: every interface but loopback, and loopback too if the room server is on it.
    public var hostAddresses: [String] = []
    /// Whether media go through TURN servers only.
    public var relaysOnly = false
    /// Whether servers that the room's server offers are used beside `servers`.
    public var usesOffered = true
    /// Their hosts: names, addresses, `*.DOMAIN`; empty: any.
    public var offeredHosts: [String] = []
    /// Lowest local UDP port for media; `nil` leaves it to the system.
    public var firstPort: UInt16?
    /// Highest local UDP port for media.
    public var lastPort: UInt16?

    /// Every interface, any port, no server.
    public init() {}

    /// Reads an order; what is missing has its default.
    public init(from decoder: any Decoder) throws {
        let values = try decoder.container(keyedBy: CodingKeys.self)
        self.servers = try values.decodeIfPresent([Server].self, forKey: .servers) ?? []
        self.hostAddresses = try values.decodeIfPresent([String].self, forKey: .hostAddresses) ?? []
        self.relaysOnly = try values.decodeIfPresent(Bool.self, forKey: .relaysOnly) ?? false
        self.usesOffered = try values.decodeIfPresent(Bool.self, forKey: .usesOffered) ?? true
        self.offeredHosts = try values.decodeIfPresent([String].self, forKey: .offeredHosts) ?? []
        self.firstPort = try values.decodeIfPresent(UInt16.self, forKey: .firstPort)
        self.lastPort = try values.decodeIfPresent(UInt16.self, forKey: .lastPort)
    }
}
