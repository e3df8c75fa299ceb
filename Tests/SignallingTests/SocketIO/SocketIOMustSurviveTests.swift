// SPDX-License-Identifier: Apache-2.0

import Basics
import Session
import Testing

@testable import Signalling

/// Everything of `MustSurvive` with the bytes of a Socket.IO room on a WebSocket.
@Suite struct SocketIOMustSurviveTests {
    private typealias Bench = CallBench<SocketIOMachine>

    private static let line = LANBench.line
    private static let open =
        #"0{"sid":"s","upgrades":[],"pingInterval":25000,"pingTimeout":20000,"maxPayload":1000000}"#

    private static func frame(_ text: String) -> SignallingInput { .webSocket(.received(.text(text))) }

    private static func message(_ members: String) -> SignallingInput {
        Self.frame(#"42["message","r",{\#(members)}]"#)
    }

    private static func description(_ type: String, _ sdp: String) -> SignallingInput {
        Self.message(#""type":"\#(type)","sdp":"\#(sdp.replacing("\r\n", with: #"\r\n"#))""#)
    }

    private static func candidate(_ members: String) -> SignallingInput {
        Self.message(#""type":"candidate",\#(members)"#)
    }

    private static let good = candidate(#""label":0,"id":"audio","candidate":"\#(line)""#)
    private static let offer = description("offer", LANBench.sdp())
    private static let answer = description("answer", LANBench.sdp())

    /// The namespace is granted, and the room asked for.
    private static func connect(_ bench: inout Bench) {
        bench.feed(.webSocket(.opened))
        bench.feed(Self.frame(Self.open))
        bench.feed(Self.frame(#"40{"sid":"me"}"#))
    }

    private static func joined() -> Bench {
        var address = RoomURL.SocketIO(isSecure: false, host: "h", room: "r")
        address.transport = .webSocket
        address.version = .v4
        var bench = CallBench(address.makeMachine(SignallingOptions(policy: .persistent)))
        bench.feed(.attempt(note: nil))
        Self.connect(&bench)
        bench.feed(Self.frame(#"42["joined","r","me"]"#))
        return bench
    }

    /// A member that arrived after us has our offer.
    private static func offered() -> Bench {
        var bench = Self.joined()
        bench.feed(Self.frame(#"42["otherjoin","r","peer"]"#))
        return bench
    }

    /// Types of the messages that were sent, or names of other events.
    private static func sent(_ bench: Bench) -> [String] {
        bench.sent.compactMap { action in
            guard case .sendWebSocket(.text(let text)) = action, text.hasPrefix("42"),
                let event = try? JSONValue(parsing: text.dropFirst(2)).array, let name = event.first?.string
            else { return nil }
            return name == "message" ? event.last?["type"]?.string : name
        }
    }

    private static func ignored(_ bench: Bench) -> [IgnoredInput] {
        bench.facts.compactMap { if case .ignored(let what, _, _) = $0 { what } else { nil } }
    }

    /// An answered call hands over what a candidate message says.
    private static func expect(_ members: String, hands expected: ICECandidate?) {
        var bench = Self.offered()
        bench.feed(Self.answer)
        bench.feed(Self.candidate(members))
        #expect(bench.candidates == (expected.map { [$0] } ?? []))
        bench.feed(Self.good)
        #expect(bench.candidates.count == (expected == nil ? 1 : 2), "the call goes on")
        #expect(bench.end == nil)
    }

    private static func taken(_ index: Int?, _ mid: String?) -> ICECandidate {
        ICECandidate(line: Self.line, mLineIndex: index, mid: mid)
    }

    /// An offer of these media is handed to a connection as it came, and answered.
    private static func expectHandedOver(_ media: String) {
        var bench = Self.joined()
        bench.feed(Self.description("offer", LANBench.sdp(media: media)))
        #expect(bench.applied == [LANBench.sdp(media: media)])
        #expect(Self.sent(bench) == ["join", "answer"])
    }

    /// An input that is ignored, and the call continues.
    private static func expectIgnored(_ inputs: SignallingInput...) {
        var bench = Self.offered()
        for input in inputs { bench.feed(input) }
        #expect(Self.ignored(bench).count == inputs.count)
        bench.feed(Self.answer)
        #expect(bench.applied == [LANBench.sdp()])
    }

    @Test(arguments: MustSurvive.allCases)
    func survives(_ what: MustSurvive) {
        let (line, rest) = (Self.line, Self.line.dropFirst("candidate:".count))
        switch what {
        case .candidateBeforeOffer:
            var bench = Self.joined()
            bench.feed(Self.good)
            #expect(bench.candidates.isEmpty)
            bench.feed(Self.offer)
            #expect(bench.candidates == [Self.taken(0, "audio")])
        case .candidateBeforeAnswer:
            var bench = Self.offered()
            bench.feed(Self.good)
            #expect(bench.candidates.isEmpty)
            bench.feed(Self.answer)
            #expect(bench.candidates == [Self.taken(0, "audio")])
        case .twoOffersInARow:
            var bench = Self.joined()
            bench.feed(Self.offer)
            bench.feed(Self.offer)
            #expect(bench.openings == 1 && bench.applied.count == 1)
        case .answerWithoutOffer:
            var bench = Self.joined()
            bench.feed(Self.answer)
            #expect(bench.openings == 0 && bench.applied.isEmpty)
            bench.feed(Self.offer)
            #expect(Self.sent(bench) == ["join", "answer"])
        case .duplicateAnswer:
            var bench = Self.offered()
            bench.feed(Self.answer)
            bench.feed(Self.answer)
            #expect(bench.applied == [LANBench.sdp()])
            #expect(Self.ignored(bench) == [.duplicateAnswer])
        case .offerWithNewSessionIDWhileConnected:
            var bench = Self.joined()
            bench.feed(Self.offer)
            bench.feed(Self.description("offer", LANBench.sdp(session: 8)))
            #expect(bench.openings == 2 && bench.connections.count == 1)
            #expect(bench.applied == [LANBench.sdp(), LANBench.sdp(session: 8)])
        case .glare:
            var bench = Self.offered()
            bench.feed(Self.offer)
            #expect(bench.openings == 2 && bench.connections.count == 1)
            #expect(Self.sent(bench) == ["join", "offer", "answer"])
        case .echoOfOurOwnOffer:
            var bench = Self.offered()
            bench.feed(Self.description("offer", Bench.ourDescription(1)))
            #expect(bench.applied.isEmpty && bench.openings == 1)
            bench.feed(Self.answer)
            #expect(bench.applied == [LANBench.sdp()])
        case .labelAsInteger:
            Self.expect(#""label":1,"id":"audio","candidate":"\#(line)""#, hands: Self.taken(1, "audio"))
        case .labelAsFloat: Self.expect(#""label":1.0,"id":"audio","sdp":"\#(line)""#, hands: Self.taken(1, "audio"))
        case .labelAsString: Self.expect(#""label":"1","id":"audio","sdp":"\#(line)""#, hands: Self.taken(1, "audio"))
        case .labelMissing: Self.expect(#""id":"audio","candidate":"\#(line)""#, hands: Self.taken(nil, "audio"))
        case .midMissing: Self.expect(#""label":0,"candidate":"\#(line)""#, hands: Self.taken(0, nil))
        case .midNull: Self.expect(#""label":0,"id":null,"candidate":"\#(line)""#, hands: Self.taken(0, nil))
        case .midWrong: Self.expect(#""label":0,"id":"video","candidate":"\#(line)""#, hands: Self.taken(0, "video"))
        case .candidateLineWithPrefix: Self.expect(#""candidate":"\#(line)""#, hands: Self.taken(nil, nil))
        case .candidateLineWithAttributePrefix:
            Self.expect(#""candidate":"a=\#(line)\r\n""#, hands: Self.taken(nil, nil))
        case .candidateLineWithoutPrefix: Self.expect(#""candidate":"\#(rest)""#, hands: Self.taken(nil, nil))
        case .candidateLineEmpty: Self.expect(#""label":0,"id":"audio","candidate":"""#, hands: nil)
        case .candidateLineNull: Self.expect(#""label":0,"id":"audio","candidate":null"#, hands: nil)
        case .descriptionAsString: Self.expectHandedOver("m=audio 9 UDP/TLS/RTP/SAVPF 111\r\na=mid:audio\r\n")
        case .descriptionAsObject:
            var bench = Self.joined()
            let sdp = #"v=0\r\no=- 1 1 IN IP4 0.0.0.0\r\n"#
            bench.feed(Self.message(#""type":"offer","sdp":{"type":"offer","sdp":"\#(sdp)"}"#))
            #expect(bench.applied == ["v=0\r\no=- 1 1 IN IP4 0.0.0.0\r\n"])
        case .unknownEvent: Self.expectIgnored(Self.frame(#"42["what","r"]"#), Self.message(#""type":"what""#))
        case .nonJSONFrame:
            Self.expectIgnored(Self.frame("42[broken"), .webSocket(.received(.binary([4, 0xff]))))
        case .oversizedFrame:
            var bench = Self.offered()
            bench.feed(Self.answer)
            let error = SignallingError(.protocolViolation, "a message that is larger", blame: .peer)
            bench.feed(.webSocket(.closed(error)))
            guard case .attemptFailed(let end) = bench.end else {
                Issue.record("no new attempt")
                return
            }
            #expect(end.code == .protocolViolation)
            bench.reconnect()
            Self.connect(&bench)
            bench.feed(Self.frame(#"42["joined","r","me"]"#))
            #expect(bench.connections.count == 1, "the call goes on")
        case .sdesOnlyOffer:
            // The media layer reports the reason of the refusal.
            Self.expectHandedOver("m=audio 9 RTP/SAVPF 111\r\na=crypto:1 AES_CM_128_HMAC_SHA1_80 inline:x\r\n")
        case .planBOffer:
            Self.expectHandedOver("m=video 9 UDP/TLS/RTP/SAVPF 100\r\na=mid:video\r\na=ssrc:1 msid:a b\r\n")
        case .receiveOnlyOffer: Self.expectHandedOver("m=video 9 UDP/TLS/RTP/SAVPF 100\r\na=mid:0\r\na=recvonly\r\n")
        case .audioOnlyOffer: Self.expectHandedOver("m=audio 9 UDP/TLS/RTP/SAVPF 111\r\na=mid:0\r\n")
        case .duplicatePayloadTypes: Self.expectHandedOver("m=video 9 UDP/TLS/RTP/SAVPF 100 96 100\r\na=mid:0\r\n")
        case .peerVanishesWithoutAWord:
            // The room says nothing; the media do: we leave and join again, which makes the peer offer.
            var bench = Self.offered()
            bench.feed(Self.answer)
            guard let connection = bench.connections.values.first else {
                Issue.record("no call")
                return
            }
            bench.feed(session: .connection(connection, .iceFailed))
            #expect(Self.sent(bench).suffix(2) == ["offer", "leave"])
            bench.feed(.timerFired(SignallingTimer(rawValue: "room.leave")))
            #expect(Self.sent(bench).suffix(2) == ["leave", "join"])
        case .serverRestarts:
            var bench = Self.offered()
            bench.feed(Self.answer)
            bench.feed(.webSocket(.closed(nil)))
            guard case .attemptFailed(let error) = bench.end else {
                Issue.record("no new attempt")
                return
            }
            #expect(error.message == "The server at h:80 closed the connection." && error.isRetriable)
            bench.reconnect()
            Self.connect(&bench)
            bench.feed(Self.frame(#"42["joined","r","me2"]"#))
            #expect(Self.sent(bench) == ["join", "offer", "join"])
            #expect(bench.connections.count == 1, "media go on")
        case .roomFullFor90Seconds:
            var bench = Self.joined()
            bench.feed(.webSocket(.closed(nil)))
            bench.reconnect()
            Self.connect(&bench)
            for _ in 1...6 {
                bench.feed(Self.frame(#"42["full","r","me"]"#))
                #expect(bench.timers.contains(SignallingTimer(rawValue: "room.full")))
                bench.feed(.timerFired(SignallingTimer(rawValue: "room.full")))
            }
            bench.feed(Self.frame(#"42["joined","r","me"]"#))
            bench.feed(Self.offer)
            #expect(Self.sent(bench).last == "answer" && bench.end == nil)
        }
    }
}
