// SPDX-License-Identifier: Apache-2.0

import Dispatch
import FoundationEssentials
import HTTPRequests
import NIOSSL
import Synchronization
import TestSupport
import Testing

@Suite(.serialized, .timeLimit(.minutes(5))) struct HTTPClientTests {
    private static let fine = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"

    private static func failure(
        _ request: HTTPClient.Request,
        of client: HTTPClient = HTTPClient()
    ) async -> HTTPClient.Failure? {
        do {
            _ = try await client.send(request)
            return nil
        } catch {
            return error
        }
    }

    /// A request to a server that is there for it alone.
    private static func failure(
        _ answer: PlainServer.Answer,
        https: Bool = false,
        _ change: (inout HTTPClient.Request) -> Void = { _ in }
    ) async throws -> HTTPClient.Failure? {
        let server = try await PlainServer(answer)
        var request = HTTPClient.Request("GET", https ? "https://127.0.0.1:\(server.port)/" : server.url)
        change(&request)
        let failure = await Self.failure(request)
        try await server.close()
        return failure
    }

    @Test func sendsWhatIsAskedForAndTakesWhatComes() async throws {
        let server = try await PlainServer(
            .text(
                "HTTP/1.1 103 Early Hints\r\nLink: early\r\n\r\n"
                    + "HTTP/1.1 302 Elsewhere\r\nLocation: /x\r\nA:  b \r\nA: c\r\nEmpty:\r\nContent-Length: 3\r\n\r\nabc"
            )
        )
        var request = HTTPClient.Request("PATCH", server.url)
        request.headers = [HTTPClient.Header("If-Match", "\"1\""), HTTPClient.Header("Nothing", "")]
        request.body = [0x68, 0x69]
        let answer = try await HTTPClient().send(request)
        #expect(answer.status == 302)
        #expect(answer.body == Array("abc".utf8))
        #expect(answer.headers.map(\.name) == ["Location", "A", "A", "Empty", "Content-Length"])
        #expect(answer.headers.map(\.value) == ["/x", "b", "c", "", "3"])
        let lines = server.received.first?.split(separator: "\r\n", omittingEmptySubsequences: false) ?? []
        #expect(lines.first == "PATCH /a/../b?c=d HTTP/1.1")
        #expect(
            Set(lines.dropFirst()) == [
                "Host: 127.0.0.1:\(server.port)", "User-Agent: tapedeck", "If-Match: \"1\"", "Nothing:",
                "Content-Length: 2", "", "hi",
            ]
        )
        #expect(server.received.count == 1)
        try await server.close()
    }

    @Test(arguments: [("POST", true), ("PUT", true), ("GET", false), ("DELETE", false), ("OPTIONS", false)])
    func tellsThatThereIsNoBodyWhereOneIsUsual(_ method: String, _ tells: Bool) async throws {
        let server = try await PlainServer(.text(Self.fine))
        #expect(try await HTTPClient().send(HTTPClient.Request(method, server.url)).status == 200)
        #expect(server.received.first?.hasPrefix("\(method) ") == true)
        #expect(server.received.first?.contains("Content-Length: 0\r\n") == tells)
        try await server.close()
    }

    @Test func keepsConnectionsButNotForWhatMustNotBeDoneTwice() async throws {
        let server = try await PlainServer(.text(Self.fine))
        let client = HTTPClient()
        for method in ["GET", "GET", "DELETE"] { _ = try await client.send(HTTPClient.Request(method, server.url)) }
        #expect(server.received.count == 1)
        for method in ["POST", "PATCH"] { _ = try await client.send(HTTPClient.Request(method, server.url)) }
        #expect(server.received.count == 3)
        var post = HTTPClient.Request("POST", server.url)
        post.isRepeatable = true
        _ = try await client.send(post)
        #expect(server.received.count == 3)
        try await server.close()
    }

    @Test(arguments: ["GET", "POST"])
    func whatMayBeRepeatedIsSentAgainWhenAKeptConnectionIsClosed(_ method: String) async throws {
        let server = try await PlainServer(.textOnce(Self.fine))
        var request = HTTPClient.Request(method, server.url)
        request.isRepeatable = true
        for _ in 0..<2 { #expect(try await HTTPClient().send(request).status == 200) }
        // The second request came on the first connection, and again on the second one.
        #expect(server.received.map { $0.split(separator: "\(method) ").count } == [2, 1])
        try await server.close()
    }

    @Test func aLaneWaitsForNoOther() async throws {
        let server = try await PlainServer(.text("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nsome"))
        let other = HTTPClient(lane: HTTPClient.Lane("other"))
        #expect(other != HTTPClient() && HTTPClient() == HTTPClient())
        let isHeld = Mutex(false)
        let release = DispatchSemaphore(value: 0)
        let url = server.url
        async let following = HTTPClient().follow(HTTPClient.Request("GET", url)) { _ in
            isHeld.withLock { $0 = true }
            #expect(release.wait(timeout: .now() + .seconds(60)) == .success)
        }
        while !isHeld.withLock({ $0 }) { try await Task.sleep(for: .milliseconds(5)) }
        // The shared thread is held until this is there.
        #expect(try await other.send(HTTPClient.Request("GET", url)).status == 200)
        release.signal()
        let followed = try await following
        #expect(followed.status == 200)
        try await server.close()
    }

    @Test func provesToAServerWhoItIs() async throws {
        let (own, foreign) = (try SelfSignedCertificate(), try SelfSignedCertificate())
        var tls = TLSConfiguration.makeServerConfiguration(
            certificateChain: try NIOSSLCertificate.fromPEMFile(own.certificate).map { .certificate($0) },
            privateKey: .privateKey(try NIOSSLPrivateKey(file: own.key, format: .pem))
        )
        tls.trustRoots = .file(own.certificate)
        tls.certificateVerification = .noHostnameVerification
        let server = try await PlainServer(.text(Self.fine), tls: NIOSSLContext(configuration: tls))
        let request = HTTPClient.Request("GET", "https://127.0.0.1:\(server.port)/")
        var client = HTTPClient(trustedCertificatesFile: own.certificate)
        #expect(await Self.failure(request, of: client) != nil)
        client.identity = HTTPClient.Identity(certificateFile: foreign.certificate, keyFile: foreign.key)
        #expect(await Self.failure(request, of: client) != nil)
        client.identity = HTTPClient.Identity(certificateFile: own.folder.path + "/none.pem", keyFile: own.key)
        guard case .tls? = await Self.failure(request, of: client) else {
            Issue.record("a certificate that is not there")
            return
        }
        #expect(server.received.allSatisfy { $0.isEmpty })
        client.identity = HTTPClient.Identity(certificateFile: own.certificate, keyFile: own.key)
        #expect(try await client.send(request).status == 200)
        // Another client's connection is not taken for one of its own.
        client.identity = nil
        #expect(await Self.failure(request, of: client) != nil)
        try await server.close()
    }

    @Test func connectsToAnotherAddress() async throws {
        let server = try await PlainServer(.text(Self.fine))
        var request = HTTPClient.Request("GET", "http://nobody.invalid:\(server.port)/")
        request.address = "127.0.0.1"
        #expect(try await HTTPClient().send(request).status == 200)
        #expect(server.received.first?.contains("Host: nobody.invalid:\(server.port)\r\n") == true)
        try await server.close()
    }

    @Test func failsAsTheNetworkDoes() async throws {
        #expect(try await Self.failure(.hangUp) == .closedWithoutAnswer)
        #expect(try await Self.failure(.silence) { $0.timeout = .milliseconds(200) } == .timedOut)
        #expect(await Self.failure(HTTPClient.Request("GET", "http://nobody.invalid/")) == .nameNotFound)
        #expect(await Self.failure(HTTPClient.Request("GET", "http://127.0.0.1:9/")) == .notConnected(111))
        let plain = try await Self.failure(.text("HTTP/1.1 400 What\r\n\r\n"), https: true)
        guard case .tls = plain else {
            Issue.record("\(String(describing: plain))")
            return
        }
        #expect(try await Self.failure(.text("SSH-2.0-OpenSSH_9.2\r\n")) != nil)
    }

    @Test func followsAnAnswerPieceByPiece() async throws {
        let server = try await PlainServer(.text("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nsomething"))
        let came = Mutex("")
        let answer = try await HTTPClient().follow(HTTPClient.Request("GET", server.url)) { bytes in
            came.withLock { $0 += String(decoding: bytes, as: UTF8.self) }
        }
        #expect(answer.status == 200 && answer.body.isEmpty)
        #expect(came.withLock { $0 } == "something")
        try await server.close()
        // Words about a failure are no events, and a server that falls silent is left.
        let refusing = try await PlainServer(.text("HTTP/1.1 401 No\r\nContent-Length: 3\r\n\r\nwhy"))
        let refusal = try await HTTPClient().follow(HTTPClient.Request("GET", refusing.url)) { _ in
            Issue.record("taken for a success")
        }
        #expect(refusal.body == Array("why".utf8))
        try await refusing.close()
        let silent = try await PlainServer(.text("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nsome"))
        var request = HTTPClient.Request("GET", silent.url)
        request.timeout = .milliseconds(200)
        await #expect(throws: HTTPClient.Failure.timedOut) { try await HTTPClient().follow(request) { _ in } }
        try await silent.close()
    }

    @Test func boundsWhatItTakes() async throws {
        let large = "HTTP/1.1 200 OK\r\nContent-Length: 11\r\n\r\nhello world"
        #expect(try await Self.failure(.text(large)) { $0.maximumBodyBytes = 10 } == .tooLarge)
        #expect(try await Self.failure(.text(large)) { $0.maximumBodyBytes = 11 } == nil)
        let headers = String(repeating: "A: \(String(repeating: "b", count: 1000))\r\n", count: 100)
        #expect(try await Self.failure(.text("HTTP/1.1 200 OK\r\n\(headers)\r\n")) == .tooLarge)
        let endless = try await PlainServer(.text("HTTP/1.1 201 Made\r\nContent-Length: 1000000\r\n\r\nbegins"))
        var request = HTTPClient.Request("POST", endless.url)
        request.readsBody = false
        let answer = try await HTTPClient().send(request)
        #expect(answer.status == 201 && answer.body.isEmpty)
        try await endless.close()
    }

    @Test(arguments: [
        HTTPClient.Request("GET", ""), HTTPClient.Request("GET", "ftp://127.0.0.1/"),
        HTTPClient.Request("GET", "file:///etc/passwd"), HTTPClient.Request("GET /x", "http://127.0.0.1:9/"),
        HTTPClient.Request("", "http://127.0.0.1:9/"),
    ])
    func refusesRequestsThatCannotBeSent(_ request: HTTPClient.Request) async {
        guard case .malformedRequest? = await Self.failure(request) else {
            Issue.record("\(request)")
            return
        }
    }

    @Test(arguments: [("A", "b\r\nC: d"), ("A", "b\nC"), ("A: b", "c"), ("", "b"), ("A", "b\u{0}c"), ("Ä", "b")])
    func refusesHeadersThatWouldBeMore(_ name: String, _ value: String) async {
        var request = HTTPClient.Request("GET", "http://127.0.0.1:9/")
        request.headers = [HTTPClient.Header(name, value)]
        guard case .malformedRequest? = await Self.failure(request) else {
            Issue.record("\(request)")
            return
        }
    }

    @Test func endsWhenItIsCancelled() async throws {
        let server = try await PlainServer(.silence)
        let url = server.url
        let waiting = Task { await Self.failure(HTTPClient.Request("GET", url)) }
        while server.received.first?.isEmpty ?? true { try await Task.sleep(for: .milliseconds(5)) }
        waiting.cancel()
        #expect(await waiting.value == .cancelled)
        let late = Task {
            while !Task.isCancelled { await Task.yield() }
            return await Self.failure(HTTPClient.Request("GET", url))
        }
        late.cancel()
        #expect(await late.value == .cancelled)
        try await server.close()
    }

    @Test func takesManyAtOnce() async throws {
        let server = try await PlainServer(.text(Self.fine))
        let url = server.url
        let failures = await withTaskGroup { group in
            for index in 0..<200 {
                group.addTask { await Self.failure(HTTPClient.Request(index % 2 == 0 ? "GET" : "POST", url)) }
            }
            return await group.reduce(into: []) { $0.append($1) }
        }
        #expect(failures.allSatisfy { $0 == nil }, "\(failures.compactMap { $0 })")
        try await server.close()
    }
}
