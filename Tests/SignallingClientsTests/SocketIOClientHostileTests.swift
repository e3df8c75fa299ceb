// SPDX-License-Identifier: Apache-2.0

import Foundation
import NIOCore
import NIOSSL
import NIOWebSocket
import Signalling
import SignallingClients
import Synchronization
import TestSupport
import Testing

extension AllSignallingClients {
    /// The client against servers that do everything wrong.
    @Suite struct SocketIOClientHostileTests {
        typealias Transport = EngineIOSessionStateMachine.Transport

        /// One attempt, with time enough for a slow machine: what is expected comes long before.
        static let once = Self.once(.seconds(20))

        /// One attempt that is expected to time out.
        static func once(_ connectTimeout: Duration) -> JoinPolicy {
            JoinPolicy(connectTimeout: connectTimeout, attempts: 1, attemptInterval: .zero, waitsWhenFull: false)
        }

        static let open = #"0{"sid":"s 1","upgrades":[],"pingInterval":25000,"pingTimeout":20000}"#

        static func configuration(
            _ port: Int,
            isSecure: Bool = false,
            transport: Transport = .automatic,
            version: EngineIOVersion? = nil
        ) -> SocketIOClient.Configuration {
            SocketIOClient.Configuration(
                host: "127.0.0.1",
                port: port,
                isSecure: isSecure,
                room: "r",
                transport: transport,
                version: version
            )
        }

        @Test(
            arguments: [
                (HostileServer.Reply.silence, SignallingError.Code.timedOut, "did not answer within 1 s"),
                (.close, .unreachable, "closed the connection without an answer"),
                (.raw("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n0{"), .unreachable, "127.0.0.1"),
                (.raw("garbage\r\n\r\n"), .unreachable, "127.0.0.1"),
                (
                    .http(status: 404, body: "<html>"), .protocolViolation,
                    "at the URL's path (HTTP 404): wrong path or port?"
                ),
                (.http(status: 200, body: "<html>"), .protocolViolation, "wrong path"),
                (.http(status: 200, body: #"0{"sid":"a"#), .protocolViolation, "no Engine.IO server"),
                (.http(status: 502, body: "bad"), .unreachable, "HTTP 502"),
                (.http(status: 429, body: "wait"), .unreachable, "HTTP 429"),
                (.http(status: 302, body: "", headers: ["Location: /x"]), .protocolViolation, "HTTP 302"),
                (.http(status: 403, body: #"{"code":4,"message":"Forbidden"}"#), .refused, "Forbidden"),
                (
                    .http(status: 200, body: String(repeating: "x", count: EngineIOLimits.maximumPayloadBytes + 1)),
                    .protocolViolation, "more than 1000000 bytes"
                ),
            ]
        )
        func handshakesFailClearly(_ reply: HostileServer.Reply, _ code: SignallingError.Code, _ text: String)
            async throws
        {
            let server = try await HostileServer.start { _ in reply }
            let policy = code == .timedOut ? Self.once(.seconds(1)) : Self.once
            let client = RunningClient(Self.configuration(server.port), policy: policy)
            let error = await client.run.value
            #expect(error?.code == code)
            #expect(error?.message.contains(text) == true, "\(error?.message ?? "none")")
            #expect(error?.message.contains("127.0.0.1:\(server.port)") == true)
            try await server.stop()
        }

        @Test(
            arguments: [
                ("hello", SignallingError.Code.protocolViolation, "not Engine.IO"),
                ("40{\"sid\":", .protocolViolation, "not Socket.IO"),
                ("44{\"message\":\"Not authorised\"}", .refused, "Not authorised"),
                ("1", .unreachable, "closed the connection"),
            ]
        )
        func brokenSessionsFailClearly(_ body: String, _ code: SignallingError.Code, _ text: String) async throws {
            let server = try await HostileServer.start { request in
                if request.hasPrefix("POST") { return .http(status: 200, body: "ok") }
                return .http(status: 200, body: request.contains("sid=") ? body : Self.open)
            }
            let client = RunningClient(Self.configuration(server.port), policy: Self.once)
            let error = await client.run.value
            #expect(error?.code == code)
            #expect(error?.message.contains(text) == true, "\(error?.message ?? "none")")
            try await server.stop()
        }

        /// A server that plays a room by a list of poll bodies; once it is used up, polls are silent.
        static func scripted(
            _ bodies: [HostileServer.Reply],
            record: @escaping @Sendable (String) -> Void = { _ in }
        ) async throws -> HostileServer {
            let next = Mutex(0)
            return try await HostileServer.start { request in
                record(request)
                if request.hasPrefix("POST") { return .http(status: 200, body: "ok") }
                let index = next.withLock { value in
                    defer { value += 1 }
                    return value
                }
                return index < bodies.count ? bodies[index] : .silence
            }
        }

        @Test func lostSessionIsReported() async throws {
            let server = try await Self.scripted([
                .http(status: 200, body: Self.open), .http(status: 200, body: #"40{"sid":"d"}"#),
                .http(status: 200, body: "42[\"joined\",\"r\",\"d\"]\u{1e}42[broken\u{1e}bAAA=\u{1e}42[\"what\"]"),
                .http(status: 400, body: #"{"code":1,"message":"Session ID unknown"}"#),
            ])
            var client = RunningClient(Self.configuration(server.port), policy: Self.once)
            #expect(await client.nextOfAll() == .joined(ownID: PeerID("d")))
            var ignored = 0
            while let event = await client.nextOfAll() {
                if case .ignored = event { ignored += 1; continue }
                guard case .signallingLost(let reason) = event else { Issue.record("\(event)"); break }
                #expect(reason.contains("does not know our session any more"))
                break
            }
            #expect(ignored == 3)
            // The only attempt is used up; the client continues for calls that do.
            guard case .attemptsSpent(let error) = await client.next() else {
                Issue.record("not told")
                return
            }
            #expect(error.code == .unreachable)
            #expect(await client.leave() == nil)
            try await server.stop()
        }

        @Test func keepsCookiesAndEncodesTheSession() async throws {
            let requests = Mutex<[String]>([])
            let server = try await Self.scripted(
                [
                    .http(status: 200, body: Self.open, headers: ["Set-Cookie: io=abc; Path=/; HttpOnly"]),
                    .http(status: 200, body: #"40{"sid":"d"}"#),
                    .http(status: 200, body: #"42["full","r","d"]"#),
                ],
                record: { request in requests.withLock { $0.append(request) } }
            )
            let client = RunningClient(Self.configuration(server.port), policy: Self.once)
            #expect(await client.run.value?.code == .full)
            let seen = requests.withLock { $0 }
            #expect(seen.count > 3)
            #expect(seen[0].hasPrefix("GET /socket.io/?EIO=4&transport=polling HTTP/1.1\r\n"))
            for request in seen.dropFirst() {
                #expect(request.contains("&sid=s%201 "))
                #expect(request.lowercased().contains("cookie: io=abc\r\n"))
            }
            #expect(!seen.contains { $0.lowercased().contains("accept-encoding") })
            try await server.stop()
        }

        /// The namespace is granted late; nothing is sent before it, and `leave` of a run that is not joined sends none.
        @Test func waitsForTheNamespace() async throws {
            let requests = Mutex<[String]>([])
            let server = try await Self.scripted(
                [.http(status: 200, body: Self.open), .http(status: 200, body: "6"), .http(status: 200, body: "6")],
                record: { request in requests.withLock { $0.append(request) } }
            )
            // Long enough for the handshake, which is answered at once.
            let client = RunningClient(Self.configuration(server.port), policy: Self.once(.seconds(3)))
            let error = await client.run.value
            #expect(error?.code == .timedOut)
            #expect(error?.message.contains("did not grant the namespace") == true)
            let posts = requests.withLock { $0.filter { $0.hasPrefix("POST") } }
            #expect(posts.allSatisfy { !$0.contains("join") && !$0.contains("leave") })
            try await server.stop()
        }

        @Test(
            arguments: [
                (WebSocketFrame(fin: true, opcode: .text, data: ByteBuffer(string: "hello")), "no Engine.IO server"),
                (
                    WebSocketFrame(
                        fin: true,
                        opcode: .text,
                        data: ByteBuffer(repeating: 0x34, count: EngineIOLimits.maximumPayloadBytes + 1)
                    ), "more than 1000000 bytes"
                ),
                (WebSocketFrame(fin: true, opcode: .text, data: ByteBuffer(bytes: [0x30, 0xff])), "not Engine.IO"),
                (WebSocketFrame(fin: true, opcode: .continuation, data: ByteBuffer()), "not Engine.IO"),
            ]
        )
        func webSocketGarbageFailsClearly(_ frame: WebSocketFrame, _ text: String) async throws {
            let server = try await HostileServer.startWebSocket(frames: [frame])
            let client = RunningClient(Self.configuration(server.port, transport: .webSocket), policy: Self.once)
            let error = await client.run.value
            #expect(error?.code == .protocolViolation)
            #expect(error?.message.contains(text) == true, "\(error?.message ?? "none")")
            try await server.stop()
        }

        /// engine.io 6 writes the refusal of a version as HTTP on the WebSocket that it has opened.
        @Test func httpOnTheWebSocketMeansAnotherVersion() async throws {
            let targets = Mutex<[String]>([])
            // "HT" reads as the head of a frame: a part of a close frame, 84 bytes long.
            let text =
                "HTTP/1.1 400 Bad Request\r\nConnection: close\r\nContent-type: text/html\r\nContent-Length: 28\r\n\r\n"
            let refusal = WebSocketFrame(
                rsv1: true,
                opcode: .connectionClose,
                data: ByteBuffer(bytes: text.utf8.dropFirst(2).prefix(84))
            )
            let session = [Self.open, #"40{"sid":"d"}"#, #"42["full","r","d"]"#].map {
                WebSocketFrame(fin: true, opcode: .text, data: ByteBuffer(string: $0))
            }
            let server = try await HostileServer.startWebSocket { target in
                targets.withLock { $0.append(target) }
                return target.contains("EIO=4") ? session : [refusal]
            }
            let client = RunningClient(Self.configuration(server.port, transport: .webSocket), policy: Self.once)
            #expect(await client.run.value?.code == .full)
            let asked = targets.withLock { $0 }
            #expect(asked.map { $0.contains("EIO=3") } == [true, false])
            try await server.stop()
        }

        @Test func webSocketTo404FailsClearly() async throws {
            let server = try await HostileServer.start { _ in .http(status: 404, body: "<html>") }
            let client = RunningClient(Self.configuration(server.port, transport: .webSocket), policy: Self.once)
            let error = await client.run.value
            #expect(error?.code == .protocolViolation)
            #expect(error?.message.contains("HTTP 404") == true)
            try await server.stop()
        }

        @Test func unknownNameFailsClearly() async {
            var configuration = Self.configuration(80)
            configuration.host = "no-such-host.invalid"
            // Some resolvers ask several servers before they say no.
            let error = await RunningClient(configuration, policy: Self.once(.seconds(60))).run.value
            #expect(error?.code == .unreachable)
            #expect(error?.message.contains("no-such-host.invalid was not found") == true)
        }

        @Test(arguments: [Transport.polling, .webSocket])
        func selfSignedCertificates(_ transport: Transport) async throws {
            let own = try SelfSignedCertificate()
            let server = try PythonRoomServer(.engineIO4, ["--tls", own.certificate, own.key])
            defer { server.stop() }
            var configuration = Self.configuration(server.port, isSecure: true, transport: transport)
            let error = await RunningClient(configuration, policy: Self.once).run.value
            #expect(error?.code == .tlsFailed)
            #expect(error?.message.contains("127.0.0.1:\(server.port)") == true)

            configuration.isInsecure = true
            var insecure = RunningClient(configuration)
            _ = try #require(await insecure.joined())
            #expect(await insecure.leave() == nil)

            configuration.isInsecure = false
            configuration.trustedCertificatesFile = own.certificate
            var trusting = RunningClient(configuration)
            _ = try #require(await trusting.joined())
            #expect(await trusting.leave() == nil)
        }

        @Test func commandFloodEndsTheRun() async throws {
            let server = try await HostileServer.start { _ in .silence }
            let client = RunningClient(Self.configuration(server.port), policy: .persistent)
            for _ in 0..<200_000 { client.client.send(.resetCall(PeerID("p"))) }
            #expect(await client.run.value?.code == .overloaded)
            try await server.stop()
        }

        @Test func leaveEndsAConnectingRunAndASecondRunThrows() async throws {
            let server = try await HostileServer.start { _ in .silence }
            let client = RunningClient(Self.configuration(server.port), policy: .persistent)
            #expect(await client.leave() == nil)
            await #expect(throws: SignallingError.self) { try await client.client.run() }
            try await server.stop()
        }
    }
}
