// SPDX-License-Identifier: Apache-2.0

import Basics
import Session
import TestSupport
import Testing

@testable import Signalling

/// Random inputs in any order, from fixed seeds, against rules that must always hold.
@Suite struct JanusRandomTests {
    private static let texts = [
        #"{"janus":"success","transaction":"T","session_id":11,"data":{"id":N}}"#,
        #"{"janus":"success","transaction":"T","data":{"id":11}}"#, #"{"janus":"ack","transaction":"T"}"#,
        #"{"janus":"error","transaction":"T","error":{"code":458,"reason":""}}"#,
        #"{"janus":"event","transaction":"T","session_id":11,"sender":N,"plugindata":{"data":{"videoroom":"joined","id":N}}}"#,
        #"{"janus":"event","session_id":11,"sender":N,"plugindata":{"data":{"videoroom":"event","publishers":[{"id":N}]}}}"#,
        #"{"janus":"event","session_id":11,"sender":N,"plugindata":{"data":{"videoroom":"event","leaving":N}}}"#,
        #"{"janus":"event","session_id":11,"sender":N,"plugindata":{"data":{"videoroom":"attached"}},"jsep":{"type":"offer","sdp":"v=0\r\no=- N 1 IN IP4 0.0.0.0"}}"#,
        #"{"janus":"event","session_id":11,"sender":N,"plugindata":{"data":{"videoroom":"event","started":"ok"}}}"#,
        #"{"janus":"event","transaction":"T","session_id":11,"sender":N,"plugindata":{"data":{"error_code":433}}}"#,
        #"{"janus":"hangup","session_id":11,"sender":N}"#, #"{"janus":"detached","session_id":11,"sender":N}"#,
        #"{"janus":"webrtcup","session_id":11,"sender":N}"#, #"{"janus":"timeout","session_id":11}"#,
        #"{"janus":"trickle","session_id":11,"sender":N,"candidate":{"completed":true}}"#,
        #"{"janus":"event","session_id":N,"sender":-1,"plugindata":{"data":{"id":N,"display":"x"}}}"#, "{", "[]",
        "null",
    ]

    /// Those of the newest requests.
    private static func transactions(_ bench: JanusBench) -> [String] {
        bench.call.sent.suffix(6).compactMap { action in
            let text: String? =
                switch action {
                case .sendWebSocket(let message): message.text
                case .request(let request): request.body.map { String(decoding: $0, as: UTF8.self) }
                default: nil
                }
            return text.flatMap { try? JSONValue(parsing: $0) }?["transaction"]?.string
        }
    }

    private static func input(_ generator: inout SeededGenerator, _ bench: JanusBench) -> SignallingInput {
        let peers = [JanusBench.place, JanusBench.feed, PeerID("21"), PeerID("22"), PeerID("x")]
        let peer = peers.randomElement(using: &generator) ?? JanusBench.feed
        switch Int.random(in: 0..<30, using: &generator) {
        case 0: return .attempt(note: ["11", "x", nil].randomElement(using: &generator) ?? nil)
        case 1: return .webSocket(.opened)
        case 2: return .webSocket(.closed(nil))
        case 3: return .command(.resetCall(peer))
        case 4: return .command(.offer(to: peer, sdp: "v=0"))
        case 5: return .command(.answer(to: peer, sdp: "v=0"))
        case 6: return .command(.candidate(to: peer, ICECandidate(line: JanusBench.line, mLineIndex: nil, mid: nil)))
        case 7: return .timerFired(bench.call.timers.randomElement(using: &generator) ?? SignallingTimer(rawValue: ""))
        case 8: return .requestFailed(JanusLink.post, SignallingError(.unreachable, "", blame: .network))
        default:
            let transaction = Self.transactions(bench).randomElement(using: &generator) ?? "none"
            var text = Self.texts.randomElement(using: &generator) ?? ""
            text = text.split(separator: "T\"", omittingEmptySubsequences: false).joined(separator: transaction + "\"")
            let number = String(Int.random(in: 19..<24, using: &generator))
            text = text.split(separator: "N", omittingEmptySubsequences: false).joined(separator: number)
            let isPoll = Int.random(in: 0..<4, using: &generator) == 0
            if isPoll { return .answered(JanusLink.poll, HTTPAnswer(status: 200, body: Array(text.utf8))) }
            return .webSocket(.received(.text(text)))
        }
    }

    @Test(arguments: UInt64(1)...8, ["janus+ws://h/?room=1", "janus+http://h/?room=1"])
    func holdsItsPromises(_ seed: UInt64, _ url: String) throws {
        var generator = SeededGenerator(seed: seed)
        var bench = try JanusBench(url, sends: true)
        bench.call.feed(.attempt(note: nil))
        for _ in 0..<600 {
            bench.call.feed(Self.input(&generator, bench))
            if case .attemptFailed = bench.call.end { bench.call.reconnect(note: "11") }
            if case .finished = bench.call.end { return }
            try #require(bench.call.connections.count <= 17)
        }
        bench.call.feed(.command(.leave))
        #expect(bench.call.end == .finished(nil))
        let (count, events) = (bench.call.sent.count, bench.call.events.count)
        for _ in 0..<100 { bench.call.feed(Self.input(&generator, bench)) }
        #expect(bench.call.sent.count == count, "nothing is done after the end")
        #expect(bench.call.events.count == events)
    }
}
