// SPDX-License-Identifier: Apache-2.0

public import Signalling

extension SocketIOClient {
    /// Which room on which server, and how.
    public struct Configuration: Sendable, Hashable {
        /// The server's name or address; an IPv6 address without brackets.
        public var host: String
        /// The server's port, 1 to 65535.
        public var port: Int
        /// Whether connections are TLS: https and wss.
        public var isSecure: Bool
        /// The path of Engine.IO on the server, with a slash at both ends.
        public var path: String
        /// The room.
        public var room: String
        /// Which transports are used.
        public var transport: EngineIOSessionStateMachine.Transport
        /// The Engine.IO version; nil finds it.
        public var version: EngineIOVersion?
        /// What the server calls the events.
        public var dialect: SocketIORoomDialect
        /// Takes any certificate.
        ///
        /// Only by explicit choice of the operator.
        public var isInsecure: Bool
        /// PEM file of certificates that are trusted beside the system's.
        public var trustedCertificatesFile: String?

        /// The stock room server's path, transports and events unless told otherwise.
        public init(
            host: String,
            port: Int,
            isSecure: Bool,
            path: String = "/socket.io/",
            room: String,
            transport: EngineIOSessionStateMachine.Transport = .automatic,
            version: EngineIOVersion? = nil,
            dialect: SocketIORoomDialect = SocketIORoomDialect(),
            isInsecure: Bool = false,
            trustedCertificatesFile: String? = nil
        ) {
            self.host = host
            self.port = port
            self.isSecure = isSecure
            self.path = path
            self.room = room
            self.transport = transport
            self.version = version
            self.dialect = dialect
            self.isInsecure = isInsecure
            self.trustedCertificatesFile = trustedCertificatesFile
        }

        /// The server as messages and logs name it, `host:port`.
        var address: String {
            self.host.contains(":") ? "[\(self.host)]:\(self.port)" : "\(self.host):\(self.port)"
        }

        /// The path and query of a request.
        func target(transport: String, version: EngineIOVersion, sessionID: String?) -> String {
            let session = sessionID.map { "&sid=" + Self.percentEncoded($0) } ?? ""
            return "\(self.path)?EIO=\(version.rawValue)&transport=\(transport)\(session)"
        }

        /// Keeps the unreserved characters of RFC 3986 section 2.3.
        private static func percentEncoded(_ text: String) -> String {
            var encoded = ""
            for byte in text.utf8 {
                switch byte {
                case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                    UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"),
                    UInt8(ascii: "~"):
                    encoded.unicodeScalars.append(Unicode.Scalar(byte))
                default:
                    encoded += (byte < 16 ? "%0" : "%") + String(byte, radix: 16, uppercase: true)
                }
            }
            return encoded
        }
    }
}
