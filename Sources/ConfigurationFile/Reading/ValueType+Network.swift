// SPDX-License-Identifier: Apache-2.0

internal import Basics
internal import Foundation
internal import Signalling

/// An address or host name with a port.
struct HostAndPort: Hashable, Sendable {
    /// In lower case; IPv6 without brackets.
    var host: String
    /// From 0 to 65535; nil if none was given.
    var port: Int?

    /// Reads `host`, `host:port`, `[IPv6]` or `[IPv6]:port`; nil for anything else.
    init?(_ text: String) {
        var host = text[...]
        var portText: Substring?
        if text.hasPrefix("[") {
            guard let end = text.firstIndex(of: "]") else { return nil }
            host = text[..<end].dropFirst()
            guard IPAddress(host)?.family == .ipv6 else { return nil }
            let rest = text[end...].dropFirst()
            guard rest.isEmpty || rest.hasPrefix(":") else { return nil }
            portText = rest.isEmpty ? nil : rest.dropFirst()
        } else {
            if let colon = text.firstIndex(of: ":") {
                host = text[..<colon]
                portText = text[colon...].dropFirst()
            }
            guard Self.isHost(host) else { return nil }
        }
        self.host = host.lowercased()
        guard let portText else { return }
        guard (1...5).contains(portText.utf8.count), portText.utf8.allSatisfy({ (0x30...0x39).contains($0) }),
            let port = Int(portText), port <= 65535
        else { return nil }
        self.port = port
    }

    /// Whether a text is an IPv4 address or a host name (RFC 1123 section 2.1, and `_`).
    static func isHost(_ text: Substring) -> Bool {
        guard (1...253).contains(text.utf8.count) else { return false }
        if text.utf8.allSatisfy({ (0x30...0x39).contains($0) || $0 == UInt8(ascii: ".") }) {
            return IPAddress(text) != nil
        }
        return text.split(separator: ".", omittingEmptySubsequences: false).allSatisfy { label in
            (1...63).contains(label.utf8.count) && !label.hasPrefix("-") && !label.hasSuffix("-")
                && label.utf8.allSatisfy { byte in
                    switch byte {
                    case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, 0x2D, 0x5F: true
                    default: false
                    }
                }
        }
    }
}

/// An `http` or `https` URL cut into what matters here.
struct WebURL: Hashable, Sendable {
    var text: String
    var scheme: String
    /// In lower case; IPv6 without brackets.
    var host: String
    var port: Int?
    /// Whether there is more than scheme, host and port.
    var hasPath: Bool

    /// Reads an absolute URL without user information and fragment; nil for anything else.
    init?(_ text: String) {
        guard text.utf8.count <= 2048, text.utf8.allSatisfy({ (0x21...0x7E).contains($0) && $0 != 0x5C }),
            let separator = text.range(of: "://"), !text.contains("#")
        else { return nil }
        self.scheme = text[..<separator.lowerBound].lowercased()
        guard self.scheme == "http" || self.scheme == "https" else { return nil }
        let rest = text[separator.upperBound...]
        let end = rest.firstIndex { $0 == "/" || $0 == "?" } ?? rest.endIndex
        guard let authority = HostAndPort(String(rest[..<end])), authority.port != 0,
            URLComponents(string: text)?.url != nil
        else { return nil }
        self.text = text
        self.host = authority.host
        self.port = authority.port
        self.hasPath = end != rest.endIndex
    }

    /// Scheme, host and port.
    var origin: String {
        let host = IPAddress.bracketed(self.host)
        return "\(self.scheme)://\(host)" + (self.port.map { ":\($0)" } ?? "")
    }
}

extension ValueType where Value == HostAndPort {
    /// Where to listen.
    static let listen = ValueType(
        accepted: "ADDRESS:PORT, such as 127.0.0.1:8330 or \"[::1]:8330\""
    ) { text in
        HostAndPort(text).flatMap { $0.port == nil ? nil : $0 }
    }
}

extension ValueType where Value == WebURL {
    /// A URL that something is posted to.
    static let webURL = ValueType(
        accepted: "an http or https URL without user name and fragment, such as https://example.org/hook",
        text: { WebURL($0) }
    )
}

extension ValueType where Value == String {
    /// A local address.
    static let address = ValueType(accepted: "an IPv4 or IPv6 address, such as 192.0.2.7") { text in
        IPAddress(text) == nil ? nil : text.lowercased()
    }

    /// A web origin (RFC 6454 section 6.2).
    static let origin = ValueType(accepted: "an origin, such as https://example.org or http://localhost:3000") { text in
        WebURL(text).flatMap { $0.hasPath ? nil : $0.origin }
    }

    /// A host name or address, or all hosts of a domain.
    static let hostPattern = ValueType(accepted: "a host or address, or *.DOMAIN, such as *.example.org") { text in
        let host = text.hasPrefix("*.") ? text.dropFirst(2) : text[...]
        guard HostAndPort.isHost(host) || IPAddress(text) != nil else { return nil }
        return text.lowercased()
    }

    /// The URL of a STUN or TURN server (RFC 7064, RFC 7065).
    static let iceServerURL = ValueType(
        accepted: "stun:HOST, turn:HOST or turns:HOST, each with :PORT if it is not the usual one, "
            + "turn also with ?transport=udp or ?transport=tcp"
    ) { text in
        (try? ICEServerURL(parsing: text)) == nil ? nil : text
    }
}

extension ValueType where Value == ClosedRange<UInt16> {
    /// Local ports.
    static let portRange = ValueType(accepted: "two ports from 1024 to 65535 with a dash, such as 40000-49999") {
        text in
        PortRangeText.parse(text, from: 1024)
    }
}

/// A room URL and its text, with the secrets in it.
struct RoomURLText: Sendable {
    var address: ConfiguredRoomURL
    var text: Secret
}

extension ValueType where Value == RoomURLText {
    /// A room URL.
    static let roomURL = ValueType(
        accepted: "a room URL, such as socketio+https://rtc.example.org/123123"
    ) { scalar throws(WrongValue) in
        guard scalar.form == .string else { throw WrongValue() }
        do throws(SignallingError) {
            let url = try RoomURL(parsing: scalar.text)
            let address = ConfiguredRoomURL(url: url, description: scalar.written)
            return RoomURLText(address: address, text: Secret(scalar.text))
        } catch {
            // The message quotes parts of the URL; what stands before the first colon does not.
            let part = error.message.prefix { $0 != ":" }
            throw WrongValue(reason: scalar.isSubstituted ? "\(part): wrong, and not shown" : error.message)
        }
    }
}
