// SPDX-License-Identifier: Apache-2.0

import Basics
import Signalling
import TestSupport
import Testing

@testable import RoomServer

extension RunningServer {
    @Suite struct HTTPTests {
        @Test func pagesAreServed() async throws {
            try await withServer { port in
                let connection = try RawConnection(port: port)
                for (path, type, text) in [
                    ("/", "text/html; charset=utf-8", "id=\"join\""),
                    ("/?room=standup&name=Ann", "text/html; charset=utf-8", "<title>"),
                    ("/standup", "text/html; charset=utf-8", "<title>"),
                    ("/a%2Fb%20%C3%A4", "text/html; charset=utf-8", "<title>"),
                    ("/room.js", "text/javascript; charset=utf-8", "RTCPeerConnection"),
                    ("/room.css", "text/css; charset=utf-8", "prefers-color-scheme"),
                    ("/healthz", "application/json", #""status":"ok""#),
                ] {
                    try connection.request("GET \(path)")
                    let response = try connection.response()
                    #expect(response.status == 200)
                    #expect(response.headers["content-type"] == type)
                    #expect(response.body.contains(text))
                    try connection.request("HEAD \(path)")
                    let head = try connection.response(isHEAD: true)
                    #expect(head.status == 200)
                    #expect(head.headers["content-length"] == String(response.body.utf8.count))
                }
                try connection.request("GET /no/thing")
                #expect(try connection.response().status == 404)
                try connection.request("DELETE /")
                let refused = try connection.response()
                #expect(refused.status == 405)
                #expect(refused.headers["allow"] == "GET, HEAD")
                try connection.request("PUT /socket.io/?EIO=4&transport=polling")
                #expect(try connection.response().status == 405)
            }
        }

        @Test(arguments: [(0, "1.1", 400), (1, "1.1", 200), (2, "1.1", 400), (0, "1.0", 200), (2, "1.0", 400)])
        func aRequestHasOneHost(count: Int, version: String, status: Int) async throws {
            try await withServer { port in
                let connection = try RawConnection(port: port)
                let hosts = String(repeating: "Host: localhost\r\n", count: count)
                try connection.send("GET /healthz HTTP/\(version)\r\n\(hosts)\r\n".utf8)
                #expect(try connection.response().status == status)
            }
        }

        @Test func engineRefusalsAreNumbered() async throws {
            try await withServer { port in
                let connection = try RawConnection(port: port)
                for (line, code) in [
                    ("GET /socket.io/?EIO=4", 0), ("GET /socket.io/?EIO=4&transport=polling&sid=none", 1),
                    ("GET /socket.io/?EIO=4&transport=websocket&sid=none", 1),
                    ("GET /socket.io/?EIO=4&transport=websocket", 3),
                    ("GET /socket.io/?EIO=2&transport=polling", 5), ("GET /socket.io?EIO=9&transport=polling", 5),
                ] {
                    try connection.request(line, headers: ["Origin: https://example.org"])
                    let response = try connection.response()
                    #expect(response.status == 400)
                    #expect(try JSONValue(parsing: response.body)["code"]?.integer == code)
                    #expect(response.headers["access-control-allow-origin"] == "https://example.org")
                }
                try connection.request("POST /socket.io/?EIO=4&transport=polling", body: "40")
                #expect(try JSONValue(parsing: try connection.response().body)["code"]?.integer == 2)
                try connection.request("POST /socket.io/?EIO=4&transport=polling&sid=none", body: "40")
                #expect(try JSONValue(parsing: try connection.response().body)["code"]?.integer == 1)
                try connection.request("OPTIONS /socket.io/?EIO=4", headers: ["Origin: https://example.org"])
                let preflight = try connection.response()
                #expect(preflight.status == 200)
                #expect(preflight.headers["access-control-allow-methods"] == "GET, POST")
            }
        }

        @Test func versionsDifferInTheirHandshake() async throws {
            try await withServer { port in
                let connection = try RawConnection(port: port)
                for query in ["transport=polling", "EIO=3&transport=polling"] {
                    try connection.request("GET /socket.io/?\(query)")
                    let response = try connection.response()
                    let packets = try EngineIOPayload.decode([UInt8](response.body.utf8), version: .three)
                    let open = try EngineIOOpenPacket(text: packets.first?.text ?? "")
                    #expect(packets.last == EngineIOPacket(.message, "0"), "the namespace connects unasked")
                    #expect(open.upgrades == ["websocket"])
                    #expect(response.headers["set-cookie"]?.hasPrefix("io=\(open.sessionID);") == true)
                }
                try connection.request("GET /socket.io/?EIO=4&transport=polling")
                let response = try connection.response()
                let packets = try EngineIOPayload.decode([UInt8](response.body.utf8), version: .four)
                #expect(packets.map(\.kind) == [.open], "the namespace waits for the client")
                #expect(response.headers["set-cookie"] == nil)
                #expect(try EngineIOOpenPacket(text: packets[0].text ?? "").maximumPayload == 1_000_000)
            }
        }

        @Test func overlappingRequestsEndTheSession() async throws {
            try await withServer { port in
                let first = try RawConnection(port: port)
                let second = try RawConnection(port: port)
                var id = try Self.handshake(first)
                let target = "/socket.io/?EIO=4&transport=polling&sid="
                try first.request("GET \(target)\(id)")
                // The answer to this post shows that the poll, which was sent before it, is held.
                try second.request("POST \(target)\(id)", body: "6")
                #expect(try second.response().body == "ok")
                try second.request("GET \(target)\(id)")
                #expect(try second.response().status == 400)
                #expect(try first.response().body == "1", "the held poll learns that the session is over")

                id = try Self.handshake(first)
                try first.send("POST \(target)\(id) HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n4")
                #expect(try health(port: port)["sessions"]?.integer == 1)
                try second.request("POST \(target)\(id)", body: "40")
                #expect(try second.response().status == 400)
                try first.send("0")
                #expect(try first.response().status == 400)
                try await waitForHealth(port: port) { $0["sessions"]?.integer == 0 }
            }
        }

        @Test func unreadableBodyEndsTheSession() async throws {
            try await withServer { port in
                let connection = try RawConnection(port: port)
                for body in ["", "x", "\u{1e}", "4\u{1e}9"] {
                    let id = try Self.handshake(connection)
                    try connection.request("POST /socket.io/?EIO=4&transport=polling&sid=\(id)", body: body)
                    #expect(try connection.response().status == 400)
                    try connection.request("GET /socket.io/?EIO=4&transport=polling&sid=\(id)")
                    #expect(try JSONValue(parsing: try connection.response().body)["code"]?.integer == 1)
                }
            }
        }

        @Test func oversizeBodiesAreRefused() async throws {
            try await withServer { port in
                let announced = try RawConnection(port: port)
                try announced.send("POST /socket.io/ HTTP/1.1\r\nHost: x\r\nContent-Length: 1000001\r\n\r\n")
                #expect(try announced.response().status == 413)
                try announced.readUntilClosed()
                let chunked = try RawConnection(port: port)
                let id = try Self.handshake(chunked)
                try chunked.send(
                    "POST /socket.io/?transport=polling&sid=\(id) HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
                )
                let chunk = "80000\r\n" + String(repeating: "x", count: 0x80000) + "\r\n"
                try chunked.send(chunk)
                try chunked.send(chunk)
                #expect(try chunked.response().status == 413)
                try await waitForHealth(port: port) { $0["sessions"]?.integer == 0 }
            }
        }

        @Test(arguments: [
            "\u{0}\u{1}\u{2}\r\n\r\n", "GET\r\n\r\n", "GET / HTTP/9.9\r\n\r\n", "\u{16}\u{3}\u{1}\u{2}\u{0}\u{1}",
            "GET / HTTP/1.1\r\nContent-Length: -1\r\n\r\n", "GET / HTTP/1.1\r\n: \r\n\r\n",
        ])
        func garbageIsClosed(bytes: String) async throws {
            try await withServer { port in
                let connection = try RawConnection(port: port)
                try connection.send(bytes)
                try connection.readUntilClosed()
                #expect(try health(port: port)["sessions"]?.integer == 0)
            }
        }

        @Test func randomBytesAreSurvived() async throws {
            try await withServer { port in
                let (ann, _) = try RawWebSocket.member(port: port, room: "r")
                var random = SeededGenerator(seed: 2026)
                for round in 0..<200 {
                    let noise = (0..<Int.random(in: 1...300, using: &random)).map { _ in
                        UInt8.random(in: 0...255, using: &random)
                    }
                    switch round % 3 {
                    case 0:
                        try RawConnection(port: port).send(noise)
                    case 1:
                        try RawWebSocket(port: port).connection.send(noise)
                    default:
                        let connection = try RawConnection(port: port)
                        let id = try Self.handshake(connection)
                        let line = "POST /socket.io/?transport=polling&sid=\(id) HTTP/1.1\r\nHost: x\r\n"
                        try connection.send("\(line)Content-Length: \(noise.count)\r\n\r\n".utf8 + noise)
                        _ = try connection.response()
                    }
                }
                try ann.send(#"421["leave","r"]"#)
                #expect(try ann.text() == "431[]")
                #expect(try ann.text().hasPrefix(#"42["leaved","r""#))
                try await waitForHealth(port: port) { $0["sessions"]?.integer == 1 }
            }
        }

        @Test func answersThatNobodyReadsAreLimited() async throws {
            try await withServer {
                $0.maximumUnsentBytes = 1_000_000
            } body: { port in
                let connection = try RawConnection(port: port)
                let request = "GET /room.js HTTP/1.1\r\nHost: x\r\n\r\n"
                #expect(throws: RawConnection.Failure.closed) {
                    while true { try connection.send(String(repeating: request, count: 100)) }
                }
            }
        }

        @Test func endlessHeaderIsClosed() async throws {
            try await withServer { port in
                let connection = try RawConnection(port: port)
                try connection.send("GET / HTTP/1.1\r\n")
                #expect(throws: RawConnection.Failure.closed) {
                    while true { try connection.send("X-Filler: " + String(repeating: "x", count: 4096) + "\r\n") }
                }
            }
        }

        @Test(arguments: [
            "", "GET / HTTP/1.1\r\nHo", "POST /socket.io/ HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\n4",
        ])
        func slowRequestIsClosed(start: String) async throws {
            try await withServer {
                $0.requestTimeout = .milliseconds(100)
            } body: { port in
                let connection = try RawConnection(port: port)
                try connection.send(start)
                #expect(try connection.readUntilClosed().isEmpty)
            }
        }

        @Test func heldPollOutlivesTheRequestLimit() async throws {
            try await withServer {
                $0.requestTimeout = .seconds(1)
                $0.pingInterval = .seconds(3)
            } body: { port in
                let connection = try RawConnection(port: port)
                let id = try Self.handshake(connection)
                try connection.request("GET /socket.io/?transport=polling&sid=\(id)")
                #expect(try connection.response().body == "2", "the answer is the first ping")
            }
        }

        static func handshake(_ connection: RawConnection) throws -> String {
            try connection.request("GET /socket.io/?EIO=4&transport=polling")
            return try EngineIOOpenPacket(text: String(try connection.response().body.dropFirst())).sessionID
        }
    }
}
