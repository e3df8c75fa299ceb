// SPDX-License-Identifier: Apache-2.0

internal import Basics

/// An absolute http, https, ws or wss URL (RFC 3986, RFC 6455 section 3), without user information and fragment.
public struct WebURL: Hashable, Sendable, CustomStringConvertible {
    /// Whether it is https or wss.
    public var isSecure: Bool
    /// Whether it is ws or wss.
    public var isWebSocket: Bool
    /// Host name or address in lower case; IPv6 without brackets.
    public var host: String
    /// TCP port, 1 to 65535; 80 or 443 if the text names none.
    public var port: Int
    /// Path and query, beginning with a slash.
    public var target: String

    /// A URL with each part given.
    public init(isSecure: Bool, isWebSocket: Bool = false, host: String, port: Int? = nil, target: String) {
        self.isSecure = isSecure
        self.isWebSocket = isWebSocket
        self.host = host
        self.port = port ?? Self.defaultPort(isSecure: isSecure)
        self.target = target.hasPrefix("/") ? target : "/" + target
    }

    /// Reads a URL from a peer or a server; nil if it is no such URL, or longer than 2048 bytes.
    public init?(parsing text: String) {
        let text =
            text.split(separator: "#", maxSplits: 1, omittingEmptySubsequences: false).first.map(String.init) ?? ""
        guard let scheme = try? RoomURLParts.scheme(of: text) else { return nil }
        switch scheme {
        case "http": (self.isSecure, self.isWebSocket) = (false, false)
        case "https": (self.isSecure, self.isWebSocket) = (true, false)
        case "ws": (self.isSecure, self.isWebSocket) = (false, true)
        case "wss": (self.isSecure, self.isWebSocket) = (true, true)
        default: return nil
        }
        let rest = text.dropFirst(scheme.count + 3)
        let end = rest.firstIndex { $0 == "/" || $0 == "?" } ?? rest.endIndex
        guard let (host, port) = try? RoomURLParts.hostAndPort(rest[..<end]) else { return nil }
        self.host = host
        self.port = port ?? Self.defaultPort(isSecure: self.isSecure)
        let target = rest[end...]
        self.target = target.hasPrefix("/") ? String(target) : "/" + target
    }

    /// The URL that a `Location` header or another reference means, seen from this one (RFC 3986 section 5.2).
    ///
    /// nil if the reference cannot be read.
    public func resolving(_ reference: String) -> WebURL? {
        if let absolute = WebURL(parsing: reference) { return absolute }
        guard !reference.contains("://"), reference.utf8.count <= 2048,
            reference.unicodeScalars.allSatisfy({ $0.value > 0x20 && $0.value != 0x7F })
        else { return nil }
        if reference.hasPrefix("//") { return WebURL(parsing: self.scheme + ":" + reference) }
        var url = self
        if reference.isEmpty { return url }
        let path = self.target.prefix { $0 != "?" }
        if reference.hasPrefix("?") {
            url.target = path + reference
        } else {
            let folder = path[...(path.lastIndex(of: "/") ?? path.startIndex)]
            url.target = Self.withoutDots(reference.hasPrefix("/") ? reference : folder + reference)
        }
        return url
    }

    /// http, https, ws or wss.
    public var scheme: String {
        switch (self.isWebSocket, self.isSecure) {
        case (false, false): "http"
        case (false, true): "https"
        case (true, false): "ws"
        case (true, true): "wss"
        }
    }

    /// Host and port as messages and logs name the server: `host:port`.
    public var address: String {
        "\(IPAddress.bracketed(self.host)):\(self.port)"
    }

    /// Host and port as a `Host` header has them (RFC 9110 section 7.2).
    public var hostAndPort: String {
        let host = IPAddress.bracketed(self.host)
        return self.port == Self.defaultPort(isSecure: self.isSecure) ? host : "\(host):\(self.port)"
    }

    /// The origin of a page of this server (RFC 6454 section 6.2).
    public var origin: String { (self.isSecure ? "https://" : "http://") + self.hostAndPort }

    /// The whole URL.
    public var description: String { "\(self.scheme)://\(self.hostAndPort)\(self.target)" }

    private static func defaultPort(isSecure: Bool) -> Int { isSecure ? 443 : 80 }

    /// Removes `.` and `..` from a path with a leading slash (RFC 3986 section 5.2.4).
    private static func withoutDots(_ target: some StringProtocol) -> String {
        let query = target.firstIndex(of: "?") ?? target.endIndex
        let segments = target[..<query].split(separator: "/", omittingEmptySubsequences: false).dropFirst()
        var kept: [Substring] = []
        for (index, segment) in segments.enumerated() {
            let isLast = index == segments.count - 1
            switch segment {
            case "..":
                _ = kept.popLast()
                if isLast { kept.append("") }
            case ".":
                if isLast { kept.append("") }
            default: kept.append(Substring(segment))
            }
        }
        return "/" + kept.joined(separator: "/") + target[query...]
    }
}
