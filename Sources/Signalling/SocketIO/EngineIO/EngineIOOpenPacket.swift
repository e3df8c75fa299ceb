// SPDX-License-Identifier: Apache-2.0

internal import Basics

/// The server's handshake: the text of an open packet.
public struct EngineIOOpenPacket: Sendable, Hashable {
    /// The session's name in every later request.
    public var sessionID: String
    /// Transports that the session may move to; `["websocket"]` or none.
    public var upgrades: [String]
    /// Time between two heartbeats.
    public var pingInterval: Duration
    /// How long a heartbeat's answer may take.
    public var pingTimeout: Duration
    /// Largest body that the server takes, in bytes, if it says so (newer version 4 servers).
    public var maximumPayload: Int?

    /// A handshake with each part given.
    public init(
        sessionID: String,
        upgrades: [String],
        pingInterval: Duration,
        pingTimeout: Duration,
        maximumPayload: Int? = nil
    ) {
        self.sessionID = sessionID
        self.upgrades = upgrades
        self.pingInterval = pingInterval
        self.pingTimeout = pingTimeout
        self.maximumPayload = maximumPayload
    }

    /// Reads the text of an open packet.
    ///
    /// Missing times are 25 s and 20 s; times outside 100 ms to one hour are moved to the nearer end.
    /// - Throws: `EngineIOError.invalidOpenPacket`.
    public init(text: String) throws(EngineIOError) {
        guard let json = try? JSONValue(parsing: text), let sessionID = json["sid"]?.string,
            !sessionID.isEmpty, sessionID.utf8.count <= EngineIOLimits.maximumSessionIDBytes
        else { throw .invalidOpenPacket }
        self.sessionID = sessionID
        self.upgrades = (json["upgrades"]?.array ?? []).compactMap(\.string)
        self.pingInterval = Self.duration(json["pingInterval"], otherwise: 25_000)
        self.pingTimeout = Self.duration(json["pingTimeout"], otherwise: 20_000)
        self.maximumPayload = json["maxPayload"]?.integer.flatMap { $0 > 0 ? $0 : nil }
    }

    /// The text of the open packet.
    public var text: String {
        var object: [String: JSONValue] = [
            "sid": .string(self.sessionID),
            "upgrades": .array(self.upgrades.map { .string($0) }),
            "pingInterval": .integer(Self.milliseconds(self.pingInterval)),
            "pingTimeout": .integer(Self.milliseconds(self.pingTimeout)),
        ]
        object["maxPayload"] = self.maximumPayload.map { .integer($0) }
        return JSONValue.object(object).text
    }

    private static func duration(_ value: JSONValue?, otherwise: Int) -> Duration {
        .milliseconds(min(max(value?.integer ?? otherwise, 100), 3_600_000))
    }

    private static func milliseconds(_ duration: Duration) -> Int {
        Int(max(.zero, min(duration, .seconds(3600))).milliseconds)
    }
}
