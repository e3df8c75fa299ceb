// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import HummingbirdTesting
import Testing

@testable import Control

@Suite struct OriginTests {
    @Test(arguments: [
        ("localhost", true), ("localhost:8330", true), ("LOCALHOST:1", true), ("127.0.0.1:8330", true),
        ("[::1]:8330", true), ("[::1]", true), ("panel.example.org", true), ("panel.example.org:443", true),
        ("evil.example.com", false), ("localhost.evil.com", false), ("", false), (":8330", false), ("[::1", false),
        ("localhost:abc", false), ("localhost:1:2", false), ("[::1]evil", false), ("127.0.0.1.evil.com", false),
        ("localhost:123456", false),
    ])
    func hosts(_ host: String, _ isKnown: Bool) {
        var configuration = ControlConfiguration()
        configuration.hostNames = ["Panel.example.org"]
        #expect(OriginPolicy(configuration).isKnown(host: host) == isKnown)
    }

    @Test func aMissingHostIsRefused() {
        #expect(!OriginPolicy(ControlConfiguration()).isKnown(host: nil))
    }

    @Test(arguments: [
        (nil, nil, false, true), (nil, nil, true, false), ("http://localhost:1", nil, true, true),
        ("HTTP://LocalHost:1", nil, true, true), ("https://localhost:1", nil, true, false),
        ("http://localhost:2", nil, false, false), ("http://evil.com", nil, false, false), ("null", nil, false, false),
        ("https://panel.example.org", nil, true, true), (nil, "same-origin", true, true), (nil, "none", true, true),
        (nil, "cross-site", false, false), (nil, "same-site", true, false),
        ("https://localhost:1", "same-origin", true, true), ("https://proxy.example.org", "same-origin", true, true),
        ("https://localhost:1", "same-site", true, false), ("https://localhost:1", "none", true, false),
        ("http://evil.com", "cross-site", true, false),
    ])
    func origins(_ origin: String?, _ site: String?, _ needsOrigin: Bool, _ mayChange: Bool) {
        var configuration = ControlConfiguration()
        configuration.allowedOrigins = ["https://panel.example.org"]
        let policy = OriginPolicy(configuration)
        let result = policy.mayChange(
            origin: origin,
            host: "localhost:1",
            fetchSite: site,
            needsOrigin: needsOrigin
        )
        #expect(result == mayChange)
    }

    @Test func aPageElsewhereCannotChangeAnything() async throws {
        let fixture = try Fixture()
        try await fixture.test { client in
            let evil: HTTPFields = [.origin: "https://evil.example.com"]
            #expect(try await client.send(.post, "/v1/rooms/standup/stop", headers: evil).status == .forbidden)
            #expect(try await client.send(.delete, "/v1/rooms/standup", headers: evil).status == .forbidden)
            let own: HTTPFields = [.origin: "http://localhost"]
            let response = try await client.send(.post, "/v1/rooms/standup/stop", headers: own)
            #expect(response.status == .ok)
        }
        #expect(fixture.backend.calls.count == 2)
    }

    @Test func aCookieNeedsAnOriginToChangeAnything() async throws {
        let fixture = try Fixture(tokens: [Fixture.operatorToken])
        try await fixture.test { client in
            let login = try await client.send(.post, "/v1/session", json: #"{"token":"control-secret"}"#)
            let cookie = String(try #require(login.headers[.setCookie]).prefix { $0 != ";" })
            let path = "/v1/rooms/standup/record"
            #expect(try await client.send(.post, path, headers: [.cookie: cookie]).status == .forbidden)
            let own: HTTPFields = [.cookie: cookie, .origin: "http://localhost"]
            #expect(try await client.send(.post, path, headers: own).status == .ok)
            // A token in the request is something that a page elsewhere does not have.
            let evil: HTTPFields = [.origin: "https://evil.example.com"]
            #expect(try await client.send(.post, path, token: "control-secret", headers: evil).status == .ok)
        }
    }

    @Test func corsIsOffUnlessAllowed() async throws {
        let preflight: HTTPFields = [
            .origin: "https://panel.example.org", .accessControlRequestMethod: "POST",
        ]
        try await Fixture().test { client in
            let response = try await client.send(.options, "/v1/rooms", headers: preflight)
            #expect(response.status == .methodNotAllowed)
            #expect(response.headers[.accessControlAllowOrigin] == nil)
            let plain = try await client.send(.get, "/v1/rooms", headers: preflight)
            #expect(plain.headers[.accessControlAllowOrigin] == nil)
            #expect(plain.headers[.crossOriginResourcePolicy] == "same-origin")
        }
        try await Fixture { $0.allowedOrigins = ["https://panel.example.org"] }.test { client in
            let response = try await client.send(.options, "/v1/rooms", headers: preflight)
            #expect(response.status == .noContent)
            #expect(response.headers[.accessControlAllowOrigin] == "https://panel.example.org")
            #expect(response.headers[.vary] == "Origin")
            let plain = try await client.send(.get, "/v1/rooms", headers: preflight)
            #expect(plain.headers[.accessControlAllowOrigin] == "https://panel.example.org")
        }
    }
}
