// SPDX-License-Identifier: Apache-2.0

/// The cookies of one session with one server (RFC 6265), for load balancers that pick the server by them.
///
/// One host and one session, so attributes do not matter, except those that delete.
struct CookieJar: Sendable, Equatable {
    /// Most cookies kept.
    static let maximumCookies = 32
    /// Longest `name=value` kept, in bytes.
    static let maximumBytes = 4096

    private var cookies: [(name: String, value: String)] = []

    /// Takes the values of `Set-Cookie` headers.
    mutating func store(_ headers: [String]) {
        for header in headers {
            let parts = header.split(separator: ";", omittingEmptySubsequences: false).map(Self.trimmed)
            guard let pair = parts.first, pair.utf8.count <= Self.maximumBytes,
                pair.utf8.allSatisfy({ $0 >= 0x20 && $0 < 0x7f }), let equals = pair.firstIndex(of: "=")
            else { continue }
            let name = Self.trimmed(pair[..<equals])
            guard !name.isEmpty else { continue }
            self.cookies.removeAll { $0.name == name }
            let isDeleted = parts.dropFirst().contains { part in
                let attribute = part.lowercased()
                return attribute == "max-age=0" || attribute.hasPrefix("max-age=-")
            }
            guard !isDeleted, self.cookies.count < Self.maximumCookies else { continue }
            self.cookies.append((name: String(name), value: String(Self.trimmed(pair[pair.index(after: equals)...]))))
        }
    }

    /// The value of the `Cookie` header; nil without cookies.
    var header: String? {
        self.cookies.isEmpty ? nil : self.cookies.map { "\($0.name)=\($0.value)" }.joined(separator: "; ")
    }

    static func == (left: CookieJar, right: CookieJar) -> Bool { left.header == right.header }

    private static func trimmed(_ text: Substring) -> Substring {
        var text = text
        while text.first == " " || text.first == "\t" { text.removeFirst() }
        while text.last == " " || text.last == "\t" { text.removeLast() }
        return text
    }
}
