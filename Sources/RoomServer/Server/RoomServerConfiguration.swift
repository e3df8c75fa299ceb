// SPDX-License-Identifier: Apache-2.0

/// Addresses and limits of a room server.
public struct RoomServerConfiguration: Sendable, Hashable {
    /// Address or name to listen on.
    ///
    /// Loopback by default: the server knows no users and no passwords.
    public var host: String
    /// TCP port, 0 to 65535; 0 lets the system choose.
    public var port: Int
    /// Members of one room, 1 to 64.
    ///
    /// Two, as in the tutorials, unless set; with more, every pair of members has its own peer connection.
    public var roomCapacity: Int
    /// Rooms that have members, at least 1.
    public var maximumRooms: Int
    /// Engine.IO sessions, at least 1.
    ///
    /// TCP connections are limited to twice as many and 64.
    public var maximumSockets: Int
    /// Time between two heartbeats, 100 ms to one hour.
    ///
    /// With `pingTimeout` it decides how long a silently dead member stays.
    public var pingInterval: Duration
    /// How long a heartbeat's answer may take, 100 ms to one hour.
    public var pingTimeout: Duration
    /// How long a client may take for one whole HTTP request, waiting for the first byte included, and how long an idle
    /// connection is kept.
    ///
    /// 100 ms to one hour.
    public var requestTimeout: Duration
    /// Unsent bytes that one client may leave with us before it is dropped, at least 1 MB.
    public var maximumUnsentBytes: Int

    /// Loopback, port 3000, rooms of two, the heartbeat times of current Socket.IO servers.
    public init(host: String = "127.0.0.1", port: Int = 3000, roomCapacity: Int = 2) {
        self.host = host
        self.port = port
        self.roomCapacity = roomCapacity
        self.maximumRooms = 1024
        self.maximumSockets = 256
        self.pingInterval = .seconds(25)
        self.pingTimeout = .seconds(20)
        self.requestTimeout = .seconds(20)
        self.maximumUnsentBytes = 4_000_000
    }

    /// The path of the Engine.IO endpoint, as every known client uses it.
    static let enginePath = "/socket.io/"
    /// Largest request body and WebSocket message, in bytes: what current Socket.IO servers take.
    static let maximumMessageBytes = 1_000_000
    /// Rooms that one socket may be in.
    ///
    /// Clients use one.
    static let maximumRoomsPerSocket = 16
    /// Packets that may wait for a poll.
    static let maximumQueuedPackets = 1024
    /// How long a version 4 client may take to ask for the namespace; the stock server's limit.
    static let connectTimeout = Duration.seconds(45)
    /// How long a client may take to move to its WebSocket; the stock server's limit.
    static let upgradeTimeout = Duration.seconds(10)
    /// TCP connections.
    var maximumConnections: Int { self.maximumSockets * 2 + 64 }

    /// Checks every part.
    /// - Throws: `RoomServerError` with the code `invalidConfiguration`; its message names every wrong part.
    public func validate() throws(RoomServerError) {
        let times = Duration.milliseconds(100)...Duration.seconds(3600)
        let checks = [
            (!self.host.isEmpty, "host must not be empty"),
            ((0...65535).contains(self.port), "port must be 0 to 65535, not \(self.port)"),
            ((1...64).contains(self.roomCapacity), "roomCapacity must be 1 to 64, not \(self.roomCapacity)"),
            ((1...65536).contains(self.maximumRooms), "maximumRooms must be 1 to 65536, not \(self.maximumRooms)"),
            (
                (1...65536).contains(self.maximumSockets),
                "maximumSockets must be 1 to 65536, not \(self.maximumSockets)"
            ),
            (times.contains(self.pingInterval), "pingInterval must be 100 ms to 1 h, not \(self.pingInterval)"),
            (times.contains(self.pingTimeout), "pingTimeout must be 100 ms to 1 h, not \(self.pingTimeout)"),
            (times.contains(self.requestTimeout), "requestTimeout must be 100 ms to 1 h, not \(self.requestTimeout)"),
            (
                (1_000_000...1_000_000_000).contains(self.maximumUnsentBytes),
                "maximumUnsentBytes must be 1 MB to 1 GB, not \(self.maximumUnsentBytes)"
            ),
        ]
        let problems = checks.filter { !$0.0 }.map(\.1)
        if !problems.isEmpty {
            throw RoomServerError(.invalidConfiguration, problems.joined(separator: "; "))
        }
    }
}
