// SPDX-License-Identifier: Apache-2.0

import Session
import Testing

@testable import Signalling

/// The cases that every protocol survives, with the wire of both dialects.
@Suite struct SkyRTCMustSurviveTests {
    private static let peer = PeerID("p")
    private static let line = SkyRTCBench.candidateLine

    @Test(arguments: MustSurvive.allCases, RoomURL.SkyRTC.Dialect.allCases)
    func survives(_ what: MustSurvive, _ dialect: RoomURL.SkyRTC.Dialect) throws {
        switch what {
        case .candidateBeforeOffer:
            var bench = SkyRTCBench(dialect)
            bench.candidate(#""label":0,"id":"0","candidate":"\#(Self.line)""#)
            #expect(bench.calls.candidates.isEmpty)
            bench.describe("offer", SkyRTCBench.description())
            #expect(bench.calls.candidates.map(\.line) == [Self.line])
        case .candidateBeforeAnswer:
            var bench = SkyRTCBench(dialect, weOffer: true)
            bench.candidate(#""label":0,"id":"0","candidate":"\#(Self.line)""#)
            #expect(bench.calls.candidates.isEmpty)
            bench.describe("answer", SkyRTCBench.description())
            #expect(bench.calls.candidates.map(\.line) == [Self.line])
        case .twoOffersInARow:
            var bench = SkyRTCBench(dialect)
            bench.describe("offer", SkyRTCBench.description())
            bench.describe("offer", SkyRTCBench.description(version: 2))
            #expect(bench.calls.openings == 1)
            #expect(bench.calls.applied == [SkyRTCBench.description(), SkyRTCBench.description(version: 2)])
            #expect(bench.sent.filter { $0.event == .answer }.count == 2)
        case .answerWithoutOffer:
            var bench = SkyRTCBench(dialect)
            bench.describe("answer", SkyRTCBench.description())
            #expect(bench.calls.openings == 0)
            #expect(bench.calls.applied.isEmpty)
        case .duplicateAnswer:
            var bench = SkyRTCBench(dialect, weOffer: true)
            bench.describe("answer", SkyRTCBench.description())
            bench.describe("answer", SkyRTCBench.description())
            #expect(bench.calls.applied == [SkyRTCBench.description()])
        case .offerWithNewSessionIDWhileConnected:
            var bench = SkyRTCBench(dialect)
            bench.describe("offer", SkyRTCBench.description(7))
            let first = try #require(bench.calls.connections[Self.peer])
            bench.calls.feed(session: .connection(first, .connected))
            bench.describe("offer", SkyRTCBench.description(8))
            #expect(bench.calls.openings == 2)
            #expect(bench.calls.connections[Self.peer] != first)
            #expect(bench.sent.filter { $0.event == .answer }.count == 2)
        case .glare:
            var bench = SkyRTCBench(dialect, weOffer: true)
            #expect(bench.sent.last?.event == .offer)
            bench.describe("offer", SkyRTCBench.description())
            #expect(bench.calls.openings == 2)
            #expect(bench.calls.applied == [SkyRTCBench.description()])
            #expect(bench.sent.last?.event == .answer)
            bench.describe("answer", SkyRTCBench.description(9))
            #expect(bench.calls.applied.count == 1, "the late answer to what we gave up")
        case .echoOfOurOwnOffer:
            var bench = SkyRTCBench(dialect, weOffer: true)
            let ours = try #require(try bench.sent.last?.content())
            guard case .offer(let sdp) = ours else {
                Issue.record("we sent \(ours)")
                return
            }
            bench.describe("offer", sdp)
            bench.describe("offer", sdp, from: "us")
            #expect(bench.calls.openings == 1)
            #expect(bench.calls.applied.isEmpty)
        case .labelAsInteger: try self.candidate(dialect, #""label":1,"id":"v","candidate":"\#(Self.line)""#, 1, "v")
        case .labelAsFloat: try self.candidate(dialect, #""label":1.0,"id":"v","candidate":"\#(Self.line)""#, 1, "v")
        case .labelAsString: try self.candidate(dialect, #""label":"1","id":"v","candidate":"\#(Self.line)""#, 1, "v")
        case .labelMissing: try self.candidate(dialect, #""id":"v","candidate":"\#(Self.line)""#, nil, "v")
        case .midMissing: try self.candidate(dialect, #""label":1,"candidate":"\#(Self.line)""#, 1, nil)
        case .midNull: try self.candidate(dialect, #""label":1,"id":null,"candidate":"\#(Self.line)""#, 1, nil)
        case .midWrong: try self.candidate(dialect, #""label":1,"id":"video","candidate":"\#(Self.line)""#, 1, "video")
        case .candidateLineWithPrefix: try self.candidate(dialect, #""label":0,"candidate":"\#(Self.line)""#, 0, nil)
        case .candidateLineWithAttributePrefix:
            try self.candidate(dialect, #""label":0,"candidate":"a=\#(Self.line)\r\n""#, 0, nil)
        case .candidateLineWithoutPrefix:
            try self.candidate(dialect, #""label":0,"candidate":"\#(Self.line.dropFirst(10))""#, 0, nil)
        case .candidateLineEmpty: try self.noCandidate(dialect, #""label":0,"candidate":"""#)
        case .candidateLineNull: try self.noCandidate(dialect, #""label":0,"candidate":null"#)
        case .descriptionAsString, .descriptionAsObject:
            var bench = SkyRTCBench(dialect)
            bench.describe("offer", SkyRTCBench.description(), asObject: what == .descriptionAsObject)
            #expect(bench.calls.applied == [SkyRTCBench.description()])
        case .unknownEvent:
            var bench = SkyRTCBench(dialect)
            bench.receive("_dance", #"{"socketId":"p"}"#)
            #expect(bench.ignored == ["A message that is no SkyRTC event was ignored"])
            #expect(bench.calls.end == nil)
        case .nonJSONFrame:
            var bench = SkyRTCBench(dialect)
            bench.calls.feed(.webSocket(.received(.text("{\"eventName\""))))
            bench.calls.feed(.webSocket(.received(.binary([0xff, 0x00]))))
            #expect(bench.ignored.count == 2)
            #expect(bench.calls.end == nil)
        case .oversizedFrame:
            // The transport ends such a connection; we come back.
            var bench = SkyRTCBench(dialect)
            let error = SignallingError(.protocolViolation, "too large", blame: .peer)
            bench.calls.feed(.webSocket(.closed(error)))
            #expect(bench.calls.end == .attemptFailed(error))
            bench.calls.reconnect()
            #expect(bench.calls.end == nil)
        case .sdesOnlyOffer, .planBOffer, .receiveOnlyOffer, .audioOnlyOffer, .duplicatePayloadTypes:
            // The media decide; nothing is changed on the way.
            var bench = SkyRTCBench(dialect)
            let sdp = SkyRTCBench.description(lines: Self.lines(what))
            bench.describe("offer", sdp)
            #expect(bench.calls.applied == [sdp])
        case .peerVanishesWithoutAWord: try self.vanishes(dialect)
        case .serverRestarts: try self.serverRestarts(dialect)
        case .roomFullFor90Seconds: try self.full(dialect)
        }
    }

    private func candidate(_ dialect: RoomURL.SkyRTC.Dialect, _ members: String, _ index: Int?, _ mid: String?) throws {
        var bench = SkyRTCBench(dialect)
        bench.describe("offer", SkyRTCBench.description())
        bench.candidate(members)
        #expect(bench.calls.candidates == [ICECandidate(line: Self.line, mLineIndex: index, mid: mid)])
    }

    private func noCandidate(_ dialect: RoomURL.SkyRTC.Dialect, _ members: String) throws {
        var bench = SkyRTCBench(dialect)
        bench.describe("offer", SkyRTCBench.description())
        bench.candidate(members)
        #expect(bench.calls.candidates.isEmpty)
        #expect(bench.calls.events.last == .endOfCandidatesReceived(from: Self.peer))
    }

    private static func lines(_ what: MustSurvive) -> [String] {
        switch what {
        case .sdesOnlyOffer: ["m=audio 9 RTP/SAVPF 111", "a=crypto:1 AES_CM_128_HMAC_SHA1_80 inline:x"]
        case .planBOffer: ["m=video 9 UDP/TLS/RTP/SAVPF 96", "a=mid:video", "a=ssrc:1 msid:a b", "a=ssrc:2 msid:c d"]
        case .receiveOnlyOffer: ["m=video 9 UDP/TLS/RTP/SAVPF 96", "a=recvonly"]
        case .duplicatePayloadTypes: ["m=video 9 UDP/TLS/RTP/SAVPF 96 97 96"]
        default: ["m=audio 9 UDP/TLS/RTP/SAVPF 111"]
        }
    }

    /// The session asks for a reset when the media die.
    private func vanishes(_ dialect: RoomURL.SkyRTC.Dialect) throws {
        var bench = SkyRTCBench(dialect)
        bench.describe("offer", SkyRTCBench.description())
        let connection = try #require(bench.calls.connections[Self.peer])
        bench.calls.feed(session: .connection(connection, .connected))
        bench.calls.feed(session: .connection(connection, .iceFailed))
        switch dialect {
        case .classic:
            #expect(bench.calls.sent.contains(.closeWebSocket))
            bench.calls.feed(.webSocket(.closed(nil)))
            bench.calls.feed(.webSocket(.opened))
            #expect(bench.sent.filter { $0.event == .join }.count == 2)
            // Our old id is still listed: it is no other member.
            bench.receive("_peers", #"{"connections":["us","p"],"you":"us2"}"#)
            let joined = RoomEvent.joined(ownID: PeerID("us2"), capacity: 65)
            #expect(bench.calls.events.suffix(2) == [joined, .peerArrived(Self.peer)])
        case .call:
            #expect(bench.sent.suffix(2).map(\.event) == [.leave, .create])
            bench.calls.feed(.timerFired(SkyRTCCallStateMachine.answerTimer))
            #expect(bench.sent.last?.event == .join)
            bench.receive("__peers", #"{"connections":"p","you":"us","roomSize":4}"#)
            bench.describe("offer", SkyRTCBench.description(8))
        }
        #expect(bench.calls.openings == 2)
        #expect(bench.calls.end == nil)
    }

    private func serverRestarts(_ dialect: RoomURL.SkyRTC.Dialect) throws {
        var bench = SkyRTCBench(dialect)
        bench.describe("offer", SkyRTCBench.description())
        let connection = try #require(bench.calls.connections[Self.peer])
        bench.calls.feed(session: .connection(connection, .connected))
        bench.calls.feed(.webSocket(.closed(nil)))
        guard case .attemptFailed(let error) = bench.calls.end else {
            Issue.record("the attempt goes on")
            return
        }
        #expect(error.isRetriable)
        bench.calls.reconnect()
        #expect(bench.calls.connections == [Self.peer: connection], "the media live on")
        bench.calls.feed(.webSocket(.opened))
        switch dialect {
        case .classic:
            bench.receive("_peers", #"{"connections":["p2"],"you":"us2"}"#)
            #expect(bench.calls.connections[PeerID("p2")] != nil, "we offer to the one that came back before us")
        case .call:
            bench.receive("__peers", #"{"connections":"","you":"us","roomSize":4}"#)
            #expect(!bench.sent.contains { $0.event == .leave }, "the room was not there to be left")
            bench.receive("__new_peer", #"{"userID":"p2"}"#)
            #expect(bench.calls.connections[PeerID("p2")] != nil)
        }
        #expect(bench.calls.connections[Self.peer] == connection)
        #expect(bench.sent.filter { $0.event == .join }.count == (dialect == .classic ? 2 : 0))
    }

    private func full(_ dialect: RoomURL.SkyRTC.Dialect) throws {
        switch dialect {
        case .classic:
            // There is no such word; a server that closes instead of listing members is tried again.
            var bench = SkyRTCBench(dialect, withPeer: false)
            bench.calls.feed(.webSocket(.closed(nil)))
            for _ in 0..<18 {
                bench.calls.reconnect()
                bench.calls.feed(.webSocket(.opened))
                bench.calls.feed(.webSocket(.closed(nil)))
                guard case .attemptFailed(let error) = bench.calls.end else {
                    Issue.record("the attempt goes on")
                    return
                }
                #expect(error.isRetriable)
                #expect(error.message.contains("full"))
            }
        case .call:
            var address = RoomURL.SkyRTC(isSecure: false, host: "h", path: "/ws", name: "100")
            (address.dialect, address.createdSize) = (.call, 2)
            var bench = CallBench(address.makeMachine(SignallingOptions(policy: .persistent)))
            bench.feed(.attempt(note: nil))
            bench.feed(.webSocket(.opened))
            for _ in 0..<6 {
                bench.feed(.timerFired(SkyRTCCallStateMachine.answerTimer))
                bench.feed(.timerFired(SkyRTCCallStateMachine.answerTimer))
                #expect(bench.events.last == .full)
                #expect(bench.timers.contains(SkyRTCCallStateMachine.againTimer))
                bench.feed(.timerFired(SkyRTCCallStateMachine.againTimer))
            }
            #expect(bench.end == nil)
            bench.feed(.timerFired(SkyRTCCallStateMachine.answerTimer))
            bench.feed(.webSocket(.received(.text(#"{"eventName":"__peers","data":{"connections":"p","you":"x"}}"#))))
            guard case .joined? = bench.events.last else {
                Issue.record("not let in")
                return
            }
        }
    }
}
