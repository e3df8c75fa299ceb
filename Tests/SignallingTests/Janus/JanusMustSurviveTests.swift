// SPDX-License-Identifier: Apache-2.0

import Session
import Testing

@testable import Signalling

/// Everything of `MustSurvive` with the bytes of a Janus server.
@Suite struct JanusMustSurviveTests {
    private static func candidate(_ index: Int?, _ mid: String?) -> ICECandidate {
        ICECandidate(line: JanusBench.line, mLineIndex: index, mid: mid)
    }

    /// Trickles a candidate on the handle of the one publisher.
    private static func trickle(_ bench: inout JanusBench, _ candidate: String) {
        bench.receive(#"{"janus":"trickle","session_id":11,"sender":31,"candidate":\#(candidate)}"#)
    }

    /// Feeds a subscribed call one candidate and expects the result; the call continues.
    private static func expect(_ members: String, hands expected: ICECandidate?) throws {
        var bench = try JanusBench()
        try bench.join()
        try bench.offer()
        Self.trickle(&bench, "{\(members)}")
        #expect(bench.call.candidates == (expected.map { [$0] } ?? []))
        Self.trickle(&bench, #"{"candidate":"\#(JanusBench.line)","sdpMLineIndex":0,"sdpMid":"0"}"#)
        #expect(bench.call.candidates.last == Self.candidate(0, "0"))
        #expect(bench.call.end == nil)
    }

    /// An offer is handed over as it came, and answered.
    private static func expectHandedOver(_ media: String) throws {
        var bench = try JanusBench()
        try bench.join()
        try bench.offer(JanusBench.sdp(media: media))
        #expect(bench.call.applied == [JanusBench.sdp(media: media)])
        #expect(bench.words.last == "start 31")
    }

    /// Something that is ignored, with a report; the next publisher is received all the same.
    private static func survivesMessage(_ text: String, _ what: String) throws {
        var bench = try JanusBench()
        try bench.join()
        bench.receive(text)
        #expect(bench.ignored == [what])
        try bench.offer()
        #expect(bench.words.last == "start 31")
    }

    private static func publishing() throws -> JanusBench {
        var bench = try JanusBench(sends: true)
        try bench.join()
        #expect(bench.words.last == "publish 21")
        return bench
    }

    @Test(arguments: MustSurvive.allCases)
    func survives(_ what: MustSurvive) throws {
        let line = #""candidate":"\#(JanusBench.line)""#
        switch what {
        case .candidateBeforeOffer:
            var bench = try JanusBench()
            try bench.join()
            try bench.publish()
            Self.trickle(&bench, #"{\#(line),"sdpMLineIndex":0,"sdpMid":"0"}"#)
            #expect(bench.call.candidates.isEmpty)
            bench.event(31, #"{"videoroom":"attached"}"#, jsep: JanusBench.jsep("offer", JanusBench.sdp()))
            #expect(bench.call.candidates == [Self.candidate(0, "0")])
        case .candidateBeforeAnswer:
            var bench = try Self.publishing()
            bench.receive(
                #"{"janus":"trickle","session_id":11,"sender":21,"candidate":{\#(line),"sdpMLineIndex":0,"sdpMid":"0"}}"#
            )
            #expect(bench.call.candidates.isEmpty)
            try bench.configured()
            #expect(bench.call.candidates == [Self.candidate(0, "0")])
        case .twoOffersInARow:
            var bench = try JanusBench()
            try bench.join()
            try bench.offer()
            bench.event(31, #"{"videoroom":"updated"}"#, jsep: JanusBench.jsep("offer", JanusBench.sdp(version: 2)))
            #expect(bench.call.openings == 1)
            #expect(bench.call.applied == [JanusBench.sdp(), JanusBench.sdp(version: 2)])
            #expect(bench.words.suffix(2) == ["start 31", "start 31"])
        case .answerWithoutOffer:
            var bench = try JanusBench(sends: true)
            try bench.join()
            try bench.configured()
            bench.event(21, #"{"videoroom":"event"}"#, jsep: JanusBench.jsep("answer", JanusBench.sdp(session: 8)))
            #expect(bench.ignored == ["answer to no offer of ours"])
            #expect(bench.call.applied.count == 1)
        case .duplicateAnswer:
            var bench = try Self.publishing()
            try bench.configured()
            bench.event(21, #"{"videoroom":"event"}"#, jsep: JanusBench.jsep("answer", JanusBench.sdp(session: 6)))
            #expect(bench.call.applied == [JanusBench.sdp(session: 6)])
        case .offerWithNewSessionIDWhileConnected:
            var bench = try JanusBench()
            try bench.join()
            try bench.offer()
            bench.event(31, #"{"videoroom":"updated"}"#, jsep: JanusBench.jsep("offer", JanusBench.sdp(session: 8)))
            #expect(bench.call.openings == 2 && bench.call.connections.count == 1)
            #expect(bench.words.last == "start 31")
        case .glare:
            // Janus never offers where we do: such an offer is not taken, and ours is answered.
            var bench = try Self.publishing()
            bench.event(21, #"{"videoroom":"event"}"#, jsep: JanusBench.jsep("offer", JanusBench.sdp()))
            #expect(bench.ignored == ["offer for what we publish"])
            try bench.configured()
            #expect(bench.call.applied == [JanusBench.sdp(session: 6)])
        case .echoOfOurOwnOffer:
            var bench = try Self.publishing()
            let ours = CallBench<JanusRoomStateMachine>.ourDescription(1)
            bench.event(21, #"{"videoroom":"event"}"#, jsep: JanusBench.jsep("answer", ours))
            #expect(bench.call.applied.isEmpty)
        case .labelAsInteger:
            try Self.expect("\(line),\"sdpMLineIndex\":1,\"sdpMid\":\"1\"", hands: Self.candidate(1, "1"))
        case .labelAsFloat:
            try Self.expect("\(line),\"sdpMLineIndex\":1.0,\"sdpMid\":\"1\"", hands: Self.candidate(1, "1"))
        case .labelAsString:
            try Self.expect("\(line),\"sdpMLineIndex\":\"1\",\"sdpMid\":\"1\"", hands: Self.candidate(1, "1"))
        case .labelMissing: try Self.expect("\(line),\"sdpMid\":\"1\"", hands: Self.candidate(nil, "1"))
        case .midMissing: try Self.expect("\(line),\"sdpMLineIndex\":1", hands: Self.candidate(1, nil))
        case .midNull: try Self.expect("\(line),\"sdpMLineIndex\":1,\"sdpMid\":null", hands: Self.candidate(1, nil))
        case .midWrong:
            try Self.expect("\(line),\"sdpMLineIndex\":1,\"sdpMid\":\"v\"", hands: Self.candidate(1, "v"))
        case .candidateLineWithPrefix: try Self.expect(line, hands: Self.candidate(nil, nil))
        case .candidateLineWithAttributePrefix:
            try Self.expect(#""candidate":"a=\#(JanusBench.line)\r\n""#, hands: Self.candidate(nil, nil))
        case .candidateLineWithoutPrefix:
            try Self.expect(
                #""candidate":"\#(JanusBench.line.dropFirst("candidate:".count))""#,
                hands: Self.candidate(nil, nil)
            )
        case .candidateLineEmpty: try Self.expect(#""candidate":"","sdpMLineIndex":0"#, hands: nil)
        case .candidateLineNull: try Self.expect(#""completed":true"#, hands: nil)
        case .descriptionAsString: try Self.expectHandedOver("m=audio 9 UDP/TLS/RTP/SAVPF 111\r\na=mid:0\r\n")
        case .descriptionAsObject:
            // No Janus does it; an object with the text inside is taken all the same.
            var bench = try JanusBench()
            try bench.join()
            try bench.publish()
            let inner = JanusBench.jsep("offer", JanusBench.sdp())
            bench.event(31, #"{"videoroom":"attached"}"#, jsep: #"{"type":"offer","sdp":\#(inner)}"#)
            #expect(bench.call.applied == [JanusBench.sdp()])
        case .unknownEvent:
            try Self.survivesMessage(#"{"janus":"hello","session_id":11}"#, "unknown message")
            try Self.survivesMessage(
                #"{"janus":"event","session_id":11,"sender":21,"plugindata":{"data":{"videoroom":"hello"}}}"#,
                "unknown event"
            )
        case .nonJSONFrame:
            try Self.survivesMessage("hello{", "message that is not JSON")
            try Self.survivesMessage("[1]", "message that is none of Janus'")
        case .oversizedFrame:
            // The WebSocket takes no more bytes than a JSON text may have; one beyond the reader's limits is ignored.
            let deep = String(repeating: "[", count: 100) + String(repeating: "]", count: 100)
            try Self.survivesMessage(#"{"janus":"event","data":\#(deep)}"#, "message that is not JSON")
        case .sdesOnlyOffer:
            // The media layer reports the reason of the refusal.
            try Self.expectHandedOver("m=audio 9 RTP/SAVPF 111\r\na=crypto:1 AES_CM_128_HMAC_SHA1_80 inline:x\r\n")
        case .planBOffer:
            // Janus before 1.0 names its m-lines so.
            try Self.expectHandedOver("m=video 9 UDP/TLS/RTP/SAVPF 100\r\na=mid:video\r\na=ssrc:1 msid:a b\r\n")
        case .receiveOnlyOffer:
            try Self.expectHandedOver("m=video 9 UDP/TLS/RTP/SAVPF 100\r\na=mid:0\r\na=recvonly\r\n")
        case .audioOnlyOffer: try Self.expectHandedOver("m=audio 9 UDP/TLS/RTP/SAVPF 111\r\na=mid:0\r\n")
        case .duplicatePayloadTypes:
            try Self.expectHandedOver("m=video 9 UDP/TLS/RTP/SAVPF 100 96 100\r\na=mid:0\r\n")
        case .peerVanishesWithoutAWord:
            // Its media show it: we subscribe again, and learn from the refusal that it is gone.
            var bench = try JanusBench()
            try bench.join()
            try bench.offer()
            let connection = try #require(bench.call.connections[JanusBench.feed])
            bench.call.feed(session: .connection(connection, .iceFailed))
            #expect(bench.words.suffix(2) == ["detach 31", "attach"])
            try bench.answer("attach", #""janus":"success","session_id":11,"data":{"id":32}"#)
            try bench.refuse("join", 428, sender: 32)
            #expect(bench.call.events.last == .peerLeft(JanusBench.feed))
        case .serverRestarts:
            var bench = try JanusBench(sends: true)
            try bench.join()
            try bench.configured()
            try bench.offer()
            bench.call.feed(.webSocket(.closed(nil)))
            bench.call.reconnect(note: "11")
            bench.call.feed(.webSocket(.opened))
            #expect(bench.words.last == "claim")
            try bench.answer("claim", #""janus":"error","error":{"code":458,"reason":"No such session"}"#)
            try bench.answer("create", #""janus":"success","data":{"id":12}"#)
            try bench.answer("attach", #""janus":"success","session_id":12,"data":{"id":41}"#)
            try bench.answer(
                "join",
                #""janus":"event","session_id":12,"sender":41,"plugindata":{"data":{"videoroom":"joined","id":100,"#
                    + #""publishers":[{"id":8,"display":"Zoe"}]}}"#
            )
            #expect(bench.call.events.contains(.peerLeft(JanusBench.feed)))
            #expect(bench.words.suffix(3) == ["join 41", "attach", "publish 41"])
            #expect(bench.call.end == nil)
        case .roomFullFor90Seconds:
            var bench = try Self.publishing()
            for _ in 0..<3 {
                try bench.refuse("publish", 432)
                #expect(bench.call.connections.isEmpty)
                #expect(bench.call.timers.contains(JanusRoomStateMachine.publishTimer))
                bench.call.feed(.timerFired(JanusRoomStateMachine.publishTimer))
            }
            try bench.configured()
            #expect(bench.call.applied.count == 1)
        }
    }
}
