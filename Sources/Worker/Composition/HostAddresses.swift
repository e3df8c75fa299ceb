// SPDX-License-Identifier: Apache-2.0

internal import Foundation

/// An address of one of this host's interfaces.
struct HostAddress: Sendable, Hashable {
    /// As text; a link-local IPv6 address ends with `%` and its interface.
    var text: String
    /// Whether it is of the loopback interface.
    var isLoopback = false
    /// Whether its interface leads to where no other one does.
    var hasDefaultRoute = false
    /// Whether its interface joins others on this host, as those of containers and virtual machines.
    var isBridge = false

    fileprivate var isLinkLocal: Bool { self.text.hasPrefix("fe80:") || self.text.hasPrefix("169.254.") }

    /// How likely a peer reaches it; the lowest is the likeliest.
    fileprivate var rank: Int {
        if self.isLoopback || self.hasDefaultRoute && !self.isLinkLocal { return 0 }
        return (self.isBridge ? 3 : 1) + (self.isLinkLocal ? 1 : 0)
    }
}

/// The addresses of this host on which media are received where none are named.
struct HostAddresses: Sendable, Hashable {
    /// As many as a configuration may name: each takes a port for each peer, and the peer tries each with each of its addresses.
    static let most = 32

    /// Those that peers likely reach, the likeliest first.
    var chosen: [String]
    /// How many others there are.
    var leftOut: Int

    /// Chooses among the addresses of a host; of those that are alike the first.
    init(_ addresses: [HostAddress]) {
        let ranked = addresses.enumerated().sorted { ($0.element.rank, $0.offset) < ($1.element.rank, $1.offset) }
        self.chosen = ranked.prefix(Self.most).map(\.element.text)
        self.leftOut = addresses.count - self.chosen.count
    }
}

extension HostAddress {
    /// Addresses of every interface that is up and connected, in the order of the system.
    static var all: [HostAddress] {
        var first: UnsafeMutablePointer<ifaddrs>?
        guard getifaddrs(&first) == 0 else { return [HostAddress(text: "127.0.0.1", isLoopback: true)] }
        defer { freeifaddrs(first) }
        let routes = Self.interfacesWithDefaultRoute
        var addresses: [HostAddress] = []
        var known: Set<String> = []
        var next = first
        let isUsable = UInt32(IFF_UP) | UInt32(IFF_RUNNING)
        while let interface = next {
            next = interface.pointee.ifa_next
            guard interface.pointee.ifa_flags & isUsable == isUsable, let address = interface.pointee.ifa_addr,
                let text = Self.numeric(address), known.insert(text).inserted
            else { continue }
            let name = String(cString: interface.pointee.ifa_name)
            addresses.append(
                HostAddress(
                    text: text,
                    isLoopback: interface.pointee.ifa_flags & UInt32(IFF_LOOPBACK) != 0,
                    hasDefaultRoute: routes.contains(name),
                    isBridge: access("/sys/class/net/\(name)/bridge", F_OK) == 0
                )
            )
        }
        return addresses
    }

    /// The interfaces with a way to everywhere, of IPv4 or IPv6 (`proc_net(5)`).
    private static var interfacesWithDefaultRoute: Set<String> {
        var names: Set<String> = []
        for line in Self.lines("/proc/self/net/route") where line.count > 7 && line[1] == "00000000" {
            if line[7] == "00000000" { names.insert(String(line[0])) }
        }
        for line in Self.lines("/proc/self/net/ipv6_route") where line.count == 10 && line[1] == "00" {
            // The kernel has one of loopback for what leads nowhere.
            if line[9] != "lo" { names.insert(String(line[9])) }
        }
        return names
    }

    private static func lines(_ path: String) -> [[Substring]] {
        guard let text = try? String(contentsOfFile: path, encoding: .utf8) else { return [] }
        return text.split(separator: "\n").map { $0.split(whereSeparator: \.isWhitespace) }
    }

    private static func numeric(_ address: UnsafeMutablePointer<sockaddr>) -> String? {
        let length: Int
        switch Int32(address.pointee.sa_family) {
        case AF_INET: length = MemoryLayout<sockaddr_in>.size
        case AF_INET6: length = MemoryLayout<sockaddr_in6>.size
        default: return nil
        }
        var text = [CChar](repeating: 0, count: Int(NI_MAXHOST))
        guard getnameinfo(address, socklen_t(length), &text, socklen_t(text.count), nil, 0, NI_NUMERICHOST) == 0 else {
            return nil
        }
        return String(decoding: text.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }
}
