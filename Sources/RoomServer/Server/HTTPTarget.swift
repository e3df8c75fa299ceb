// SPDX-License-Identifier: Apache-2.0

import Basics

/// A request target in origin form (RFC 9112 section 3.2.1): path and query.
struct HTTPTarget: Hashable, Sendable {
    /// The path as sent, not decoded.
    let path: String
    private let query: Substring

    /// Splits a target at its first question mark.
    init(_ text: String) {
        let parts = text.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
        self.path = String(parts.first ?? "")
        self.query = parts.count > 1 ? parts[1] : ""
    }

    /// The decoded value of the first query item with this name; nil if there is none.
    func value(of name: String) -> String? {
        for item in self.query.split(separator: "&") {
            let parts = item.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            guard let key = parts.first, Self.decode(key) == name else { continue }
            return parts.count > 1 ? Self.decode(parts[1]) : ""
        }
        return nil
    }

    /// Percent-decoding of RFC 3986 section 2.1, and `+` for a space.
    ///
    /// Text that is no encoding stays unchanged.
    private static func decode(_ text: Substring) -> String {
        let bytes = PercentCoding.bytes(of: text.utf8, taking: [.plusIsSpace, .brokenSequences])
        return String(decoding: bytes ?? [], as: UTF8.self)
    }
}
