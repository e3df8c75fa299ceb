// SPDX-License-Identifier: Apache-2.0

import Session
import Testing

@testable import Signalling

/// Everything of `MustSurvive` with the message bodies of an app that calls by XMPP.
@Suite struct XMPPMustSurviveTests {
    private static func candidate(_ index: Int?, _ mid: String?) -> ICECandidate {
        ICECandidate(line: XMPPBench.line, mLineIndex: index, mid: mid)
    }

    /// Feeds an answered call one candidate message and expects what is handed over.
    private static func expect(_ members: String, hands expected: ICECandidate?) throws {
        var bench = try #require(XMPPBench.online())
        bench.feed(XMPPBench.offer)
        bench.feed(XMPPBench.chat(#"{"type":"candidate",\#(members)}"#))
        #expect(bench.candidates == (expected.map { [$0] } ?? []))
        bench.feed(XMPPBench.candidate)
        #expect(bench.candidates.count == (expected == nil ? 1 : 2), "the call goes on")
        #expect(bench.end == nil && XMPPBench.kinds(bench) == ["answer"])
    }

    /// An offer of these media is handed to a connection as it came, and answered.
    private static func expectHandedOver(_ media: String) throws {
        var bench = try #require(XMPPBench.online())
        bench.feed(XMPPBench.description("offer", XMPPBench.sdp(media: media)))
        #expect(bench.applied == [XMPPBench.sdp(media: media)])
        #expect(XMPPBench.said(bench.sent).map(\.to) == [XMPPBench.alice])
        #expect(XMPPBench.kinds(bench) == ["answer"])
    }

    /// A body that is no signalling: there is no answer, the session gets one report, the call continues.
    private static func expectIgnored(_ body: String) throws {
        var bench = try #require(XMPPBench.online())
        bench.feed(XMPPBench.offer)
        let (sent, events) = (bench.sent.count, bench.events.count)
        bench.feed(XMPPBench.chat(body))
        #expect(XMPPBench.stanzas(Array(bench.sent[sent...])).isEmpty)
        #expect(bench.events.count == events + 1)
        #expect(bench.events.last.map { if case .ignored = $0 { true } else { false } } == true)
        #expect(bench.connections.count == 1)
    }

    /// Our call's media end with the server, and only we call: after a while the session has it made again.
    private static func callsAgainAfterARestart(isForgotten: Bool) throws {
        var bench = try #require(XMPPBench.calling())
        bench.feed(XMPPBench.answer)
        bench.feed(.xmpp(.closed(nil)))
        bench.reconnect()
        let connection = try #require(bench.connections[XMPPBench.peer])
        bench.feed(session: .connection(connection, .iceFailed))
        if isForgotten { bench.fire(.returning) }
        #expect(bench.facts.contains(.peerLeft(XMPPBench.peer)) == isForgotten)
        bench.feed(.xmpp(.opened(try #require(XMPPBench.own))))
        bench.feed(XMPPBench.presence())
        #expect(XMPPBench.kinds(bench) == ["roomId", "offer"])
        bench.fire(.returning)
        bench.feed(.timerFired(XMPPRoomStateMachine.callTimer))
        #expect(XMPPBench.kinds(bench) == ["roomId", "offer", "bye", "roomId", "offer"])
        bench.feed(XMPPBench.description("answer", XMPPBench.sdp(session: 8)))
        #expect(bench.applied == [XMPPBench.sdp(), XMPPBench.sdp(session: 8)] && bench.connections.count == 1)
    }

    @Test(arguments: MustSurvive.allCases)
    func survives(_ what: MustSurvive) throws {
        let line = #""sdp":"\#(XMPPBench.line)""#
        switch what {
        case .candidateBeforeOffer:
            var bench = try #require(XMPPBench.online())
            bench.feed(XMPPBench.room)
            bench.feed(XMPPBench.candidate)
            #expect(bench.candidates.isEmpty)
            bench.feed(XMPPBench.offer)
            #expect(bench.candidates == [Self.candidate(0, "audio")])
        case .candidateBeforeAnswer:
            var bench = try #require(XMPPBench.calling())
            bench.feed(XMPPBench.candidate)
            #expect(bench.candidates.isEmpty)
            bench.feed(XMPPBench.answer)
            #expect(bench.candidates == [Self.candidate(0, "audio")])
        case .twoOffersInARow:
            var bench = try #require(XMPPBench.online())
            bench.feed(XMPPBench.offer)
            bench.feed(XMPPBench.offer)
            #expect(bench.openings == 1 && bench.applied.count == 1)
            #expect(Set(XMPPBench.stanzas(bench.sent).compactMap(\.body)).count == 1, "the same answer again")
        case .answerWithoutOffer:
            var bench = try #require(XMPPBench.online())
            bench.feed(XMPPBench.answer)
            #expect(bench.openings == 0 && bench.applied.isEmpty)
            bench.feed(XMPPBench.offer)
            #expect(XMPPBench.kinds(bench) == ["answer"])
        case .duplicateAnswer:
            var bench = try #require(XMPPBench.calling())
            bench.feed(XMPPBench.answer)
            bench.feed(XMPPBench.answer)
            #expect(bench.applied == [XMPPBench.sdp()])
        case .offerWithNewSessionIDWhileConnected:
            var bench = try #require(XMPPBench.online())
            bench.feed(XMPPBench.offer)
            bench.feed(XMPPBench.description("offer", XMPPBench.sdp(session: 8)))
            #expect(bench.openings == 2 && bench.connections.count == 1)
            #expect(bench.applied == [XMPPBench.sdp(), XMPPBench.sdp(session: 8)])
        case .glare:
            var bench = try #require(XMPPBench.calling())
            bench.feed(XMPPBench.room)
            bench.feed(XMPPBench.offer)
            #expect(bench.openings == 2 && bench.connections.count == 1)
            #expect(XMPPBench.kinds(bench) == ["roomId", "offer", "answer"])
        case .echoOfOurOwnOffer:
            var bench = try #require(XMPPBench.calling())
            bench.feed(XMPPBench.description("offer", CallBench<XMPPRoomStateMachine>.ourDescription(1)))
            #expect(bench.applied.isEmpty && bench.openings == 1)
            bench.feed(XMPPBench.answer)
            #expect(bench.applied == [XMPPBench.sdp()])
        case .labelAsInteger: try Self.expect("\(line),\"label\":1,\"id\":\"audio\"", hands: Self.candidate(1, "audio"))
        case .labelAsFloat: try Self.expect("\(line),\"label\":1.0,\"id\":\"a\"", hands: Self.candidate(1, "a"))
        case .labelAsString: try Self.expect("\(line),\"label\":\"1\",\"id\":\"a\"", hands: Self.candidate(1, "a"))
        case .labelMissing: try Self.expect("\(line),\"id\":\"audio\"", hands: Self.candidate(nil, "audio"))
        case .midMissing: try Self.expect("\(line),\"label\":0", hands: Self.candidate(0, nil))
        case .midNull: try Self.expect("\(line),\"label\":0,\"id\":null", hands: Self.candidate(0, nil))
        case .midWrong: try Self.expect("\(line),\"label\":0,\"id\":\"video\"", hands: Self.candidate(0, "video"))
        case .candidateLineWithPrefix: try Self.expect(line, hands: Self.candidate(nil, nil))
        case .candidateLineWithAttributePrefix:
            try Self.expect(#""sdp":"a=\#(XMPPBench.line)\r\n""#, hands: Self.candidate(nil, nil))
        case .candidateLineWithoutPrefix:
            try Self.expect(
                #""sdp":"\#(XMPPBench.line.dropFirst("candidate:".count))""#,
                hands: Self.candidate(nil, nil)
            )
        case .candidateLineEmpty: try Self.expect(#""sdp":"","label":0,"id":"audio""#, hands: nil)
        case .candidateLineNull: try Self.expect(#""sdp":null,"label":0,"id":"audio""#, hands: nil)
        case .descriptionAsString: try Self.expectHandedOver("m=audio 9 UDP/TLS/RTP/SAVPF 111\r\na=mid:audio\r\n")
        case .descriptionAsObject:
            var bench = try #require(XMPPBench.online())
            bench.feed(
                XMPPBench.chat(#"{"type":"offer","sdp":{"type":"offer","sdp":"v=0\r\no=- 1 1 IN IP4 0.0.0.0\r\n"}}"#)
            )
            #expect(bench.applied == ["v=0\r\no=- 1 1 IN IP4 0.0.0.0\r\n"])
        case .unknownEvent:
            try Self.expectIgnored(#"{"type":"remove-candidates","candidates":[]}"#)
            try Self.expectIgnored(#"{"sdp":"x"}"#)
        case .nonJSONFrame:
            for body in ["Are you there?", "5", #""text""#, "[]", "{}", "{", "", #"{"hello":1}"#] {
                try Self.expectIgnored(body)
            }
        case .oversizedFrame:
            try Self.expectIgnored(#"{"type":"offer","sdp":"\#(String(repeating: "x", count: 300_000))"}"#)
            try Self.expectIgnored(#"{"type":"offer","sdp":"\#(String(repeating: "x", count: 1_100_000))"}"#)
        case .sdesOnlyOffer:
            var bench = try #require(XMPPBench.online())
            let media = "m=audio 9 RTP/SAVPF 111\r\na=crypto:1 AES_CM_128_HMAC_SHA1_80 inline:x\r\n"
            let sdp = XMPPBench.sdp(media: media).replacing("a=fingerprint:sha-256 TH:E7\r\n", with: "")
            bench.feed(XMPPBench.room)
            bench.feed(XMPPBench.description("offer", sdp))
            #expect(bench.openings == 0)
            #expect(XMPPBench.kinds(bench) == ["bye"])
            #expect(
                bench.events.contains { if case .ignored(let what, _) = $0 { what.contains("SDES") } else { false } }
            )
            bench.feed(XMPPBench.bye)
            #expect(XMPPBench.kinds(bench) == ["bye"], "the echo is not answered")
        case .planBOffer:
            try Self.expectHandedOver("m=video 9 UDP/TLS/RTP/SAVPF 100\r\na=mid:video\r\na=ssrc:1 msid:a b\r\n")
        case .receiveOnlyOffer:
            try Self.expectHandedOver("m=video 9 UDP/TLS/RTP/SAVPF 100\r\na=mid:0\r\na=recvonly\r\n")
        case .audioOnlyOffer: try Self.expectHandedOver("m=audio 9 UDP/TLS/RTP/SAVPF 111\r\na=mid:0\r\n")
        case .duplicatePayloadTypes: try Self.expectHandedOver("m=video 9 UDP/TLS/RTP/SAVPF 100 96 100\r\na=mid:0\r\n")
        case .peerVanishesWithoutAWord:
            // The media say that it is gone: `bye`, and another call of ours when it was ours.
            var bench = try #require(XMPPBench.calling())
            bench.feed(XMPPBench.answer)
            let connection = try #require(bench.connections[XMPPBench.peer])
            bench.feed(session: .connection(connection, .iceFailed))
            #expect(XMPPBench.kinds(bench) == ["roomId", "offer", "bye"])
            bench.feed(XMPPBench.bye)
            bench.feed(.timerFired(XMPPRoomStateMachine.callTimer))
            #expect(XMPPBench.kinds(bench) == ["roomId", "offer", "bye", "roomId", "offer"])
        case .serverRestarts:
            var bench = try #require(XMPPBench.online())
            bench.feed(XMPPBench.offer)
            bench.feed(XMPPBench.presence("unavailable"))
            bench.feed(.xmpp(.closed(nil)))
            bench.reconnect()
            bench.feed(.xmpp(.opened(try #require(XMPPBench.own))))
            #expect(bench.connections.count == 1 && bench.end == nil, "media goes on")
            // The app is back under another resource, and hangs up; then it calls again.
            bench.feed(XMPPBench.chat(#"{"type":"bye"}"#, from: "alice@example.org/other"))
            #expect(bench.connections.isEmpty)
            #expect(XMPPBench.said(bench.sent).last?.to == "alice@example.org/other")
            bench.feed(XMPPBench.description("offer", XMPPBench.sdp(session: 9)))
            #expect(bench.connections.count == 1)
            try Self.callsAgainAfterARestart(isForgotten: false)
            try Self.callsAgainAfterARestart(isForgotten: true)
        case .roomFullFor90Seconds:
            // Nothing is ever full; who cannot be reached is called again, and not more often than once a minute.
            var bench = try #require(XMPPBench.online("peer=alice@example.org&call"))
            for _ in 1...3 {
                bench.feed(.timerFired(XMPPRoomStateMachine.callTimer))
                bench.feed(
                    XMPPBench.stanza(
                        XMPPStanza(
                            .message,
                            type: "error",
                            from: JID("alice@example.org"),
                            body: "x",
                            condition: "gone"
                        )
                    )
                )
                let again = SignallingAction.startTimer(
                    XMPPRoomStateMachine.callTimer,
                    after: XMPPRoomStateMachine.unreachableWait,
                    isSpread: true
                )
                #expect(bench.sent.suffix(4).contains(again))
            }
            #expect(XMPPBench.kinds(bench).filter { $0 == "offer" }.count == 3)
            bench.feed(XMPPBench.presence())
            bench.feed(XMPPBench.answer)
            #expect(bench.applied == [XMPPBench.sdp()])
        }
    }
}
