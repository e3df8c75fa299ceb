// SPDX-License-Identifier: Apache-2.0

internal import Basics

extension RoomURL {
    /// Calls by chat messages of XMPP: an account of ours, and who may call it or is called.
    public struct XMPP: RoomAddress {
        /// The stream's own TLS; there is no other form.
        public static let schemes = ["xmpp"]
        /// As logs and metrics name the protocol.
        public static let protocolName = "xmpp"
        /// The name before `@` is our account's.
        public static let takesUser = true
        /// Where one-shot commands find the account's password.
        public static let secretVariable: String? = "TAPEDECK_XMPP_PASSWORD"
        /// The port of client streams.
        public static let defaultPort = 5222

        /// A server that is not found by the account's domain.
        public struct Server: Hashable, Sendable {
            /// Host name or address in lower case; IPv6 without brackets.
            public var host: String
            /// TCP port, 1 to 65535.
            public var port: Int

            /// A server with both parts given.
            public init(host: String, port: Int = XMPP.defaultPort) {
                self.host = host
                self.port = port
            }
        }

        /// Our account, without a resource.
        public var account: JID
        /// The peer that is called, and may call; without a resource.
        public var peer: JID?
        /// Others that may call.
        public var callers: XMPPCallers
        /// Whether we call the peer.
        public var isCaller = false
        /// Where the stream goes; nil looks it up by the account's domain.
        public var server: Server?
        /// AppRTC room server that calls are booked at; nil books nothing.
        public var roomServer: WebURL?
        /// Whether the server's certificate is checked; false only by `?insecure`, and to be logged.
        public var verifiesCertificate = true

        /// An account that takes the calls of a peer.
        public init(account: JID, peer: JID?, callers: XMPPCallers = XMPPCallers()) {
            self.account = account.account
            self.peer = peer?.account
            self.callers = callers
        }

        /// Host name or address of the server; the account's domain, if only that is known.
        public var host: String { self.server?.host ?? Self.unbracketed(self.account.domain) }
        /// TCP port of the server.
        public var port: Int { self.server?.port ?? Self.defaultPort }
        /// In place of a room: the account on the other side, or else our account.
        public var room: String { self.peer?.bare ?? self.account.bare }

        /// The URL in its shortest form; it parses back to an equal value.
        public var description: String {
            var text = "xmpp://"
            if let mark = self.account.bare.lastIndex(of: "@") {
                text += PercentCoding.encode(String(self.account.bare[..<mark])) + "@"
            }
            text += self.account.domain
            var query: [String] = []
            if let peer { query.append("peer=\(Self.encode(peer.bare))") }
            if self.isCaller { query.append("call") }
            if !self.callers.isEmpty { query.append("allow=\(Self.encode(self.callers.description))") }
            if let server {
                if server.host == Self.unbracketed(self.account.domain) {
                    text += ":\(server.port)"
                } else {
                    query.append("server=\(Self.encode(self.serverAddress))")
                }
            }
            if let roomServer { query.append("room_server=\(Self.encode(roomServer.description))") }
            if !self.verifiesCertificate { query.append("insecure") }
            return text + "/" + (query.isEmpty ? "" : "?\(query.joined(separator: "&"))")
        }

        /// A machine before its first attempt.
        public func makeMachine(_ options: SignallingOptions) -> XMPPRoomStateMachine {
            XMPPRoomStateMachine(self, options)
        }

        private static func encode(_ text: String) -> String { PercentCoding.encode(text, keeping: "@*,:/[]") }

        private static func unbracketed(_ domain: String) -> String {
            domain.hasPrefix("[") && domain.hasSuffix("]") ? String(domain.dropFirst().dropLast()) : domain
        }
    }
}

extension RoomURL.XMPP {
    private static let example = "xmpp://recorder@example.org/?peer=alice@example.org"
    private static let keys = "peer, call, allow, server, room_server, insecure"

    /// Reads the parts that mean something for XMPP.
    ///
    /// - Throws: `SignallingError` with code `invalidURL`.
    public init(_ parts: RoomURLParts) throws(SignallingError) {
        guard parts.path.isEmpty || parts.path == "/" else {
            throw Self.error("path: nothing stands after the server; peer= names the account to call")
        }
        guard let user = parts.user else {
            throw Self.error("user information: missing; the name of our account stands before @")
        }
        let domain = IPAddress.bracketed(parts.host)
        guard let account = JID("\(user)@\(domain)"), account.resource == nil, account.domain == domain else {
            throw Self.error("user information: \"\(RoomURLParts.excerpt(user))\" is not the name of an account")
        }
        self.init(account: account, peer: nil)
        if let port = parts.port { self.server = Server(host: parts.host, port: port) }
        for (key, value) in parts.query {
            try self.apply(key, value)
        }
        if self.isCaller, self.peer == nil { throw Self.error("query: call needs peer=, who is called") }
        if self.peer == nil, self.callers.isEmpty {
            throw Self.error("query: peer= is missing, or allow= with every account that may call")
        }
    }

    private mutating func apply(_ key: String, _ value: String?) throws(SignallingError) {
        switch key {
        case "peer":
            guard let peer = JID(value ?? ""), peer.bare.contains("@"), peer.resource == nil else {
                throw Self.error("query: peer is \"\(RoomURLParts.excerpt(value ?? ""))\"; NAME@DOMAIN is right")
            }
            self.peer = peer
        case "allow":
            guard let callers = XMPPCallers(text: value ?? "") else {
                throw Self.error("query: allow takes NAME@DOMAIN, *@DOMAIN or *, with commas between them")
            }
            self.callers = callers
        case "server":
            do {
                let (host, port) = try RoomURLParts.hostAndPort((value ?? "")[...])
                self.server = Server(host: host, port: port ?? Self.defaultPort)
            } catch {
                throw Self.error(
                    "query: server is \"\(RoomURLParts.excerpt(value ?? ""))\"; HOST or HOST:PORT is right"
                )
            }
        case "room_server":
            guard let url = WebURL(parsing: value ?? ""), !url.isWebSocket, !url.target.contains("?") else {
                throw Self.error("query: room_server is an http or https URL without a query")
            }
            self.roomServer = url
        case "call", "insecure":
            guard value == nil else { throw Self.error("query: \(key) takes no value; leave it out otherwise") }
            if key == "call" { self.isCaller = true } else { self.verifiesCertificate = false }
        default:
            throw Self.error("query: \"\(RoomURLParts.excerpt(key))\" is unknown; known are \(Self.keys)")
        }
    }

    private static func error(_ problem: String) -> SignallingError {
        RoomURLParts.error(problem, example: Self.example)
    }
}
