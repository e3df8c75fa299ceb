// SPDX-License-Identifier: Apache-2.0

internal import Basics

extension RoomURL {
    /// A room on a Socket.IO server.
    public struct SocketIO: RoomAddress {
        /// Over HTTP and over HTTPS.
        public static let schemes = ["socketio+http", "socketio+https"]
        /// As logs and metrics name the protocol.
        public static let protocolName = "socketio"

        /// How Engine.IO packets travel.
        public enum Transport: String, Hashable, Sendable, CaseIterable {
            /// Polls, then upgrades to WebSocket.
            case automatic = "auto"
            /// Polls only.
            case polling
            /// Begins with WebSocket.
            case webSocket = "websocket"
        }

        /// Which Engine.IO revision is spoken.
        public enum Version: String, Hashable, Sendable, CaseIterable {
            /// Finds out.
            case automatic = "auto"
            /// Revision 3: Socket.IO 1.x and 2.x.
            case v3 = "3"
            /// Revision 4: Socket.IO 3.x and 4.x.
            case v4 = "4"
        }

        /// Whether the server is reached over TLS.
        public var isSecure: Bool
        /// Host name or address in lower case; IPv6 without brackets.
        public var host: String
        /// TCP port, 1 to 65535; 80 or 443 if the URL names none.
        public var port: Int
        /// The room's name: the last path component, decoded; parts of the path before it have no meaning.
        public var room: String
        /// Path of the Engine.IO endpoint, with a slash at both ends, percent-encoded where needed.
        public var path = "/socket.io/"
        /// How packets travel.
        public var transport = Transport.automatic
        /// Which Engine.IO revision is spoken.
        public var version = Version.automatic
        /// Whether the server's certificate is checked; false only by `?insecure`, and to be logged.
        public var verifiesCertificate = true
        /// How the server names its events.
        public var dialect = SocketIORoomDialect()

        /// A room with every option at its default.
        public init(isSecure: Bool, host: String, port: Int? = nil, room: String) {
            self.isSecure = isSecure
            self.host = host
            self.port = port ?? Self.defaultPort(isSecure: isSecure)
            self.room = room
        }

        /// A machine before its first attempt.
        public func makeMachine(_ options: SignallingOptions) -> SocketIOMachine {
            SocketIOMachine(self, options: options)
        }

        /// Host and port as a `Host` header has them (RFC 9110 section 7.2).
        public var hostAndPort: String {
            let host = IPAddress.bracketed(self.host)
            return self.port == Self.defaultPort(isSecure: self.isSecure) ? host : "\(host):\(self.port)"
        }

        /// The URL in its shortest form; it parses back to an equal value.
        public var description: String {
            var query: [String] = []
            if self.transport != .automatic { query.append("transport=\(self.transport.rawValue)") }
            if self.version != .automatic { query.append("eio=\(self.version.rawValue)") }
            if self.path != "/socket.io/" {
                query.append("path=\(PercentCoding.encode(self.path, keeping: "/"))")
            }
            let dialect = self.dialectPairs
            if !dialect.isEmpty { query.append("dialect=\(dialect.joined(separator: ","))") }
            if !self.verifiesCertificate { query.append("insecure") }
            let scheme = self.isSecure ? "socketio+https" : "socketio+http"
            let room = PercentCoding.encode(self.room)
            return "\(scheme)://\(self.hostAndPort)/\(room)"
                + (query.isEmpty ? "" : "?\(query.joined(separator: "&"))")
        }

        /// Differences from the stock dialect, as `SocketIORoomDialect.init(text:)` reads them.
        private var dialectPairs: [String] {
            let stock = SocketIORoomDialect()
            let events: [(String, KeyPath<SocketIORoomDialect, String>)] = [
                ("join", \.joinEvent), ("leave", \.leaveEvent), ("message", \.messageEvent),
            ]
            var pairs = events.compactMap { name, path in
                let value = self.dialect[keyPath: path]
                return value == stock[keyPath: path] ? nil : "\(name):\(PercentCoding.encode(value))"
            }
            if self.dialect.roomArgument != stock.roomArgument {
                pairs.append("room:\(self.dialect.roomArgument.rawValue)")
            }
            return pairs
        }

        private static func defaultPort(isSecure: Bool) -> Int {
            isSecure ? 443 : 80
        }
    }
}

extension RoomURL.SocketIO {
    private static let maximumRoomLength = 256
    private static let keys = "transport, eio, path, dialect, insecure"

    /// Reads the parts that mean something for Socket.IO.
    ///
    /// - Throws: `SignallingError` with code `invalidURL`.
    public init(_ parts: RoomURLParts) throws(SignallingError) {
        let isSecure = parts.scheme == "socketio+https"
        let component = parts.path.lastIndex(of: "/").map { parts.path[$0...].dropFirst() } ?? ""
        guard !component.isEmpty else { throw RoomURLParts.error("room: missing; the URL must end with its name") }
        guard let room = PercentCoding.decode(component) else {
            throw RoomURLParts.error("room: a wrong % sequence in \"\(RoomURLParts.excerpt(component))\"")
        }
        guard room.utf8.count <= Self.maximumRoomLength else {
            throw RoomURLParts.error("room: longer than \(Self.maximumRoomLength) bytes")
        }
        guard !Self.hasControlCharacter(room) else { throw RoomURLParts.error("room: a control character in it") }
        self.init(isSecure: isSecure, host: parts.host, port: parts.port, room: room)
        for (key, value) in parts.query {
            try self.apply(key, value)
        }
    }

    private mutating func apply(_ key: String, _ value: String?) throws(SignallingError) {
        switch key {
        case "transport": self.transport = try Self.choice(key, value)
        case "eio": self.version = try Self.choice(key, value)
        case "path": self.path = try Self.path(value ?? "")
        case "dialect": self.dialect = try Self.dialect(value ?? "")
        case "insecure":
            guard value == nil else {
                throw Self.error("query: insecure takes no value; leave it out to check the certificate", "insecure")
            }
            self.verifiesCertificate = false
        default:
            throw RoomURLParts.error("query: \"\(RoomURLParts.excerpt(key))\" is unknown; known are \(Self.keys)")
        }
    }

    private static func choice<Choice: RawRepresentable & CaseIterable>(
        _ key: String,
        _ value: String?
    ) throws(SignallingError) -> Choice where Choice.RawValue == String {
        if let choice = Choice(rawValue: value ?? "") { return choice }
        let known = Choice.allCases.map(\.rawValue)
        throw Self.error(
            "query: \(key) is \"\(RoomURLParts.excerpt(value ?? ""))\"; one of \(known.joined(separator: ", ")) is right",
            "\(key)=\(known.last ?? "")"
        )
    }

    private static func path(_ value: String) throws(SignallingError) -> String {
        let isPlain = value.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F && $0 != 0x3F && $0 != 0x23 }
        guard value.hasPrefix("/"), isPlain, value.utf8.count <= Self.maximumRoomLength else {
            throw Self.error("query: path begins with / and has no ?, # or space", "path=/socket.io/")
        }
        return value.hasSuffix("/") ? value : value + "/"
    }

    private static func dialect(_ value: String) throws(SignallingError) -> SocketIORoomDialect {
        guard !Self.hasControlCharacter(value), let dialect = SocketIORoomDialect(text: value) else {
            throw Self.error(
                "query: dialect is \"\(RoomURLParts.excerpt(value))\"; it is stock, or pairs of join, leave or message with "
                    + "a name, or of room with text or object",
                "dialect=join:enter,message:signal,room:object"
            )
        }
        return dialect
    }

    private static func hasControlCharacter(_ text: String) -> Bool {
        text.unicodeScalars.contains { $0.properties.generalCategory == .control }
    }

    private static func error(_ problem: String, _ query: String) -> SignallingError {
        RoomURLParts.error(problem, example: "\(RoomURLParts.example)?\(query)")
    }
}
