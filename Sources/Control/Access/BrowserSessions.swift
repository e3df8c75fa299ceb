// SPDX-License-Identifier: Apache-2.0

import Basics

/// Browser sessions: a random cookie replaces a token, which pages, images and players then need not know.
struct BrowserSessions: Sendable {
    /// The cookie's name.
    static let cookieName = "tapedeck_session"
    /// How long a login lasts.
    static let lifetime: Duration = .seconds(12 * 3600)

    private struct Session: Sendable {
        var token: TokenHash
        var end: Duration
    }

    private var sessions: LeastRecentlyUsed<TokenHash, Session>

    /// No session; at most `capacity` at once, of which the one unused longest is ended for another.
    init(capacity: Int = 256) {
        self.sessions = LeastRecentlyUsed(capacity: capacity)
    }

    /// Begins a session; the cookie's value, 256 random bits.
    mutating func open(for token: BearerToken, now: Duration) -> String {
        var random = SystemRandomNumberGenerator()
        let value = (0..<4).map { _ in Hexadecimal.text(random.next() as UInt64) }.joined()
        self.sessions[TokenHash(of: value)] = Session(token: token.hash, end: now + Self.lifetime)
        return value
    }

    /// The token hash of a cookie.
    mutating func token(for cookie: String, now: Duration) -> TokenHash? {
        let key = TokenHash(of: cookie)
        guard let session = self.sessions[key] else { return nil }
        guard now < session.end else {
            self.sessions[key] = nil
            return nil
        }
        return session.token
    }

    /// Ends a session.
    mutating func close(_ cookie: String) {
        self.sessions[TokenHash(of: cookie)] = nil
    }
}
