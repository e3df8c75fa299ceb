// SPDX-License-Identifier: Apache-2.0

import Basics
import Session
import Testing

@testable import Signalling

@Suite struct JanusRoomStateMachineTests {
    typealias Machine = JanusRoomStateMachine

    // MARK: The way in

    @Test func joinsInTheOrderOfTheProtocol() throws {
        var bench = try JanusBench("janus+ws://h/?room=1234&token=t&apisecret=s", secret: "1 2")
        bench.call.feed(.attempt(note: nil))
        #expect(
            bench.call.sent.first
                == .openWebSocket(
                    WebSocketRequest(
                        url: WebURL(isSecure: false, isWebSocket: true, host: "h", port: 8188, target: "/"),
                        subprotocol: "janus-protocol"
                    )
                )
        )
        #expect(bench.sent.isEmpty)
        try bench.enter()
        #expect(bench.words == ["create", "attach", "join 21"])
        #expect(bench.sent.allSatisfy { $0["token"] == "t" && $0["apisecret"] == "s" })
        #expect(bench.sent.map { $0["session_id"] } == [nil, .integer(11), .integer(11)])
        #expect(try bench.last("attach")["plugin"] == "janus.plugin.videoroom")
        #expect(
            try bench.last("join")["body"]
                == .object([
                    "request": "join", "ptype": "publisher", "room": .integer(1234), "display": "recorder",
                    "pin": "1 2",
                    "token": "t",
                ])
        )
        #expect(Set(bench.sent.compactMap { $0["transaction"] }).count == 3)
        #expect(bench.call.events == [.joined(ownID: PeerID("99"), capacity: 65)])
        #expect(bench.call.sent.contains(.note("11")))
        #expect(bench.call.timers == [Machine.keepAliveTimer])
    }

    @Test func anAcknowledgementIsNoResult() throws {
        var bench = try JanusBench()
        bench.call.feed(.attempt(note: nil))
        bench.call.feed(.webSocket(.opened))
        try bench.create()
        try bench.answer("join", #""janus":"ack","session_id":11"#)
        #expect(bench.call.events.isEmpty)
        try bench.answer(
            "join",
            #""janus":"event","session_id":11,"sender":21,"plugindata":{"data":{"videoroom":"joined","id":"me"}}"#
        )
        #expect(bench.call.events == [.joined(ownID: PeerID("me"), capacity: 65)])
    }

    @Test func aSessionThatAnEarlierProcessLeftIsDestroyed() throws {
        var bench = try JanusBench()
        bench.call.feed(.attempt(note: "77"))
        bench.call.feed(.webSocket(.opened))
        #expect(bench.words == ["destroy", "create"])
        #expect(bench.sent.first?["session_id"] == .integer(77))
        // The result does not matter.
        try bench.answer("destroy", #""janus":"error","session_id":77,"error":{"code":458,"reason":"gone"}"#)
        try bench.create()
        #expect(bench.words.last == "join 21")
        #expect(bench.ignored.isEmpty && bench.call.end == nil)
    }

    @Test(arguments: [
        (426, "has no room 1234", SignallingError.Code.refused), (433, "without its PIN", .refused),
        (403, "token or an API secret", .refused), (430, "no 430 (430)", .refused), (499, "no 499 (499)", .refused),
    ])
    func refusalsSayWhatIsWrong(_ code: Int, _ text: String, _ expected: SignallingError.Code) throws {
        var bench = try JanusBench()
        bench.call.feed(.attempt(note: nil))
        bench.call.feed(.webSocket(.opened))
        try bench.create()
        try bench.refuse("join", code)
        #expect(bench.failure?.code == expected)
        #expect(bench.failure?.message.contains(text) == true)
    }

    @Test func aWrongPINIsNamedAsOne() throws {
        var bench = try JanusBench(secret: "x")
        bench.call.feed(.attempt(note: nil))
        bench.call.feed(.webSocket(.opened))
        try bench.create()
        try bench.refuse("join", 433)
        #expect(bench.failure?.message == "Room 1234 of Janus at h:8188 does not take us: the PIN or token is wrong.")
    }

    @Test(arguments: [
        ("create", 403, SignallingError.Code.refused), ("create", 472, .unreachable), ("attach", 460, .refused),
    ])
    func theServerRefuses(_ word: String, _ code: Int, _ expected: SignallingError.Code) throws {
        var bench = try JanusBench()
        bench.call.feed(.attempt(note: nil))
        bench.call.feed(.webSocket(.opened))
        if word == "attach" { try bench.answer("create", #""janus":"success","data":{"id":11}"#) }
        try bench.answer(word, #""janus":"error","error":{"code":\#(code),"reason":"no"}"#)
        #expect(bench.failure?.code == expected)
    }

    @Test func aRoomThatVanishedMayComeBack() throws {
        var bench = try JanusBench()
        try bench.join()
        bench.event(21, #"{"videoroom":"destroyed","room":1234}"#)
        #expect(bench.failure?.isRetriable == true)
        bench.call.reconnect(note: "11")
        bench.call.feed(.webSocket(.opened))
        #expect(bench.words.suffix(2) == ["destroy", "create"])
        try bench.create()
        try bench.refuse("join", 426)
        #expect(bench.failure?.isRetriable == true)
    }

    @Test func nothingIsWaitedForForEver() throws {
        var bench = try JanusBench()
        bench.call.feed(.attempt(note: nil))
        #expect(bench.call.timers == [Machine.answerTimer])
        bench.call.feed(.timerFired(Machine.answerTimer))
        #expect(bench.failure?.code == .timedOut)
    }

    @Test func aServerThatIsNoJanusIsNamed() throws {
        var bench = try JanusBench()
        bench.call.feed(.attempt(note: nil))
        bench.call.feed(.webSocket(.refused(status: 404, body: [])))
        #expect(bench.failure?.message.contains("is it Janus?") == true)
    }

    @Test(arguments: [
        (403, SignallingError.Code.refused), (404, .refused), (408, .unreachable), (429, .unreachable),
        (500, .unreachable), (502, .unreachable), (503, .unreachable),
    ])
    func refusedHandshakesSayWhatIsWrong(status: Int, code: SignallingError.Code) throws {
        var bench = try JanusBench()
        bench.call.feed(.attempt(note: nil))
        bench.call.feed(.webSocket(.refused(status: status, body: [])))
        #expect(bench.failure?.code == code)
        #expect(bench.failure?.message.contains("h:8188 answered \(status)") == true)
        // There is no retry after a refusal.
        guard code == .unreachable else { return }
        bench.call.reconnect(note: nil)
        bench.call.feed(.webSocket(.opened))
        #expect(bench.words == ["create"])
    }

    // MARK: Being there

    @Test func theSessionIsKept() throws {
        var bench = try JanusBench()
        try bench.join()
        bench.call.feed(.timerFired(Machine.keepAliveTimer))
        #expect(bench.words.last == "keepalive")
        #expect(bench.call.sent.last == .startTimer(Machine.keepAliveTimer, after: .seconds(25)))
        try bench.answer("keepalive", #""janus":"ack","session_id":11"#)
        bench.call.feed(.timerFired(Machine.keepAliveTimer))
        #expect(bench.call.end == nil)
        bench.call.feed(.timerFired(Machine.keepAliveTimer))
        #expect(bench.failure?.code == .timedOut)
    }

    @Test func aSessionThatTimedOutIsMadeAnew() throws {
        var bench = try JanusBench()
        try bench.join()
        bench.receive(#"{"janus":"timeout","session_id":11}"#)
        #expect(bench.failure?.isRetriable == true)
        bench.call.reconnect(note: nil)
        bench.call.feed(.webSocket(.opened))
        #expect(bench.words.last == "create")
    }

    @Test func messagesOfOtherSessionsAndHandlesAreIgnored() throws {
        var bench = try JanusBench()
        try bench.join()
        bench.receive(#"{"janus":"event","session_id":12,"sender":21,"plugindata":{"data":{"videoroom":"destroyed"}}}"#)
        bench.event(77, #"{"videoroom":"event","leaving":7}"#)
        bench.receive(#"{"janus":"event","session_id":11,"sender":21}"#)
        bench.receive(#"{"janus":"error","session_id":11,"error":{"code":456,"reason":"what?"}}"#)
        #expect(
            bench.ignored == [
                "message of another session", "event of a handle that is not ours any more", "event without content",
                "Janus refuses a request",
            ]
        )
        #expect(bench.call.end == nil)
    }

    @Test(arguments: ["media", "slowlink", "webrtcup", "keepalive", "server_info"])
    func noticesNeedNothing(_ kind: String) throws {
        var bench = try JanusBench()
        try bench.join()
        let before = bench.words
        bench.receive(#"{"janus":"\#(kind)","session_id":11,"sender":21,"receiving":true,"type":"video"}"#)
        #expect(bench.words == before && bench.ignored.isEmpty && bench.call.end == nil)
    }

    @Test func leavingDestroysTheSession() throws {
        var bench = try JanusBench()
        try bench.join()
        bench.call.feed(.command(.leave))
        #expect(bench.words.last == "destroy")
        #expect(bench.sent.last?["session_id"] == .integer(11))
        #expect(bench.call.sent.last == .note(nil))
        #expect(bench.call.events.last == .left)
        #expect(bench.call.end == .finished(nil))
        bench.call.feed(.command(.leave))
        bench.call.feed(.attempt(note: nil))
        #expect(bench.words.last == "destroy")
    }

    @Test(arguments: [
        #"{"videoroom":"event","room":1234,"leaving":"ok","reason":"kicked"}"#,
        #"{"videoroom":"event","room":1234,"kicked":99}"#,
    ])
    func whoIsKickedStaysOut(_ data: String) throws {
        var bench = try JanusBench()
        try bench.join()
        bench.event(21, data)
        #expect(bench.call.events.contains(.removed))
        #expect(bench.failure?.code == .removed)
        #expect(bench.words.last == "destroy")
    }

    @Test(arguments: [#"{"janus":"detached","session_id":11,"sender":21}"#, ""])
    func whoIsDroppedComesBack(_ text: String) throws {
        var bench = try JanusBench()
        try bench.join()
        if text.isEmpty { bench.event(21, #"{"videoroom":"event","leaving":"ok"}"#) } else { bench.receive(text) }
        #expect(bench.failure?.isRetriable == true)
        bench.call.reconnect(note: "11")
        bench.call.feed(.webSocket(.opened))
        #expect(bench.words.suffix(2) == ["destroy", "create"])
    }

    // MARK: Coming back

    @Test func aSessionIsClaimedAndGoesOn() throws {
        var bench = try JanusBench(sends: true)
        try bench.join()
        try bench.configured()
        try bench.offer()
        try bench.start()
        try bench.offer(JanusBench.sdp(session: 9), id: "8", handle: 32)
        bench.call.feed(.webSocket(.closed(nil)))
        #expect(bench.failure?.isRetriable == true)
        let connections = bench.call.connections
        bench.call.reconnect(note: "11")
        bench.call.feed(.webSocket(.opened))
        _ = bench.news()
        try bench.answer("claim", #""janus":"success","session_id":11"#)
        // The second subscription was not settled: it is begun again. Nothing else is.
        #expect(bench.news() == ["listparticipants 21", "detach 32", "attach"])
        #expect(bench.call.events.last == .joined(ownID: PeerID("99"), capacity: 65))
        #expect(bench.call.connections == connections)
        try bench.answer(
            "listparticipants",
            #""janus":"success","session_id":11,"sender":21,"plugindata":{"data":{"videoroom":"participants","#
                + #""participants":[{"id":99,"publisher":true},{"id":8,"publisher":true},{"id":5,"publisher":false},"#
                + #"{"id":9,"display":"Bea","publisher":true}]}}"#
        )
        // The first publisher left in between, another one came, and one of the members sends nothing.
        #expect(bench.news() == ["detach 31", "attach"])
        #expect(bench.call.events.suffix(2) == [.peerLeft(JanusBench.feed), .peerNamed(PeerID("9"), "Bea")])
    }

    @Test func aSessionLostOnTheWayInIsDestroyed() throws {
        var bench = try JanusBench()
        bench.call.feed(.attempt(note: nil))
        bench.call.feed(.webSocket(.opened))
        try bench.create()
        bench.call.feed(.webSocket(.closed(nil)))
        bench.call.reconnect(note: "11")
        bench.call.feed(.webSocket(.opened))
        try bench.answer("claim", #""janus":"success","session_id":11"#)
        #expect(bench.words.suffix(3) == ["claim", "destroy", "create"])
    }

    // MARK: HTTP

    /// The requests for which no answer came, by name.
    private static func requests(_ bench: JanusBench) -> [String] {
        bench.call.sent.compactMap {
            if case .request(let request) = $0 { "\(request.method) \(request.url.target)" } else { nil }
        }
    }

    private static func post(_ bench: inout JanusBench, _ word: String, _ members: String) throws {
        let transaction = try #require(try bench.last(word)["transaction"]?.string)
        let text = #"{"transaction":"\#(transaction)",\#(members)}"#
        bench.call.feed(.answered(JanusLink.post, HTTPAnswer(status: 200, body: Array(text.utf8))))
    }

    private static func overHTTP() throws -> JanusBench {
        var bench = try JanusBench("janus+http://h/?room=1234&token=t")
        bench.call.feed(.attempt(note: nil))
        try Self.post(&bench, "create", #""janus":"success","data":{"id":11}"#)
        try Self.post(&bench, "attach", #""janus":"success","session_id":11,"data":{"id":21}"#)
        try Self.post(&bench, "join", #""janus":"ack","session_id":11"#)
        let transaction = try #require(try bench.last("join")["transaction"]?.string)
        let text =
            #"[{"janus":"event","session_id":11,"sender":21,"transaction":"\#(transaction)","plugindata":{"data":"#
            + #"{"videoroom":"joined","id":99,"publishers":[{"id":7},{"id":8}]}}},{"janus":"keepalive"}]"#
        bench.call.feed(.answered(JanusLink.poll, HTTPAnswer(status: 200, body: Array(text.utf8))))
        return bench
    }

    @Test func requestsGoOneAtATimeWithOnePollBesideThem() throws {
        var bench = try Self.overHTTP()
        #expect(
            Self.requests(bench) == [
                "POST /janus", "GET /janus/11?maxev=10&rid=1&token=t", "POST /janus/11", "POST /janus/11/21",
                "POST /janus/11", "GET /janus/11?maxev=10&rid=2&token=t",
            ]
        )
        #expect(bench.call.events == [.joined(ownID: PeerID("99"), capacity: 65)])
        #expect(bench.call.timers.isEmpty, "the poll keeps the session")
        let first = try #require(bench.sent.last?["transaction"]?.string)
        let text = #"{"janus":"success","session_id":11,"transaction":"\#(first)","data":{"id":31}}"#
        bench.call.feed(.answered(JanusLink.post, HTTPAnswer(status: 200, body: Array(text.utf8))))
        #expect(Self.requests(bench).suffix(1) == ["POST /janus/11"], "the second publisher's handle comes next")
        // Leaving waits for nothing.
        bench.call.feed(.command(.leave))
        #expect(Self.requests(bench).last == "POST /janus/11")
        #expect(bench.words.last == "destroy")
    }

    @Test(arguments: [
        (JanusLink.poll, 404, SignallingError.Code.unreachable, "create"), (JanusLink.poll, 403, .refused, ""),
        (JanusLink.post, 404, .refused, ""), (JanusLink.post, 502, .unreachable, "claim"),
        (JanusLink.post, 408, .unreachable, "claim"), (JanusLink.post, 429, .unreachable, "claim"),
        (JanusLink.poll, 429, .unreachable, "claim"),
    ])
    func statusesSayWhatIsWrong(
        _ request: HTTPRequest.ID,
        _ status: Int,
        _ expected: SignallingError.Code,
        _ next: String
    ) throws {
        var bench = try Self.overHTTP()
        bench.call.feed(.answered(request, HTTPAnswer(status: status)))
        #expect(bench.failure?.code == expected)
        // Empty: there is no retry.
        guard !next.isEmpty else { return }
        bench.call.reconnect(note: nil)
        #expect(bench.words.last == next)
    }

    @Test func aRequestThatFailsIsALossOfTheConnection() throws {
        var bench = try Self.overHTTP()
        bench.call.feed(.requestFailed(JanusLink.last, SignallingError(.unreachable, "x", blame: .network)))
        #expect(bench.call.end == nil)
        bench.call.feed(.requestFailed(JanusLink.poll, SignallingError(.unreachable, "x", blame: .network)))
        #expect(bench.failure?.message == "x")
    }
}
