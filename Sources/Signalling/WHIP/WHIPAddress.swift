// SPDX-License-Identifier: Apache-2.0

extension RoomURL {
    /// An endpoint that takes our media over WHIP (RFC 9725).
    public struct WHIP: RoomAddress {
        /// Over HTTP and over HTTPS.
        public static let schemes = ["whip+http", "whip+https"]
        /// As logs and metrics name the protocol.
        public static let protocolName = "whip"
        /// We publish.
        public static let flow = MediaFlow.toRoom
        /// An endpoint is no person.
        public static let hasChat = false
        /// The bearer token of one-shot commands.
        public static let secretVariable: String? = "TAPEDECK_WHIP_TOKEN"

        /// Where offers go.
        public var endpoint: WHIPEndpoint

        /// An endpoint that was read elsewhere.
        public init(_ endpoint: WHIPEndpoint) {
            self.endpoint = endpoint
        }

        /// Reads the parts of the URL.
        ///
        /// - Throws: `SignallingError` with code `invalidURL`.
        public init(_ parts: RoomURLParts) throws(SignallingError) {
            self.endpoint = try WHIPEndpoint(parts, example: "whip+https://media.example.org/whip/cam1")
        }

        /// Host name or address in lower case; IPv6 without brackets.
        public var host: String { self.endpoint.url.host }
        /// TCP port, 1 to 65535.
        public var port: Int { self.endpoint.url.port }
        /// The endpoint's name: the last part of its path.
        public var room: String { self.endpoint.name }
        /// Whether the server's certificate is checked.
        public var verifiesCertificate: Bool { self.endpoint.verifiesCertificate }
        /// The URL in its shortest form; it parses back to an equal value.
        public var description: String { "whip+\(self.endpoint)" }

        /// A machine that publishes.
        public func makeMachine(_ options: SignallingOptions) -> WHIPRoomStateMachine {
            WHIPRoomStateMachine(.publish, endpoint: self.endpoint, options: options)
        }
    }

    /// An endpoint that sends us its media over WHEP (draft-ietf-wish-whep).
    public struct WHEP: RoomAddress {
        /// Over HTTP and over HTTPS.
        public static let schemes = ["whep+http", "whep+https"]
        /// As logs and metrics name the protocol.
        public static let protocolName = "whep"
        /// We play.
        public static let flow = MediaFlow.fromRoom
        /// An endpoint is no person.
        public static let hasChat = false
        /// The bearer token of one-shot commands.
        public static let secretVariable: String? = "TAPEDECK_WHIP_TOKEN"

        /// Where offers go.
        public var endpoint: WHIPEndpoint

        /// An endpoint that was read elsewhere.
        public init(_ endpoint: WHIPEndpoint) {
            self.endpoint = endpoint
        }

        /// Reads the parts of the URL.
        ///
        /// - Throws: `SignallingError` with code `invalidURL`.
        public init(_ parts: RoomURLParts) throws(SignallingError) {
            self.endpoint = try WHIPEndpoint(parts, example: "whep+https://media.example.org/whep/cam1")
        }

        /// Host name or address in lower case; IPv6 without brackets.
        public var host: String { self.endpoint.url.host }
        /// TCP port, 1 to 65535.
        public var port: Int { self.endpoint.url.port }
        /// The endpoint's name: the last part of its path.
        public var room: String { self.endpoint.name }
        /// Whether the server's certificate is checked.
        public var verifiesCertificate: Bool { self.endpoint.verifiesCertificate }
        /// The URL in its shortest form; it parses back to an equal value.
        public var description: String { "whep+\(self.endpoint)" }

        /// A machine that plays.
        public func makeMachine(_ options: SignallingOptions) -> WHIPRoomStateMachine {
            WHIPRoomStateMachine(.play, endpoint: self.endpoint, options: options)
        }
    }
}
