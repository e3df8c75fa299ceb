// SPDX-License-Identifier: Apache-2.0

/// An IPv4 or IPv6 address, without a zone.
public struct IPAddress: Sendable, Hashable {
    /// The two kinds of addresses.
    public enum Family: Sendable, Hashable {
        /// Four bytes (RFC 791).
        case ipv4
        /// Sixteen bytes (RFC 4291).
        case ipv6
    }

    /// Four or sixteen, in the order of the network.
    public let bytes: [UInt8]

    /// An address of four or sixteen bytes; nil for other numbers of them.
    public init?(bytes: [UInt8]) {
        guard bytes.count == 4 || bytes.count == 16 else { return nil }
        self.bytes = bytes
    }

    /// Reads an address without brackets, zone or port, as `inet_pton` does; nil for anything else.
    public init?(_ text: some StringProtocol) {
        // The longest has six groups and an IPv4 address behind them.
        guard text.utf8.count <= 45, let bytes = Self.version4(text) ?? Self.version6(text) else { return nil }
        self.bytes = bytes
    }

    /// Which kind it is.
    public var family: Family { self.bytes.count == 4 ? .ipv4 : .ipv6 }

    /// Whether it leads back to this host: 127.0.0.0/8 (RFC 1122 section 3.2.1.3) or `::1` (RFC 4291 section 2.5.3).
    public var isLoopback: Bool {
        self.family == .ipv4 ? self.bytes[0] == 127 : self.bytes == [UInt8](repeating: 0, count: 15) + [1]
    }

    /// Whether it is that of a group (RFC 5771, RFC 4291 section 2.7).
    public var isMulticast: Bool {
        self.family == .ipv4 ? (224...239).contains(self.bytes[0]) : self.bytes[0] == 0xFF
    }

    /// Whether a host is this one, by a loopback address or by the name `localhost`.
    ///
    /// - Parameter shortened: Whether the short forms that resolvers take, such as `127.1`, count too. Not where others
    ///   must be kept out: not every program reads them alike.
    public static func isLoopback(host: some StringProtocol, shortened: Bool = false) -> Bool {
        if host == "localhost" || IPAddress(host)?.isLoopback ?? false { return true }
        let isNumeric = host.utf8.allSatisfy { (0x30...0x39).contains($0) || $0 == UInt8(ascii: ".") }
        return shortened && isNumeric && host.hasPrefix("127.")
    }
}

extension IPAddress {
    /// A host as URLs write it: an IPv6 address in brackets (RFC 3986 section 3.2.2), anything else as it is.
    public static func bracketed(_ host: String) -> String {
        host.contains(":") && !host.hasPrefix("[") ? "[\(host)]" : host
    }
}

extension IPAddress: CustomStringConvertible {
    /// The text form, of IPv6 with all eight groups.
    public var description: String {
        guard self.family == .ipv6 else { return self.bytes.map(String.init).joined(separator: ".") }
        let groups = stride(from: 0, to: 16, by: 2).map { UInt16(self.bytes[$0]) << 8 | UInt16(self.bytes[$0 + 1]) }
        return groups.map { String($0, radix: 16) }.joined(separator: ":")
    }
}

extension IPAddress {
    /// Four decimal numbers without leading zeros.
    private static func version4(_ text: some StringProtocol) -> [UInt8]? {
        let parts = text.split(separator: ".", omittingEmptySubsequences: false)
        let bytes = parts.compactMap { part -> UInt8? in
            let isNumber = part.utf8.allSatisfy { (0x30...0x39).contains($0) }
            return isNumber && (part.utf8.count == 1 || !part.hasPrefix("0")) ? UInt8(part) : nil
        }
        return parts.count == 4 && bytes.count == 4 ? bytes : nil
    }

    /// Groups of up to four digits, `::` once for at least one group of zeros, and perhaps an IPv4 address at the end
    /// (RFC 4291 section 2.2).
    private static func version6(_ text: some StringProtocol) -> [UInt8]? {
        guard let gap = text.indices.first(where: { text[$0...].hasPrefix("::") }) else {
            return Self.groups(text, mayEndWithVersion4: true).flatMap { $0.count == 16 ? $0 : nil }
        }
        guard let left = Self.groups(text[..<gap], mayEndWithVersion4: false),
            let right = Self.groups(text[gap...].dropFirst(2), mayEndWithVersion4: true),
            left.count + right.count <= 14
        else { return nil }
        return left + [UInt8](repeating: 0, count: 16 - left.count - right.count) + right
    }

    /// The bytes of groups between colons; nil if one is wrong.
    private static func groups(_ text: some StringProtocol, mayEndWithVersion4: Bool) -> [UInt8]? {
        guard !text.isEmpty else { return [] }
        let parts = text.split(separator: ":", omittingEmptySubsequences: false)
        var bytes: [UInt8] = []
        for (index, part) in parts.enumerated() {
            if mayEndWithVersion4, index == parts.count - 1, let last = Self.version4(part) {
                bytes += last
                continue
            }
            let digits = part.utf8.compactMap(Hexadecimal.value(of:))
            guard (1...4).contains(digits.count), digits.count == part.utf8.count else { return nil }
            let group = digits.reduce(UInt16(0)) { $0 << 4 | UInt16($1) }
            bytes += [UInt8(group >> 8), UInt8(group & 0xFF)]
        }
        return bytes
    }
}
