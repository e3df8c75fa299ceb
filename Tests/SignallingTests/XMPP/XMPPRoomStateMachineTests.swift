// SPDX-License-Identifier: Apache-2.0

import Basics
import Session
import TestSupport
import Testing

@testable import Signalling

@Suite struct XMPPRoomStateMachineTests {
    private typealias Machine = XMPPRoomStateMachine

    @Test func signsInAndShowsItself() throws {
        var machine = try #require(XMPPBench.machine())
        let actions = machine.handle(.attempt(note: nil))
        guard case .openXMPP(let request)? = actions.first else {
            Issue.record("\(actions)")
            return
        }
        #expect(request.account.account == JID("recorder@example.org"))
        #expect(request.account.resource?.hasPrefix("tapedeck-") == true)
        #expect(request.password == "pw" && request.host == nil && request.port == 5222)
        let opened = machine.handle(.xmpp(.opened(try #require(XMPPBench.own))))
        #expect(XMPPBench.stanzas(opened) == [XMPPStanza(.presence, priority: 1)])
        #expect(opened.contains(.event(.joined(ownID: PeerID("recorder@example.org/tapedeck")))))
    }

    @Test func twoRoomsOfOneAccountHaveTwoResources() throws {
        func resource(_ query: String) throws -> String? {
            var machine = try #require(XMPPBench.machine(query))
            guard case .openXMPP(let request)? = machine.handle(.attempt(note: nil)).first else { return nil }
            return request.account.resource
        }
        #expect(try resource("peer=alice@example.org") == resource("peer=alice@example.org"))
        #expect(try resource("peer=alice@example.org") != resource("peer=bob@example.org"))
    }

    @Test func withoutAPasswordItEndsForEver() throws {
        var machine = try #require(XMPPBench.machine(secret: nil))
        guard case .finished(let error?)? = machine.handle(.attempt(note: nil)).first else {
            Issue.record("not finished")
            return
        }
        #expect(error.blame == .configuration && error.message.contains("TAPEDECK_XMPP_PASSWORD"))
    }

    @Test func aCallComesAndEndsWithOneBye() throws {
        var bench = try #require(XMPPBench.online())
        bench.feed(XMPPBench.room)
        bench.feed(XMPPBench.offer)
        bench.feed(XMPPBench.candidate)
        #expect(bench.connections.keys.contains(XMPPBench.peer))
        let candidate = ICECandidate(line: XMPPBench.line, mLineIndex: 1, mid: "video")
        bench.feed(.command(.candidate(to: XMPPBench.peer, candidate)))
        let body = try JSONValue(parsing: try #require(XMPPBench.stanzas(bench.sent).last?.body))
        #expect(body["sdp"]?.string == XMPPBench.line && body["label"] == .integer(1) && body["id"] == "video")
        bench.feed(XMPPBench.bye)
        bench.feed(XMPPBench.bye)
        #expect(bench.connections.isEmpty)
        #expect(XMPPBench.kinds(bench) == ["answer", "candidate", "bye"])
        #expect(XMPPBench.said(bench.sent).allSatisfy { $0.to == XMPPBench.alice })
    }

    @Test func weCallTheClientThatIsOnline() throws {
        var bench = try #require(XMPPBench.calling())
        #expect(
            XMPPBench.stanzas(bench.sent).contains(
                XMPPStanza(.presence, type: "subscribe", to: JID("alice@example.org"))
            )
        )
        let said = XMPPBench.said(bench.sent)
        #expect(said.map(\.kind) == ["roomId", "offer"] && said.allSatisfy { $0.to == XMPPBench.alice })
        let room = try JSONValue(
            parsing: try #require(XMPPBench.stanzas(bench.sent).first { $0.kind == .message }?.body)
        )
        #expect((6...10).contains(try #require(room["roomId"]?.string).utf8.count))
        bench.feed(XMPPBench.answer)
        #expect(!bench.timers.contains(Machine.ringTimer))
        // Hung up by the other one: not called again, until it was away.
        bench.feed(XMPPBench.bye)
        bench.feed(XMPPBench.presence())
        #expect(XMPPBench.kinds(bench) == ["roomId", "offer", "bye"])
        bench.feed(XMPPBench.presence("unavailable"))
        bench.feed(XMPPBench.presence())
        #expect(XMPPBench.kinds(bench) == ["roomId", "offer", "bye", "roomId", "offer"])
    }

    @Test func anAccountThatShowsNoClientIsCalledAndAnswersAsOne() throws {
        var bench = try #require(XMPPBench.online("peer=alice@example.org&call"))
        bench.feed(.timerFired(Machine.callTimer))
        #expect(XMPPBench.said(bench.sent).map(\.to) == ["alice@example.org", "alice@example.org"])
        bench.feed(XMPPBench.answer)
        #expect(bench.applied == [XMPPBench.sdp()])
        let candidate = ICECandidate(line: XMPPBench.line, mLineIndex: 0, mid: nil)
        bench.feed(.command(.candidate(to: PeerID("alice@example.org"), candidate)))
        #expect(XMPPBench.said(bench.sent).last?.to == XMPPBench.alice)
    }

    /// The server kept our call for the next client, or did not report that it did not.
    @Test(arguments: [true, false])
    func whoWasNotThereIsCalledWhenItComes(isRinging: Bool) throws {
        var bench = try #require(XMPPBench.online("peer=alice@example.org&call"))
        bench.feed(.timerFired(Machine.callTimer))
        if isRinging { bench.feed(XMPPBench.presence()) }
        bench.feed(.timerFired(Machine.ringTimer))
        if !isRinging { bench.feed(XMPPBench.presence()) }
        #expect(XMPPBench.kinds(bench) == ["roomId", "offer", "bye", "roomId", "offer"])
        #expect(XMPPBench.said(bench.sent).last?.to == XMPPBench.alice)
    }

    @Test func whoComesAndTakesOurCallIsNotCalledAgain() throws {
        var bench = try #require(XMPPBench.online("peer=alice@example.org&call"))
        bench.feed(.timerFired(Machine.callTimer))
        bench.feed(XMPPBench.presence())
        bench.feed(XMPPBench.answer)
        bench.feed(XMPPBench.bye)
        bench.feed(XMPPBench.presence())
        #expect(XMPPBench.kinds(bench) == ["roomId", "offer", "bye"])
    }

    @Test func nobodyAnswers() throws {
        var bench = try #require(XMPPBench.calling())
        bench.feed(.timerFired(Machine.ringTimer))
        #expect(bench.connections.isEmpty)
        #expect(XMPPBench.kinds(bench) == ["roomId", "offer", "bye"])
        bench.feed(.timerFired(Machine.callTimer))
        #expect(XMPPBench.kinds(bench).count == 3)
    }

    @Test func onlyThoseWhoMayCallAreHeard() throws {
        var bench = try #require(XMPPBench.online("peer=alice@example.org&allow=*@friends.example"))
        let mallory = "mallory@example.org/x"
        let body = #"{"type":"offer","sdp":"v=0\r\no=- 1 1 IN IP4 0.0.0.0\r\n"}"#
        let sent = bench.sent
        bench.feed(XMPPBench.chat(body, from: mallory))
        bench.feed(XMPPBench.chat(#"{"type":"bye"}"#, from: mallory))
        bench.feed(XMPPBench.presence("subscribe", from: mallory))
        #expect(bench.openings == 0 && bench.sent.count == sent.count + 6, "timers for the stream only")
        #expect(XMPPBench.stanzas(Array(bench.sent[sent.count...])).isEmpty)
        #expect(bench.events.filter { if case .ignored = $0 { true } else { false } }.count == 3)
        bench.feed(XMPPBench.chat(body, from: "bob@friends.example/x"))
        bench.feed(XMPPBench.presence("subscribe", from: "bob@friends.example"))
        #expect(bench.openings == 1)
        let subscribed = XMPPStanza(.presence, type: "subscribed", to: JID("bob@friends.example"))
        #expect(XMPPBench.stanzas(bench.sent).last == subscribed)
    }

    /// Offers that were kept for us, that came back, or that were said to a room of many are no calls.
    @Test(
        arguments: [
            XMPPStanza(
                .message,
                type: "error",
                from: JID(XMPPBench.alice),
                body: #"{"type":"offer","sdp":"v=0\r\no=- 1 1 IN IP4 0\r\n"}"#
            ),
            XMPPStanza(.message, type: "groupchat", from: JID(XMPPBench.alice), body: #"{"type":"offer","sdp":"v=0"}"#),
            XMPPStanza(
                .message,
                type: "chat",
                from: JID(XMPPBench.alice),
                body: #"{"type":"offer","sdp":"v=0"}"#,
                isDelayed: true
            ),
            XMPPStanza(.message, type: "chat", from: JID(XMPPBench.alice)),
            XMPPStanza(.message, type: "chat", from: nil, body: #"{"type":"offer","sdp":"v=0"}"#),
            XMPPStanza(.presence, type: "error", from: JID(XMPPBench.alice)),
            XMPPStanza(.iq, type: "result", from: JID(XMPPBench.alice), id: "1"),
        ]
    )
    func otherStanzasAreNoCalls(stanza: XMPPStanza) throws {
        var bench = try #require(XMPPBench.online())
        let sent = bench.sent.count
        bench.feed(XMPPBench.stanza(stanza))
        #expect(bench.openings == 0)
        #expect(XMPPBench.stanzas(Array(bench.sent[sent...])).isEmpty)
    }

    @Test func questionsAreAnswered() throws {
        var bench = try #require(XMPPBench.online())
        let server = JID("example.org")
        bench.feed(XMPPBench.stanza(XMPPStanza(.iq, type: "get", from: server, id: "p", payload: .ping)))
        bench.feed(XMPPBench.stanza(XMPPStanza(.iq, type: "set", id: "r", payload: .roster)))
        bench.feed(
            XMPPBench.stanza(XMPPStanza(.iq, type: "set", from: JID(XMPPBench.alice), id: "f", payload: .roster))
        )
        #expect(
            XMPPBench.stanzas(bench.sent).suffix(3) == [
                XMPPStanza(.iq, type: "result", to: server, id: "p"), XMPPStanza(.iq, type: "result", id: "r"),
                XMPPStanza(.iq, type: "error", to: JID(XMPPBench.alice), id: "f", condition: "service-unavailable"),
            ]
        )
    }

    @Test func aServerThatFallsSilentIsAskedAndThenLeft() throws {
        var bench = try #require(XMPPBench.online())
        bench.feed(.timerFired(Machine.quietTimer))
        #expect(XMPPBench.stanzas(bench.sent).last?.payload == .ping)
        bench.feed(XMPPBench.stanza(XMPPStanza(.iq, type: "result", from: JID("example.org"), id: "ping-1")))
        #expect(!bench.timers.contains(Machine.pingTimer))
        bench.feed(.timerFired(Machine.quietTimer))
        bench.feed(.timerFired(Machine.pingTimer))
        guard case .attemptFailed(let error)? = bench.end else {
            Issue.record("not failed")
            return
        }
        #expect(error.code == .timedOut && error.isRetriable)
    }

    @Test func aClientThatGoesIsGoneAfterAWhile() throws {
        var bench = try #require(XMPPBench.online())
        bench.feed(XMPPBench.offer)
        bench.feed(XMPPBench.presence("unavailable"))
        #expect(bench.connections.count == 1)
        bench.feed(XMPPBench.presence())
        bench.feed(.timerFired(Machine.absenceTimer(XMPPBench.peer)))
        #expect(bench.connections.count == 1, "it came back")
        bench.feed(XMPPBench.presence("unavailable"))
        bench.feed(.timerFired(Machine.absenceTimer(XMPPBench.peer)))
        #expect(bench.connections.isEmpty)
        #expect(XMPPBench.kinds(bench) == ["answer"], "nobody is there to be told")
    }

    @Test func anotherClientThatCameMeanwhileIsCalledThen() throws {
        let other = "alice@example.org/other"
        var bench = try #require(XMPPBench.calling())
        bench.feed(XMPPBench.answer)
        bench.feed(XMPPBench.presence("unavailable"))
        bench.feed(XMPPBench.presence(from: other))
        #expect(XMPPBench.kinds(bench) == ["roomId", "offer"], "the first one may come back")
        bench.feed(.timerFired(Machine.absenceTimer(XMPPBench.peer)))
        #expect(XMPPBench.kinds(bench) == ["roomId", "offer", "roomId", "offer"])
        #expect(XMPPBench.said(bench.sent).suffix(2).allSatisfy { $0.to == other })
        #expect(Array(bench.connections.keys) == [PeerID(other)])
    }

    @Test func anotherClientThatCameAndWentIsNotCalled() throws {
        let other = "alice@example.org/other"
        var bench = try #require(XMPPBench.calling())
        bench.feed(XMPPBench.answer)
        bench.feed(XMPPBench.presence("unavailable"))
        bench.feed(XMPPBench.presence(from: other))
        bench.feed(XMPPBench.presence("unavailable", from: other))
        bench.feed(.timerFired(Machine.absenceTimer(XMPPBench.peer)))
        #expect(XMPPBench.kinds(bench) == ["roomId", "offer"] && bench.connections.isEmpty)
        bench.feed(XMPPBench.presence())
        #expect(XMPPBench.said(bench.sent).map(\.to).suffix(2) == [XMPPBench.alice, XMPPBench.alice])
        #expect(XMPPBench.kinds(bench) == ["roomId", "offer", "roomId", "offer"])
    }

    @Test func leavingSaysByeToEverybody() throws {
        var bench = try #require(XMPPBench.online("allow=*"))
        bench.feed(XMPPBench.offer)
        bench.feed(XMPPBench.chat(#"{"type":"offer","sdp":"v=0\r\no=- 1 1 IN IP4 0\r\n"}"#, from: "bob@example.org/x"))
        bench.feed(.command(.leave))
        #expect(XMPPBench.said(bench.sent).suffix(2).map(\.to) == [XMPPBench.alice, "bob@example.org/x"])
        #expect(XMPPBench.kinds(bench).suffix(2) == ["bye", "bye"])
        #expect(bench.sent.suffix(2) == [.sendXMPP(XMPPStanza(.presence, type: "unavailable")), .closeXMPP])
        #expect(bench.end == .finished(nil))
    }

    @Test func callsAreBookedWhereThereIsARoomServer() throws {
        var bench = try #require(
            XMPPBench.online("peer=alice@example.org&call&room_server=https://rooms.example.org/x")
        )
        bench.feed(XMPPBench.presence())
        #expect(XMPPBench.kinds(bench).isEmpty, "first the room")
        guard case .request(let join)? = bench.sent.last else {
            Issue.record("no request")
            return
        }
        #expect(join.method == "POST" && join.url.target.hasPrefix("/x/join/") && join.body == [])
        let kept = #""{\"type\":\"candidate\",\"label\":0,\"id\":\"audio\",\"sdp\":\"\#(XMPPBench.line)\"}""#
        let reply = #"{"result":"SUCCESS","params":{"client_id":"40271866","messages":[\#(kept),"x"]}}"#
        bench.feed(.answered(join.id, HTTPAnswer(status: 200, body: Array(reply.utf8))))
        #expect(XMPPBench.kinds(bench) == ["roomId", "offer"])
        #expect(bench.events.contains { if case .candidateReceived = $0 { true } else { false } })
        bench.feed(XMPPBench.answer)
        bench.feed(XMPPBench.bye)
        guard case .request(let leave)? = bench.sent.last else {
            Issue.record("no request")
            return
        }
        #expect(leave.url.target == join.url.target.replacing("/join/", with: "/leave/") + "/40271866")
    }

    @Test func aRoomServerThatFailsHoldsNoCallUp() throws {
        var bench = try #require(XMPPBench.online("peer=alice@example.org&room_server=https://rooms.example.org"))
        bench.feed(XMPPBench.room)
        guard case .request(let join)? = bench.sent.last else {
            Issue.record("no request")
            return
        }
        #expect(join.url.target == "/join/482913377")
        bench.feed(.answered(join.id, HTTPAnswer(status: 200, body: Array(#"{"result":"FULL"}"#.utf8))))
        bench.feed(XMPPBench.offer)
        #expect(XMPPBench.kinds(bench) == ["answer"])
    }

    /// Anything in any order: no trap, and never more calls than the limit.
    @Test(arguments: [UInt64(1), 2, 3, 4, 5, 6, 7, 8])
    func anythingInAnyOrder(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        var bench = try #require(XMPPBench.online("peer=alice@example.org&call&allow=*&room_server=http://192.0.2.1"))
        let bodies = [
            #"{"roomId":"482913377"}"#, #"{"type":"bye"}"#, "hello", "5",
            #"{"type":"candidate","sdp":"\#(XMPPBench.line)"}"#,
            #"{"type":"offer","sdp":"v=0\r\no=- 1 1 IN IP4 0\r\n"}"#,
            #"{"type":"answer","sdp":"v=0\r\no=- 2 1 IN IP4 0\r\n"}"#,
            #"{"type":"offer","sdp":"v=0\r\na=crypto:1 x\r\n"}"#, #"{"type":"candidate","sdp":""}"#, "{",
            #"{"roomId":7}"#,
        ]
        let peers = [
            "alice@example.org", "alice@example.org/a", "alice@example.org/b", "bob@example.net/x", "example.org",
        ]
        let timers = [
            Machine.openTimer, Machine.quietTimer, Machine.pingTimer, Machine.callTimer, Machine.ringTimer,
            Machine.absenceTimer(PeerID("alice@example.org/a")), SignallingTimer(rawValue: "other"),
        ]
        for round in 0..<4000 {
            let from = peers[Int(random.next() % UInt64(peers.count))]
            switch random.next() % 12 {
            case 0...4: bench.feed(XMPPBench.chat(bodies[Int(random.next() % UInt64(bodies.count))], from: from))
            case 5: bench.feed(XMPPBench.presence([nil, "unavailable", "subscribe", "x"][round % 4], from: from))
            case 6: bench.feed(.timerFired(timers[Int(random.next() % UInt64(timers.count))]))
            case 7: bench.feed(XMPPBench.stanza(XMPPStanza(.message, type: "error", from: JID(from), body: bodies[5])))
            case 8: bench.feed(.command(.resetCall(PeerID(from))))
            case 9: bench.feed(.command(.offer(to: PeerID(from), sdp: "v=0")))
            case 10: bench.feed(XMPPBench.chat(bodies[5], from: "p\(random.next() % 200)@example.org/x"))
            default:
                bench.feed(.xmpp(.closed(nil)))
                bench.reconnect()
                bench.feed(.xmpp(.opened(try #require(XMPPBench.own))))
            }
            #expect(bench.machine.calls.count <= Machine.maximumCalls)
            if bench.end != nil {
                bench.reconnect()
                bench.feed(.xmpp(.opened(try #require(XMPPBench.own))))
            }
        }
        bench.feed(.command(.leave))
        #expect(bench.end == .finished(nil))
    }
}
