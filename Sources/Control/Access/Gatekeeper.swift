// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import Model
import Synchronization

/// Identifies clients and limits their rates and scopes: every decision to refuse a request before its content is read.
///
/// All methods may be called from any thread.
final class Gatekeeper: Sendable {
    /// A client that may send requests.
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
        /// Its scopes.
        var scopes: Set<Scope>
        /// The token's name; empty without one.
        var name: String
        /// Whether it is another host of the cluster.
        var isHost = false
    }

    /// The credentials of a request.
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
        var tokens: [BearerToken]
        var sessions = BrowserSessions()
        var requests: TokenBuckets<RateKey>
        var failures: TokenBuckets<String>
        /// Tokens that were right, by the address that sent them.
        var known = LeastRecentlyUsed<RateKey, Bool>(capacity: 4096)
    }

    private let state: Mutex<State>

    init(tokens: [BearerToken], rate: ControlConfiguration.Rate, wrongTokens: ControlConfiguration.Rate) {
        self.state = Mutex(
            State(
                tokens: tokens,
                requests: TokenBuckets(rate: rate, capacity: 4096),
                failures: TokenBuckets(rate: wrongTokens, capacity: 4096)
            )
        )
    }

    /// Whether any client that can connect may do everything.
    var isOpen: Bool { self.state.withLock { $0.tokens.isEmpty } }

    /// Puts other tokens in force; logins with tokens that are gone end with them.
    func replaceTokens(_ tokens: [BearerToken]) {
        self.state.withLock { state in
            state.tokens = tokens
            state.known.removeAll { _ in true }
        }
    }

    /// The client; `nil` without credentials.
    ///
    /// Throws `unauthorized` for credentials that are wrong, and `rateLimited`.
    func admit(_ credentials: Credentials, address: String, now: Duration) throws(Problem) -> Client? {
        let outcome: Result<Client?, Problem> = self.state.withLock { state in
            let client: Client?
            switch Self.identify(credentials, &state, now: now) {
            case .failure(let problem): return .failure(Self.wrong(problem, address, &state, now))
            case .success(let found): client = found
            }
            let key = RateKey(address: address, client: client?.name ?? "")
            if client?.proof == .token, state.known[key] == nil {
                // While an address guesses, a right guess must not look different; clients that were known before
                // continue.
                if let seconds = state.failures.wait(address, now: now) { return .failure(Self.tooManyWrong(seconds)) }
                state.known[key] = true
            }
            if let seconds = state.requests.take(key, now: now) {
                return .failure(Self.tooMany("Requests come faster than the limit.", seconds))
            }
            return .success(client)
        }
        return try outcome.get()
    }

    /// Begins a login: the client and the value of its cookie.
    ///
    /// Throws `unauthorized` and `rateLimited`.
    func openSession(secret: String, address: String, now: Duration) throws(Problem) -> (Client, String) {
        let outcome: Result<(Client, String), Problem> = self.state.withLock { state in
            guard let token = state.tokens.matching(secret), !token.isOfHosts else {
                let problem = Self.unauthorized("The token is not known.", error: "invalid_token")
                return .failure(Self.wrong(problem, address, &state, now))
            }
            if let seconds = state.failures.wait(address, now: now) { return .failure(Self.tooManyWrong(seconds)) }
            let cookie = state.sessions.open(for: token, now: now)
            return .success((Client(proof: .cookie, scopes: token.scopes, name: token.name), cookie))
        }
        return try outcome.get()
    }

    /// Ends a login.
    func closeSession(_ cookie: String) {
        self.state.withLock { $0.sessions.close(cookie) }
    }

    /// Throws `unauthorized` or `forbidden` unless the client may use an endpoint.
    static func require(_ endpoint: Endpoint, of client: Client?) throws(Problem) {
        guard let scope = endpoint.scope else { return }
        guard let client else { throw self.unauthorized("A bearer token or a login is needed.", error: nil) }
        guard client.scopes.contains(scope) else {
            throw Problem(.forbidden, "The token has no \"\(scope.rawValue)\" scope.")
                .with(
                    .wwwAuthenticate,
                    #"Bearer realm="tapedeck", error="insufficient_scope", scope="\#(scope.rawValue)""#
                )
        }
        guard !client.isHost || endpoint.isForHosts else {
            throw Problem(.forbidden, "The token is that of the cluster's hosts: it is for rooms and recordings alone.")
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
            return .success(
                Client(proof: .token, scopes: token.scopes, name: token.name, isHost: token.isOfHosts)
            )
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

    /// The answer to a wrong token: it says less and less often that the token is wrong.
    private static func wrong(_ problem: Problem, _ address: String, _ state: inout State, _ now: Duration) -> Problem {
        state.failures.take(address, now: now).map(self.tooManyWrong) ?? problem
    }

    private static func tooManyWrong(_ seconds: Int) -> Problem {
        self.tooMany("Too many wrong tokens came from this address.", seconds)
    }

    private static func tooMany(_ detail: String, _ seconds: Int) -> Problem {
        Problem(.rateLimited, detail).with(.retryAfter, String(seconds))
    }
}
