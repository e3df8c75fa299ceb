// SPDX-License-Identifier: Apache-2.0

import Basics
import Session
import Testing

@testable import Signalling

/// Everything of `MustSurvive` with the bytes of an AppRTC room server and its collider.
@Suite struct AppRTCMustSurviveTests {
    private static let offer = AppRTCBench.description("offer")
    private static let answer = AppRTCBench.description("answer")
    private static let candidate = ICECandidate(line: AppRTCBench.line, mLineIndex: 0, mid: "audio")

    private static func candidate(_ index: Int?, _ mid: String?) -> ICECandidate {
        ICECandidate(line: AppRTCBench.line, mLineIndex: index, mid: mid)
    }

    /// Second in an empty-looking room: the first one is slow.
    private static func second() throws -> AppRTCBench { try AppRTCBench.member(isInitiator: false) }

    /// Feeds an answered call one candidate message and expects what is handed over.
    private static func expect(_ members: String, hands expected: ICECandidate?) throws {
        var room = try AppRTCBench.called()
        room.hear(#"{"type":"candidate",\#(members)}"#)
        #expect(room.bench.candidates == (expected.map { [$0] } ?? []))
        room.hear(AppRTCBench.candidate)
        #expect(room.bench.candidates.count == (expected == nil ? 1 : 2), "the call goes on")
        #expect(room.bench.end == nil)
    }

    /// An offer of these media is handed to a connection as it came, and answered through the collider.
    private static func expectHandedOver(_ media: String) throws {
        var room = try Self.second()
        room.hear(AppRTCBench.description("offer", media: media))
        #expect(room.bench.applied == [AppRTCBench.sdp(media: media)])
        #expect(room.frames == ["register", "answer"])
    }

    private static func facts(_ room: AppRTCBench) -> [IgnoredInput] {
        room.bench.facts.compactMap { if case .ignored(let what, _, _) = $0, what != .signalling { what } else { nil } }
    }

    private static func survivesFrame(_ text: String, _ what: String) throws {
        var room = try AppRTCBench.called()
        room.frame(text)
        #expect(room.ignored == [what])
        room.hear(AppRTCBench.candidate)
        #expect(room.bench.candidates.count == 1 && room.bench.end == nil)
    }

    @Test(arguments: MustSurvive.allCases)
    func survives(_ what: MustSurvive) throws {
        let line = #""candidate":"\#(AppRTCBench.line)""#
        let rest = AppRTCBench.line.dropFirst("candidate:".count)
        switch what {
        case .candidateBeforeOffer:
            // Also among the stored messages, where the original web client tolerates any order.
            var room = try AppRTCBench.member(isInitiator: false, messages: [AppRTCBench.candidate, Self.offer])
            #expect(room.bench.applied == [AppRTCBench.sdp()] && room.bench.candidates == [Self.candidate])
            #expect(!room.bench.events.contains(.peerAwaited(.unidentified)))
            room = try Self.second()
            room.hear(AppRTCBench.candidate)
            #expect(room.bench.candidates.isEmpty)
            room.hear(Self.offer)
            #expect(room.bench.candidates == [Self.candidate])
        case .candidateBeforeAnswer:
            var room = try AppRTCBench.member(isInitiator: true)
            #expect(room.takePosts() == ["offer"])
            room.hear(AppRTCBench.candidate)
            #expect(room.bench.candidates.isEmpty)
            room.hear(Self.answer)
            #expect(room.bench.candidates == [Self.candidate])
        case .twoOffersInARow:
            let room = try AppRTCBench.member(isInitiator: false, messages: [Self.offer, Self.offer])
            #expect(room.bench.openings == 1 && room.bench.applied.count == 1)
            #expect(room.frames == ["register", "answer", "answer"], "the same answer again")
        case .answerWithoutOffer:
            var room = try Self.second()
            room.hear(Self.answer)
            #expect(room.bench.openings == 0 && Self.facts(room) == [.unknownPeer])
            room.hear(Self.offer)
            #expect(room.bench.applied == [AppRTCBench.sdp()])
        case .duplicateAnswer:
            var room = try AppRTCBench.called()
            room.hear(Self.answer)
            #expect(room.bench.applied == [AppRTCBench.sdp()] && Self.facts(room) == [.duplicateAnswer])
        case .offerWithNewSessionIDWhileConnected:
            var room = try Self.second()
            room.hear(Self.offer)
            room.hear(AppRTCBench.description("offer", session: 8))
            #expect(room.bench.openings == 2 && room.bench.connections.count == 1)
            #expect(room.bench.applied == [AppRTCBench.sdp(), AppRTCBench.sdp(session: 8)])
        case .glare:
            // Roles are strict, so only a server that forgot who is first makes it happen: we yield.
            var room = try AppRTCBench.member(isInitiator: true)
            room.takePosts()
            room.hear(Self.offer)
            #expect(room.bench.openings == 2 && room.bench.connections.count == 1)
            #expect(room.takePosts() == ["answer"])
            room.hear(Self.answer)
            #expect(room.bench.applied == [AppRTCBench.sdp()])
        case .echoOfOurOwnOffer:
            var room = try AppRTCBench.member(isInitiator: true)
            room.takePosts()
            let ours = CallBench<AppRTCRoomStateMachine>.ourDescription(1)
            room.hear(JSONValue.object(["type": "offer", "sdp": .string(ours)]).text)
            #expect(room.bench.applied.isEmpty && room.bench.openings == 1 && Self.facts(room) == [.echo])
        case .labelAsInteger: try Self.expect("\(line),\"label\":1,\"id\":\"audio\"", hands: Self.candidate(1, "audio"))
        case .labelAsFloat: try Self.expect("\(line),\"label\":1.0,\"id\":\"audio\"", hands: Self.candidate(1, "audio"))
        case .labelAsString:
            try Self.expect("\(line),\"label\":\"1\",\"id\":\"audio\"", hands: Self.candidate(1, "audio"))
        case .labelMissing: try Self.expect("\(line),\"id\":\"audio\"", hands: Self.candidate(nil, "audio"))
        case .midMissing: try Self.expect("\(line),\"label\":0", hands: Self.candidate(0, nil))
        case .midNull: try Self.expect("\(line),\"label\":0,\"id\":null", hands: Self.candidate(0, nil))
        case .midWrong: try Self.expect("\(line),\"label\":0,\"id\":\"video\"", hands: Self.candidate(0, "video"))
        case .candidateLineWithPrefix:
            // Apps of this family write the line under `sdp`.
            try Self.expect(#""sdp":"\#(AppRTCBench.line)""#, hands: Self.candidate(nil, nil))
        case .candidateLineWithAttributePrefix:
            try Self.expect(#""candidate":"a=\#(AppRTCBench.line)\r\n""#, hands: Self.candidate(nil, nil))
        case .candidateLineWithoutPrefix: try Self.expect(#""candidate":"\#(rest)""#, hands: Self.candidate(nil, nil))
        case .candidateLineEmpty: try Self.expect(#""candidate":"","label":0,"id":"audio""#, hands: nil)
        case .candidateLineNull: try Self.expect(#""candidate":null,"label":0,"id":"audio""#, hands: nil)
        case .descriptionAsString: try Self.expectHandedOver("m=audio 9 UDP/TLS/RTP/SAVPF 111\r\na=mid:audio\r\n")
        case .descriptionAsObject:
            var room = try Self.second()
            let sdp = JSONValue.object(["type": "offer", "sdp": .string(AppRTCBench.sdp())])
            room.hear(JSONValue.object(["type": "offer", "sdp": sdp]).text)
            // A server in another language wraps objects instead of strings.
            room.frame(#"{"msg":\#(AppRTCBench.candidate),"error":""}"#)
            #expect(room.bench.applied == [AppRTCBench.sdp()] && room.bench.candidates == [Self.candidate])
        case .unknownEvent:
            try Self.survivesFrame(
                #"{"msg":"{\"type\":\"hello\"}","error":""}"#,
                "A message of an unknown kind was ignored"
            )
        case .nonJSONFrame: try Self.survivesFrame("hello{", "A frame of the collider that cannot be read was ignored")
        case .oversizedFrame:
            // The WebSocket takes no more than a million bytes; the collider does not close for it, the transport does.
            var room = try AppRTCBench.called()
            room.bench.feed(.webSocket(.closed(SignallingError(.protocolViolation, "too large", blame: .peer))))
            #expect(room.bench.end == nil && room.bench.connections.count == 1)
            room.bench.feed(.timerFired(AppRTCRoomStateMachine.Timer.reconnect.name))
            room.bench.feed(.webSocket(.opened))
            #expect(room.frames == ["register", "register"])
        case .sdesOnlyOffer:
            // The media layer reports the reason of the refusal.
            try Self.expectHandedOver("m=audio 9 RTP/SAVPF 111\r\na=crypto:1 AES_CM_128_HMAC_SHA1_80 inline:x\r\n")
        case .planBOffer:
            try Self.expectHandedOver("m=video 9 UDP/TLS/RTP/SAVPF 100\r\na=mid:video\r\na=ssrc:1 msid:a b\r\n")
        case .receiveOnlyOffer:
            try Self.expectHandedOver("m=video 9 UDP/TLS/RTP/SAVPF 100\r\na=mid:0\r\na=recvonly\r\n")
        case .audioOnlyOffer: try Self.expectHandedOver("m=audio 9 UDP/TLS/RTP/SAVPF 111\r\na=mid:0\r\n")
        case .duplicatePayloadTypes: try Self.expectHandedOver("m=video 9 UDP/TLS/RTP/SAVPF 100 96 100\r\na=mid:0\r\n")
        case .peerVanishesWithoutAWord:
            // The loss of media shows that it is gone: we leave, which makes it redial if it is alive, and come back.
            var room = try AppRTCBench.called()
            let connection = try #require(room.bench.connections[.unidentified])
            room.bench.feed(session: .connection(connection, .connected))
            room.bench.feed(session: .connection(connection, .iceFailed))
            room.takeLeaving()
            #expect(room.frames == ["register", "bye"])
            room.answer("join", AppRTCBench.joined(isInitiator: true, client: "2"))
            room.bench.feed(.webSocket(.opened))
            #expect(room.takePosts() == ["offer"] && room.bench.facts.contains(.peerLeft(.unidentified)))
        case .serverRestarts:
            var room = try AppRTCBench.called()
            let connection = try #require(room.bench.connections[.unidentified])
            room.bench.feed(session: .connection(connection, .connected))
            room.bench.feed(.webSocket(.closed(nil)))
            room.bench.feed(.timerFired(AppRTCRoomStateMachine.Timer.reconnect.name))
            room.bench.feed(.webSocket(.opened))
            #expect(room.frames == ["register", "register"])
            // The room server answers the question whether it knows us.
            room.answer("message", #"{"result":"UNKNOWN_ROOM","error":null}"#)
            room.bench.feed(.webSocket(.closed(nil)))
            room.answer("removal", "OK")
            #expect(!room.frames.contains("bye"))
            room.bench.reconnect()
            room.answer("join", AppRTCBench.joined(isInitiator: true, client: "2"))
            room.bench.feed(.webSocket(.opened))
            #expect(room.bench.connections[.unidentified] == connection, "media go on")
            room.hear(AppRTCBench.bye)
            #expect(room.takePosts() == ["offer"], "the next one can call")
        case .roomFullFor90Seconds:
            var room = try AppRTCBench()
            room.bench.feed(.attempt(note: nil))
            for _ in 1...3 {
                room.answer("join", #"{"result":"FULL","params":{"messages":[]}}"#)
                #expect(room.bench.timers == [AppRTCRoomStateMachine.Timer.full.name] && room.bench.end == nil)
                room.bench.feed(.timerFired(AppRTCRoomStateMachine.Timer.full.name))
            }
            room.answer("join", AppRTCBench.joined(isInitiator: false, messages: [Self.offer]))
            room.bench.feed(.webSocket(.opened))
            #expect(room.bench.applied == [AppRTCBench.sdp()])
            #expect(room.bench.facts.filter { $0 == .roomFull }.count == 1)
        }
    }
}
