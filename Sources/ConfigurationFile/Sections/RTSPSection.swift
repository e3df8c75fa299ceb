// SPDX-License-Identifier: Apache-2.0

public import Basics

/// The RTSP server.
public struct RTSPConfiguration: Sendable, Hashable {
    /// A client that may watch.
    public struct User: Sendable, Hashable {
        /// The user's name, unique.
        public var name: String
        /// The password.
        public var password: Secret
        /// The rooms that the user sees; empty: all of them.
        public var rooms: [String]
    }

    /// Address or host name that is listened on; IPv6 without brackets.
    public var host = "127.0.0.1"
    /// TCP port.
    public var port = 8554
    /// Who may watch; empty only on loopback, where then every client may.
    public var users: [User] = []
    /// Certificate and key; `nil` serves without TLS.
    public var tls: TLSFiles?
    /// The rooms that are served; empty: all of them.
    public var rooms: [String] = []
    /// The most participants of a room that are served, 1 to 64.
    public var participants = 8
    /// The most clients at a time, 1 to 1024.
    public var maximumClients = 64

    /// Every key at its default.
    public init() {}

    /// Whether a room is served.
    public func serves(_ room: String) -> Bool { self.rooms.isEmpty || self.rooms.contains(room) }
}

/// The keys of `rtsp`.
enum RTSPKeys {
    static let listen = Key("listen", .listen)
    static let rooms = Key("rooms", .roomName)
    static let participants = Key("participants", .integer(1...64))
    static let maximumClients = Key("maximum_clients", .integer(1...1024))

    static let table = KeyTable(
        listen.entry,
        KeyTable.Entry(name: "users", shape: .list(User.table)),
        KeyTable.Entry(name: "tls", shape: .mapping(APIKeys.TLS.table)),
        rooms.entry,
        participants.entry,
        maximumClients.entry
    )

    /// The keys of one of `rtsp.users`.
    enum User {
        static let name = Key("name", .userName)
        static let password = Key("password", .secret(8...256), isSecret: true)
        static let rooms = Key("rooms", .roomName)

        static let table = KeyTable(name.entry, password.entry, rooms.entry)
    }
}

extension ValueType where Value == String {
    /// A name that stands in a digest as it is (RFC 2617).
    fileprivate static let userName = ValueType(
        accepted: "1 to 64 of A-Z, a-z, 0-9, -, _, . and @"
    ) { text in
        let isRight = text.utf8.allSatisfy { byte in
            switch byte {
            case 0x30...0x39, 0x40...0x5A, 0x61...0x7A, 0x2D, 0x2E, 0x5F: true
            default: false
            }
        }
        return isRight && (1...64).contains(text.utf8.count) ? text : nil
    }

    /// The name of a room.
    fileprivate static let roomName = ValueType(accepted: "the name of a room") { text in
        RoomKeys.isName(text) ? text : nil
    }
}

extension RTSPConfiguration {
    /// Reads the section.
    init(_ reader: MappingReader) {
        self.init()
        if let listen = reader.value(RTSPKeys.listen) {
            self.host = listen.host
            self.port = listen.port ?? self.port
        }
        for reader in reader.list("users", RTSPKeys.User.table, maximum: 64) ?? [] {
            guard let user = User(reader) else { continue }
            if self.users.contains(where: { $0.name == user.name }) {
                reader.add(RTSPKeys.User.name.name, "another user has this name")
            }
            self.users.append(user)
        }
        self.tls = TLSFiles(reader)
        self.rooms = reader.values(RTSPKeys.rooms, count: 0...1024) ?? []
        self.participants = reader.value(RTSPKeys.participants) ?? self.participants
        self.maximumClients = reader.value(RTSPKeys.maximumClients) ?? self.maximumClients
        if !IPAddress.isLoopback(host: self.host), self.users.isEmpty,
            !reader.has("users") || reader.isEmptyList("users")
        {
            reader.add(
                RTSPKeys.listen.name,
                "users are needed where others can reach the server",
                accepted: "rtsp.users, or a loopback address in rtsp.listen"
            )
        }
    }
}

extension RTSPConfiguration.User {
    /// Reads one user; nil, with problems, if something is wrong.
    fileprivate init?(_ reader: MappingReader) {
        let name = reader.required(RTSPKeys.User.name)
        let password = reader.required(RTSPKeys.User.password)
        let rooms = reader.values(RTSPKeys.User.rooms, count: 0...1024) ?? []
        guard let name, let password else { return nil }
        self.init(name: name, password: password, rooms: rooms)
    }
}
