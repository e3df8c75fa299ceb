// SPDX-License-Identifier: Apache-2.0

import Basics

/// How the HTTP interface listens, whom it lets in, and what it takes.
public struct ControlConfiguration: Sendable {
    /// Files of the server's identity, PEM.
    public struct TLS: Sendable, Hashable {
        /// Path of the certificate chain, the server's own first.
        public var certificateFile: String
        /// Path of the private key.
        public var keyFile: String

        /// An identity with each part given.
        public init(certificateFile: String, keyFile: String) {
            self.certificateFile = certificateFile
            self.keyFile = keyFile
        }
    }

    /// How many requests a client may send.
    public struct Rate: Sendable, Hashable {
        /// Requests a second in the long run, above 0.
        public var perSecond: Double
        /// Requests at once, 1 or more.
        public var burst: Double

        /// A rate with each part given.
        public init(perSecond: Double, burst: Double) {
            self.perSecond = perSecond
            self.burst = burst
        }
    }

    /// Limits of the server.
    public struct Limits: Sendable, Hashable {
        /// Longest request body in bytes; a longer one is answered with 413.
        public var bodyBytes = 64 * 1024
        /// Longest request target in bytes; a longer one is answered with 414.
        public var targetBytes = 8 * 1024
        /// All header fields of a request in bytes; more is answered with 431.
        public var headerBytes = 32 * 1024
        /// Open connections; more wait in the system's queue.
        public var connections = 512
        /// Event streams at once; one more is answered with 503.
        public var eventStreams = 100
        /// Time for a whole request to arrive, and for an idle connection to stay.
        public var requestTime: Duration = .seconds(30)
        /// Time in which a client must take something of what waits for it, else it is dropped.
        public var stallTime: Duration = .seconds(30)
        /// Time for requests to end when the server stops.
        public var shutdownTime: Duration = .seconds(10)
        /// How long an address that is not free is waited for; less than the service manager gives a start
        /// (systemd/tapedeck.service).
        public var addressPatience: Duration = .seconds(30)
        /// Time between two comments on a quiet event stream.
        public var heartbeatInterval: Duration = .seconds(15)

        /// The limits above.
        public init() {}
    }

    /// Name or address to listen on.
    public var host: String
    /// TCP port to listen on; 0 takes a free one.
    public var port: Int
    /// Serves HTTPS with this identity; `nil` serves HTTP.
    public var tls: TLS?
    /// Tokens and their scopes; empty is allowed on loopback only, and then every user of this host may do everything.
    public var tokens: [BearerToken]
    /// Origins, such as `https://panel.example.org`, whose pages may use the HTTP API; empty: only our own page.
    public var allowedOrigins: [String]
    /// Names, apart from those of loopback, under which clients may address a server without tokens.
    public var hostNames: [String]
    /// How many requests a client address may send with one token.
    public var rate: Rate
    /// How many wrong tokens a client address may send: a person mistypes now and then, a program that guesses is slow.
    public var wrongTokens: Rate
    /// Limits of the server.
    public var limits: Limits

    /// HTTP on loopback, open to this host.
    public init(host: String = "127.0.0.1", port: Int = 8330) {
        self.host = host
        self.port = port
        self.tokens = []
        self.allowedOrigins = []
        self.hostNames = []
        self.rate = Rate(perSecond: 50, burst: 200)
        self.wrongTokens = Rate(perSecond: 1.0 / 6, burst: 10)
        self.limits = Limits()
    }

    /// Whether only this host can connect.
    public var isLoopback: Bool {
        IPAddress.isLoopback(host: self.host)
    }
}
