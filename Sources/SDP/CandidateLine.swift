// SPDX-License-Identifier: Apache-2.0

/// One ICE candidate (RFC 8839 section 5.1), as peers trickle it and descriptions carry it.
public struct CandidateLine: Sendable, Hashable, CustomStringConvertible {
    /// The kind of an address.
    public enum Kind: String, Sendable, Hashable, CaseIterable {
        /// An address of the host itself.
        case host
        /// Found by asking a STUN server.
        case serverReflexive = "srflx"
        /// Learnt from a check.
        case peerReflexive = "prflx"
        /// Lent by a TURN server.
        case relayed = "relay"
    }

    /// Groups candidates of one base and type.
    public var foundation: String
    /// 1 for RTP (and RTCP on the same port), 2 for RTCP.
    public var component: Int
    /// Lower case, `udp` or `tcp`.
    public var transport: String
    /// 1 to 2³¹ − 1, larger is better.
    public var priority: UInt32
    /// An IPv4 or IPv6 address, or a host name.
    public var address: String
    /// UDP or TCP port.
    public var port: UInt16
    /// The kind of its address.
    public var kind: Kind
    /// The words behind the type, in pairs, for example `raddr` or `ufrag` and what follows.
    public var extensions: [Extension]

    /// A name and its value.
    public struct Extension: Sendable, Hashable {
        /// For example `tcptype`.
        public var name: String
        /// For example `active`.
        public var value: String
    }

    /// Reads `candidate:…`, `a=candidate:…` or the bare value, with white space around it; nil if it is no candidate.
    public init?(_ text: String) {
        guard text.utf8.count <= SDPLimits.candidateBytes else { return nil }
        var line = text.trimmed[...]
        if line.hasPrefix("a=") { line = line.dropFirst(2) }
        if line.hasPrefix("candidate:") { line = line.dropFirst("candidate:".count) }
        let words = line.split(whereSeparator: { $0 == " " || $0 == "\t" }).map(String.init)
        guard words.count >= 8, words[6].lowercased() == "typ",
            words.allSatisfy({ $0.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F } }),
            words[0].utf8.count <= 64, let component = Int(words[1]), (1...256).contains(component),
            let priority = UInt32(words[3]), let port = UInt16(words[5]),
            let kind = Kind(rawValue: words[7].lowercased()),
            CandidateLine.isAddress(words[4])
        else { return nil }
        let transport = words[2].lowercased()
        guard transport == "udp" || transport == "tcp" else { return nil }
        self.foundation = words[0]
        self.component = component
        self.transport = transport
        self.priority = priority
        self.address = words[4]
        self.port = port
        self.kind = kind
        self.extensions = stride(from: 8, to: words.count - 1, by: 2).map {
            Extension(name: words[$0], value: words[$0 + 1])
        }
        // With its prefix, so that what is taken can be read again.
        guard self.description.utf8.count <= SDPLimits.candidateBytes else { return nil }
    }

    /// The value of an extension.
    public func value(of name: String) -> String? {
        self.extensions.first { $0.name == name }?.value
    }

    /// The ICE session it belongs to, if it says so (`ufrag` extension).
    public var ufrag: String? { self.value(of: "ufrag") }
    /// Which side opens a TCP connection (RFC 6544); nil for UDP.
    public var tcpType: String? { self.value(of: "tcptype") }
    /// Whether a name is in the place of the address: one that only multicast DNS resolves (RFC 8828), or one that DNS does.
    public var hasName: Bool {
        !self.address.contains(":") && self.address.utf8.contains { !"0123456789.".utf8.contains($0) }
    }
    /// Whether it needs ICE-TCP (RFC 6544).
    public var isTCP: Bool { self.transport == "tcp" }

    /// The same candidate at another address, for example after a name was resolved.
    public func replacingAddress(_ address: String) -> CandidateLine? {
        guard CandidateLine.isAddress(address) else { return nil }
        var copy = self
        copy.address = address
        return copy
    }

    /// The same candidate without the address behind it, in the form that browsers use (RFC 8828 section 5.2).
    var hidingBase: CandidateLine {
        var copy = self
        copy.extensions = self.extensions.map { each in
            switch each.name {
            case "raddr": Extension(name: each.name, value: self.address.contains(":") ? "::" : "0.0.0.0")
            case "rport": Extension(name: each.name, value: "0")
            default: each
            }
        }
        return copy
    }

    /// The line as webrtcbin and browsers take it, beginning with `candidate:`.
    public var description: String {
        let tail = self.extensions.map { " \($0.name) \($0.value)" }.joined()
        let head = "candidate:\(self.foundation) \(self.component) \(self.transport.uppercased()) \(self.priority)"
        return "\(head) \(self.address) \(self.port) typ \(self.kind.rawValue)\(tail)"
    }

    /// Whether the text looks like IPv4, IPv6 or a host name, and like nothing else.
    private static func isAddress(_ text: String) -> Bool {
        guard (2...253).contains(text.utf8.count) else { return false }
        if text.contains(":") {
            return text.utf8.allSatisfy { byte in
                switch byte {
                case UInt8(ascii: "0")...UInt8(ascii: ":"), UInt8(ascii: "a")...UInt8(ascii: "f"),
                    UInt8(ascii: "A")...UInt8(ascii: "F"), UInt8(ascii: "."):
                    true
                default: false
                }
            }
        }
        let numbers = text.split(separator: ".", omittingEmptySubsequences: false)
        if numbers.allSatisfy({ !$0.isEmpty && $0.utf8.allSatisfy { (0x30...0x39).contains($0) } }) {
            return numbers.count == 4 && numbers.allSatisfy { UInt8($0) != nil }
        }
        return text.utf8.allSatisfy { byte in
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"):
                true
            default: false
            }
        }
    }
}
