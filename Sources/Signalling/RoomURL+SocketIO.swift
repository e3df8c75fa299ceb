// SPDX-License-Identifier: Apache-2.0

extension RoomURL {
    /// A room on a Socket.IO server.
    public struct SocketIO: Hashable, Sendable, CustomStringConvertible {
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
            /// Finds out (protocols.md A1.6).
            case automatic = "auto"
            /// Revision 3: Socket.IO 1.x and 2.x.
            case v3 = "3"
            /// Revision 4: Socket.IO 3.x and 4.x.
            case v4 = "4"
        }

        /// How the events of a server differ from the reference (protocols.md A7).
        public struct Dialect: Hashable, Sendable {
            /// Events of the reference server, named as it names them.
            public enum Event: String, Hashable, Sendable, CaseIterable {
                /// Asks for membership.
                case join
                /// Gives membership up.
                case leave
                /// Relays a description or candidate, both ways.
                case message
                /// We are a member.
                case joined
                /// Another member arrived.
                case otherjoin
                /// The room is full.
                case full
                /// We are no member any more.
                case leaved
                /// Another member left.
                case bye
            }

            /// What `join` carries.
            public enum JoinArgument: String, Hashable, Sendable, CaseIterable {
                /// The room's name.
                case room
                /// An object with the key `room`.
                case object
            }

            /// Names that differ from the reference.
            public private(set) var names: [Event: String] = [:]
            /// What `join` carries.
            public var joinArgument = JoinArgument.room

            /// The reference server's own dialect.
            public init() {}

            /// Names an event as the server does.
            public mutating func rename(_ event: Event, to name: String) {
                self.names[event] = name == event.rawValue ? nil : name
            }

            /// The server's name of an event.
            public func name(of event: Event) -> String {
                self.names[event] ?? event.rawValue
            }
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
        public var dialect = Dialect()

        /// A room with every option at its default.
        public init(isSecure: Bool, host: String, port: Int? = nil, room: String) {
            self.isSecure = isSecure
            self.host = host
            self.port = port ?? Self.defaultPort(isSecure: isSecure)
            self.room = room
        }

        /// Host and port as a `Host` header has them (RFC 9110 section 7.2).
        public var hostAndPort: String {
            let host = self.host.contains(":") ? "[\(self.host)]" : self.host
            return self.port == Self.defaultPort(isSecure: self.isSecure) ? host : "\(host):\(self.port)"
        }

        /// The URL in its shortest form; it parses back to an equal value.
        public var description: String {
            var query: [String] = []
            if self.transport != .automatic { query.append("transport=\(self.transport.rawValue)") }
            if self.version != .automatic { query.append("eio=\(self.version.rawValue)") }
            if self.path != "/socket.io/" {
                query.append("path=\(RoomURL.PercentCoding.encode(self.path, keeping: "/"))")
            }
            let renamed = Dialect.Event.allCases.compactMap { event in
                self.dialect.names[event].map { "\(event.rawValue):\(RoomURL.PercentCoding.encode($0))" }
            }
            if !renamed.isEmpty { query.append("dialect=\(renamed.joined(separator: ","))") }
            if self.dialect.joinArgument != .room { query.append("join=\(self.dialect.joinArgument.rawValue)") }
            if !self.verifiesCertificate { query.append("insecure") }
            let scheme = self.isSecure ? "socketio+https" : "socketio+http"
            let room = RoomURL.PercentCoding.encode(self.room)
            return "\(scheme)://\(self.hostAndPort)/\(room)"
                + (query.isEmpty ? "" : "?\(query.joined(separator: "&"))")
        }

        private static func defaultPort(isSecure: Bool) -> Int {
            isSecure ? 443 : 80
        }
    }
}

extension RoomURL.SocketIO {
    private static let maximumRoomLength = 256
    private static let maximumNameLength = 64
    private static let keys = "transport, eio, path, dialect, join, insecure"

    /// Reads the parts that mean something for Socket.IO.
    init(_ parts: RoomURLParts, isSecure: Bool) throws(SignallingError) {
        let component = parts.path.lastIndex(of: "/").map { parts.path[$0...].dropFirst() } ?? ""
        guard !component.isEmpty else { throw RoomURLParts.error("room: missing; it is the last part of the path") }
        guard let room = RoomURL.PercentCoding.decode(component) else {
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
        case "join": self.dialect.joinArgument = try Self.choice(key, value)
        case "path": self.path = try Self.path(value ?? "")
        case "dialect": try self.renameEvents(value ?? "")
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

    private mutating func renameEvents(_ value: String) throws(SignallingError) {
        for item in value.split(separator: ",", omittingEmptySubsequences: false) {
            let halves = item.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
            guard halves.count == 2, let event = Dialect.Event(rawValue: String(halves[0])) else {
                let known = Dialect.Event.allCases.map(\.rawValue).joined(separator: ", ")
                throw Self.error(
                    "query: dialect has \"\(RoomURLParts.excerpt(item))\"; it takes EVENT:NAME, EVENT one of \(known)",
                    "dialect=message:signal"
                )
            }
            let name = String(halves[1])
            guard !name.isEmpty, name.utf8.count <= Self.maximumNameLength, !Self.hasControlCharacter(name) else {
                throw Self.error(
                    "query: dialect gives \(event.rawValue) a name that is empty, too long or unprintable",
                    "dialect=message:signal"
                )
            }
            self.dialect.rename(event, to: name)
        }
    }

    private static func hasControlCharacter(_ text: String) -> Bool {
        text.unicodeScalars.contains { $0.properties.generalCategory == .control }
    }

    private static func error(_ problem: String, _ query: String) -> SignallingError {
        RoomURLParts.error(problem, example: "\(RoomURLParts.example)?\(query)")
    }
}
