// SPDX-License-Identifier: Apache-2.0

/// What `tapedeck doctor` looks at besides the host itself.
public struct DoctorSettings: Sendable, Hashable {
    /// A server that a room or its media need.
    public struct Server: Sendable, Hashable {
        /// What needs it, for example `room standup`.
        public var purpose: String
        /// Its name or address.
        public var host: String

        /// A server with each part given.
        public init(purpose: String, host: String) {
            self.purpose = purpose
            self.host = host
        }

        /// The server of a STUN or TURN URL (RFC 7064 and RFC 7065, section 3.1); `nil` if it names none.
        public init?(iceURL: String) {
            guard let colon = iceURL.firstIndex(of: ":") else { return nil }
            let rest = iceURL[iceURL.index(after: colon)...].prefix { $0 != "?" }
            let host = rest.hasPrefix("[") ? rest.dropFirst().prefix { $0 != "]" } : rest.prefix { $0 != ":" }
            guard !host.isEmpty else { return nil }
            self.init(purpose: "ICE server", host: String(host))
        }
    }

    /// Where recordings go.
    public var storageDirectory = "."
    /// Bytes that have to stay free there.
    public var minimumFree: UInt64 = 2_000_000_000
    /// UDP ports for media.
    public var mediaPorts: ClosedRange<UInt16> = 40_000...49_999
    /// Address of the HTTP interface.
    public var interfaceHost = "127.0.0.1"
    /// Port of the HTTP interface; 0 takes any.
    public var interfacePort: UInt16 = 8330
    /// Servers whose names have to resolve; the first 64 are looked up.
    public var servers: [Server] = []
    /// The arguments with which this program tries the encoder whose name is appended to them.
    public var encoderTrial: [String] = []

    /// What a host needs that runs commands without a configuration.
    public init() {}
}
