// SPDX-License-Identifier: Apache-2.0

import Session
import Testing

@testable import Signalling

/// A player of WHEP and a room session, and an endpoint that misbehaves; raw answers of its own wire.
///
/// The endpoint speaks only when it is asked, and only in descriptions: most cases of other protocols cannot occur
/// here, and data that look like them are ignored.
@Suite struct WHIPMustSurviveTests {
    private static let peer = PeerID("cam1")
    private typealias Bench = CallBench<WHIPRoomStateMachine>

    /// A room in which our offer waits for its answer.
    private static func posted(_ policy: JoinPolicy = .oneShot) throws -> Bench {
        var bench = Bench(try WHIPWire.machine(policy: policy))
        bench.feed(.attempt(note: nil))
        try Self.answer(&bench, "OPTIONS", HTTPAnswer(status: 200))
        return bench
    }

    private static func joined() throws -> Bench {
        var bench = try Self.posted()
        try Self.answer(&bench, "POST", try WHIPWire.created())
        return bench
    }

    /// Answers the newest request with this method.
    private static func answer(_ bench: inout Bench, _ method: String, _ answer: HTTPAnswer) throws {
        let request = try #require(bench.sent.requests.last { $0.method == method })
        bench.feed(.answered(request.id, answer))
    }

    private static func description(_ media: String) -> String {
        WHIPWire.description(media: media)
    }

    @Test(arguments: MustSurvive.allCases)
    func survives(_ what: MustSurvive) throws {
        switch what {
        case .candidateBeforeOffer, .candidateBeforeAnswer, .labelAsInteger, .labelAsFloat, .labelAsString,
            .labelMissing, .midMissing, .midNull, .midWrong, .candidateLineEmpty, .candidateLineNull,
            .candidateLineWithPrefix, .candidateLineWithAttributePrefix, .candidateLineWithoutPrefix:
            // An endpoint has no candidates outside its descriptions: whatever form one takes, no body is read as one.
            try Self.takesNoCandidates()
        case .descriptionAsObject, .nonJSONFrame, .unknownEvent, .oversizedFrame:
            try Self.takesNoOtherBody(what)
        case .answerWithoutOffer, .duplicateAnswer, .twoOffersInARow, .offerWithNewSessionIDWhileConnected:
            // Nothing comes unasked, and an answer belongs to one request.
            try Self.takesOneAnswer()
        case .echoOfOurOwnOffer: try Self.knowsItsOwnOffer()
        case .glare: try Self.yieldsToACounterOffer(WHIPWire.description())
        case .descriptionAsString:
            let bench = try Self.joined()
            #expect(bench.applied == [WHIPWire.description()])
        case .sdesOnlyOffer:
            try Self.yieldsToACounterOffer(
                Self.description(
                    "m=audio 9 RTP/SAVP 0\r\na=crypto:1 AES_CM_128_HMAC_SHA1_80 inline:x\r\na=sendonly\r\n"
                )
            )
        case .planBOffer:
            try Self.yieldsToACounterOffer(
                Self.description(WHIPWire.media + "a=ssrc:1 msid:a b\r\na=ssrc:2 msid:c d\r\n")
            )
        case .receiveOnlyOffer:
            let media = WHIPWire.media.replacing("a=sendonly", with: "a=recvonly")
            try Self.yieldsToACounterOffer(Self.description(media))
        case .audioOnlyOffer: try Self.yieldsToACounterOffer(Self.description(WHIPWire.media))
        case .duplicatePayloadTypes:
            let media = WHIPWire.media.replacing("SAVPF 111", with: "SAVPF 111 111")
            try Self.yieldsToACounterOffer(Self.description(media))
        case .peerVanishesWithoutAWord: try Self.offersAfresh()
        case .serverRestarts: try Self.comesBack()
        case .roomFullFor90Seconds: try Self.waitsForAPublisher()
        }
    }

    private static func takesNoCandidates() throws {
        for line in ["candidate:1 1 udp 1 192.0.2.7 5 typ host", "a=candidate:1 1 udp 1 192.0.2.7 5 typ host", ""] {
            let fragment = "HTTP/1.1 200 OK\r\nContent-Type: application/trickle-ice-sdpfrag\r\n\r\n\(line)\r\n"
            var early = try Self.posted()
            try Self.answer(&early, "POST", try WHIPWire.answer(fragment))
            #expect(early.candidates.isEmpty && early.applied.isEmpty)
            guard case .attemptFailed(let error) = early.end else { Issue.record("a fragment is no answer"); return }
            #expect(error.code == .protocolViolation)
            var late = try Self.joined()
            late.feed(.command(.candidate(to: Self.peer, WHIPWire.candidate(2))))
            late.feed(.timerFired(WHIPRoomStateMachine.trickleTimer))
            try Self.answer(&late, "PATCH", try WHIPWire.answer(fragment))
            #expect(late.candidates.isEmpty && late.end == nil && late.openings == 1)
        }
    }

    private static func takesNoOtherBody(_ what: MustSurvive) throws {
        let body =
            switch what {
            case .descriptionAsObject: "{\"type\":\"answer\",\"sdp\":\"v=0\"}"
            case .oversizedFrame: "v=0\r\n" + String(repeating: "a=x\r\n", count: 60_000)
            case .unknownEvent: "event: viewercount\r\ndata: {}\r\n"
            default: "\u{0}<html>"
            }
        var bench = try Self.posted()
        try Self.answer(&bench, "POST", try WHIPWire.created(body))
        #expect(bench.applied.isEmpty)
        guard case .attemptFailed(let error) = bench.end else { Issue.record("taken: \(what)"); return }
        #expect(error.code == .protocolViolation && error.message.utf8.count < 300)
        bench.reconnect()
        #expect(bench.connections.isEmpty && bench.facts.allSatisfy { $0 != .peerJoined(Self.peer) })
        var binary = try Self.posted()
        var answer = try WHIPWire.created()
        answer.body = [0x76, 0x3D, 0x30, 0xFF, 0xFE]
        try Self.answer(&binary, "POST", answer)
        #expect(binary.applied.isEmpty && binary.end != nil)
    }

    private static func takesOneAnswer() throws {
        var bench = Bench(try WHIPWire.machine())
        // Before anything was asked.
        bench.feed(.answered(HTTPRequest.ID(rawValue: "offer-1"), try WHIPWire.created()))
        #expect(bench.events.isEmpty && bench.sent.isEmpty)
        bench = try Self.joined()
        let other = WHIPWire.description(session: "8", version: 9)
        try Self.answer(&bench, "POST", try WHIPWire.created())
        try Self.answer(&bench, "POST", try WHIPWire.created(other, location: "/session/2"))
        let counter = "HTTP/1.1 406 N\r\nContent-Type: application/sdp\r\nLocation: /session/3\r\n\r\n" + other
        try Self.answer(&bench, "POST", try WHIPWire.answer(counter))
        #expect(bench.applied == [WHIPWire.description()] && bench.openings == 1)
        bench.feed(.command(.leave))
        #expect(bench.sent.requests.last?.url.target == "/session/1")
    }

    private static func knowsItsOwnOffer() throws {
        var bench = try Self.posted()
        let offer = try #require(bench.sent.requests.last { $0.method == "POST" }?.text)
        try Self.answer(&bench, "POST", try WHIPWire.created(offer))
        #expect(bench.applied.isEmpty)
        #expect(bench.facts.contains { if case .ignored(.echo, _, _) = $0 { true } else { false } })
    }

    /// The endpoint offers although we did: it wins, whatever it offers; what the media layer cannot take is refused there.
    private static func yieldsToACounterOffer(_ offer: String) throws {
        var bench = try Self.posted()
        let counter = "HTTP/1.1 406 N\r\nContent-Type: application/sdp\r\nLocation: /session/3\r\n\r\n" + offer
        try Self.answer(&bench, "POST", try WHIPWire.answer(counter))
        #expect(bench.applied == [offer] && bench.openings == 2 && bench.connections.count == 1)
        let patch = try #require(bench.sent.requests.last)
        #expect(patch.method == "PATCH" && patch.url.target == "/session/3")
        try Self.answer(&bench, "PATCH", HTTPAnswer(status: 204))
        #expect(bench.end == nil && bench.facts.contains(.peerJoined(Self.peer)))
    }

    private static func offersAfresh() throws {
        var bench = try Self.joined()
        let connection = try #require(bench.connections[Self.peer])
        bench.feed(session: .connection(connection, .connected))
        bench.feed(session: .connection(connection, .iceFailed))
        #expect(bench.sent.requests.suffix(2).map(\.method) == ["OPTIONS", "DELETE"])
        try Self.answer(&bench, "DELETE", HTTPAnswer(status: 200))
        try Self.answer(&bench, "OPTIONS", HTTPAnswer(status: 200))
        let fresh = WHIPWire.description(session: "8")
        try Self.answer(&bench, "POST", try WHIPWire.created(fresh, location: "/session/2"))
        #expect(bench.applied == [WHIPWire.description(), fresh] && bench.connections.count == 1)
        // It was the same participant all the time.
        #expect(!bench.facts.contains(.peerLeft(Self.peer)))
    }

    /// An answer that cannot be used, again and again: only we can redial.
    @Test func anAnswerThatCannotBeTakenIsAskedForAgainLater() throws {
        var bench = try Self.joined()
        for count in 1...5 {
            #expect(bench.applied.count == count && bench.connections.count == 1)
            let connection = try #require(bench.connections[Self.peer])
            let sent = bench.sent.requests.count
            bench.feed(session: .connection(connection, .descriptionRefused(reason: "test")))
            #expect(bench.sent.requests.count == sent && bench.connections.isEmpty, "at once would be for ever")
            bench.fire(.returning)
            #expect(bench.sent.requests.dropFirst(sent).map(\.method) == ["OPTIONS", "DELETE"])
            try Self.answer(&bench, "DELETE", HTTPAnswer(status: 200))
            try Self.answer(&bench, "OPTIONS", HTTPAnswer(status: 200))
            try Self.answer(&bench, "POST", try WHIPWire.created(location: "/session/\(count + 1)"))
        }
        #expect(bench.openings == 6 && bench.connections.count == 1 && bench.end == nil)
        // It was the same participant all the time.
        let comings = bench.facts.filter { $0 == .peerJoined(Self.peer) || $0 == .peerLeft(Self.peer) }
        #expect(comings == [.peerJoined(Self.peer)])
    }

    private static func comesBack() throws {
        var bench = try Self.joined()
        let connection = try #require(bench.connections[Self.peer])
        bench.feed(session: .connection(connection, .iceFailed))
        let error = SignallingError(.unreachable, "refused", blame: .network)
        let ask = try #require(bench.sent.requests.last { $0.method == "OPTIONS" })
        bench.feed(.requestFailed(ask.id, error))
        for _ in 0..<3 {
            bench.reconnect(note: "https://media.example.org/session/1")
            let ask = try #require(bench.sent.requests.last { $0.method == "OPTIONS" })
            bench.feed(.requestFailed(ask.id, error))
            #expect(bench.end == .attemptFailed(error))
        }
        bench.reconnect(note: "https://media.example.org/session/1")
        try Self.answer(&bench, "DELETE", HTTPAnswer(status: 404))
        try Self.answer(&bench, "OPTIONS", HTTPAnswer(status: 200))
        let fresh = WHIPWire.description(session: "8")
        try Self.answer(&bench, "POST", try WHIPWire.created(fresh, location: "/session/2"))
        #expect(bench.applied.last == fresh && bench.connections.count == 1 && bench.end == nil)
    }

    private static func waitsForAPublisher() throws {
        var bench = try Self.posted(.persistent)
        for _ in 0..<9 {
            try Self.answer(&bench, "POST", try WHIPWire.answer("HTTP/1.1 409 C\r\nRetry-After: 10\r\n\r\n"))
            #expect(bench.end == nil && bench.timers.contains(WHIPRoomStateMachine.retryTimer))
            #expect(bench.connections.isEmpty)
            bench.feed(.timerFired(WHIPRoomStateMachine.retryTimer))
            bench.reconnect()
            try Self.answer(&bench, "OPTIONS", HTTPAnswer(status: 200))
        }
        try Self.answer(&bench, "POST", try WHIPWire.created())
        #expect(bench.applied == [WHIPWire.description()])
        let comings = bench.facts.filter { $0 == .peerJoined(Self.peer) || $0 == .peerLeft(Self.peer) }
        #expect(comings == [.peerJoined(Self.peer)])
    }
}
