// SPDX-License-Identifier: Apache-2.0

import Logging
import Model
import ServiceLifecycle
import Testing

@testable import Control

/// The server on a real port, with clients that behave badly.
@Suite(.timeLimit(.minutes(5))) struct LiveTests {
    /// Runs a server as a service, and stops it gracefully after the body.
    private func withServer(
        tokens: [BearerToken] = [],
        _ change: (inout ControlConfiguration) -> Void = { _ in },
        _ body: (Fixture, Int, ServiceGroup) async throws -> Void
    ) async throws {
        let (ports, announcer) = AsyncStream<Int>.makeStream()
        let fixture = try Fixture(tokens: tokens, change) { announcer.yield($0) }
        let group = ServiceGroup(
            services: [fixture.server],
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        )
        async let running: Void = group.run()
        var iterator = ports.makeAsyncIterator()
        let port = try #require(await iterator.next(isolation: #isolation))
        do {
            try await body(fixture, port, group)
        } catch {
            await group.triggerGracefulShutdown()
            try await running
            throw error
        }
        await group.triggerGracefulShutdown()
        try await running
    }

    private static let head = "Host: localhost\r\n"

    @Test func aRequestIsAnswered() async throws {
        try await self.withServer { _, port, _ in
            #expect(port != 0)
            let connection = try RawConnection(port: port)
            connection.send("GET /v1/rooms HTTP/1.1\r\n\(Self.head)Connection: close\r\n\r\n")
            let answer = try await connection.receive()
            #expect(answer.hasPrefix("HTTP/1.1 200 OK\r\n"))
            #expect(answer.contains("\"standup\""))
        }
    }

    @Test(arguments: [
        ("GARBAGE\r\n\r\n", 400), ("GET / HTTP/9.9\r\n\r\n", 400),
        ("GET /\u{0} HTTP/1.1\r\nHost: localhost\r\n\r\n", 400),
        ("GET / HTTP/1.1\r\nHost: evil.example.com\r\n\r\n", 403), ("GET / HTTP/1.0\r\n\r\n", 403),
        ("DELETE /v1/rooms/a HTTP/1.1\r\nHost: evil.example.com\r\nSec-Fetch-Site: same-origin\r\n\r\n", 403),
        ("POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: -1\r\n\r\n", 400),
        ("POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n", 400),
        ("GET /\(String(repeating: "a", count: 10_000)) HTTP/1.1\r\nHost: localhost\r\n\r\n", 414),
        ("GET / HTTP/1.1\r\nHost: localhost\r\nX: \(String(repeating: "a", count: 100_000))\r\n\r\n", 431),
        ("GET / HTTP/1.1\r\nHost: localhost\r\n\(String(repeating: "X: y\r\n", count: 200))\r\n", 431),
        ("GET /v1/rooms/%00 HTTP/1.1\r\nHost: localhost\r\n\r\n", 400),
        ("GET /v1/../v1/rooms HTTP/1.1\r\nHost: localhost\r\n\r\n", 404),
        ("GET /../../etc/passwd HTTP/1.1\r\nHost: localhost\r\n\r\n", 404),
        ("GET http://localhost/healthz HTTP/1.1\r\nHost: localhost\r\n\r\n", 200),
        ("GET http://localhost/healthz HTTP/1.1\r\nHost: evil.example.com\r\n\r\n", 200),
        ("GET http://evil.example.com/healthz HTTP/1.1\r\nHost: localhost\r\n\r\n", 403),
        ("GET http://localhost@evil.example.com/healthz HTTP/1.1\r\nHost: localhost\r\n\r\n", 403),
        ("GET /healthz HTTP/1.1\r\n\r\n", 400),
        ("GET /healthz HTTP/1.1\r\nHost: localhost\r\nHost: localhost\r\n\r\n", 400),
        ("GET /healthz HTTP/1.0\r\nHost: localhost\r\nHost: localhost\r\n\r\n", 400),
        ("GET /healthz HTTP/1.0\r\nHost: localhost\r\n\r\n", 200),
        ("POST /v1/rooms HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100000000\r\n\r\n", 413),
        ("POST /v1/rooms HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\nZZ\r\n", 400),
    ])
    func hostileRequestsAreAnswered(_ request: String, _ status: Int) async throws {
        try await self.withServer { _, port, _ in
            let connection = try RawConnection(port: port)
            connection.send(request)
            let answer = try await connection.receive(until: "\r\n\r\n{")
            let version = request.contains("HTTP/1.0\r\n") ? "1.0" : "1.1"
            #expect(answer.hasPrefix("HTTP/\(version) \(status) "), "\(answer.prefix(200))")
            if status >= 400 { #expect(answer.lowercased().contains("content-type: application/problem+json")) }
            // The server lives on.
            let other = try RawConnection(port: port)
            other.send("GET /healthz HTTP/1.1\r\n\(Self.head)Connection: close\r\n\r\n")
            #expect(try await other.receive().hasPrefix("HTTP/1.1 200 "))
        }
    }

    /// Whatever it asks for: the end of the connection is the only end of an answer that it knows for sure.
    @Test func oldClientsGetNoChunksAndTheConnectionEnds() async throws {
        try await self.withServer { fixture, port, _ in
            let connection = try RawConnection(port: port)
            connection.send("GET /v1/rooms HTTP/1.0\r\n\(Self.head)Connection: keep-alive\r\n\r\n")
            #expect(try await connection.receive().hasPrefix("HTTP/1.0 200 "))
            fixture.events.publish(event(1))
            let stream = try RawConnection(port: port)
            stream.send("GET /v1/events HTTP/1.0\r\n\(Self.head)Last-Event-ID: \(fixture.events.life)-0\r\n\r\n")
            let answer = try await stream.receive(until: "id: \(fixture.events.life)-1\n")
            #expect(answer.hasPrefix("HTTP/1.0 200 ") && !answer.lowercased().contains("transfer-encoding"))
            let body = answer.firstRange(of: "\r\n\r\n").map { answer[$0.upperBound...] } ?? ""
            #expect(!body.isEmpty && !body.contains("\r\n"), "no chunk's size")
        }
    }

    @Test func anEndlessBodyIsCutOff() async throws {
        try await self.withServer { _, port, _ in
            let connection = try RawConnection(port: port)
            connection.send(
                "POST /v1/rooms HTTP/1.1\r\n\(Self.head)Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"
            )
            let piece = "10000\r\n" + String(repeating: "x", count: 65_536) + "\r\n"
            for _ in 0..<4 { connection.send(piece) }
            let answer = try await connection.receive()
            #expect(answer.hasPrefix("HTTP/1.1 413 "))
            #expect(answer.lowercased().contains("connection: close"))
        }
    }

    @Test func aBodyThatIsAnnouncedIsInvited() async throws {
        try await self.withServer { _, port, _ in
            let connection = try RawConnection(port: port)
            connection.send(
                "POST /v1/rooms/standup/mark HTTP/1.1\r\n\(Self.head)Content-Type: application/json\r\n"
                    + "Content-Length: 12\r\nExpect: 100-continue\r\nConnection: close\r\n\r\n"
            )
            #expect(try await connection.receive(until: "\r\n\r\n") == "HTTP/1.1 100 Continue\r\n\r\n")
            connection.send(#"{"text":"a"}"#)
            #expect(try await connection.receive().hasPrefix("HTTP/1.1 200 "))
        }
    }

    @Test func whoSendsTooSlowlyIsDropped() async throws {
        let beginnings = [
            "", "GET /v1/rooms HTT", "POST /v1/rooms HTTP/1.1\r\nHost: localhost\r\nContent-Length: 10\r\n\r\n{",
        ]
        try await self.withServer {
            $0.limits.requestTime = .seconds(1)
        } _: { _, port, _ in
            let connections = try beginnings.map { beginning in
                let connection = try RawConnection(port: port)
                connection.send(beginning)
                return connection
            }
            for (beginning, connection) in zip(beginnings, connections) {
                let answer = try await connection.receive()
                let isDropped = answer.isEmpty && !beginning.hasPrefix("POST")
                #expect(isDropped || answer.hasPrefix("HTTP/1.1 408 "), "\(beginning): \(answer)")
            }
        }
    }

    @Test func eventsArriveAndReplay() async throws {
        try await self.withServer { fixture, port, _ in
            let life = fixture.events.life
            fixture.events.publish(event(1))
            fixture.events.publish(event(2))
            let connection = try RawConnection(port: port)
            connection.send("GET /v1/events HTTP/1.1\r\n\(Self.head)Last-Event-ID: \(life)-1\r\n\r\n")
            let replayed = try await connection.receive(until: "id: \(life)-2\n")
            #expect(
                replayed.contains("content-type: text/event-stream")
                    || replayed.contains("Content-Type: text/event-stream")
            )
            #expect(!replayed.contains("id: \(life)-1\n"))
            fixture.events.publish(event(3))
            #expect(try await connection.receive(until: "id: \(life)-3\n").contains("event: room.joined"))
        }
    }

    @Test func theHeadOfAStreamIsNoStream() async throws {
        try await self.withServer { fixture, port, _ in
            let connection = try RawConnection(port: port)
            connection.send("HEAD /v1/events HTTP/1.1\r\n\(Self.head)Connection: close\r\n\r\n")
            #expect(try await connection.receive().hasPrefix("HTTP/1.1 200 "))
            #expect(fixture.events.streamCount == 0)
        }
    }

    @Test func streamsAreBoundedAndGivenBack() async throws {
        try await self.withServer {
            $0.limits.eventStreams = 2
        } _: { fixture, port, _ in
            let request = "GET /v1/events HTTP/1.1\r\n\(Self.head)\r\n"
            var streams: [RawConnection] = []
            for _ in 0..<2 {
                let stream = try RawConnection(port: port)
                stream.send(request)
                _ = try await stream.receive(until: "retry: 3000")
                streams.append(stream)
            }
            let refused = try RawConnection(port: port)
            refused.send(request)
            // Up to the end of the connection, which it would keep from others.
            let answer = try await refused.receive()
            #expect(answer.hasPrefix("HTTP/1.1 503 "))
            #expect(answer.contains("urn:tapedeck:problem:unavailable"))
            streams.removeAll()
            // The server sees the ends in its own time.
            while fixture.events.streamCount > 0 { try await Task.sleep(for: .milliseconds(5)) }
            let next = try RawConnection(port: port)
            next.send(request)
            #expect(try await next.receive(until: "retry: 3000").hasPrefix("HTTP/1.1 200 "))
        }
    }

    @Test func whoDoesNotReadIsDropped() async throws {
        try await self.withServer {
            $0.limits.stallTime = .milliseconds(200)
        } _: { fixture, port, _ in
            let stream = try RawConnection(port: port)
            stream.send("GET /v1/events HTTP/1.1\r\n\(Self.head)\r\n")
            _ = try await stream.receive(until: "retry: 3000")
            let text = String(repeating: "x", count: 100_000)
            var sequence: UInt64 = 0
            // Until the system's buffers are full, and then until the server has had enough.
            while fixture.events.streamCount > 0 {
                sequence += 1
                var large = event(sequence)
                large.details = ["text": text]
                fixture.events.publish(large)
                try Task.checkCancellation()
                await Task.yield()
            }
        }
    }

    @Test func streamsEndWhenTheServerStops() async throws {
        try await self.withServer { fixture, port, group in
            let stream = try RawConnection(port: port)
            stream.send("GET /v1/events HTTP/1.1\r\n\(Self.head)\r\n")
            _ = try await stream.receive(until: "retry: 3000")
            await group.triggerGracefulShutdown()
            // The last chunk: the stream is whole, not broken off.
            #expect(try await stream.receive().hasSuffix("0\r\n\r\n"))
        }
    }

    @Test func requestsFinishWhenTheServerStops() async throws {
        try await self.withServer { fixture, port, group in
            let (barrier, opener) = AsyncStream<Void>.makeStream()
            fixture.backend.set { $0.barrier = barrier }
            let connection = try RawConnection(port: port)
            connection.send("POST /v1/rooms/standup/record HTTP/1.1\r\n\(Self.head)Content-Length: 0\r\n\r\n")
            while fixture.backend.calls.isEmpty { try await Task.sleep(for: .milliseconds(5)) }
            await group.triggerGracefulShutdown()
            opener.finish()
            #expect(try await connection.receive().hasPrefix("HTTP/1.1 200 "))
        }
    }

    @Test func requestsThatDoNotFinishAreBrokenOff() async throws {
        try await self.withServer {
            $0.limits.shutdownTime = .milliseconds(100)
        } _: { fixture, port, group in
            let (barrier, opener) = AsyncStream<Void>.makeStream()
            fixture.backend.set { $0.barrier = barrier }
            let connection = try RawConnection(port: port)
            connection.send("POST /v1/rooms/standup/record HTTP/1.1\r\n\(Self.head)Content-Length: 0\r\n\r\n")
            while fixture.backend.calls.isEmpty { try await Task.sleep(for: .milliseconds(5)) }
            // Returning from `withServer` shows that the server has stopped although nothing opens the barrier.
            _ = opener
        }
    }

    @Test func aPortThatIsTakenIsSaid() async throws {
        try await self.withServer { _, port, _ in
            let other = try Fixture {
                $0.port = port
                $0.limits.addressPatience = .zero
            }
            let error = await #expect(throws: ControlServerError.self) { try await other.server.run() }
            #expect(error?.code == .addressNotFree)
            #expect(error?.message.contains("127.0.0.1:\(port)") == true)
        }
    }

    @Test func anIdentityThatCannotBeReadIsSaid() throws {
        let error = #expect(throws: ControlServerError.self) {
            try Fixture { $0.tls = .init(certificateFile: "/nonexistent/cert.pem", keyFile: "/nonexistent/key.pem") }
        }
        #expect(error?.code == .identity)
        #expect(error?.message.contains("/nonexistent/cert.pem") == true)
    }
}
