// SPDX-License-Identifier: Apache-2.0

import Basics
import Testing

@testable import Signalling

@Suite struct SkyRTCMessageTests {
    private static func read(_ text: String) throws -> SkyRTCMessage { try SkyRTCMessage(.text(text)) }

    @Test(arguments: [
        ("_peers", SkyRTCMessage.Event.peers), ("__peers", .peers), ("peers", .peers), ("_new_peer", .newPeer),
        ("_newPeer", .newPeer), ("___REMOVE_PEER", .removePeer), ("_ice_candidate", .iceCandidate),
        ("__iceCandidate", .iceCandidate), ("__login_success", .loginSuccess), ("_offer", .offer),
    ])
    func eventNamesMatchWithoutUnderscoresAndCase(name: String, event: SkyRTCMessage.Event) throws {
        #expect(try Self.read(#"{"eventName":"\#(name)","data":{}}"#).event == event)
    }

    @Test func binaryFramesAreReadLikeText() throws {
        let text = "{\n  \"eventName\" : \"_remove_peer\",\n  \"data\" : { \"socketId\" : \"é\" }\n}"
        let message = try SkyRTCMessage(.binary([UInt8](text.utf8)))
        #expect(message == SkyRTCMessage(.removePeer, .object(["socketId": "é"])))
        #expect(message.peer("socketId") == PeerID("é"))
        #expect(throws: SkyRTCMessage.ReadingError.notJSON) { try SkyRTCMessage(.binary([0xff, 0xfe])) }
    }

    @Test(arguments: [
        ("", SkyRTCMessage.ReadingError.notJSON), ("2", .noEvent), ("null", .noEvent), ("[]", .noEvent),
        ("{", .notJSON),
        (#"{"data":{}}"#, .noEvent), (#"{"eventName":1}"#, .noEvent),
        (#"{"eventName":"_speak"}"#, .unknownEvent("_speak")), (#"{"eventName":""}"#, .unknownEvent("")),
    ])
    func whatIsNoEventIsSaid(text: String, error: SkyRTCMessage.ReadingError) {
        #expect(throws: error) { try Self.read(text) }
    }

    @Test func nestingAndNamesAreLimited() {
        let deep = #"{"eventName":"_peers","data":"# + String(repeating: "[", count: 100)
        #expect(throws: SkyRTCMessage.ReadingError.tooLarge) { try Self.read(deep) }
        let name = String(repeating: "n", count: 1000)
        #expect(throws: SkyRTCMessage.ReadingError.unknownEvent(String(name.prefix(64)))) {
            try Self.read(#"{"eventName":"\#(name)"}"#)
        }
    }

    @Test(arguments: [
        (#"["a","b","a","",7,null,{}]"#, ["a", "b", "7"]), (#""a,b,,c""#, ["a", "b", "c"]), (#""""#, []),
        ("null", []), ("3", []), ("[]", []),
    ])
    func membersAreAnArrayOrSeparatedByCommas(json: String, expected: [String]) throws {
        let message = try Self.read(#"{"eventName":"_peers","data":{"connections":\#(json)}}"#)
        #expect(message.connections.map(\.rawValue) == expected)
    }

    @Test func membersAndIDsAreLimited() throws {
        let many = (0..<1000).map { "\"p\($0)\"" }.joined(separator: ",")
        let message = try Self.read(#"{"eventName":"_peers","data":{"connections":[\#(many)]}}"#)
        #expect(message.connections.count == SkyRTCMessage.maximumMembers)
        let long = String(repeating: "x", count: 257)
        let leave = try Self.read(#"{"eventName":"_remove_peer","data":{"socketId":"\#(long)","id":"b"}}"#)
        #expect(leave.peer("socketId", "id") == PeerID("b"))
        #expect(leave.peer("socketId") == nil)
    }

    @Test func theEventsNameDecidesWhatADescriptionIs() throws {
        let offer = try Self.read(#"{"eventName":"_offer","data":{"sdp":{"type":"ANSWER","sdp":"v=0"}}}"#)
        #expect(try offer.content() == .offer(sdp: "v=0"))
        let answer = try Self.read(#"{"eventName":"_answer","data":{"sdp":"v=0"}}"#)
        #expect(try answer.content() == .answer(sdp: "v=0"))
        #expect(try Self.read(#"{"eventName":"_peers"}"#).content() == nil)
        let empty = try Self.read(#"{"eventName":"_offer","data":{}}"#)
        #expect(throws: PeerMessage.ReadingError.missingDescription) { try empty.content() }
    }

    @Test func classicMessagesHaveEveryKeyThatReadersLookFor() throws {
        let candidate = ICECandidate(
            line: "candidate:1 1 udp 2130706431 192.0.2.7 50000 typ host",
            mLineIndex: 1,
            mid: "video"
        )
        let message = try #require(SkyRTCMessage(.candidate(candidate), classic: ["socketId": "p"]))
        #expect(
            message.text(prefix: "__")
                == .text(
                    #"{"data":{"candidate":"candidate:1 1 udp 2130706431 192.0.2.7 50000 typ host","id":"video","#
                        + #""label":1,"sdp":"candidate:1 1 udp 2130706431 192.0.2.7 50000 typ host","#
                        + #""sdpMLineIndex":1,"sdpMid":"video","socketId":"p"},"eventName":"__ice_candidate"}"#
                )
        )
        let offer = try #require(SkyRTCMessage(.offer(sdp: "v=0\r\n"), classic: ["socketId": "p"]))
        #expect(
            offer.text(prefix: "_")
                == .text(#"{"data":{"sdp":{"sdp":"v=0\r\n","type":"offer"},"socketId":"p"},"eventName":"_offer"}"#)
        )
        #expect(SkyRTCMessage(.endOfCandidates, classic: [:]) == nil)
    }

    @Test func callMessagesHaveADescriptionAsTextAndAWholeLabel() throws {
        let answer = try #require(SkyRTCMessage(.answer(sdp: "v=0"), to: PeerID("p"), fromUser: "u"))
        #expect(
            answer.text(prefix: "__")
                == .text(#"{"data":{"fromID":"u","sdp":"v=0","userID":"p"},"eventName":"__answer"}"#)
        )
        let candidate = ICECandidate(line: "candidate:1 1 udp 1 192.0.2.7 5 typ host", mLineIndex: nil, mid: nil)
        let message = try #require(SkyRTCMessage(.candidate(candidate), to: PeerID("p"), fromUser: "u"))
        #expect(message.data["label"] == .integer(0))
        #expect(message.data["id"] == "0")
        #expect(SkyRTCMessage(.endOfCandidates, to: PeerID("p"), fromUser: "u") == nil)
    }

    @Test(arguments: SkyRTCMessage.Event.allCases)
    func everyEventReadsBack(event: SkyRTCMessage.Event) throws {
        let message = SkyRTCMessage(event, .object(["room": "客厅😀"]))
        #expect(try SkyRTCMessage(message.text(prefix: "__")) == message)
    }
}
