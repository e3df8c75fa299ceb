// SPDX-License-Identifier: Apache-2.0

internal import Basics
internal import CTapedeck

/// The pair of candidates that ICE chose for media (RFC 8445 section 8).
public struct SelectedPair: Sendable, Hashable, CustomStringConvertible {
    /// One end of it.
    public struct End: Sendable, Hashable, CustomStringConvertible {
        /// `host`, `srflx`, `prflx` or `relay` (RFC 8839 section 5.1).
        public var kind: String
        /// An IPv4 or IPv6 address.
        public var address: String
        /// Its port.
        public var port: UInt16
        /// `udp` or `tcp`: between the candidates; a relayed one may reach its server in another way.
        public var transport: String

        /// An end with each part given.
        public init(kind: String, address: String, port: UInt16, transport: String) {
            self.kind = kind
            self.address = address
            self.port = port
            self.transport = transport
        }

        /// `relay 192.0.2.7:49152/udp`.
        public var description: String {
            "\(self.kind) \(joined(self.address, self.port))/\(self.transport)"
        }
    }

    /// Ours.
    public var local: End
    /// The peer's.
    public var remote: End
    /// `address:port` of the TURN server that lends us ours, `[address]:port` for IPv6; nil if it is not relayed.
    public var server: String?

    /// A pair with each part given.
    public init(local: End, remote: End, server: String? = nil) {
        self.local = local
        self.remote = remote
        self.server = server
    }

    /// The pair in the agent's signal; copies everything.
    init(
        local: UnsafeMutableRawPointer,
        remote: UnsafeMutableRawPointer,
        of agent: UnsafeMutableRawPointer,
        stream: UInt32,
        component: UInt32
    ) {
        var candidate = CTapedeckCandidate()
        CTapedeck_read_candidate(remote, &candidate)
        self.remote = End(candidate)
        CTapedeck_read_candidate(local, &candidate)
        self.local = End(candidate)
        guard self.local.kind == "relay" else { return }
        var address = [CChar](repeating: 0, count: Int(CTAPEDECK_ADDRESS_SIZE))
        var port: UInt16 = 0
        guard CTapedeck_selected_relay(agent, stream, component, &address, &port) != 0 else { return }
        let text = String(decoding: address.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
        self.server = joined(text, port)
    }

    /// `host 192.0.2.1:4000/udp to relay 192.0.2.7:49152/udp`.
    public var description: String { "\(self.local) to \(self.remote)" }
}

extension SelectedPair.End {
    fileprivate init(_ candidate: CTapedeckCandidate) {
        let kinds = ["host", "srflx", "prflx", "relay"]
        let index = Int(candidate.type)
        self.init(
            kind: kinds.indices.contains(index) ? kinds[index] : "unknown",
            address: text(of: candidate.address),
            port: candidate.port,
            transport: candidate.transport == 0 ? "udp" : "tcp"
        )
    }
}

private func text<Characters>(of characters: Characters) -> String {
    withUnsafeBytes(of: characters) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
}

/// An address and a port as URLs have them.
private func joined(_ address: String, _ port: UInt16) -> String {
    "\(IPAddress.bracketed(address)):\(port)"
}
