// SPDX-License-Identifier: Apache-2.0

internal import Basics

extension RoomURL {
    /// A VideoRoom on a Janus server.
    public struct Janus: RoomAddress {
        /// Over WebSocket and over HTTP, with and without TLS.
        public static let schemes = ["janus+ws", "janus+wss", "janus+http", "janus+https"]
        /// As logs and metrics name the protocol.
        public static let protocolName = "janus"
        /// A VideoRoom has no chat: that of Janus is another plugin.
        public static let hasChat = false

        /// How messages travel.
        public enum Transport: String, Hashable, Sendable, CaseIterable {
            /// One WebSocket.
            case webSocket = "ws"
            /// Requests, and a long poll next to them.
            case http
        }

        /// How messages travel.
        public var transport: Transport
        /// Whether the server is reached over TLS.
        public var isSecure: Bool
        /// Host name or address in lower case; IPv6 without brackets.
        public var host: String
        /// TCP port, 1 to 65535; Janus' own port for the transport if the URL names none.
        public var port: Int
        /// Path of the Janus API, percent-encoded where needed, without a slash at its end; empty for the root.
        public var path: String
        /// The room's id as text.
        public var room: String
        /// Whether a room id of digits is a string for the server all the same (`string_ids` of its VideoRoom).
        public var hasStringIDs = false
        /// Represents us at a server that wants tokens, and in a room with a list of them; a secret.
        public var token: String?
        /// The secret that every request must name at a server with `api_secret`.
        public var apiSecret: String?
        /// Whether the server's certificate is checked; false only by `?insecure`, and to be logged.
        public var verifiesCertificate = true

        /// A room with every option at its default.
        public init(_ transport: Transport, isSecure: Bool, host: String, port: Int? = nil, room: String) {
            self.transport = transport
            self.isSecure = isSecure
            self.host = host
            self.port = port ?? Self.defaultPort(transport, isSecure: isSecure)
            self.path = Self.defaultPath(transport)
            self.room = room
        }

        /// A machine before its first attempt.
        public func makeMachine(_ options: SignallingOptions) -> JanusRoomStateMachine {
            JanusRoomStateMachine(self, options)
        }

        /// The room's id as the server reads it: a number if it is one.
        var roomID: JanusID {
            let isNumber = !self.hasStringIDs && (self.room == "0" || !self.room.hasPrefix("0"))
            if isNumber, self.room.utf8.allSatisfy({ (0x30...0x39).contains($0) }), let number = Int(self.room) {
                return .number(number)
            }
            return .text(self.room)
        }

        /// URL of the Janus API.
        var url: WebURL {
            WebURL(
                isSecure: self.isSecure,
                isWebSocket: self.transport == .webSocket,
                host: self.host,
                port: self.port,
                target: self.path.isEmpty ? "/" : self.path
            )
        }

        /// The URL in its shortest form; it parses back to an equal value.
        public var description: String {
            var query = ["room=\(PercentCoding.encode(self.room))"]
            if self.hasStringIDs { query.append("ids=string") }
            if let token { query.append("token=\(PercentCoding.encode(token))") }
            if let secret = self.apiSecret { query.append("apisecret=\(PercentCoding.encode(secret))") }
            if !self.verifiesCertificate { query.append("insecure") }
            let host = IPAddress.bracketed(self.host)
            let isUsual = self.port == Self.defaultPort(self.transport, isSecure: self.isSecure)
            let path = self.path == Self.defaultPath(self.transport) ? "/" : self.path.isEmpty ? "/." : self.path
            return
                "janus+\(self.transport.rawValue)\(self.isSecure ? "s" : "")://\(host)\(isUsual ? "" : ":\(self.port)")"
                + "\(path)?\(query.joined(separator: "&"))"
        }

        /// The ports of Janus' own example configuration.
        private static func defaultPort(_ transport: Transport, isSecure: Bool) -> Int {
            switch (transport, isSecure) {
            case (.webSocket, false): 8188
            case (.webSocket, true): 8989
            case (.http, false): 8088
            case (.http, true): 8089
            }
        }

        private static func defaultPath(_ transport: Transport) -> String {
            transport == .http ? "/janus" : ""
        }
    }
}

extension RoomURL.Janus {
    private static let maximumTextLength = 256
    private static let example = "janus+wss://janus.example.org/?room=1234"

    /// Reads the parts that mean something for Janus.
    ///
    /// - Throws: `SignallingError` with code `invalidURL`.
    public init(_ parts: RoomURLParts) throws(SignallingError) {
        let transport = parts.scheme.hasPrefix("janus+ws") ? Transport.webSocket : .http
        self.init(
            transport,
            isSecure: parts.scheme.hasSuffix("s") && parts.scheme != "janus+ws",
            host: parts.host,
            room: ""
        )
        self.port = parts.port ?? self.port
        var room: String?
        for (key, value) in parts.query {
            switch key {
            case "room": room = try Self.text(key, value)
            case "token": self.token = try Self.text(key, value)
            case "apisecret": self.apiSecret = try Self.text(key, value)
            case "ids":
                guard value == "string" else { throw Self.error("query: ids takes string and nothing else") }
                self.hasStringIDs = true
            case "insecure":
                guard value == nil else {
                    throw Self.error("query: insecure takes no value; leave it out to check the certificate")
                }
                self.verifiesCertificate = false
            case "pin":
                throw Self.error("query: a PIN has no place in a URL; give it as the room's secret")
            default:
                throw Self.error(
                    "query: \"\(RoomURLParts.excerpt(key))\" is unknown; known are room, token, apisecret, ids, insecure"
                )
            }
        }
        guard let room else { throw Self.error("room: missing; the URL needs ?room=NUMBER") }
        self.room = room
        self.path = try Self.path(parts.path) ?? self.path
    }

    /// The path without the slashes at its end; nil for the usual one, which `/.` makes the root.
    private static func path(_ text: Substring) throws(SignallingError) -> String? {
        if text.isEmpty || text == "/" { return nil }
        let path = text == "/." ? "" : String(text.reversed().drop { $0 == "/" }.reversed())
        guard path.utf8.count <= Self.maximumTextLength, path.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F }) else {
            throw Self.error("path: longer than \(Self.maximumTextLength) bytes, or with other characters than ASCII")
        }
        return path
    }

    private static func text(_ key: String, _ value: String?) throws(SignallingError) -> String {
        guard let value, !value.isEmpty, value.utf8.count <= Self.maximumTextLength,
            !value.unicodeScalars.contains(where: { $0.properties.generalCategory == .control })
        else { throw Self.error("query: \(key) takes 1 to \(Self.maximumTextLength) bytes without control characters") }
        return value
    }

    private static func error(_ problem: String) -> SignallingError {
        RoomURLParts.error(problem, example: Self.example)
    }
}
