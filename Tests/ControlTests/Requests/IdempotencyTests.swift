// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import HummingbirdTesting
import Testing

@testable import Control

@Suite struct IdempotencyCacheTests {
    private let key = IdempotencyCache.Key(client: "a", target: "POST /", key: "k")

    @Test func anAnswerIsKeptForADay() {
        var cache = IdempotencyCache()
        let reply = Reply(json: ["a": 1], status: .created)
        #expect(cache.requested(self.key, body: [1], now: .zero) == .perform)
        #expect(cache.requested(self.key, body: [1], now: .zero) == .busy)
        #expect(cache.requested(self.key, body: [2], now: .zero) == .mismatch)
        cache.finished(self.key, reply)
        #expect(cache.requested(self.key, body: [1], now: .seconds(86_399)) == .replay(reply))
        #expect(cache.requested(self.key, body: [2], now: .seconds(86_399)) == .mismatch)
        #expect(cache.requested(self.key, body: [2], now: .seconds(86_400)) == .perform)
    }

    @Test(arguments: [(200, true), (404, true), (409, true), (422, true), (500, false), (503, false)])
    func failuresOfOursAreNotKept(_ status: Int, _ isKept: Bool) {
        var cache = IdempotencyCache()
        #expect(cache.requested(self.key, body: [], now: .zero) == .perform)
        cache.finished(self.key, Reply(status: .init(code: status)))
        #expect((cache.requested(self.key, body: [], now: .zero) == .perform) == !isKept)
    }

    @Test func eachPartOfTheKeyCounts() {
        var cache = IdempotencyCache()
        #expect(cache.requested(self.key, body: [], now: .zero) == .perform)
        for other in [
            IdempotencyCache.Key(client: "b", target: "POST /", key: "k"),
            IdempotencyCache.Key(client: "a", target: "POST /b", key: "k"),
            IdempotencyCache.Key(client: "a", target: "POST /", key: "l"),
        ] {
            #expect(cache.requested(other, body: [], now: .zero) == .perform)
        }
    }

    @Test func itIsBounded() {
        var cache = IdempotencyCache(capacity: 10)
        for number in 0..<1000 {
            let key = IdempotencyCache.Key(client: "a", target: "POST /", key: "\(number)")
            #expect(cache.requested(key, body: [], now: .zero) == .perform)
        }
        #expect(cache.count <= 10)
        // The answer to a request that was forgotten in between has nowhere to go.
        cache.finished(.init(client: "a", target: "POST /", key: "0"), .noContent)
        #expect(cache.count <= 10)
    }
}

@Suite struct IdempotencyTests {
    @Test func aRepeatedRequestDoesNothingTwice() async throws {
        let fixture = try Fixture()
        try await fixture.test { client in
            let headers: HTTPFields = [.idempotencyKey: "one"]
            let path = "/v1/recordings/r1/exports"
            let first = try await client.send(.post, path, json: "{}", headers: headers)
            let second = try await client.send(.post, path, json: "{}", headers: headers)
            #expect(first.status == .accepted)
            #expect(second.status == .accepted)
            #expect(first.text == second.text)
            #expect(first.headers[.idempotencyReplayed] == nil)
            #expect(second.headers[.idempotencyReplayed] == "true")
            #expect(second.headers[.location] == "/v1/recordings/r1/exports")
            let other = try await client.send(.post, path, json: #"{"layout":"browser"}"#, headers: headers)
            #expect(other.status == .unprocessableContent)
            #expect(other.text.contains("urn:tapedeck:problem:idempotency-mismatch"))
            _ = try await client.send(.post, path, json: "{}", headers: [.idempotencyKey: "two"])
        }
        #expect(fixture.backend.exports.count == 2)
    }

    @Test func theSameRequestAtTheSameTimeIsRefused() async throws {
        let fixture = try Fixture()
        let (barrier, opener) = AsyncStream<Void>.makeStream()
        let path = "/v1/rooms/standup/record"
        fixture.backend.set { $0.barrier = barrier }
        try await fixture.test { client in
            let headers: HTTPFields = [.idempotencyKey: "one"]
            try await withThrowingTaskGroup(of: Int.self) { group in
                for _ in 0..<2 {
                    group.addTask { try await client.send(.post, path, headers: headers).status.code }
                }
                // The one that is refused answers while the other still waits.
                let refused = try await group.next()
                opener.finish()
                let performed = try await group.next()
                #expect(refused == 409)
                #expect(performed == 200)
            }
            #expect(try await client.send(.post, path, headers: headers).status == .ok)
        }
        #expect(fixture.backend.calls.filter { $0.hasPrefix("perform") }.count == 1)
    }

    @Test func clientsDoNotShareKeys() async throws {
        let other = BearerToken(name: "other", secret: "other-secret")
        let fixture = try Fixture(tokens: [Fixture.operatorToken, other])
        try await fixture.test { client in
            for token in ["control-secret", "other-secret"] {
                let response = try await client.send(
                    .post,
                    "/v1/reload",
                    token: token,
                    headers: [.idempotencyKey: "one"]
                )
                #expect(response.status == .ok)
                #expect(response.headers[.idempotencyReplayed] == nil)
            }
        }
        #expect(fixture.backend.calls == ["reload", "reload"])
    }

    @Test func aFailureOfOursMayBeTriedAgain() async throws {
        let fixture = try Fixture()
        fixture.backend.set { $0.failure = ControlError(.unavailable, "A worker is starting.") }
        try await fixture.test { client in
            let headers: HTTPFields = [.idempotencyKey: "one"]
            let first = try await client.send(.post, "/v1/reload", headers: headers)
            #expect(first.status == .serviceUnavailable)
            #expect(first.headers[.retryAfter] == "1")
            fixture.backend.set { $0.failure = nil }
            #expect(try await client.send(.post, "/v1/reload", headers: headers).status == .ok)
        }
    }

    @Test(arguments: ["", "a b", "é", String(repeating: "k", count: 256)])
    func keysAreChecked(_ key: String) async throws {
        try await Fixture().test { client in
            let response = try await client.send(.post, "/v1/reload", headers: [.idempotencyKey: key])
            #expect(response.status == .badRequest)
        }
    }
}
