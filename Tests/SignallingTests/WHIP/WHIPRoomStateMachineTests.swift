// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import Signalling

@Suite struct WHIPRoomStateMachineTests {
    // MARK: - Joining

    @Test func publishesWithOneRoundTripMoreThanTheProtocolNeeds() throws {
        var bench = WHIPBench(try WHIPWire.machine(.publish, "https://media.example.org/whip/cam1?k=v", secret: "abc"))
        bench.feed(.attempt(note: nil))
        #expect(bench.open.map(\.method) == ["OPTIONS"])
        #expect(bench.open.first?.url.description == "https://media.example.org/whip/cam1?k=v")
        #expect(bench.open.first?.header("Authorization") == "Bearer abc")
        let link = "Link: <stun:stun.example.net>; rel=\"ice-server\"\r\n"
        try bench.answer(
            "OPTIONS",
            try WHIPWire.answer("HTTP/1.1 200 OK\r\nAccept-Post: application/sdp\r\n\(link)\r\n")
        )
        #expect(
            bench.last.events == [
                .iceServersReceived([ICEServer(urls: ["stun:stun.example.net"])]),
                .publishPointArrived(PeerID("cam1")),
            ]
        )
        bench.feed(.command(.offer(to: PeerID("cam1"), sdp: WHIPWire.offer)))
        let post = try #require(bench.open.first)
        #expect(post.method == "POST" && post.header("Content-Type") == "application/sdp")
        #expect(post.header("Authorization") == "Bearer abc")
        #expect(post.text == WHIPDescription.conforming(WHIPWire.offer))
        try bench.answer("POST", try WHIPWire.created(location: "../session/1?x"))
        #expect(
            bench.last == [
                .note("https://media.example.org/session/1?x"), .event(.joined(ownID: nil)),
                .event(.answerReceived(from: PeerID("cam1"), sdp: WHIPWire.description())),
            ]
        )
        bench.feed(.command(.leave))
        #expect(bench.open.map(\.method) == ["DELETE"])
        #expect(bench.open.first?.url.description == "https://media.example.org/session/1?x")
        #expect(bench.open.first?.header("If-Match") == nil)
        try bench.answer("DELETE", HTTPAnswer(status: 200))
        #expect(bench.last == [.note(nil), .event(.left), .finished(nil)])
    }

    @Test func playsFromAPeerWithTheEndpointsName() throws {
        var bench = WHIPBench(try WHIPWire.machine())
        bench.feed(.attempt(note: nil))
        try bench.answer("OPTIONS", HTTPAnswer(status: 405))
        #expect(bench.last.events == [.peerArrived(PeerID("cam1"))])
        #expect(bench.machine.handle(.timerFired(WHIPRoomStateMachine.offerTimer)).failure?.code == .timedOut)
    }

    @Test func anEndpointThatLetsOptionsLieIsOffered() throws {
        var bench = WHIPBench(try WHIPWire.machine())
        bench.feed(.attempt(note: nil))
        #expect(try bench.fail("OPTIONS", .timedOut).events == [.peerArrived(PeerID("cam1"))])
        #expect(bench.feed(.command(.offer(to: bench.machine.peer, sdp: WHIPWire.offer))).requests.count == 1)
        #expect(try bench.fail("POST", .timedOut).failure?.code == .timedOut)
    }

    @Test(arguments: [
        ("https://other.example.org/s", "https://other.example.org/s"), ("s", "https://media.example.org/whep/s"),
        ("//media.example.org:8443/s", "https://media.example.org:8443/s"),
    ])
    func findsTheSession(location: String, url: String) throws {
        var bench = WHIPBench(try WHIPWire.machine(secret: "abc"))
        try bench.post()
        try bench.answer("POST", try WHIPWire.created(location: location))
        #expect(bench.last.first == .note(url))
        let delete = try #require(bench.feed(.command(.leave)).requests.first)
        #expect(delete.url.description == url)
        // The token is for the origin it was given for.
        #expect((delete.header("Authorization") != nil) == (url == "https://media.example.org/whep/s"))
    }

    @Test(arguments: [nil, "http://media.example.org/s", "wss://media.example.org/s", "ftp://x/", "https://h:99999/"])
    func playsOnWithoutASessionThatCanBeEnded(location: String?) throws {
        var bench = WHIPBench(try WHIPWire.machine())
        try bench.post()
        try bench.answer("POST", try WHIPWire.created(location: location))
        #expect(bench.last.events.contains(.answerReceived(from: PeerID("cam1"), sdp: WHIPWire.description())))
        #expect(bench.feed(.command(.candidate(to: PeerID("cam1"), WHIPWire.candidate(1)))).isEmpty)
        #expect(bench.feed(.command(.leave)) == [.note(nil), .event(.left), .finished(nil)])
    }

    @Test func endsWhatACrashedRunLeftBehind() throws {
        var bench = WHIPBench(try WHIPWire.machine(secret: "abc"))
        bench.feed(.attempt(note: "https://media.example.org/session/old"))
        #expect(bench.open.map(\.method) == ["OPTIONS", "DELETE"])
        #expect(bench.open.last?.header("Authorization") == "Bearer abc")
        #expect(try bench.answer("OPTIONS", HTTPAnswer(status: 200)).isEmpty)
        #expect(try bench.answer("DELETE", HTTPAnswer(status: 404)).first == .note(nil))
        #expect(bench.last.events == [.peerArrived(PeerID("cam1"))])
        var deaf = WHIPBench(try WHIPWire.machine())
        deaf.feed(.attempt(note: "https://media.example.org/session/old"))
        #expect(try deaf.fail("DELETE").isEmpty)
        #expect(try deaf.answer("OPTIONS", HTTPAnswer(status: 200)).events == [.peerArrived(PeerID("cam1"))])
        for note in ["", "hello", "wss://media.example.org/s", "http://media.example.org/s"] {
            #expect(try WHIPWire.machine().handled(.attempt(note: note)).requests.count == 1, "\(note)")
        }
    }

    @Test func refusesMisuseBeforeAnythingIsSent() throws {
        let publish = try RoomURL(parsing: "whip+https://h/w").address as? RoomURL.WHIP
        let play = try RoomURL(parsing: "whep+https://h/w").address as? RoomURL.WHEP
        for var machine in [
            publish?.makeMachine(SignallingOptions(policy: .persistent, sends: false, receives: true)),
            play?.makeMachine(SignallingOptions(policy: .persistent, sends: true, receives: false)),
            play?.makeMachine(SignallingOptions(policy: .persistent, secret: "a\r\nX: b")),
        ].compactMap(\.self) {
            let actions = machine.handle(.attempt(note: "https://h/s"))
            guard case .finished(.some) = actions.first else { Issue.record("\(actions)"); continue }
            #expect(actions.count == 1)
            #expect(machine.handle(.attempt(note: nil)).isEmpty)
        }
    }

    // MARK: - Redirects

    @Test func followsTheRedirectOfAnOfferAndKeepsTheTokenHome() throws {
        var bench = WHIPBench(try WHIPWire.machine(secret: "abc"))
        try bench.post()
        try bench.answer("POST", try WHIPWire.answer("HTTP/1.1 307 T\r\nLocation: /eu/whep/cam1\r\n\r\n"))
        #expect(bench.open.first?.url.description == "https://media.example.org/eu/whep/cam1")
        #expect(bench.open.first?.header("Authorization") == "Bearer abc")
        try bench.answer("POST", try WHIPWire.answer("HTTP/1.1 308 P\r\nLocation: https://edge.example.org/w\r\n\r\n"))
        #expect(bench.open.first?.header("Authorization") == nil)
        #expect(bench.open.first?.text == WHIPDescription.conforming(WHIPWire.offer))
        try bench.answer("POST", try WHIPWire.created(location: "s/1"))
        #expect(bench.last.first == .note("https://edge.example.org/s/1"))
        let patch = bench.feed(.command(.candidate(to: PeerID("cam1"), WHIPWire.candidate(1))))
        #expect(patch == [.startTimer(WHIPRoomStateMachine.trickleTimer, after: .milliseconds(50))])
        let sent = bench.feed(.timerFired(WHIPRoomStateMachine.trickleTimer)).requests
        #expect(sent.map { $0.header("Authorization") } == [nil])
    }

    @Test(arguments: [
        "Location: http://media.example.org/w\r\n", "", "Location: ftp://x/\r\n",
        "Location: wss://media.example.org/\r\n",
    ])
    func refusesARedirectTo(location: String) throws {
        var bench = WHIPBench(try WHIPWire.machine())
        try bench.post()
        let error = try bench.answer("POST", try WHIPWire.answer("HTTP/1.1 307 T\r\n\(location)\r\n")).failure
        #expect(error?.code == .protocolViolation && error?.message.contains("redirects") == true)
    }

    /// Where an endpoint may send us: anywhere on its host, elsewhere only where a certificate is checked.
    @Test(
        arguments: [
            ("http://media.example.org/w", "http://media.example.org:8080/w", true),
            ("http://media.example.org/w", "https://media.example.org/w", true),
            ("http://media.example.org/w", "https://edge.example.org/w", true),
            ("http://media.example.org/w", "http://edge.example.org/w", false),
            ("http://media.example.org/w", "http://127.0.0.1/w", false),
            ("https://media.example.org/w", "https://edge.example.org/w", true),
            ("https://media.example.org/w?insecure", "https://media.example.org:8443/w", true),
            ("https://media.example.org/w?insecure", "https://edge.example.org/w", false),
        ] as [(String, String, Bool)]
    )
    func goesToOtherHostsOnlyWithACertificate(endpoint: String, target: String, isTaken: Bool) throws {
        var bench = WHIPBench(try WHIPWire.machine(.play, endpoint))
        try bench.post()
        try bench.answer("POST", try WHIPWire.answer("HTTP/1.1 307 T\r\nLocation: \(target)\r\n\r\n"))
        #expect(bench.open.map(\.url.description) == (isTaken ? [target] : []))
        if !isTaken {
            #expect(bench.last.failure?.code == .protocolViolation)
            #expect(bench.last.failure?.message.contains("another host without a certificate") == true)
        }
        // A session elsewhere gets no candidates, is not ended, and is not noted for the next run.
        bench = WHIPBench(try WHIPWire.machine(.play, endpoint))
        try bench.post()
        try bench.answer("POST", try WHIPWire.created(location: target))
        #expect(bench.last.contains(.note(target)) == isTaken)
        let isEnded = bench.feed(.command(.leave)).requests.contains { $0.method == "DELETE" }
        #expect(isEnded == isTaken)
        // Neither does a note lead there that another run left behind.
        var next = try WHIPWire.machine(.play, endpoint)
        let first = next.handle(.attempt(note: target)).requests
        #expect(first.map(\.method) == (isTaken ? ["OPTIONS", "DELETE"] : ["OPTIONS"]))
    }

    @Test func redirectsEnd() throws {
        var bench = WHIPBench(try WHIPWire.machine())
        try bench.post()
        let circle = try WHIPWire.answer("HTTP/1.1 307 T\r\nLocation: /whep/cam1\r\n\r\n")
        for _ in 0..<WHIPRoomStateMachine.maximumRedirects {
            #expect(try bench.answer("POST", circle).requests.count == 1)
        }
        #expect(try bench.answer("POST", circle).failure?.message.contains("circle") == true)
    }

    // MARK: - Refusals

    @Test(arguments: [
        (WHIPDirection.play, 401, SignallingError.Code.refused, "token"), (.publish, 403, .refused, "let us in"),
        (.publish, 404, .refused, "takes nothing"), (.play, 404, .unreachable, "nothing to play"),
        (.play, 409, .unreachable, "nothing to play"), (.publish, 409, .unreachable, "taken"),
        (.play, 400, .refused, "offer"), (.play, 415, .refused, "offer"), (.publish, 422, .refused, "offer"),
        (.publish, 406, .refused, "offer"), (.play, 406, .refused, "offer"), (.play, 418, .refused, "offer"),
        (.play, 301, .refused, "elsewhere"), (.play, 302, .refused, "elsewhere"),
        (.play, 500, .unreachable, "at present"),
        (.play, 503, .unreachable, "at present"), (.play, 599, .unreachable, "at present"),
        (.play, 429, .unreachable, "at present"), (.play, 100, .protocolViolation, "something else"),
    ])
    func saysWhatARefusalMeans(
        direction: WHIPDirection,
        status: Int,
        code: SignallingError.Code,
        words: String
    ) throws {
        var bench = WHIPBench(try WHIPWire.machine(direction))
        try bench.post()
        let error = try bench.answer(
            "POST",
            try WHIPWire.answer(
                "HTTP/1.1 \(status) X\r\nContent-Type: application/problem+json\r\n\r\n"
                    + "{\"title\":\"no\",\"detail\":\"because\\u000a of it\"}"
            )
        ).failure
        #expect(error?.code == code)
        #expect(error?.message.contains(words) == true)
        #expect(error?.message.contains("HTTP \(status), because of it") == true)
        #expect(error?.message.contains("media.example.org") == true)
    }

    @Test func aWrongTokenIsCalledWrong() throws {
        var bench = WHIPBench(try WHIPWire.machine(secret: "abc"))
        try bench.post()
        let error = try bench.answer("POST", HTTPAnswer(status: 401)).failure
        #expect(error?.message.contains("does not accept our token") == true)
        #expect(error?.message.contains("abc") == false)
    }

    @Test func waitsAsLongAsTheEndpointWants() throws {
        for (text, policy, wait) in [
            ("3", JoinPolicy.oneShot, Duration.seconds(3)), ("900", .oneShot, .seconds(10)),
            ("900", .persistent, .seconds(300)),
        ] {
            var bench = WHIPBench(try WHIPWire.machine(policy: policy))
            try bench.post()
            try bench.answer("POST", try WHIPWire.answer("HTTP/1.1 409 Conflict\r\nRetry-After: \(text)\r\n\r\n"))
            let retry = WHIPRoomStateMachine.retryTimer
            #expect(bench.last == [.event(.peerLeft(PeerID("cam1"))), .startTimer(retry, after: wait)])
            #expect(bench.feed(.command(.resetCall(PeerID("cam1")))).isEmpty)
            #expect(bench.feed(.timerFired(retry)).failure?.code == .unreachable)
            #expect(bench.feed(.attempt(note: nil)).requests.map(\.method) == ["OPTIONS"])
        }
        for text in ["0", "-1", "soon", "99999999999999999999", "Fri, 31 Dec 1999 23:59:59 GMT"] {
            var bench = WHIPBench(try WHIPWire.machine())
            try bench.post()
            try bench.answer("POST", try WHIPWire.answer("HTTP/1.1 503 X\r\nRetry-After: \(text)\r\n\r\n"))
            #expect(bench.last.failure != nil, "\(text)")
        }
    }

    @Test(arguments: [
        "HTTP/1.1 201 Created\r\nContent-Type: text/html\r\n\r\nv=0\r\n", "HTTP/1.1 201 Created\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Type: application/sdp\r\n\r\n<html>", "HTTP/1.1 204 No Content\r\n\r\n",
    ])
    func anAnswerWithoutADescriptionIsNone(text: String) throws {
        var bench = WHIPBench(try WHIPWire.machine())
        try bench.post()
        #expect(try bench.answer("POST", try WHIPWire.answer(text)).failure?.code == .protocolViolation)
    }

    // MARK: - Counter-offers

    private static let counterOffer =
        "HTTP/1.1 406 Not Acceptable\r\nContent-Type: Application/SDP; valid-until=\"Wed, 09 Oct 2024 10:00:00 GMT\"\r\n"
        + "ETag: \"c1\"\r\nLocation: /session/9\r\n\r\n" + WHIPWire.description()

    @Test func answersACounterOffer() throws {
        var bench = WHIPBench(try WHIPWire.machine())
        try bench.post()
        try bench.answer("POST", try WHIPWire.answer(Self.counterOffer))
        #expect(
            bench.last == [
                .note("https://media.example.org/session/9"), .event(.joined(ownID: nil)),
                .startTimer(WHIPRoomStateMachine.offerTimer, after: WHIPRoomStateMachine.descriptionLimit),
                .event(.offerReceived(from: PeerID("cam1"), sdp: WHIPWire.description())),
            ]
        )
        #expect(bench.feed(.command(.candidate(to: PeerID("cam1"), WHIPWire.candidate(4)))).isEmpty)
        bench.feed(.command(.answer(to: PeerID("cam1"), sdp: WHIPWire.offer)))
        let patch = try #require(bench.open.first)
        #expect(patch.method == "PATCH" && patch.header("Content-Type") == "application/sdp")
        #expect(patch.header("If-Match") == "\"c1\"" && patch.text == WHIPWire.offer)
        #expect(bench.feed(.command(.answer(to: PeerID("cam1"), sdp: "v=0"))).requests.isEmpty)
        try bench.answer("PATCH", HTTPAnswer(status: 204))
        #expect(bench.open.first?.header("Content-Type") == "application/trickle-ice-sdpfrag")
        #expect(bench.open.first?.text.contains("192.0.2.9 6004") == true)
    }

    @Test(arguments: [404, 422, 500])
    func aRefusedAnswerLeavesNothingBehind(status: Int) throws {
        var bench = WHIPBench(try WHIPWire.machine())
        try bench.post()
        try bench.answer("POST", try WHIPWire.answer(Self.counterOffer))
        bench.feed(.command(.answer(to: PeerID("cam1"), sdp: WHIPWire.offer)))
        #expect(try bench.answer("PATCH", HTTPAnswer(status: status)).failure != nil)
        #expect(bench.feed(.attempt(note: nil)).requests.map(\.method) == ["OPTIONS", "DELETE"])
    }

    @Test func aCounterOfferNeedsASessionAndTime() throws {
        var bench = WHIPBench(try WHIPWire.machine())
        try bench.post()
        let homeless = Self.counterOffer.replacing("Location: /session/9\r\n", with: "")
        #expect(try bench.answer("POST", try WHIPWire.answer(homeless)).failure?.code == .protocolViolation)
        var slow = WHIPBench(try WHIPWire.machine())
        try slow.post()
        try slow.answer("POST", try WHIPWire.answer(Self.counterOffer))
        #expect(slow.feed(.timerFired(WHIPRoomStateMachine.offerTimer)).failure?.code == .timedOut)
    }
}

extension WHIPRoomStateMachine {
    /// The first action of a fresh machine.
    func handled(_ input: SignallingInput) -> [SignallingAction] {
        var machine = self
        return machine.handle(input)
    }
}
