// SPDX-License-Identifier: Apache-2.0

/// Keeps secrets out of logs.
public enum Redaction {
    /// Query keys of room URLs whose values are no secrets.
    private static let openKeys: Set<String> = [
        "dialect", "eio", "ids", "insecure", "listen", "path", "peer", "room", "room_server", "transport",
    ]

    /// A URL without user info and fragment, and with the values of unknown query keys replaced by `***`.
    ///
    /// Takes any text, also one that is no URL; what is left is at most 512 characters.
    public static func url(_ text: String) -> String {
        let withoutFragment = text.prefix { $0 != "#" }
        let beforeQuery = withoutFragment.prefix { $0 != "?" }
        let query = withoutFragment.dropFirst(beforeQuery.count).dropFirst()
        var redacted = Self.withoutUserInfo(beforeQuery)
        if !query.isEmpty {
            let pairs = query.split(separator: "&").map { pair -> String in
                let key = pair.prefix { $0 != "=" }
                guard pair.count > key.count else { return Self.openKeys.contains(String(key)) ? String(pair) : "***" }
                guard Self.openKeys.contains(key.lowercased()) else { return "\(key)=***" }
                // A URL in a URL may carry a secret as well.
                let value = pair.dropFirst(key.count + 1)
                return "\(key)=\(value.contains("@") || value.contains("?") ? "***" : value)"
            }
            redacted += "?" + pairs.joined(separator: "&")
        }
        return String(redacted.prefix(512))
    }

    /// Everything up to the last `@` of the authority is user info (RFC 3986, 3.2.1).
    private static func withoutUserInfo(_ text: Substring) -> String {
        guard let colon = text.firstIndex(of: ":"), text[colon...].hasPrefix("://") else {
            // Without a scheme the end of an authority is unknown.
            return text.contains("@") ? "***" : String(text)
        }
        let start = text.index(colon, offsetBy: 3)
        let authority = text[start...].prefix { $0 != "/" }
        guard let at = authority.lastIndex(of: "@") else { return String(text) }
        return "\(text[..<start])\(text[text.index(after: at)...])"
    }
}
