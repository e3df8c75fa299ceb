// SPDX-License-Identifier: Apache-2.0

internal import Basics
internal import FoundationEssentials
internal import GStreamer
internal import Glibc

/// Addresses and ports of this host.
struct NetworkFacts: Sendable, Hashable {
    /// The holder of the HTTP API's port.
    enum PortState: Sendable, Hashable {
        /// None.
        case free
        /// A running Tapedeck.
        case ours
        /// A server that speaks TLS, as our HTTP API does.
        case perhapsOurs
        /// Another process has it, or it may not be taken.
        case taken(String)
    }

    /// Addresses other than loopback.
    var addresses: [String]
    /// The UDP ports for media.
    var mediaPorts: ClosedRange<UInt16>
    /// How many of them can be taken now.
    var freeMediaPorts: Int
    /// The address of the HTTP interface.
    var interface: String
    var interfaceState: PortState
    /// Whether certificates of servers can be checked.
    var hasAuthorities: Bool

    /// Ports that a peer takes, one for each address, with room for two.
    private static let portsForAPeer = 8

    var findings: [Finding] {
        [self.addressFinding, self.mediaFinding, self.interfaceFinding, self.authorities, self.portMapping]
    }

    private var addressFinding: Finding {
        self.addresses.isEmpty
            ? Finding(
                .network,
                "addresses",
                .warning,
                "loopback only",
                meaning: "only peers on this host can be reached"
            )
            : Finding(.network, "addresses", .ok, self.addresses.joined(separator: ", "))
    }

    private var mediaFinding: Finding {
        let range = "\(self.mediaPorts.lowerBound)-\(self.mediaPorts.upperBound)"
        let found = "\(self.freeMediaPorts) of \(self.mediaPorts.count) ports of \(range) are free"
        switch self.freeMediaPorts {
        case 0:
            return Finding(
                .network,
                "UDP ports",
                .problem,
                found,
                meaning: "no media can be received",
                remedy: "choose another range: ice.port_range in the configuration, or --port-range"
            )
        case ..<Self.portsForAPeer:
            return Finding(
                .network,
                "UDP ports",
                .warning,
                found,
                meaning: "too few for more than a peer or two",
                remedy: "choose a wider range: ice.port_range in the configuration, or --port-range"
            )
        default: return Finding(.network, "UDP ports", .ok, found)
        }
    }

    private var interfaceFinding: Finding {
        switch self.interfaceState {
        case .free: Finding(.network, "HTTP interface", .ok, "\(self.interface) is free")
        case .ours: Finding(.network, "HTTP interface", .ok, "\(self.interface) is Tapedeck, running")
        case .perhapsOurs:
            Finding(
                .network,
                "HTTP interface",
                .ok,
                "\(self.interface) is in use, and speaks TLS: perhaps Tapedeck itself"
            )
        case .taken(let reason):
            Finding(
                .network,
                "HTTP interface",
                .warning,
                "\(self.interface): \(reason)",
                meaning: "`tapedeck run` cannot listen there; `tapedeck record` needs no port",
                remedy: "`ss -ltnp` says who does; or choose another with api.listen in the configuration"
            )
        }
    }

    private var authorities: Finding {
        self.hasAuthorities
            ? Finding(.network, "certificates", .ok, "the authorities of servers are known")
            : Finding(
                .network,
                "certificates",
                .warning,
                "no authorities in /etc/ssl/certs",
                meaning: "room servers over https and wss cannot be checked, and are refused",
                packages: ["ca-certificates"]
            )
    }

    private var portMapping: Finding {
        Finding(.network, "UPnP", .ok, "not used: no router is asked to open ports")
    }

    /// Asks this host.
    static func probe(mediaPorts: ClosedRange<UInt16>, host: String, port: UInt16, hasTLS: Bool) -> NetworkFacts {
        NetworkFacts(
            addresses: LocalAddresses.reachable(),
            mediaPorts: mediaPorts,
            freeMediaPorts: mediaPorts.count { LocalSocket.canBind(udp: $0) },
            interface: "\(IPAddress.bracketed(host)):\(port)",
            interfaceState: LocalSocket.state(host: host, port: port, hasTLS: hasTLS),
            hasAuthorities: FileManager.default.fileExists(atPath: "/etc/ssl/certs/ca-certificates.crt")
        )
    }
}
