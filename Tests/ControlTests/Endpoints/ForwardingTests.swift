// SPDX-License-Identifier: Apache-2.0

import Foundation
import HTTPTypes
import HummingbirdTesting
import NIOCore
import Synchronization
import Testing

@testable import Control

/// Another host: it has one file, whatever the target, and answers everything else with what it was asked.
private final class Peer: ControlPeer {
    let content: [UInt8]
    /// What it was asked.
    let requests = Mutex<[ForwardedRequest]>([])
    /// The tag of the file; another one after so many pieces.
    let changes: Int
    private let failure: ControlError?

    init(bytes: Int = 0, changesAfter changes: Int = .max, failure: ControlError? = nil) {
        self.content = (0..<bytes).map { UInt8(truncatingIfNeeded: $0 &* 31 ^ $0 >> 8) }
        (self.changes, self.failure) = (changes, failure)
    }

    func send(_ request: ForwardedRequest) async throws(ControlError) -> ForwardedAnswer {
        if let failure = self.failure { throw failure }
        let pieces = self.requests.withLock { requests in
            requests.append(request)
            return requests.count { $0.method == "GET" }
        }
        guard request.target.contains("/files/a") else {
            let headers = ["content-type": "application/json", "set-cookie": "a=b", "cache-control": "no-cache"]
            let body = "{\"target\":\"\(request.target)\"}"
            return ForwardedAnswer(status: 200, headers: headers, body: Array(body.utf8))
        }
        let tag = pieces > self.changes ? "\"2\"" : "\"1\""
        if let wanted = request.headers["If-Match"], wanted != tag {
            return ForwardedAnswer(status: 412, headers: [:], body: [])
        }
        guard request.headers["If-None-Match"] != tag else {
            return ForwardedAnswer(status: 304, headers: ["etag": tag], body: [])
        }
        var headers = ["etag": tag, "content-type": "video/x-matroska", "accept-ranges": "bytes"]
        var range = 0..<self.content.count
        if let text = request.headers["Range"] {
            let ends = text.dropFirst("bytes=".count).split(separator: "-").compactMap { Int($0) }
            guard ends.count == 2, ends[0] < self.content.count else {
                let problem = ["content-type": "application/problem+json", "content-range": "bytes */9"]
                return ForwardedAnswer(status: 416, headers: problem, body: request.method == "GET" ? [123, 125] : [])
            }
            range = ends[0]..<min(ends[1] + 1, self.content.count)
            headers["content-range"] = "bytes \(range.lowerBound)-\(range.upperBound - 1)/\(self.content.count)"
        }
        headers["content-length"] = "\(range.count)"
        let body = request.method == "HEAD" ? [] : Array(self.content[range])
        return ForwardedAnswer(status: request.headers["Range"] == nil ? 200 : 206, headers: headers, body: body)
    }
}

@Suite struct ForwardingTests {
    private static let file = "/v1/recordings/r9/files/a.mkv"
    private static let ofHosts = BearerToken(name: "cluster", secret: "hosts-secret", isOfHosts: true)

    private func test(
        _ peer: Peer,
        tokens: [BearerToken] = [],
        _ body: @Sendable (any TestClientProtocol, FakeBackend) async throws -> Void
    ) async throws {
        let fixture = try Fixture(tokens: tokens)
        fixture.backend.set { $0.peer = peer }
        try await fixture.test { try await body($0, fixture.backend) }
    }

    @Test func aRequestIsForwardedAsItIsWithoutCredentials() async throws {
        let peer = Peer()
        try await self.test(peer, tokens: [Fixture.operatorToken]) { client, backend in
            let headers: HTTPFields = [
                .idempotencyKey: "once", .cookie: "tapedeck_session=x", .init("X-Other")!: "y",
            ]
            let response = try await client.send(
                .post,
                "/v1/rooms/away/mark",
                json: #"{"text":"the decision"}"#,
                token: "control-secret",
                headers: headers
            )
            #expect(response.status == .ok && response.text == #"{"target":"/v1/rooms/away/mark"}"#)
            #expect(response.headers[.contentType] == "application/json")
            #expect(response.headers[.setCookie] == nil)
            #expect(backend.calls.isEmpty)
            let thumbnail = "/v1/recordings/r9/thumbnail.jpg?at=5"
            #expect(try await client.send(.get, thumbnail, token: "control-secret").status == .forbidden)
            #expect(try await client.send(.get, "/v1/rooms/away", token: "control-secret").status == .ok)
        }
        let wanted = [
            ForwardedRequest(
                method: "POST",
                target: "/v1/rooms/away/mark",
                headers: ["Content-Type": "application/json", "Idempotency-Key": "once"],
                body: Array(#"{"text":"the decision"}"#.utf8)
            ), ForwardedRequest(method: "GET", target: "/v1/rooms/away", headers: [:], body: nil),
        ]
        #expect(peer.requests.withLock { $0 } == wanted)
    }

    @Test func aQueryIsForwardedAndARepeatedRequestIsNot() async throws {
        let peer = Peer()
        try await self.test(peer) { client, _ in
            let image = "/v1/recordings/r9/thumbnail.jpg?at=5"
            let response = try await client.send(.get, image)
            #expect(response.text == #"{"target":"\#(image)"}"#)
            for _ in 0..<2 {
                let headers: HTTPFields = [.idempotencyKey: "once"]
                #expect(try await client.send(.post, "/v1/rooms/away/stop", headers: headers).status == .ok)
            }
        }
        #expect(peer.requests.withLock { $0.map(\.method) } == ["GET", "POST"])
    }

    @Test func withoutTheScopeNothingIsForwarded() async throws {
        let peer = Peer(bytes: 9)
        try await self.test(peer, tokens: [Fixture.reader]) { client, _ in
            let order = try await client.send(.post, "/v1/rooms/away/record", token: "read-secret")
            #expect(order.status == .forbidden)
            #expect(try await client.send(.get, Self.file, token: "read-secret").status == .forbidden)
            #expect(try await client.send(.get, "/v1/rooms/away").status == .unauthorized)
        }
        #expect(peer.requests.withLock { $0.isEmpty })
    }

    /// One hop: the host that is asked by another answers for itself.
    @Test func whatAnotherHostAsksIsNotForwarded() async throws {
        let peer = Peer(bytes: 9)
        let local: HTTPFields = [.tapedeckLocal: "true"]
        try await self.test(peer, tokens: [Fixture.operatorToken, Self.ofHosts]) { client, backend in
            for (token, headers) in [("control-secret", local), ("hosts-secret", [:])] {
                let room = try await client.send(.get, "/v1/rooms/away", token: token, headers: headers)
                #expect(room.status == .notFound)
                #expect(try await client.send(.get, "/v1/rooms", token: token, headers: headers).status == .ok)
                let recordings = try await client.send(.get, "/v1/recordings", token: token, headers: headers)
                #expect(recordings.status == .ok)
            }
            #expect(try await client.send(.get, Self.file, token: "hosts-secret").status == .notFound)
            let calls = ["room away", "rooms of this host", "recordings 50 - - - of this host"]
            #expect(backend.calls == calls + calls + ["recording r9"])
        }
        #expect(peer.requests.withLock { $0.isEmpty })
    }

    @Test func theTokenOfTheHostsIsForRoomsAndRecordings() async throws {
        try await self.test(Peer(), tokens: [Fixture.operatorToken, Self.ofHosts]) { client, backend in
            for path in ["/v1/overview", "/metrics", "/v1/cluster", "/v1/webhooks", "/v1/events"] {
                #expect(try await client.send(.get, path, token: "hosts-secret").status == .forbidden)
            }
            for path in ["/v1/reload", "/v1/cluster/drain", "/v1/rooms"] {
                let json = path == "/v1/rooms" ? #"{"name":"x","definition":{}}"# : nil
                #expect(try await client.send(.post, path, json: json, token: "hosts-secret").status == .forbidden)
            }
            let login = try await client.send(.post, "/v1/session", json: #"{"token":"hosts-secret"}"#)
            #expect(login.status == .unauthorized)
            #expect(backend.calls.isEmpty)
            #expect(try await client.send(.post, "/v1/rooms/standup/record", token: "hosts-secret").status == .ok)
        }
    }

    /// An operator who gave both tokens one value is an operator.
    @Test func theFirstOfEqualTokensCounts() async throws {
        let same = BearerToken(name: "token", secret: "hosts-secret")
        try await self.test(Peer(), tokens: [same, Self.ofHosts]) { client, _ in
            let overview = try await client.send(.get, "/v1/overview", token: "hosts-secret")
            #expect(overview.status == .ok)
            #expect(try await client.send(.get, "/v1/rooms/away", token: "hosts-secret").status == .ok)
        }
    }

    @Test func listsAreOfTheClusterUnlessAskedOtherwise() async throws {
        try await self.test(Peer()) { client, backend in
            for path in ["/v1/rooms", "/v1/rooms?local=true", "/v1/recordings?local=1&limit=1"] {
                #expect(try await client.send(.get, path).status == .ok)
            }
            #expect(try await client.send(.get, "/v1/rooms?lokal=true").status == .badRequest)
            #expect(backend.calls == ["rooms of this host", "recordings 1 - - - of this host"])
            backend.set { $0.recordings += $0.recordings }
            let page = try await client.send(.get, "/v1/recordings?local=true&limit=1")
            #expect(page.headers[.link] == "</v1/recordings?limit=1&cursor=c%261&local=true>; rel=\"next\"")
        }
    }

    @Test func aHostThatDoesNotAnswerIsUnavailable() async throws {
        let peer = Peer(failure: ControlError(.unavailable, "the host b does not answer"))
        try await self.test(peer) { client, _ in
            for path in ["/v1/rooms/away", Self.file] {
                let response = try await client.send(.get, path)
                #expect(response.status == .serviceUnavailable)
                #expect(response.text.contains("the host b does not answer"))
            }
        }
    }

    // MARK: Files

    @Test(arguments: [0, 1, 4 << 20, (9 << 20) + 1])
    func aFileComesInPieces(_ bytes: Int) async throws {
        let peer = Peer(bytes: bytes)
        try await self.test(peer) { client, _ in
            let response = try await client.send(.get, Self.file)
            #expect(response.status == .ok && Array(response.body.readableBytesView) == peer.content)
            #expect(response.headers[.contentLength] == "\(bytes)" && response.headers[.eTag] == "\"1\"")
            #expect(response.headers[.contentType] == "video/x-matroska")
            let head = try await client.send(.head, Self.file)
            #expect(head.status == .ok && head.headers[.contentLength] == "\(bytes)")
        }
        let pieces = peer.requests.withLock { $0.filter { $0.method == "GET" } }
        #expect(pieces.count == (bytes + (4 << 20) - 1) / (4 << 20))
        #expect(pieces.allSatisfy { $0.headers["If-Match"] == "\"1\"" })
    }

    @Test func aPartOfAFile() async throws {
        let peer = Peer(bytes: 9 << 20)
        try await self.test(peer) { client, _ in
            let part = try await client.send(.get, Self.file, headers: [.range: "bytes=5-8388612"])
            #expect(part.status == .partialContent)
            #expect(part.headers[.contentRange] == "bytes 5-8388612/9437184")
            #expect(Array(part.body.readableBytesView) == Array(peer.content[5...8_388_612]))
            let head = try await client.send(.head, Self.file, headers: [.range: "bytes=5-8"])
            #expect(head.status == .partialContent && head.headers[.contentLength] == "4")
            let beyond = try await client.send(.get, Self.file, headers: [.range: "bytes=9999999999-"])
            #expect(beyond.status == .rangeNotSatisfiable && beyond.text == "{}")
            let known = try await client.send(.get, Self.file, headers: [.ifNoneMatch: "\"1\""])
            #expect(known.status == .notModified && known.headers[.eTag] == "\"1\"")
        }
    }

    @Test func aFileThatChangesIsBrokenOff() async throws {
        let peer = Peer(bytes: 9 << 20, changesAfter: 1)
        try await self.test(peer) { client, _ in
            let response = try? await client.send(.get, Self.file)
            #expect(response?.body.readableBytes ?? 0 < 9 << 20)
        }
        #expect(peer.requests.withLock { $0.count } == 3)
    }
}
