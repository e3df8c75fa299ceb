// SPDX-License-Identifier: Apache-2.0

internal import Basics

/// The URL of a STUN or TURN server (RFC 7064, RFC 7065): `stun:host:port`, `turn:host:port?transport=tcp`.
public struct ICEServerURL: Hashable, Sendable, CustomStringConvertible {
    /// The service of a server.
    public enum Kind: String, Sendable, Hashable {
        /// Reports our public address to us.
        case stun
        /// Relays media.
        case turn
    }

    /// How it is reached.
    public enum Transport: String, Sendable, Hashable {
        /// Datagrams.
        case udp
        /// A connection.
        case tcp
        /// A connection with TLS: `turns:`.
        case tls
    }

    /// The service of the server.
    public var kind: Kind
    /// How it is reached.
    public var transport: Transport
    /// Host name or address in lower case; IPv6 without brackets.
    public var host: String
    /// 1 to 65535; 3478, or 5349 for TLS, if the text names none.
    public var port: Int

    /// Reads a URL from the configuration or a server.
    ///
    /// - Throws: `.invalidURL`, with a sentence that does not repeat the text.
    public init(parsing text: String) throws(SignallingError) {
        guard text.utf8.count <= 512, let colon = text.firstIndex(of: ":") else { throw Self.wrong }
        let rest = text[colon...].dropFirst()
        let mark = rest.firstIndex(of: "?") ?? rest.endIndex
        guard !rest.hasPrefix("/"), let (host, port) = try? RoomURLParts.hostAndPort(rest[..<mark]) else {
            throw Self.wrong
        }
        let query = rest[mark...].lowercased()
        switch (text[..<colon].lowercased(), query) {
        case ("stun", ""): (self.kind, self.transport) = (.stun, .udp)
        case ("turn", ""), ("turn", "?transport=udp"): (self.kind, self.transport) = (.turn, .udp)
        case ("turn", "?transport=tcp"): (self.kind, self.transport) = (.turn, .tcp)
        case ("turns", ""), ("turns", "?transport=tcp"): (self.kind, self.transport) = (.turn, .tls)
        case ("stuns", _):
            throw SignallingError(.invalidURL, "STUN over TLS is not supported", blame: .configuration)
        case ("turns", "?transport=udp"):
            throw SignallingError(.invalidURL, "TURN over DTLS is not supported", blame: .configuration)
        default: throw Self.wrong
        }
        self.host = host.lowercased()
        self.port = port ?? (self.transport == .tls ? 5349 : 3478)
    }

    private static var wrong: SignallingError {
        SignallingError(
            .invalidURL,
            "a server's URL is like stun:HOST:PORT, turn:HOST:PORT?transport=tcp or turns:HOST:PORT",
            blame: .configuration
        )
    }

    /// Host and port; brackets around IPv6.
    public var address: String {
        "\(IPAddress.bracketed(self.host)):\(self.port)"
    }

    /// The URL in its usual form: `turns:turn.example.org:5349`.
    public var description: String {
        switch self.transport {
        case .udp: "\(self.kind.rawValue):\(self.address)"
        case .tcp: "\(self.kind.rawValue):\(self.address)?transport=tcp"
        case .tls: "\(self.kind.rawValue)s:\(self.address)"
        }
    }
}
