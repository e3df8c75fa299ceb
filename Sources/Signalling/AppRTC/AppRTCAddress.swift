// SPDX-License-Identifier: Apache-2.0

internal import Basics

extension RoomURL {
    /// A room on an AppRTC room server: `apprtc+https://host/r/room`.
    ///
    /// The part before `/r/` is the server's base path; a path without `/r/` works as well. The query belongs to the
    /// server, which may choose its collider by it, and goes with every join and message; only `insecure` is ours.
    public struct AppRTC: RoomAddress {
        /// Over HTTP and over HTTPS.
        public static let schemes = ["apprtc+http", "apprtc+https"]
        /// As logs and metrics name the protocol.
        public static let protocolName = "apprtc"

        static let example = "apprtc+https://appr.example.org/r/standup"
        private static let maximumRoomLength = 128

        /// Whether the room server is reached over TLS.
        public var isSecure: Bool
        /// Host name or address of the room server in lower case; IPv6 without brackets.
        public var host: String
        /// TCP port of the room server, 1 to 65535; 80 or 443 if the URL names none.
        public var port: Int
        /// Path of the room server, percent-encoded: empty, or with a slash at its beginning and none at its end.
        public var path: String
        /// The room's name: letters, digits, `-` and `_`.
        public var room: String
        /// The query as it was written, without `insecure`; empty if there is none.
        public var query: String
        /// Whether certificates of the room server and its collider are checked; false only by `?insecure`.
        public var verifiesCertificate = true

        /// A room with every option at its default.
        public init(isSecure: Bool, host: String, port: Int? = nil, path: String = "", room: String, query: String = "")
        {
            self.isSecure = isSecure
            self.host = host
            self.port = port ?? (isSecure ? 443 : 80)
            self.path = path
            self.room = room
            self.query = query
        }

        /// Reads the parts that mean something for AppRTC.
        ///
        /// - Throws: `SignallingError` with code `invalidURL`.
        public init(_ parts: RoomURLParts) throws(SignallingError) {
            let path = PercentCoding.ascii(parts.path)
            var components = path.split(separator: "/", omittingEmptySubsequences: false).dropFirst()
            let component = components.popLast() ?? ""
            guard !component.isEmpty else { throw Self.error("room: missing; the URL must end with its name") }
            guard let room = PercentCoding.decode(component), Self.isIdentifier(room) else {
                throw Self.error(
                    "room: \"\(RoomURLParts.excerpt(component))\" is not a name of letters, digits, - and _, at most "
                        + "\(Self.maximumRoomLength) of them"
                )
            }
            if components.last == "r" { components.removeLast() }
            guard components.allSatisfy({ !$0.isEmpty && PercentCoding.decode($0) != nil }) else {
                throw Self.error("path: an empty part or a wrong % sequence before the room")
            }
            self.init(
                isSecure: parts.scheme == "apprtc+https",
                host: parts.host,
                port: parts.port,
                path: components.map { "/" + $0 }.joined(),
                room: room
            )
            var query: [String] = []
            for item in PercentCoding.ascii(parts.rawQuery).split(separator: "&") {
                guard item.prefix(while: { $0 != "=" }) == "insecure" else {
                    query.append(String(item))
                    continue
                }
                guard item == "insecure" else {
                    throw Self.error("query: insecure takes no value; leave it out to check the certificate")
                }
                self.verifiesCertificate = false
            }
            self.query = query.joined(separator: "&")
        }

        /// The URL in its shortest form; it parses back to an equal value.
        public var description: String {
            var query = self.query.isEmpty ? [] : [self.query]
            if !self.verifiesCertificate { query.append("insecure") }
            return "apprtc+\(self.origin)\(self.path)/r/\(self.room)"
                + (query.isEmpty ? "" : "?\(query.joined(separator: "&"))")
        }

        /// Scheme, host and port, as an `Origin` header has them (RFC 6454 section 6.2).
        var origin: String { self.url("", keepsQuery: false).origin }

        /// A resource of the room server.
        ///
        /// - Parameter path: Without a slash at its beginning.
        func url(_ path: String, keepsQuery: Bool) -> WebURL {
            WebURL(
                isSecure: self.isSecure,
                host: self.host,
                port: self.port,
                target: "\(self.path)/\(path)" + (keepsQuery && !self.query.isEmpty ? "?\(self.query)" : "")
            )
        }

        /// Whether the text may be a room or a client, and so a part of a path: letters, digits, `-` and `_`.
        static func isIdentifier(_ text: String) -> Bool {
            (1...Self.maximumRoomLength).contains(text.utf8.count)
                && text.utf8.allSatisfy { byte in
                    switch byte {
                    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                        UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"):
                        true
                    default: false
                    }
                }
        }

        private static func error(_ problem: String) -> SignallingError {
            RoomURLParts.error(problem, example: Self.example)
        }
    }
}

extension RoomURL.AppRTC {
    /// A machine before its first attempt.
    public func makeMachine(_ options: SignallingOptions) -> AppRTCRoomStateMachine {
        AppRTCRoomStateMachine(
            self,
            policy: options.policy,
            displayName: DisplayName.line(options.displayName)
        )
    }
}
