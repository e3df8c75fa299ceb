// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import Synchronization

/// Who asks, how often, and what for: every decision to refuse a request before it is looked at.
///
/// All methods may be called from any thread.
final class Gatekeeper: Sendable {
    /// Somebody who may ask.
    struct Client: Sendable, Hashable {
        /// How the client showed who it is.
        enum Proof: Sendable, Hashable {
            /// The server asks for none.
            case none
            /// `Authorization`.
            case token
            /// The cookie of a login.
            case cookie
        }

        /// How it showed who it is.
        var proof: Proof
        /// What it may do.
        var scopes: Set<Scope>
        /// The token's name; empty without one.
        var name: String
    }

    /// What a request shows.
    struct Credentials: Sendable, Hashable {
        /// `Authorization`, as sent.
        var authorization: String?
        /// The login cookie's value.
        var cookie: String?
    }

    private struct RateKey: Hashable, Sendable {
        var address: String
        var client: String
    }

    private struct State: Sendable {
        var tokens: [APIToken]
        var sessions = BrowserSessions()
        var requests: TokenBuckets<RateKey>
        var failures: TokenBuckets<String>
    }

    private let state: Mutex<State>

    init(tokens: [APIToken], rate: ControlConfiguration.Rate) {
        self.state = Mutex(
            State(
                tokens: tokens,
                requests: TokenBuckets(rate: rate, capacity: 4096),
                // A person mistypes now and then; a program that guesses gets one guess in six seconds.
                failures: TokenBuckets(rate: .init(perSecond: 1.0 / 6, burst: 10), capacity: 4096)
            )
        )
    }

    /// Whether everybody who can connect may do everything.
    var isOpen: Bool { self.state.withLock { $0.tokens.isEmpty } }

    /// Puts other tokens in force; logins with tokens that are gone end with them.
    func replaceTokens(_ tokens: [APIToken]) {
        self.state.withLock { $0.tokens = tokens }
    }

    /// Who the client is; `nil` for somebody who shows nothing.
    ///
    /// Throws `unauthorized` for credentials that are wrong, and `rateLimited`.
    func admit(_ credentials: Credentials, address: String, now: Duration) throws(Problem) -> Client? {
        let outcome: Result<Client?, Problem> = self.state.withLock { state in
            if let seconds = state.failures.wait(address, now: now) {
                return .failure(Self.tooMany("Too many wrong tokens came from this address.", seconds))
            }
            let client: Client?
            switch Self.identify(credentials, &state, now: now) {
            case .failure(let problem):
                _ = state.failures.take(address, now: now)
                return .failure(problem)
            case .success(let found): client = found
            }
            let key = RateKey(address: address, client: client?.name ?? "")
            if let seconds = state.requests.take(key, now: now) {
                return .failure(Self.tooMany("Requests come faster than the limit.", seconds))
            }
            return .success(client)
        }
        return try outcome.get()
    }

    /// Begins a login; the client and the cookie's value. Throws `unauthorized`.
    func openSession(secret: String, address: String, now: Duration) throws(Problem) -> (Client, String) {
        let outcome: Result<(Client, String), Problem> = self.state.withLock { state in
            if let seconds = state.failures.wait(address, now: now) {
                return .failure(Self.tooMany("Too many wrong tokens came from this address.", seconds))
            }
            guard let token = state.tokens.matching(secret) else {
                _ = state.failures.take(address, now: now)
                return .failure(Self.unauthorized("The token is not known.", error: "invalid_token"))
            }
            let cookie = state.sessions.open(for: token, now: now)
            return .success((Client(proof: .cookie, scopes: token.scopes, name: token.name), cookie))
        }
        return try outcome.get()
    }

    /// Ends a login.
    func closeSession(_ cookie: String) {
        self.state.withLock { $0.sessions.close(cookie) }
    }

    /// Throws `unauthorized` or `forbidden` unless the client has a scope.
    static func require(_ scope: Scope, of client: Client?) throws(Problem) {
        guard let client else { throw self.unauthorized("A bearer token or a login is needed.", error: nil) }
        guard client.scopes.contains(scope) else {
            throw Problem(.forbidden, "The token has no \"\(scope.rawValue)\" scope.")
                .with(
                    .wwwAuthenticate,
                    #"Bearer realm="tapedeck", error="insufficient_scope", scope="\#(scope.rawValue)""#
                )
        }
    }

    private static func identify(
        _ credentials: Credentials,
        _ state: inout State,
        now: Duration
    ) -> Result<Client?, Problem> {
        guard !state.tokens.isEmpty else {
            return .success(Client(proof: .none, scopes: Set(Scope.allCases), name: ""))
        }
        if let authorization = credentials.authorization {
            let parts = authorization.split(separator: " ", omittingEmptySubsequences: true)
            guard parts.count == 2, parts.first?.lowercased() == "bearer", let secret = parts.last,
                let token = state.tokens.matching(String(secret))
            else { return .failure(self.unauthorized("The token is not known.", error: "invalid_token")) }
            return .success(Client(proof: .token, scopes: token.scopes, name: token.name))
        }
        // A cookie of a login that has ended is what every returning visitor sends: not an attempt to guess.
        guard let cookie = credentials.cookie, let hash = state.sessions.token(for: cookie, now: now),
            let token = state.tokens.matching(hash)
        else { return .success(nil) }
        return .success(Client(proof: .cookie, scopes: token.scopes, name: token.name))
    }

    private static func unauthorized(_ detail: String, error: String?) -> Problem {
        Problem(.unauthorized, detail)
            .with(.wwwAuthenticate, #"Bearer realm="tapedeck""# + (error.map { #", error="\#($0)""# } ?? ""))
    }

    private static func tooMany(_ detail: String, _ seconds: Int) -> Problem {
        Problem(.rateLimited, detail).with(.retryAfter, String(seconds))
    }
}
