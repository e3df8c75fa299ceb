// SPDX-License-Identifier: Apache-2.0

import Basics
import TestSupport
import Testing

@testable import Signalling

@Suite struct TraceTests {
    private static let error = SignallingError(.timedOut, "no answer", blame: .network)
    private static let candidate = ICECandidate(line: LANBench.line, mLineIndex: 1, mid: nil)
    private static let peer = PeerID("a|é")
    private static let url = WebURL(isSecure: true, host: "h", target: "/x?a=1")

    static let inputs: [SignallingInput] =
        [
            .attempt(note: nil), .attempt(note: "n"), .command(.offer(to: peer, sdp: "o\r\n")),
            .command(.answer(to: peer, sdp: "a")), .command(.candidate(to: peer, candidate)),
            .command(.resetCall(peer)),
            .command(.yield), .command(.leave), .timerFired(SignallingTimer(rawValue: "t")), .webSocket(.opened),
            .webSocket(.received(.text("{}"))), .webSocket(.received(.binary([0, 0xff, 0x22]))),
            .webSocket(.received(.binary(Array("text".utf8)))), .webSocket(.refused(status: 403, body: [0x80])),
            .webSocket(.closed(nil)), .webSocket(.closed(error)),
            .answered(
                HTTPRequest.ID(rawValue: "r"),
                HTTPAnswer(
                    status: 200,
                    headers: [HTTPField("Location", "/a:b"), HTTPField("X", "")],
                    body: Array("b".utf8)
                )
            ),
            .requestFailed(HTTPRequest.ID(rawValue: "r"), error), .stream(.listening), .stream(.connected(peer: "h:1")),
            .stream(.received(Array("é|".utf8))), .stream(.received([0xc3])), .stream(.disconnected(nil)),
            .stream(.disconnected(error)), .stream(.failed(error)), .xmpp(.closed(nil)),
            .xmpp(.closed(error)), .xmpp(.received(XMPPStanza(.presence))), .xmpp(.received(stanza)),
        ] + jids.map { .xmpp(.opened($0)) }

    private static let jids = [JID("alice@example.org/phone")].compactMap { $0 }
    private static let stanza = XMPPStanza(
        .iq,
        type: "get",
        from: jids.first,
        to: jids.last,
        id: "i",
        body: "{}",
        isDelayed: true,
        priority: -1,
        payload: XMPPStanza.Element("ping", "urn:xmpp:ping"),
        condition: "gone"
    )

    static let actions: [SignallingAction] =
        [
            .event(.joined(ownID: nil)), .event(.joined(ownID: peer)), .event(.peerArrived(peer)),
            .event(.publishPointArrived(peer)), .event(.peerNamed(peer, "n")),
            .event(.iceServersReceived([ICEServer(urls: ["turn:h"], username: "u", credential: "cccccc")])),
            .event(.offerReceived(from: peer, sdp: "s")), .event(.answerReceived(from: peer, sdp: "s")),
            .event(.candidateReceived(from: peer, candidate)), .event(.endOfCandidatesReceived(from: peer)),
            .event(.peerLeft(peer)), .event(.full), .event(.joinFailed(reason: "r")),
            .event(.signallingLost(reason: "r")),
            .event(.left), .event(.yielded), .event(.removed), .event(.ignored(what: "w", detail: "d")),
            .openWebSocket(WebSocketRequest(url: url, headers: [HTTPField("Origin", "o")], subprotocol: "p")),
            .sendWebSocket(.text("t")), .sendWebSocket(.binary([1, 0xff])), .closeWebSocket,
            .request(HTTPRequest(HTTPRequest.ID(rawValue: "r"), method: "POST", url: url, body: [1])),
            .request(HTTPRequest(HTTPRequest.ID(rawValue: "r"), method: "GET", url: url)),
            .openStream(.dial(host: "h", port: 1)), .openStream(.listen(host: "h", port: 1)), .sendStream([0xff]),
            .closeStream, .sendXMPP(stanza),
            .closeXMPP, .event(.peerAwaited(peer)), .event(.publishPointRefused(peer, reason: "r")),
            .startTimer(SignallingTimer(rawValue: "t"), after: .milliseconds(1500), isSpread: true),
            .startTimer(SignallingTimer(rawValue: "t"), after: .seconds(2)),
            .cancelTimer(SignallingTimer(rawValue: "t")),
            .note(nil), .note("n"), .attemptFailed(error), .finished(nil), .finished(error),
        ] + jids.map { .openXMPP(XMPPRequest(account: $0, password: "p", host: nil, port: 5222)) }

    @Test(arguments: inputs) func everyInputComesBack(input: SignallingInput) throws {
        let text = JSONValue.object(TraceCoding.object(input)).text
        #expect(TraceCoding.input(try JSONValue(parsing: text)) == input)
    }

    @Test func actionsDiffer() throws {
        let texts = Self.actions.map { JSONValue.object(TraceCoding.object($0)).text }
        #expect(Set(texts).count == texts.count)
        for text in texts {
            let value = try JSONValue(parsing: text)
            #expect(value.text == text)
            #expect(value["direction"] == "out" && value["kind"] != nil && value["transport"] != nil)
        }
    }

    @Test(arguments: [
        (#"{"password":"abc","a":1}"#, #"{"password":"xxx","a":1}"#),
        (#"{"turn_Password" : "a\"b","pin":1234}"#, #"{"turn_Password" : "xxxx","pin":1111}"#),
        (
            #"{"msg":"{\"credential\":\"a\\\"b c\",\"x\":\"y\"}"}"#,
            #"{"msg":"{\"credential\":\"xxxxxxxx\",\"x\":\"y\"}"}"#
        ),
        (
            #"{"sdp":"a=ice-ufrag:u\r\na=ice-pwd:ab\/cd+e\r\na=mid:0"}"#,
            #"{"sdp":"a=ice-ufrag:u\r\na=ice-pwd:xxxxxxxx\r\na=mid:0"}"#
        ),
        ("a=ice-pwd:abc\r\nb", "a=ice-pwd:xxx\r\nb"), ("/x?token=abc&b=c", "/x?token=xxx&b=c"),
        ("a=crypto:1 AES inline:abc|2^20", "a=crypto:1 AES inline:xxx|2^20"),
        (#"<turn:h>; rel="ice-server"; credential="abc"; x"#, #"<turn:h>; rel="ice-server"; credential="xxx"; x"#),
        (#"{"ping":1,"tokens":"a","pin":null,"opinion":"b"}"#, #"{"ping":1,"tokens":"a","pin":null,"opinion":"b"}"#),
        (#"{"secret":"a\u007cb"}"#, #"{"secret":"xxxxxxxx"}"#), ("token", "token"), ("token=", "token="), ("", ""),
    ])
    func takesSecretsOut(text: String, expected: String) {
        let redaction = TraceRedaction()
        #expect(redaction.redact(text) == expected)
        #expect(redaction.redact(expected) == expected)
        var single = TraceRedaction(replacement: .single)
        #expect(
            single.redact(text) == single.redact(expected)
        )
        // Cut anywhere, the same bytes stay and the same are taken out.
        for cut in 0...text.utf8.count {
            var pieces = TraceRedaction()
            let bytes = Array(text.utf8)
            let output = pieces.next(Array(bytes[..<cut])) + pieces.next(Array(bytes[cut...]))
            #expect(String(decoding: output, as: UTF8.self) == expected, "cut at \(cut)")
        }
        single = TraceRedaction(known: ["abc"])
        #expect(single.redact("abc") == "abc", "too short to be looked for everywhere")
        #expect(TraceRedaction(known: ["s3cret"]).redact("{\"x\":\"ns3crets\"}") == "{\"x\":\"nxxxxxxs\"}")
    }

    @Test func headersKeepTheirShape() {
        let id = HTTPRequest.ID(rawValue: "r")
        let fields = [
            HTTPField("Authorization", "Bearer abc"), HTTPField("Cookie", "a=b; c=d"),
            HTTPField("Set-Cookie", "io=secret-value; Path=/"), HTTPField("ETag", "\"x\""),
        ]
        let input = SignallingInput.answered(id, HTTPAnswer(status: 200, headers: fields))
        guard case .answered(_, let answer) = TraceCoding.input(.object(TraceCoding.object(input))) else {
            Issue.record("not read")
            return
        }
        #expect(
            answer.headers == [
                HTTPField("Authorization", "Bearer xxx"), HTTPField("Cookie", "a=x; c=x"),
                HTTPField("Set-Cookie", "io=xxxxxxxxxxxx; Path=/"), HTTPField("ETag", "\"x\""),
            ]
        )
    }

    /// A trace of a LAN call, by the driver's rules.
    private static func trace(_ inputs: [SignallingInput], packet: Int = .max) -> String {
        let address = RoomURL.LAN(host: "0.0.0.0", isListening: true)
        let options = SignallingOptions(policy: .oneShot, secret: "pass word", seed: .max)
        var trace = SignallingTrace(address, options: options)
        var machine = address.makeMachine(options)
        var lines = [trace.header(program: "test", utc: "2026-11-21T10:00:00Z")]
        for input in inputs {
            lines.append(trace.line(input, at: 0.25, utc: "2026-11-21T10:00:00Z"))
            for action in machine.handle(input) {
                lines.append(trace.line(action, at: 0.25, utc: "2026-11-21T10:00:00Z"))
            }
        }
        lines.append(trace.line(note: "the end", at: 1, utc: ""))
        return lines.joined(separator: "\n") + "\n"
    }

    private static let call: [SignallingInput] = [
        .attempt(note: nil), .stream(.listening), .stream(.connected(peer: "192.0.2.31:1")),
        LANBench.message("offer", LANBench.sdp()), LANBench.candidate,
        .command(.answer(to: LANBench.peer, sdp: LANBench.sdp(session: 9))), .stream(.disconnected(nil)),
        .command(.leave),
    ]

    @Test func aCallIsReplayedEqual() throws {
        let text = Self.trace(Self.call)
        #expect(!text.contains("theirpassword") && !text.contains("pass word"))
        let replay = try TraceReplay(text)
        #expect(replay.differences == 0)
        #expect(replay.steps.count == Self.call.count)
        #expect(replay.protocolName == "lan" && replay.program == "test" && !replay.isCut)
        #expect(replay.steps[3].replayed.last?["event"] == "offerReceived")
        #expect(replay.steps[3].seconds == 0.25)
    }

    @Test func aSecretCutByPacketsIsReplayedEqual() throws {
        guard case .stream(.received(let bytes)) = LANBench.message("offer", LANBench.sdp()) else { return }
        for cut in bytes.indices {
            let packets: [SignallingInput] = [
                .stream(.received(Array(bytes[..<cut]))), .stream(.received(Array(bytes[cut...]))),
            ]
            let text = Self.trace(Array(Self.call[..<3]) + packets)
            #expect(!text.contains("word"), "cut at \(cut)")
            #expect(try TraceReplay(text).differences == 0, "cut at \(cut)")
        }
    }

    @Test func aDifferenceIsFound() throws {
        let replay = try TraceReplay(
            Self.trace(Self.call).replacing("\"event\":\"offerReceived\"", with: "\"event\":\"full\"")
        )
        #expect(replay.steps.filter { !$0.isEqual }.map(\.line) == [7])
        let missing = Self.trace(Self.call).split(separator: "\n").filter { !$0.contains("\"kind\":\"finished\"") }
        #expect(try TraceReplay(missing.joined(separator: "\n")).differences == 1)
    }

    @Test func whatIsTooLargeIsLeftOut() {
        let text = Self.trace([.stream(.received([UInt8](repeating: 0x7a, count: 1_000_000)))])
        #expect(text.contains("\"omittedBytes\":"))
        let failure = #expect(throws: TraceReplay.Failure.self) { try TraceReplay(text) }
        #expect(failure?.message.contains("too large") == true)
    }

    @Test(arguments: [
        "", "\n\n", "x", "{}", "[]", #"{"trace":1}"#, #"{"trace":2,"url":"lan+tcp://h","options":{}}"#,
        #"{"trace":1,"url":"gopher://h","options":{"connectTimeout":1,"attemptInterval":1,"waitsWhenFull":true}}"#,
        #"{"trace":1,"url":"lan+tcp://h","options":{"connectTimeout":1,"attemptInterval":1,"waitsWhenFull":true}}"#
            + "\n{}",
        #"{"trace":1,"url":"lan+tcp://h","options":{"connectTimeout":1,"attemptInterval":1,"waitsWhenFull":true}}"#
            + "\n" + #"{"direction":"out"}"#,
        #"{"trace":1,"url":"lan+tcp://h","options":{"connectTimeout":-1,"attemptInterval":1,"waitsWhenFull":true}}"#,
    ])
    func whatIsNoTraceIsRefused(text: String) {
        #expect(throws: TraceReplay.Failure.self) { try TraceReplay(text) }
    }

    @Test func damagedTracesNeverTrap() {
        var generator = SeededGenerator(seed: 11)
        let good = Array(Self.trace(Self.call).utf8)
        var read = 0
        for _ in 0..<400 {
            var bytes = good
            for _ in 0..<Int.random(in: 1...8, using: &generator) {
                let place = Int.random(in: 0..<bytes.count, using: &generator)
                if Bool.random(using: &generator) {
                    bytes[place] = UInt8.random(in: 0x20...0x7e, using: &generator)
                } else {
                    bytes.removeSubrange(place..<min(place + 40, bytes.count))
                }
            }
            if (try? TraceReplay(String(decoding: bytes, as: UTF8.self))) != nil { read += 1 }
        }
        #expect(read > 0)
    }
}
