// SPDX-License-Identifier: Apache-2.0

import Basics
import Signalling
import Testing

@Suite struct SocketIORoomMessageTests {
    static let body = "1 1 udp 2130706431 192.0.2.7 50000 typ host"
    static let line = "candidate:" + body

    static func candidate(_ index: Int?, _ mid: String?) -> PeerMessage {
        .candidate(ICECandidate(line: line, mLineIndex: index, mid: mid))
    }

    @Test(arguments: [
        (#"{"type":"candidate","label":0,"id":"audio","candidate":"LINE"}"#, candidate(0, "audio")),
        (#"{"type":"candidate","label":"1","id":"video","candidate":"LINE"}"#, candidate(1, "video")),
        (#"{"type":"candidate","label":1.0,"id":"","sdp":"LINE"}"#, candidate(1, nil)),
        (#"{"type":"candidate","id":null,"candidate":"a=LINE\r\n"}"#, candidate(nil, nil)),
        (#"{"type":"candidate","label":-1,"candidate":" BODY "}"#, candidate(nil, nil)),
        (#"{"type":"candidate","label":1e300,"candidate":"","sdp":"LINE"}"#, candidate(nil, nil)),
        (#"{"type":"candidate","candidate":{"candidate":"LINE","sdpMLineIndex":2,"sdpMid":"x"}}"#, candidate(2, "x")),
        (#"{"candidate":"LINE","sdpMLineIndex":0,"sdpMid":"0"}"#, candidate(0, "0")),
        (#"{"type":"candidate","candidate":""}"#, .endOfCandidates),
        (#"{"type":"candidate","candidate":null}"#, .endOfCandidates),
        (#"{"type":"candidate"}"#, .endOfCandidates),
        (#"{"type":"candidate","candidate":"candidate:"}"#, .endOfCandidates),
        (#"{"type":"offer","sdp":"v=0"}"#, .offer(sdp: "v=0")),
        (#"{"type":"answer","sdp":{"type":"answer","sdp":"v=0"}}"#, .answer(sdp: "v=0")),
    ])
    func reads(_ text: String, _ content: PeerMessage) throws {
        let json = text.replacing("LINE", with: Self.line).replacing("BODY", with: Self.body)
        #expect(try SocketIORoomMessage(JSONValue(parsing: json)).content == content)
    }

    @Test(arguments: [
        ("7", PeerMessage.ReadingError.notAnObject),
        ("{}", .unknownType("")),
        (#"{"type":"dance"}"#, .unknownType("dance")),
        (#"{"type":"offer"}"#, .missingDescription),
        (#"{"type":"offer","sdp":""}"#, .missingDescription),
        (#"{"type":"candidate","candidate":"nonsense"}"#, .invalidCandidate),
        (#"{"type":"candidate","candidate":"candidate:1 1 udp x 192.0.2.7 50000 typ host"}"#, .invalidCandidate),
        (#"{"type":"candidate","candidate":"candidate:1 1 udp 1 h\n 50000 typ host"}"#, .invalidCandidate),
        (#"{"type":"candidate","candidate":"\u06DCandidate:1 1 udp 1 h 50000 typ host"}"#, .invalidCandidate),
    ])
    func refuses(_ text: String, _ error: PeerMessage.ReadingError) throws {
        let json = try JSONValue(parsing: text)
        #expect(throws: error) { try SocketIORoomMessage(json) }
    }

    @Test(arguments: [
        ("7", []), ("[]", []), (#"["a",7,null,"b"]"#, ["a", "b"]),
        (#"["1","2","3","4","5","6","7","8","9"]"#, ["1", "2", "3", "4", "5", "6", "7", "8"]),
    ])
    func readsEarlierIDs(_ text: String, _ ids: [String]) throws {
        let message = try SocketIORoomMessage(JSONValue(parsing: #"{"type":"answer","sdp":"v=0","was":\#(text)}"#))
        #expect(message.was == ids.map { PeerID($0) })
        #expect(try SocketIORoomMessage(message.data ?? .null).was == message.was)
    }

    @Test func refusesLongDescriptions() {
        let sdp = String(repeating: "x", count: PeerMessage.maximumDescriptionBytes + 1)
        #expect(throws: PeerMessage.ReadingError.missingDescription) {
            try SocketIORoomMessage(.object(["type": "offer", "sdp": .string(sdp)]))
        }
    }

    @Test func writesTheSuperset() {
        let message = SocketIORoomMessage(Self.candidate(0, "audio"), to: PeerID("p"), from: PeerID("d"))
        #expect(
            message.data?.text
                == #"{"candidate":"LINE","from":"d","id":"audio","label":0,"sdp":"LINE","to":"p","type":"candidate"}"#
                .replacing("LINE", with: Self.line)
        )
        #expect(SocketIORoomMessage(Self.candidate(nil, nil)).data?["id"] == "0")
        #expect(SocketIORoomMessage(.endOfCandidates).data == nil)
        #expect(SocketIORoomMessage(.answer(sdp: "é😀")).data?.text == #"{"sdp":"\u00e9\ud83d\ude00","type":"answer"}"#)
    }
}
