// SPDX-License-Identifier: Apache-2.0

internal import Basics

extension RoomURL {
    /// A room on a SkyRTC server.
    public struct SkyRTC: RoomAddress {
        /// Over TCP and over TLS.
        public static let schemes = ["skyrtc+ws", "skyrtc+wss"]
        /// As logs and metrics name the protocol.
        public static let protocolName = "skyrtc"
        /// The room that servers of the classic dialect take who names none.
        static let defaultRoom = "__default"
        /// Longest room or user name, in bytes.
        static let maximumNameBytes = 256

        /// Which of the two protocols the server speaks.
        public enum Dialect: String, Hashable, Sendable, CaseIterable {
            /// A mesh in which the newcomer offers to all members.
            case classic
            /// Rooms that people create, invite to and join; the members already present offer.
            case call
        }

        /// Whether the server is reached over TLS.
        public var isSecure: Bool
        /// Host name or address in lower case; IPv6 without brackets.
        public var host: String
        /// TCP port, 1 to 65535; 80 or 443 if the URL names none.
        public var port: Int
        /// Path of the WebSocket, percent-encoded, with a leading slash; the call dialect's path without user and device.
        public var path: String
        /// The room's name; nil takes the default room, or in the call dialect only waits to be called.
        public var name: String?
        /// Which of the two protocols the server speaks.
        public var dialect = Dialect.classic
        /// Our user id in the call dialect; nil makes one for each run.
        public var user: String?
        /// Places of the room that we create in the call dialect if there is none of that name, 2 to 64; nil creates none.
        public var createdSize: Int?
        /// Whether the server's certificate is checked; false only by `?insecure`, and to be logged.
        public var verifiesCertificate = true

        /// A room with every option at its default.
        public init(isSecure: Bool, host: String, port: Int? = nil, path: String = "/", name: String? = nil) {
            self.isSecure = isSecure
            self.host = host
            self.port = port ?? (isSecure ? 443 : 80)
            self.path = path
            self.name = name
        }

        /// The room's name at the server.
        public var room: String { self.name ?? Self.defaultRoom }

        /// The URL in its shortest form; it parses back to an equal value.
        public var description: String {
            var query: [String] = []
            if let name = self.name { query.append("room=\(PercentCoding.encode(name))") }
            if self.dialect != .classic { query.append("dialect=\(self.dialect.rawValue)") }
            if let user = self.user { query.append("user=\(PercentCoding.encode(user))") }
            if let size = self.createdSize { query.append("create=\(size)") }
            if !self.verifiesCertificate { query.append("insecure") }
            let isDefaultPort = self.port == (self.isSecure ? 443 : 80)
            let host = IPAddress.bracketed(self.host)
            return (self.isSecure ? "skyrtc+wss://" : "skyrtc+ws://") + host + (isDefaultPort ? "" : ":\(self.port)")
                + (self.path == "/" ? "" : self.path) + (query.isEmpty ? "" : "?" + query.joined(separator: "&"))
        }

        /// The machine of the dialect.
        public func makeMachine(_ options: SignallingOptions) -> SkyRTCMachine {
            switch self.dialect {
            case .classic: .classic(SkyRTCMeshStateMachine(self, options))
            case .call: .call(SkyRTCCallStateMachine(self, options))
            }
        }
    }
}

extension RoomURL.SkyRTC {
    private static let example = "skyrtc+ws://192.0.2.9:3000/wss?room=100"

    /// Reads the parts that mean something for SkyRTC.
    ///
    /// - Throws: `SignallingError` with code `invalidURL`.
    public init(_ parts: RoomURLParts) throws(SignallingError) {
        guard parts.path.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F }) else {
            throw Self.error("path: only ASCII; percent-encode the rest")
        }
        self.init(
            isSecure: parts.scheme == "skyrtc+wss",
            host: parts.host,
            port: parts.port,
            path: parts.path.isEmpty ? "/" : String(parts.path)
        )
        for (key, value) in parts.query { try self.apply(key, value) }
        guard self.dialect == .call || (self.user == nil && self.createdSize == nil) else {
            throw Self.error("query: user and create belong to dialect=call")
        }
        guard self.createdSize == nil || self.name != nil else {
            throw Self.error("query: create without room")
        }
    }

    private mutating func apply(_ key: String, _ value: String?) throws(SignallingError) {
        switch key {
        case "room": self.name = try Self.text(key, value)
        case "user":
            let user = try Self.text(key, value)
            guard !user.contains(",") else { throw Self.error("query: user has a comma, which separates users") }
            self.user = user
        case "dialect":
            guard let dialect = Dialect(rawValue: value ?? "") else {
                throw Self.error("query: dialect is \"\(RoomURLParts.excerpt(value ?? ""))\"; classic or call is right")
            }
            self.dialect = dialect
        case "create":
            guard let size = Int(value ?? ""), (2...64).contains(size) else {
                throw Self.error("query: create is the number of places of the room, 2 to 64")
            }
            self.createdSize = size
        case "insecure":
            guard value == nil else {
                throw Self.error("query: insecure takes no value; leave it out to check the certificate")
            }
            self.verifiesCertificate = false
        default:
            throw Self.error(
                "query: \"\(RoomURLParts.excerpt(key))\" is unknown; known are room, dialect, user, create, insecure"
            )
        }
    }

    private static func text(_ key: String, _ value: String?) throws(SignallingError) -> String {
        guard let value, !value.isEmpty, value.utf8.count <= Self.maximumNameBytes else {
            throw Self.error("query: \(key) has 1 to \(Self.maximumNameBytes) bytes")
        }
        guard !value.unicodeScalars.contains(where: { $0.properties.generalCategory == .control }) else {
            throw Self.error("query: a control character in \(key)")
        }
        return value
    }

    private static func error(_ problem: String) -> SignallingError {
        RoomURLParts.error(problem, example: Self.example)
    }
}

extension RoomURL.SkyRTC {
    /// The WebSocket of the classic dialect.
    var meshURL: WebURL {
        WebURL(isSecure: self.isSecure, isWebSocket: true, host: self.host, port: self.port, target: self.path)
    }

    /// The WebSocket of a user of the call dialect, as a phone: servers cannot send to users that have only a PC.
    func callURL(user: String) -> WebURL {
        var url = self.meshURL
        url.target = (self.folder == "" ? "/ws" : self.folder) + "/\(PercentCoding.encode(user))/0"
        return url
    }

    /// The list of rooms of the call dialect, next to the folder of its WebSockets.
    var roomListURL: WebURL {
        let parent = self.folder.lastIndex(of: "/").map { self.folder[..<$0] } ?? ""
        return WebURL(isSecure: self.isSecure, host: self.host, port: self.port, target: parent + "/roomList")
    }

    /// The path without a slash at its end.
    private var folder: Substring {
        self.path.hasSuffix("/") ? self.path.dropLast() : self.path[...]
    }
}
