// SPDX-License-Identifier: Apache-2.0

internal import Basics

extension RoomURL {
    /// A bare TCP peer, without any server: we dial it, or wait for it.
    public struct LAN: RoomAddress {
        /// Nothing but plain TCP.
        public static let schemes = ["lan+tcp"]
        /// As logs and metrics name the protocol.
        public static let protocolName = "lan"
        /// The port of the known apps.
        public static let defaultPort = 5556

        /// The host that is dialled, or the local address that is listened on; IPv6 without brackets.
        public var host: String
        /// TCP port, 1 to 65535.
        public var port: Int
        /// Whether we wait for the peer.
        public var isListening: Bool

        /// A peer to dial, or an address to wait on.
        public init(host: String, port: Int = Self.defaultPort, isListening: Bool = false) {
            self.host = host
            self.port = port
            self.isListening = isListening
        }

        /// In place of a room: the address and port of the URL.
        public var room: String { self.serverAddress }
        /// There is no TLS, hence no certificate.
        public var verifiesCertificate: Bool { true }

        /// The URL with its port; it parses back to an equal value.
        public var description: String { "lan+tcp://\(self.serverAddress)\(self.isListening ? "?listen" : "")" }

        /// A machine before its first attempt.
        public func makeMachine(_ options: SignallingOptions) -> LANRoomStateMachine {
            LANRoomStateMachine(
                self,
                isPatient: options.policy.attempts == nil,
                displayName: DisplayName.line(options.displayName)
            )
        }
    }
}

extension RoomURL.LAN {
    private static let example = "lan+tcp://192.0.2.7:5556 dials, lan+tcp://0.0.0.0:5556?listen waits"

    /// Reads the parts that mean something for a bare TCP peer.
    ///
    /// - Throws: `SignallingError` with code `invalidURL`.
    public init(_ parts: RoomURLParts) throws(SignallingError) {
        guard parts.path.isEmpty || parts.path == "/" else {
            throw Self.error("path: there are no rooms on a bare TCP peer, so nothing stands after the port")
        }
        self.init(host: parts.host, port: parts.port ?? Self.defaultPort)
        for (key, value) in parts.query {
            guard key == "listen" else {
                throw Self.error("query: \"\(RoomURLParts.excerpt(key))\" is unknown; known is listen")
            }
            guard value == nil else { throw Self.error("query: listen takes no value; leave it out to dial") }
            self.isListening = true
        }
    }

    private static func error(_ problem: String) -> SignallingError {
        RoomURLParts.error(problem, example: Self.example)
    }
}
