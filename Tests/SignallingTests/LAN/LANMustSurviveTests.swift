// SPDX-License-Identifier: Apache-2.0

import Session
import Testing

@testable import Signalling

/// Everything of `MustSurvive` with the bytes of a bare TCP peer.
@Suite struct LANMustSurviveTests {
    private static let candidate = ICECandidate(line: LANBench.line, mLineIndex: 0, mid: "audio")
    private static let answer = LANBench.message("answer", LANBench.sdp())
    private static let offer = LANBench.message("offer", LANBench.sdp())

    /// Feeds a dialled, answered call one candidate message and expects what is handed over.
    private static func expect(_ members: String, hands expected: ICECandidate?) {
        var bench = LANBench.dialled()
        bench.feed(Self.answer)
        bench.feed(LANBench.raw(#"{"event":"candidate",\#(members)}|"#))
        #expect(bench.candidates == (expected.map { [$0] } ?? []))
        #expect(bench.end == nil)
        bench.feed(LANBench.candidate)
        #expect(bench.candidates.count == (expected == nil ? 1 : 2), "the call goes on")
    }

    private static func candidate(_ index: Int?, _ mid: String?) -> ICECandidate {
        ICECandidate(line: LANBench.line, mLineIndex: index, mid: mid)
    }

    private static func ignored(_ bench: CallBench<LANRoomStateMachine>) -> [IgnoredInput] {
        bench.facts.compactMap { if case .ignored(let what, _, _) = $0 { what } else { nil } }
    }

    /// An offer of these media is handed to a connection as it came, and answered.
    private static func expectHandedOver(_ media: String) {
        var bench = LANBench.called()
        bench.feed(LANBench.message("offer", LANBench.sdp(media: media)))
        #expect(bench.applied == [LANBench.sdp(media: media)])
        #expect(LANBench.sent(bench.sent).map(\.event) == ["answer"])
    }

    @Test(arguments: MustSurvive.allCases)
    func survives(_ what: MustSurvive) {
        let line = #""sdp":"\#(LANBench.line)""#
        let rest = LANBench.line.dropFirst("candidate:".count)
        switch what {
        case .candidateBeforeOffer:
            var bench = LANBench.called()
            bench.feed(LANBench.candidate)
            #expect(bench.candidates.isEmpty)
            bench.feed(Self.offer)
            #expect(bench.candidates == [Self.candidate])
        case .candidateBeforeAnswer:
            var bench = LANBench.dialled()
            bench.feed(LANBench.candidate)
            #expect(bench.candidates.isEmpty)
            bench.feed(Self.answer)
            #expect(bench.candidates == [Self.candidate])
        case .twoOffersInARow:
            var bench = LANBench.called()
            bench.feed(Self.offer)
            bench.feed(Self.offer)
            #expect(bench.openings == 1)
            #expect(bench.applied.count == 1)
            #expect(Set(LANBench.sent(bench.sent).map(\.sdp)).count == 1, "the same answer again")
        case .answerWithoutOffer:
            var bench = LANBench.called()
            bench.feed(Self.answer)
            #expect(bench.openings == 0 && bench.applied.isEmpty)
            bench.feed(Self.offer)
            #expect(LANBench.sent(bench.sent).map(\.event) == ["answer"])
        case .duplicateAnswer:
            var bench = LANBench.dialled()
            bench.feed(Self.answer)
            bench.feed(Self.answer)
            #expect(bench.applied == [LANBench.sdp()])
            #expect(Self.ignored(bench) == [.duplicateAnswer])
        case .offerWithNewSessionIDWhileConnected:
            var bench = LANBench.called()
            bench.feed(Self.offer)
            bench.feed(LANBench.message("offer", LANBench.sdp(session: 8)))
            #expect(bench.openings == 2 && bench.connections.count == 1)
            #expect(bench.applied == [LANBench.sdp(), LANBench.sdp(session: 8)])
        case .glare:
            // The known app does not do it: who waits never offers.
            var bench = LANBench.dialled()
            bench.feed(Self.offer)
            #expect(bench.openings == 2 && bench.connections.count == 1)
            #expect(LANBench.sent(bench.sent).map(\.event) == ["offer", "answer"])
            bench.feed(.timerFired(LANRoomStateMachine.answerTimer))
            #expect(bench.end == nil)
        case .echoOfOurOwnOffer:
            var bench = LANBench.dialled()
            bench.feed(LANBench.message("offer", CallBench<LANRoomStateMachine>.ourDescription(1)))
            #expect(bench.applied.isEmpty && bench.openings == 1)
            bench.feed(Self.answer)
            #expect(bench.applied == [LANBench.sdp()])
        case .labelAsInteger: Self.expect("\(line),\"label\":1,\"id\":\"audio\"", hands: Self.candidate(1, "audio"))
        case .labelAsFloat: Self.expect("\(line),\"label\":1.0,\"id\":\"audio\"", hands: Self.candidate(1, "audio"))
        case .labelAsString: Self.expect("\(line),\"label\":\"1\",\"id\":\"audio\"", hands: Self.candidate(1, "audio"))
        case .labelMissing: Self.expect("\(line),\"id\":\"audio\"", hands: Self.candidate(nil, "audio"))
        case .midMissing: Self.expect("\(line),\"label\":\"0\"", hands: Self.candidate(0, nil))
        case .midNull: Self.expect("\(line),\"label\":\"0\",\"id\":null", hands: Self.candidate(0, nil))
        case .midWrong: Self.expect("\(line),\"label\":\"0\",\"id\":\"video\"", hands: Self.candidate(0, "video"))
        case .candidateLineWithPrefix: Self.expect(line, hands: Self.candidate(nil, nil))
        case .candidateLineWithAttributePrefix:
            Self.expect(#""sdp":"a=\#(LANBench.line)\r\n""#, hands: Self.candidate(nil, nil))
        case .candidateLineWithoutPrefix: Self.expect(#""sdp":"\#(rest)""#, hands: Self.candidate(nil, nil))
        case .candidateLineEmpty: Self.expect(#""sdp":"","label":"0","id":"audio""#, hands: nil)
        case .candidateLineNull: Self.expect(#""sdp":null,"label":"0","id":"audio""#, hands: nil)
        case .descriptionAsString:
            Self.expectHandedOver("m=audio 9 UDP/TLS/RTP/SAVPF 111\r\na=mid:audio\r\n")
        case .descriptionAsObject:
            var bench = LANBench.called()
            bench.feed(
                LANBench.raw(#"{"event":"offer","sdp":{"type":"offer","sdp":"v=0\r\no=- 1 1 IN IP4 0.0.0.0\r\n"}}|"#)
            )
            #expect(bench.applied == ["v=0\r\no=- 1 1 IN IP4 0.0.0.0\r\n"])
        case .unknownEvent: Self.survivesMessage(#"{"event":"hello","sdp":"x"}|"#, "a message of an unknown kind")
        case .nonJSONFrame: Self.survivesMessage("hello{|", "a message is not JSON")
        case .oversizedFrame:
            var bench = LANBench.called()
            bench.feed(Self.offer)
            bench.feed(LANBench.raw(String(repeating: "x", count: 1_000_001)))
            #expect(bench.sent.last == .cancelTimer(LANRoomStateMachine.answerTimer))
            #expect(bench.sent.contains(.closeStream))
            #expect(bench.connections.count == 1 && bench.end == nil, "the call and the port stay")
            bench.feed(.stream(.connected(peer: "192.0.2.31:50001")))
            bench.feed(LANBench.message("offer", LANBench.sdp(session: 8)))
            #expect(bench.applied.count == 2)
        case .sdesOnlyOffer:
            // The media layer reports the reason of the refusal.
            Self.expectHandedOver("m=audio 9 RTP/SAVPF 111\r\na=crypto:1 AES_CM_128_HMAC_SHA1_80 inline:x\r\n")
        case .planBOffer:
            Self.expectHandedOver("m=video 9 UDP/TLS/RTP/SAVPF 100\r\na=mid:video\r\na=ssrc:1 msid:a b\r\n")
        case .receiveOnlyOffer: Self.expectHandedOver("m=video 9 UDP/TLS/RTP/SAVPF 100\r\na=mid:0\r\na=recvonly\r\n")
        case .audioOnlyOffer: Self.expectHandedOver("m=audio 9 UDP/TLS/RTP/SAVPF 111\r\na=mid:0\r\n")
        case .duplicatePayloadTypes: Self.expectHandedOver("m=video 9 UDP/TLS/RTP/SAVPF 100 96 100\r\na=mid:0\r\n")
        case .peerVanishesWithoutAWord:
            // The media say that it is gone: we dial again.
            var bench = LANBench.dialled()
            bench.feed(Self.answer)
            bench.feed(.stream(.disconnected(nil)))
            #expect(bench.connections.count == 1 && bench.end == nil)
            guard let connection = bench.connections[LANBench.peer] else { return }
            bench.feed(session: .connection(connection, .iceFailed))
            #expect(bench.sent.last == .openStream(.dial(host: "192.0.2.31", port: 5556)))
            bench.feed(.stream(.connected(peer: "192.0.2.31:5556")))
            #expect(LANBench.sent(bench.sent).map(\.event) == ["offer", "offer"])
        case .serverRestarts:
            // There is no server; the app that waits is restarted.
            var bench = LANBench.dialled()
            bench.feed(.stream(.disconnected(nil)))
            guard case .attemptFailed(let error) = bench.end else {
                Issue.record("no new attempt")
                return
            }
            #expect(error.code == .unreachable && error.isRetriable)
            bench.reconnect()
            bench.feed(.stream(.connected(peer: "192.0.2.31:5556")))
            bench.feed(Self.answer)
            #expect(bench.applied == [LANBench.sdp()])
        case .roomFullFor90Seconds:
            // Nothing is ever full; a person who does not accept refuses the connection.
            var bench = CallBench(LANRoomStateMachine(RoomURL.LAN(host: "192.0.2.31"), isPatient: true))
            bench.feed(.attempt(note: nil))
            var dials = 0
            for _ in 1...30 {
                bench.feed(.stream(.failed(SignallingError(.unreachable, "refused", blame: .network))))
                if bench.end != nil {
                    bench.reconnect()
                } else {
                    bench.feed(.timerFired(LANRoomStateMachine.redialTimer))
                }
                dials += 1
            }
            bench.feed(.stream(.connected(peer: "192.0.2.31:5556")))
            bench.feed(Self.answer)
            #expect(bench.applied == [LANBench.sdp()] && dials == 30)
        }
    }

    private static func survivesMessage(_ text: String, _ reason: String) {
        var bench = LANBench.dialled()
        bench.feed(LANBench.raw(text + text))
        #expect(bench.events.contains { if case .ignored(reason, _) = $0 { true } else { false } })
        #expect(bench.events.count == 3, "one word for both")
        bench.feed(Self.answer)
        #expect(bench.applied == [LANBench.sdp()])
    }
}
