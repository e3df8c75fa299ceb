// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import Signalling

@Suite struct LANFramingTests {
    @Test func cutsWhateverThePacketsAre() {
        let wire = Array("{\"a\":1}|{\"b\":\"ä\"}|\n|{}|".utf8)
        let expected = ["{\"a\":1}", "{\"b\":\"ä\"}", "{}"].map { Array($0.utf8) }
        for first in wire.indices {
            for second in first..<wire.count {
                var framing = LANFraming()
                var messages: [[UInt8]] = []
                for packet in [wire[..<first], wire[first..<second], wire[second...]] {
                    let (taken, violation) = framing.append(Array(packet))
                    messages += taken
                    #expect(violation == nil)
                }
                #expect(messages == expected)
            }
        }
    }

    @Test func endsAtAMegabyteWithoutABar() {
        var framing = LANFraming()
        let packet = [UInt8](repeating: 0x61, count: 100_000)
        for _ in 1...10 { #expect(framing.append(packet).violation == nil) }
        #expect(framing.append(packet).violation == .oversizedMessage)
        var whole = LANFraming()
        let result = whole.append(Array("{}|".utf8) + [UInt8](repeating: 0x61, count: 1_000_001) + Array("|".utf8))
        #expect(result.messages == [Array("{}".utf8)])
        #expect(result.violation == .oversizedMessage)
    }

    @Test func endsAtHundredsOfMessagesAtOnce() {
        var framing = LANFraming()
        let result = framing.append(Array(String(repeating: "{}|", count: 513).utf8))
        #expect(result.messages.count == LANFraming.maximumMessages)
        #expect(result.violation == .flood)
    }

    @Test func writesNothingButASCIIAndOneBar() {
        let sdp = "v=0\r\ns=客|厅 \"x\" \\ 😀\u{7f}\r\n"
        let candidate = ICECandidate(line: "candidate:1 1 udp 1 192.0.2.1 9 typ host", mLineIndex: 1, mid: "vidéo|")
        for (event, text, sent) in [("offer", sdp, nil), ("candidate", candidate.line, candidate)] {
            let bytes = LANMessage.write(event: event, sdp: text, candidate: sent)
            #expect(bytes.allSatisfy { $0 >= 0x20 && $0 < 0x7f })
            #expect(bytes.filter { $0 == UInt8(ascii: "|") }.count == 1)
            #expect(bytes.last == UInt8(ascii: "|"))
        }
        var framing = LANFraming()
        let (messages, _) = framing.append(LANMessage.write(event: "offer", sdp: sdp))
        #expect(messages.map { try? LANMessage.read($0).content } == [.offer(sdp: sdp)])
    }

    @Test func writesTheExampleByteByByte() {
        let line = "candidate:1 1 udp 2122260223 192.0.2.31 51000 typ host"
        let bytes = LANMessage.write(
            event: "candidate",
            sdp: line,
            candidate: ICECandidate(line: line, mLineIndex: 0, mid: "audio")
        )
        #expect(
            String(decoding: bytes, as: UTF8.self)
                == #"{"event":"candidate","id":"audio","label":"0","sdp":"\#(line)"}|"#
        )
    }
}
