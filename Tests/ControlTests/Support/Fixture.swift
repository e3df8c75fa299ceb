// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import Hummingbird
import HummingbirdTesting
import Logging
import Model
import NIOCore
import Observability
import Synchronization

@testable import Control

/// A server with its parts, and time that a test moves.
struct Fixture: Sendable {
    let backend = FakeBackend()
    let events = EventHub(capacity: 8, life: "life")
    let clock = Clock()
    let answered = Answered()
    let server: ControlServer

    /// Time since an origin.
    final class Clock: Sendable {
        private let time = Mutex(Duration.zero)

        var now: Duration { self.time.withLock { $0 } }

        func advance(by duration: Duration) { self.time.withLock { $0 += duration } }
    }

    /// The groups of the requests so far.
    final class Answered: Sendable {
        private let noted = Mutex<[RouteGroup]>([])

        var groups: [RouteGroup] { self.noted.withLock { $0 } }

        func note(_ group: RouteGroup) { self.noted.withLock { $0.append(group) } }
    }

    static let reader = BearerToken(name: "reader", secret: "read-secret", scopes: [.read])
    static let operatorToken = BearerToken(name: "operator", secret: "control-secret", scopes: [.read, .control])
    static let viewer = BearerToken(name: "viewer", secret: "media-secret", scopes: [.media])

    init(
        tokens: [BearerToken] = [],
        _ change: (inout ControlConfiguration) -> Void = { _ in },
        onListening: @escaping @Sendable (Int) async -> Void = { _ in }
    ) throws {
        var configuration = ControlConfiguration(port: 0)
        configuration.tokens = tokens
        change(&configuration)
        let clock = self.clock
        self.server = try ControlServer(
            configuration: configuration,
            backend: self.backend,
            events: self.events,
            metrics: { _ in "# HELP tapedeck_up 1\n" },
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() },
            now: { clock.now },
            onAnswer: { [answered] group, _, _ in answered.note(group) },
            onListening: onListening
        )
    }

    /// Runs requests through the server's responder, without a connection.
    func test(_ body: @Sendable (any TestClientProtocol) async throws -> Void) async throws {
        try await self.server.application().test(.router, body)
    }

    /// Runs requests over a real connection.
    func testLive(_ body: @Sendable (any TestClientProtocol) async throws -> Void) async throws {
        try await self.server.application().test(.live, body)
    }
}

extension TestClientProtocol {
    /// Sends a request whose body is JSON text.
    func send(
        _ method: HTTPRequest.Method,
        _ uri: String,
        json: String? = nil,
        token: String? = nil,
        headers: HTTPFields = [:]
    ) async throws -> TestResponse {
        var headers = headers
        if json != nil { headers[.contentType] = headers[.contentType] ?? "application/json" }
        if let token { headers[.authorization] = "Bearer \(token)" }
        return try await self.execute(
            uri: uri,
            method: method,
            headers: headers,
            body: json.map(ByteBuffer.init(string:))
        )
    }
}

extension TestResponse {
    var text: String { String(buffer: self.body) }
}
