// SPDX-License-Identifier: Apache-2.0

internal import Basics

/// A room URL cut into its generic parts (RFC 3986 section 3), before a protocol looks at them.
public struct RoomURLParts {
    /// A URL that is right, for messages.
    static let example = "socketio+https://rtc.example.org/123123"
    /// Longest URL taken, in bytes, as it was written and in its shortest form, where characters beyond ASCII are three
    /// times as long.
    static let maximumLength = 2048

    /// In lower case.
    let scheme: String
    /// The decoded name before the host; nil without one.
    ///
    /// Never a password.
    let user: String?
    /// In lower case; IPv6 addresses without brackets.
    let host: String
    let port: Int?
    /// Still percent-encoded; empty or with a leading slash.
    let path: Substring
    /// Decoded; a key without `=` has the value nil.
    let query: [(key: String, value: String?)]
    /// The query as it was written, without its question mark; empty if there is none.
    let rawQuery: Substring

    /// The scheme in lower case, before anything else of the text is looked at.
    static func scheme(of text: String) throws(SignallingError) -> String {
        guard text.utf8.count <= Self.maximumLength else {
            throw Self.error("length: more than \(Self.maximumLength) bytes")
        }
        guard !text.unicodeScalars.contains(where: { $0.value <= 0x20 || $0.value == 0x7F }) else {
            throw Self.error("characters: spaces and control characters must be percent-encoded")
        }
        guard let colon = text.firstIndex(of: ":"), text[colon...].hasPrefix("://"), colon > text.startIndex else {
            throw Self.error("scheme: missing; a room URL begins with a scheme and ://")
        }
        return text[..<colon].lowercased()
    }

    /// Cuts a text whose scheme was found.
    init(_ text: String, scheme: String, takesUser: Bool = false) throws(SignallingError) {
        self.scheme = scheme
        var rest = text.dropFirst(scheme.count + 3)
        // Scalars: a mark that joins the character before it would hide that.
        guard !rest.unicodeScalars.contains("#") else {
            throw Self.error("fragment: # has no meaning here; write %23 for it in a room name")
        }
        var queryText: Substring?
        if let mark = rest.unicodeScalars.firstIndex(of: "?") {
            queryText = rest[rest.unicodeScalars.index(after: mark)...]
            rest = rest[..<mark]
        }
        let slash = rest.unicodeScalars.firstIndex(of: "/") ?? rest.endIndex
        self.path = rest[slash...]
        var authority = rest[..<slash]
        self.user = try Self.user(&authority, isTaken: takesUser)
        (self.host, self.port) = try Self.hostAndPort(authority)
        self.rawQuery = queryText ?? ""
        self.query = try Self.query(self.rawQuery)
    }

    /// Cuts the user off the authority.
    private static func user(_ authority: inout Substring, isTaken: Bool) throws(SignallingError) -> String? {
        guard let mark = authority.lastIndex(of: "@") else { return nil }
        let text = authority[..<mark]
        authority = authority[mark...].dropFirst()
        guard isTaken else { throw Self.error("user information: a name or password before @ is not taken") }
        guard !text.contains(":") else { throw Self.error("user information: a password has no place in a URL") }
        guard let user = PercentCoding.decode(text), !user.isEmpty else {
            throw Self.error("user information: the name before @ is empty or has a wrong % sequence")
        }
        return user
    }

    static func hostAndPort(_ authority: Substring) throws(SignallingError) -> (String, Int?) {
        let host: String
        let portText: Substring
        if authority.hasPrefix("[") {
            guard let end = authority.firstIndex(of: "]") else { throw Self.error("host: [ without ]") }
            let inner = authority[..<end].dropFirst()
            guard IPAddress(inner)?.family == .ipv6 else {
                throw Self.error("host: \"\(Self.excerpt(inner))\" is not an IPv6 address")
            }
            host = inner.lowercased()
            portText = authority[end...].dropFirst()
        } else {
            let colon = authority.firstIndex(of: ":") ?? authority.endIndex
            host = authority[..<colon].lowercased()
            portText = authority[colon...]
            guard !portText.dropFirst().contains(":") else {
                throw Self.error("host: an IPv6 address must be in brackets, as in [2001:db8::1]")
            }
            guard !host.isEmpty else { throw Self.error("host: missing") }
            guard host.utf8.count <= 253, host.utf8.allSatisfy(Self.isHostByte) else {
                throw Self.error("host: \"\(Self.excerpt(host))\" is not a host name or address")
            }
        }
        guard !portText.isEmpty else { return (host, nil) }
        guard portText.hasPrefix(":"), portText.dropFirst().utf8.allSatisfy({ $0 >= 0x30 && $0 <= 0x39 }),
            let port = Int(portText.dropFirst()), (1...65535).contains(port)
        else {
            throw Self.error("port: \"\(Self.excerpt(String(portText.dropFirst())))\" is not a number from 1 to 65535")
        }
        return (host, port)
    }

    private static func isHostByte(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"): true
        case UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"): true
        default: false
        }
    }

    private static func query(_ text: Substring) throws(SignallingError) -> [(key: String, value: String?)] {
        var result: [(key: String, value: String?)] = []
        for item in text.split(separator: "&") {
            let equals = item.firstIndex(of: "=")
            let key = item[..<(equals ?? item.endIndex)]
            guard let key = PercentCoding.decode(key), !key.isEmpty else {
                throw Self.error("query: \"\(Self.excerpt(item))\" has no readable name")
            }
            guard !result.contains(where: { $0.key == key }) else {
                throw Self.error("query: \(Self.excerpt(key)) is given twice")
            }
            var value: String?
            if let equals {
                value = PercentCoding.decode(item[equals...].dropFirst())
                if value == nil { throw Self.error("query: the value of \(Self.excerpt(key)) has a wrong % sequence") }
            }
            result.append((key, value))
        }
        return result
    }

    /// An error about one part: `problem` begins with the part's name.
    static func error(_ problem: String, example: String = RoomURLParts.example) -> SignallingError {
        SignallingError(.invalidURL, "room URL, \(problem). Example: \(example)", blame: .configuration)
    }

    /// At most 60 characters of a wrong part, for a message.
    static func excerpt(_ text: some StringProtocol) -> String {
        text.count <= 60 ? String(text) : "\(text.prefix(60))…"
    }
}
