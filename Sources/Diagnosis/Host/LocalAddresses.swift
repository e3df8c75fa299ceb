// SPDX-License-Identifier: Apache-2.0

internal import Glibc

/// The addresses of this host's interfaces.
enum LocalAddresses {
    /// IPv4 and IPv6 addresses that other hosts may reach: neither loopback nor link-local; at most 32.
    static func reachable() -> [String] {
        var first: UnsafeMutablePointer<ifaddrs>?
        guard getifaddrs(&first) == 0 else { return [] }
        defer { freeifaddrs(first) }
        var addresses: [String] = []
        var next = first
        while let entry = next?.pointee, addresses.count < 32 {
            next = entry.ifa_next
            let isUsable =
                entry.ifa_flags & UInt32(IFF_UP) != 0
                && entry.ifa_flags & UInt32(IFF_LOOPBACK) == 0
            guard isUsable, let address = entry.ifa_addr else { continue }
            let size: Int
            switch Int32(address.pointee.sa_family) {
            case AF_INET: size = MemoryLayout<sockaddr_in>.size
            case AF_INET6: size = MemoryLayout<sockaddr_in6>.size
            default: continue
            }
            var text = [CChar](repeating: 0, count: Int(NI_MAXHOST))
            let status = getnameinfo(address, socklen_t(size), &text, socklen_t(text.count), nil, 0, NI_NUMERICHOST)
            let name = String(decoding: text.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
            // A link-local address ends with its interface.
            if status == 0, !name.contains("%") { addresses.append(name) }
        }
        return addresses
    }
}
