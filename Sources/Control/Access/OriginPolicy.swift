// SPDX-License-Identifier: Apache-2.0

/// Which `Host` and `Origin` header fields are taken.
///
/// A page of any site can make its visitor's browser send requests to this host. `Host` shows when the page's own name
/// leads here (DNS rebinding); `Origin` shows when another site's page sends the request (CSRF).
struct OriginPolicy: Sendable, Hashable {
    private let hostNames: Set<String>
    private let allowedOrigins: Set<String>
    private let scheme: String

    init(_ configuration: ControlConfiguration) {
        let loopback = ["localhost", "127.0.0.1", "::1"]
        self.hostNames = Set((loopback + [configuration.host] + configuration.hostNames).map { $0.lowercased() })
        self.allowedOrigins = Set(configuration.allowedOrigins.map { $0.lowercased() })
        self.scheme = configuration.tls == nil ? "http" : "https"
    }

    /// Whether a server without tokens answers a request that addresses this host, given as `name[:port]`.
    func isKnown(host: String?) -> Bool {
        guard let host, let name = Self.name(of: host) else { return false }
        return self.hostNames.contains(name.lowercased())
    }

    /// Whether pages of this origin may read answers (CORS).
    func isAllowed(origin: String) -> Bool {
        self.allowedOrigins.contains(origin.lowercased())
    }

    /// Whether a request that no token vouches for may change something.
    ///
    /// - Parameters:
    ///   - origin: `Origin`; browsers send it with every request that is neither GET nor HEAD.
    ///   - host: `Host`.
    ///   - fetchSite: `Sec-Fetch-Site`; no page can set it.
    ///   - needsOrigin: Whether a request without `Origin` is refused: one that a browser's cookie vouches for.
    func mayChange(origin: String?, host: String?, fetchSite: String?, needsOrigin: Bool) -> Bool {
        // Behind a proxy that ends TLS the page's own origin is https, or has another host, and only the browser knows.
        if fetchSite == "same-origin" { return true }
        if let origin {
            let isOurs = host.map { origin.lowercased() == "\(self.scheme)://\($0.lowercased())" } ?? false
            return isOurs || self.isAllowed(origin: origin)
        }
        if let fetchSite { return fetchSite == "none" }
        return !needsOrigin
    }

    /// The name of `name[:port]` or `[address][:port]`.
    private static func name(of host: String) -> String? {
        var rest = host[...]
        if rest.first == "[" {
            guard let end = rest.firstIndex(of: "]") else { return nil }
            let address = rest[rest.index(after: rest.startIndex)..<end]
            let port = rest[rest.index(after: end)...]
            return port.isEmpty || Self.isPort(port) ? String(address) : nil
        }
        guard let colon = rest.firstIndex(of: ":") else { return host.isEmpty ? nil : host }
        guard Self.isPort(rest[colon...]) else { return nil }
        rest = rest[..<colon]
        return rest.isEmpty ? nil : String(rest)
    }

    private static func isPort(_ text: Substring) -> Bool {
        text.first == ":" && text.utf8.count <= 6 && text.dropFirst().utf8.allSatisfy { (0x30...0x39).contains($0) }
    }
}
