// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import HummingbirdTesting
import Model
import Testing

@testable import Control

@Suite struct AccessTests {
    private static let all = [Fixture.reader, Fixture.operatorToken, Fixture.viewer]

    @Test(arguments: [
        (nil, 401), ("read-secret", 200), ("control-secret", 200), ("media-secret", 403), ("wrong", 401), ("", 401),
        ("read-secret extra", 401),
    ])
    func readingNeedsTheScope(_ token: String?, _ status: Int) async throws {
        try await Fixture(tokens: Self.all).test { client in
            for path in ["/v1/rooms", "/metrics", "/v1/overview", "/v1/cluster", "/v1/events?types=none.*"] {
                let response = try await client.send(.get, path, token: token)
                // The last path is let in and then found wrong.
                #expect(response.status.code == (status == 200 && path.contains("none") ? 400 : status))
                #expect((response.headers[.wwwAuthenticate] != nil) == [401, 403].contains(response.status.code))
            }
        }
    }

    @Test(arguments: [("read-secret", 403), ("control-secret", 200), ("media-secret", 403)])
    func changingNeedsTheScope(_ token: String, _ status: Int) async throws {
        let fixture = try Fixture(tokens: Self.all)
        try await fixture.test { client in
            let drained = try await client.send(.post, "/v1/cluster/drain", token: token)
            #expect(drained.status.code == status)
            let response = try await client.send(.post, "/v1/rooms/standup/record", token: token)
            #expect(response.status.code == status)
        }
        #expect(fixture.backend.calls.isEmpty == (status == 403))
    }

    @Test(arguments: [("read-secret", 403), ("control-secret", 403), ("media-secret", 200)])
    func picturesNeedTheScope(_ token: String, _ status: Int) async throws {
        try await Fixture(tokens: Self.all).test { client in
            let picture = "/v1/rooms/standup/participants/alice/thumbnail.jpg"
            #expect(try await client.send(.get, picture, token: token).status.code == status)
            let file = try await client.send(.get, "/v1/recordings/r1/files/x.mkv", token: token)
            #expect(file.status.code == (status == 200 ? 404 : 403))
        }
    }

    @Test(arguments: ["/healthz", "/readyz", "/", "/v1/session", "/v1/openapi.yaml"])
    func someThingsAreForEverybody(_ path: String) async throws {
        try await Fixture(tokens: Self.all).test { client in
            let response = try await client.send(.get, path)
            #expect(response.status == .ok)
        }
    }

    @Test(arguments: ["Basic cmVhZC1zZWNyZXQ=", "Bearer", "read-secret", "Bearer  ", "Bearer\tread-secret"])
    func otherCredentialsAreRefused(_ authorization: String) async throws {
        try await Fixture(tokens: Self.all).test { client in
            let response = try await client.send(.get, "/v1/rooms", headers: [.authorization: authorization])
            #expect(response.status == .unauthorized)
            #expect(response.headers[.contentType] == "application/problem+json")
        }
    }

    @Test func theSchemeIsCaseInsensitive() async throws {
        try await Fixture(tokens: Self.all).test { client in
            let response = try await client.send(.get, "/v1/rooms", headers: [.authorization: "bearer read-secret"])
            #expect(response.status == .ok)
        }
    }

    @Test func whoGuessesIsSlowedDownAndOthersAreNot() async throws {
        let fixture = try Fixture(tokens: Self.all)
        try await fixture.test { client in
            #expect(try await client.send(.get, "/v1/rooms", token: "read-secret").status == .ok)
            for _ in 0..<10 {
                #expect(try await client.send(.get, "/v1/rooms", token: "guess").status == .unauthorized)
            }
            let refused = try await client.send(.get, "/v1/rooms", token: "guess")
            #expect(refused.status == .tooManyRequests)
            #expect(refused.headers[.retryAfter] == "6")
            // A right guess looks the same; a token that was used from here before still works.
            #expect(try await client.send(.get, "/v1/rooms", token: "control-secret").status == .tooManyRequests)
            #expect(try await client.send(.get, "/v1/rooms", token: "read-secret").status == .ok)
            #expect(try await client.send(.get, "/healthz").status == .ok)
            let login = try await client.send(.post, "/v1/session", json: #"{"token":"control-secret"}"#)
            #expect(login.status == .tooManyRequests)
            fixture.clock.advance(by: .seconds(6))
            #expect(try await client.send(.get, "/v1/rooms", token: "control-secret").status == .ok)
        }
    }

    @Test func requestsAreLimitedByToken() async throws {
        let fixture = try Fixture(tokens: Self.all) { $0.rate = .init(perSecond: 1, burst: 2) }
        try await fixture.test { client in
            for _ in 0..<2 { #expect(try await client.send(.get, "/v1/rooms", token: "read-secret").status == .ok) }
            let refused = try await client.send(.get, "/v1/rooms", token: "read-secret")
            #expect(refused.status == .tooManyRequests)
            #expect(refused.headers[.retryAfter] == "1")
            #expect(refused.text.contains("urn:tapedeck:problem:rate-limited"))
            #expect(try await client.send(.get, "/v1/rooms", token: "control-secret").status == .ok)
            fixture.clock.advance(by: .seconds(1))
            #expect(try await client.send(.get, "/v1/rooms", token: "read-secret").status == .ok)
        }
    }

    @Test func aPublicAddressNeedsAToken() throws {
        for host in ["0.0.0.0", "::", "192.0.2.1", "example.org", "127.0.0.1.example.org", "127.1"] {
            let error = #expect(throws: ControlServerError.self) { try Fixture { $0.host = host } }
            #expect(error?.code == .tokenRequired)
            _ = try Fixture(tokens: [Fixture.reader]) { $0.host = host }
        }
        for host in ["127.0.0.1", "127.1.2.3", "::1", "localhost"] { _ = try Fixture { $0.host = host } }
    }

    @Test func tokensCanBeReplaced() async throws {
        let fixture = try Fixture(tokens: [Fixture.reader])
        try await fixture.test { client in
            let cookie = try await Self.logIn(client, "read-secret")
            try fixture.server.replaceTokens([Fixture.viewer])
            #expect(try await client.send(.get, "/v1/rooms", token: "read-secret").status == .unauthorized)
            #expect(try await client.send(.get, "/v1/rooms", headers: [.cookie: cookie]).status == .unauthorized)
        }
        let open = try Fixture(tokens: [Fixture.reader]) { $0.host = "0.0.0.0" }
        #expect(throws: ControlServerError.self) { try open.server.replaceTokens([]) }
    }

    @Test func secretsAreNotKept() {
        #expect(!String(reflecting: Fixture.reader).contains("read-secret"))
        var dumped = ""
        dump(Fixture.reader, to: &dumped)
        #expect(!dumped.contains("read-secret"))
    }

    // Login of browsers

    private static func logIn(_ client: any TestClientProtocol, _ token: String) async throws -> String {
        let response = try await client.send(.post, "/v1/session", json: #"{"token":"\#(token)"}"#)
        #expect(response.status == .ok)
        let cookie = try #require(response.headers[.setCookie])
        #expect(cookie.contains("HttpOnly") && cookie.contains("SameSite=Strict") && cookie.contains("Path=/"))
        return String(cookie.prefix { $0 != ";" })
    }

    @Test func aCookieStandsForItsToken() async throws {
        let fixture = try Fixture(tokens: Self.all)
        try await fixture.test { client in
            let cookie = try await Self.logIn(client, "control-secret")
            #expect(!cookie.contains("control-secret"))
            #expect(try await client.send(.get, "/v1/rooms", headers: [.cookie: cookie]).status == .ok)
            let state = try await client.send(.get, "/v1/session", headers: [.cookie: cookie])
            #expect(state.text == #"{"authenticated":true,"required":true,"scopes":["control","read"]}"#)
            let picture = "/v1/rooms/standup/participants/alice/thumbnail.jpg"
            #expect(try await client.send(.get, picture, headers: [.cookie: cookie]).status == .forbidden)
            #expect(try await client.send(.get, "/v1/rooms").status == .unauthorized)
        }
    }

    @Test func aLoginEnds() async throws {
        let fixture = try Fixture(tokens: Self.all)
        try await fixture.test { client in
            let first = try await Self.logIn(client, "read-secret")
            let second = try await Self.logIn(client, "read-secret")
            let origin: HTTPFields = [.cookie: first, .origin: "http://localhost"]
            #expect(try await client.send(.delete, "/v1/session", headers: origin).status == .noContent)
            #expect(try await client.send(.get, "/v1/rooms", headers: [.cookie: first]).status == .unauthorized)
            #expect(try await client.send(.get, "/v1/rooms", headers: [.cookie: second]).status == .ok)
            fixture.clock.advance(by: BrowserSessions.lifetime)
            #expect(try await client.send(.get, "/v1/rooms", headers: [.cookie: second]).status == .unauthorized)
        }
    }

    @Test func aWrongTokenOpensNothing() async throws {
        try await Fixture(tokens: Self.all).test { client in
            let response = try await client.send(.post, "/v1/session", json: #"{"token":"wrong"}"#)
            #expect(response.status == .unauthorized)
            #expect(response.headers[.setCookie] == nil)
        }
    }

    @Test func sessionsAreBounded() {
        var sessions = BrowserSessions(capacity: 4)
        let first = sessions.open(for: Fixture.reader, now: .zero)
        let cookies = (0..<4).map { _ in sessions.open(for: Fixture.reader, now: .zero) }
        #expect(sessions.token(for: first, now: .zero) == nil)
        #expect(cookies.allSatisfy { sessions.token(for: $0, now: .zero) == Fixture.reader.hash })
        #expect(Set(cookies).count == 4)
    }
}
