// SPDX-License-Identifier: Apache-2.0

internal import Glibc

/// A name could not be turned into addresses.
public struct NameResolutionError: Error {
    /// What the resolver says.
    public let message: String
}

/// Turns names of hosts into addresses.
public enum HostName {
    /// The addresses as numbers, each once, in the order in which the system prefers them.
    ///
    /// Blocks as long as the system's resolver does.
    /// - Parameters:
    ///   - isForDatagrams: whether they are for datagrams; else for connections.
    ///   - ofUsedFamilies: only of families of which this host has an address itself (AI_ADDRCONFIG).
    public static func addresses(
        of name: String,
        isForDatagrams: Bool = false,
        ofUsedFamilies: Bool = false
    ) throws(NameResolutionError) -> [String] {
        var hints = addrinfo()
        hints.ai_socktype = Int32((isForDatagrams ? SOCK_DGRAM : SOCK_STREAM).rawValue)
        hints.ai_flags = ofUsedFamilies ? AI_ADDRCONFIG : 0
        var first: UnsafeMutablePointer<addrinfo>?
        let status = getaddrinfo(name, nil, &hints, &first)
        guard status == 0 else { throw NameResolutionError(message: String(cString: gai_strerror(status))) }
        defer { freeaddrinfo(first) }
        var addresses: [String] = []
        var next = first
        while let entry = next?.pointee {
            next = entry.ai_next
            var text = [CChar](repeating: 0, count: Int(NI_MAXHOST))
            let length = socklen_t(text.count)
            guard getnameinfo(entry.ai_addr, entry.ai_addrlen, &text, length, nil, 0, NI_NUMERICHOST) == 0 else {
                continue
            }
            let address = String(decoding: text.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
            if !addresses.contains(address) { addresses.append(address) }
        }
        return addresses
    }
}
