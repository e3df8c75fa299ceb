// SPDX-License-Identifier: Apache-2.0

import Basics
import Session
import Testing

@testable import Signalling

@Suite struct JanusSubscriptionTests {
    typealias Machine = JanusRoomStateMachine

    private static let again = SignallingTimer(rawValue: "feed 7")

    private static func joined(sends: Bool = false) throws -> JanusBench {
        var bench = try JanusBench(sends: sends, secret: "1 2")
        try bench.join()
        _ = bench.news()
        return bench
    }

    @Test func eachPublisherIsACallOfItsOwn() throws {
        var bench = try Self.joined()
        try bench.offer()
        #expect(bench.news() == ["attach", "join 31", "start 31"])
        #expect(
            try bench.last("join")["body"]
                == .object([
                    "request": "join", "ptype": "subscriber", "room": .integer(1234), "pin": "1 2",
                    "private_id": .integer(5), "feed": .integer(7),
                    "streams": .array([
                        .object(["feed": .integer(7), "mid": "0"]), .object(["feed": .integer(7), "mid": "1"]),
                    ]),
                ])
        )
        #expect(
            bench.call.events.suffix(2) == [
                .peerNamed(JanusBench.feed, "Ada"), .offerReceived(from: JanusBench.feed, sdp: JanusBench.sdp()),
            ]
        )
        let answer = try bench.last("start")["jsep"]
        #expect(answer?["type"] == "answer")
        #expect(answer?["sdp"]?.string == CallBench<Machine>.ourDescription(101))
        #expect(answer?["trickle"] == nil)
        try bench.offer(JanusBench.sdp(session: 9), id: #""bea""#, handle: 32)
        #expect(Set(bench.call.connections.keys) == [JanusBench.feed, PeerID("bea")])
    }

    @Test func whoIsThereAlreadyIsReceived() throws {
        var bench = try JanusBench()
        try bench.join(
            publishers:
                #"[{"id":7,"display":"Ada"},{"id":8,"streams":[{"type":"data","mid":"0"}]},{"id":9,"dummy":true},"#
                + #"{"display":"nobody"},3,{"id":99}]"#
        )
        #expect(bench.words == ["create", "attach", "join 21", "attach"])
        #expect(bench.ignored == ["publisher without audio and video"])
    }

    @Test func whoTakesNothingSubscribesToNobody() throws {
        var bench = try JanusBench(sends: true, receives: false)
        try bench.join(publishers: #"[{"id":7}]"#)
        #expect(bench.words == ["create", "attach", "join 21", "publish 21"])
    }

    @Test func descriptionsWithAllCandidatesSaySo() {
        let complete = Machine.jsep("answer", "v=0\r\na=end-of-candidates\r\n")
        #expect(complete.json["trickle"] == .bool(false))
        #expect(!complete.isTrickling)
        #expect(Machine.jsep("offer", "v=0\r\n").isTrickling)
    }

    @Test func candidatesOfOursAreTrickledAndEnd() throws {
        var bench = try Self.joined()
        try bench.offer()
        try bench.start()
        let connection = try #require(bench.call.connections[JanusBench.feed])
        let candidate = ICECandidate(line: JanusBench.line, mLineIndex: 1, mid: nil)
        bench.call.feed(session: .connection(connection, .localCandidate(candidate)))
        #expect(bench.words.last == "trickle 31")
        #expect(
            bench.sent.last?["candidate"]
                == .object(["candidate": .string(JanusBench.line), "sdpMLineIndex": .integer(1), "sdpMid": "1"])
        )
        bench.receive(#"{"janus":"webrtcup","session_id":11,"sender":31}"#)
        #expect(bench.words.last == "trickle completed 31")
        let count = bench.words.count
        bench.receive(#"{"janus":"webrtcup","session_id":11,"sender":31}"#)
        #expect(bench.words.count == count)
    }

    @Test(arguments: ["unpublished", "leaving", "kicked"])
    func whoStopsIsGone(_ key: String) throws {
        var bench = try Self.joined()
        try bench.offer()
        bench.event(21, #"{"videoroom":"event","room":1234,"\#(key)":7}"#)
        #expect(bench.words.last == "detach 31")
        #expect(bench.call.events.last == .peerLeft(JanusBench.feed))
        #expect(bench.call.connections.isEmpty)
        // A member that never sent does not count.
        let events = bench.call.events.count
        bench.event(21, #"{"videoroom":"event","room":1234,"\#(key)":7}"#)
        #expect(bench.call.events.count == events)
    }

    @Test func whoIsNamedAnewIsCalledSo() throws {
        var bench = try Self.joined()
        try bench.offer()
        bench.event(21, #"{"videoroom":"event","room":1234,"id":7,"display":"Ada L."}"#)
        #expect(bench.call.facts.last == .peerNamed(JanusBench.feed, "Ada L."))
    }

    @Test func newMediaOfAPublisherAreSubscribedTo() throws {
        var bench = try Self.joined()
        try bench.offer()
        _ = bench.news()
        let streams = #"[{"type":"audio","mid":"0"},{"type":"video","mid":"1"},{"type":"video","mid":"3"}]"#
        bench.event(21, #"{"videoroom":"event","publishers":[{"id":7,"streams":\#(streams)}]}"#)
        #expect(bench.news() == ["subscribe 31"])
        #expect(
            try bench.last("subscribe")["body"]?["streams"]
                == .array([.object(["feed": .integer(7), "mid": "3"])])
        )
        bench.event(21, #"{"videoroom":"event","publishers":[{"id":7,"streams":\#(streams)}]}"#)
        #expect(bench.news() == [])
        bench.event(31, #"{"videoroom":"updated"}"#, jsep: JanusBench.jsep("offer", JanusBench.sdp(version: 2)))
        #expect(bench.news() == ["start 31"])
        #expect(bench.call.openings == 1)
    }

    /// The m-lines of a publisher that came while our WebSocket was away are not listed.
    @Test func newMediaOfAPublisherWithoutAListAreSubscribedTo() throws {
        var bench = try Self.joined()
        bench.event(21, #"{"videoroom":"event","room":1234,"publishers":[{"id":7}]}"#)
        try bench.answer("attach", #""janus":"success","session_id":11,"data":{"id":31}"#)
        bench.event(
            31,
            #"{"videoroom":"attached","room":1234,"streams":[{"type":"audio","mid":"0","feed_mid":"a"}]}"#,
            jsep: JanusBench.jsep("offer", JanusBench.sdp())
        )
        _ = bench.news()
        let streams = #"[{"type":"audio","mid":"a"},{"type":"video","mid":"1"}]"#
        for news in [["subscribe 31"], []] {
            bench.event(21, #"{"videoroom":"event","publishers":[{"id":7,"streams":\#(streams)}]}"#)
            #expect(bench.news() == news)
        }
        #expect(
            try bench.last("subscribe")["body"]?["streams"]
                == .array([.object(["feed": .integer(7), "mid": "1"])])
        )
    }

    @Test func aHangUpIsTriedAgainWithLongerWaits() throws {
        var bench = try Self.joined()
        try bench.offer()
        try bench.start()
        for wait in [2, 4, 8] {
            bench.receive(#"{"janus":"hangup","session_id":11,"sender":31,"reason":"ICE failed"}"#)
            #expect(bench.words.last == "detach 31")
            #expect(bench.call.sent.last == .startTimer(Self.again, after: .seconds(wait), isSpread: true))
            bench.call.feed(.timerFired(Self.again))
            try bench.answer("attach", #""janus":"success","session_id":11,"data":{"id":31}"#)
            bench.event(
                31,
                #"{"videoroom":"attached"}"#,
                jsep: JanusBench.jsep("offer", JanusBench.sdp(session: 10 + wait))
            )
            #expect(bench.words.last == "start 31")
        }
        bench.receive(#"{"janus":"webrtcup","session_id":11,"sender":31}"#)
        bench.receive(#"{"janus":"detached","session_id":11,"sender":31}"#)
        #expect(bench.call.sent.last == .startTimer(Self.again, after: .seconds(2), isSpread: true))
        #expect(bench.call.connections.count == 1)
    }

    @Test func aRefusedSubscriptionIsTriedAgain() throws {
        var bench = try Self.joined()
        try bench.publish()
        try bench.refuse("join", 433, sender: 31)
        #expect(bench.call.timers.contains(Self.again))
        bench.call.feed(.timerFired(Self.again))
        #expect(bench.words.last == "attach")
        // A timer of a publisher that is gone, or unknown, does nothing.
        bench.event(21, #"{"videoroom":"event","leaving":7}"#)
        let count = bench.words.count
        bench.call.feed(.timerFired(Self.again))
        bench.call.feed(.timerFired(SignallingTimer(rawValue: "else")))
        #expect(bench.words.count == count)
    }

    @Test func aHandleThatComesTooLateIsGivenBack() throws {
        var bench = try Self.joined()
        bench.event(21, #"{"videoroom":"event","publishers":[{"id":7}]}"#)
        bench.event(21, #"{"videoroom":"event","leaving":7}"#)
        try bench.answer("attach", #""janus":"success","session_id":11,"data":{"id":31}"#)
        #expect(bench.words.last == "detach 31")
    }

    @Test func whatTheSessionWantsOfASubscriptionIsANewOne() throws {
        var bench = try Self.joined()
        try bench.offer()
        _ = bench.news()
        bench.call.feed(.command(.resetCall(JanusBench.feed)))
        #expect(bench.news() == ["detach 31", "attach"])
        // We never offer to a publisher.
        try bench.answer("attach", #""janus":"success","session_id":11,"data":{"id":32}"#)
        bench.call.feed(.command(.offer(to: JanusBench.feed, sdp: "v=0")))
        #expect(bench.news() == ["join 32", "detach 32", "attach"])
        bench.call.feed(.command(.answer(to: JanusBench.feed, sdp: "v=0")))
        #expect(bench.ignored == ["answer of ours to an older offer"])
        bench.call.feed(.command(.resetCall(PeerID("unknown"))))
        bench.call.feed(.command(.yield))
        #expect(bench.news() == [])
    }

    /// A claimed session does not report connections that ended on our side in between.
    @Test func whatEndedWhileTheWebSocketWasAwayIsBegunAnew() throws {
        var bench = try JanusBench(sends: true)
        try bench.join()
        try bench.configured()
        try bench.offer()
        try bench.start()
        bench.call.feed(.webSocket(.closed(nil)))
        bench.call.reconnect(note: "11")
        for peer in [JanusBench.place, JanusBench.feed] {
            let connection = try #require(bench.call.connections[peer])
            bench.call.feed(session: .connection(connection, .iceFailed))
        }
        bench.call.feed(.webSocket(.opened))
        try bench.answer("claim", #""janus":"success","session_id":11"#)
        #expect(bench.news().suffix(2) == ["claim", "listparticipants 21"])
        bench.call.fire(.returning)
        #expect(bench.news() == ["unpublish 21", "detach 31", "attach"])
        try bench.answer("attach", #""janus":"success","session_id":11,"data":{"id":32}"#)
        bench.event(32, #"{"videoroom":"attached"}"#, jsep: JanusBench.jsep("offer", JanusBench.sdp(session: 9)))
        #expect(bench.words.last == "start 32")
        try bench.answer(
            "unpublish",
            #""janus":"event","session_id":11,"sender":21,"plugindata":{"data":{"videoroom":"event","unpublished":"ok"}}"#
        )
        bench.call.feed(.timerFired(Machine.publishTimer))
        #expect(bench.words.last == "publish 21")
        #expect(bench.call.connections.count == 2)
    }

    @Test func publishersBeyondTheLimitAreNotReceived() throws {
        var bench = try Self.joined()
        for id in 0..<(Machine.maximumFeeds + 2) {
            bench.event(21, #"{"videoroom":"event","publishers":[{"id":\#(id)}]}"#)
        }
        #expect(bench.news().count == Machine.maximumFeeds)
        #expect(bench.ignored == ["more publishers than we take", "more publishers than we take"])
    }

    // MARK: Publishing

    @Test func ourCameraIsPublishedAsNoParticipant() throws {
        var bench = try JanusBench(sends: true)
        try bench.join()
        #expect(bench.words.last == "publish 21")
        let message = try bench.last("publish")
        #expect(message["jsep"]?["type"] == "offer")
        #expect(message["body"]?["display"] == "recorder")
        try bench.configured()
        #expect(bench.call.applied == [JanusBench.sdp(session: 6)])
        bench.receive(#"{"janus":"webrtcup","session_id":11,"sender":21}"#)
        #expect(bench.words.last == "trickle completed 21")
        #expect(!bench.call.facts.contains(.peerJoined(JanusBench.place)))
        #expect(bench.call.facts.contains(.publishPointArrived(JanusBench.place)))
    }

    @Test func publishersAreOnlyReceived() throws {
        var bench = try JanusBench(sends: true)
        try bench.join()
        try bench.configured()
        try bench.offer()
        #expect(bench.call.roles == [JanusBench.place: .publisher, JanusBench.feed: .subscriber])
    }

    @Test func aFullRoomIsAnErrorForWhoDoesNotWait() throws {
        var bench = try JanusBench(sends: true, policy: .oneShot)
        try bench.join()
        try bench.refuse("publish", 432)
        #expect(bench.failure?.code == .full)
        #expect(bench.words.last == "destroy")
    }

    @Test func aRefusedOfferIsMadeAgainLater() throws {
        var bench = try JanusBench(sends: true)
        try bench.join()
        for wait in [2, 4] {
            try bench.refuse("publish", 437)
            #expect(bench.call.facts.last == .publishingFailed(JanusBench.place, reason: "no 437 (437)"))
            #expect(
                bench.call.sent.last == .startTimer(Machine.publishTimer, after: .seconds(wait), isSpread: true)
            )
            bench.call.feed(.timerFired(Machine.publishTimer))
            #expect(bench.words.last == "publish 21")
        }
    }

    @Test func aResetTakesTheOldOneAwayFirst() throws {
        var bench = try JanusBench(sends: true)
        try bench.join()
        try bench.configured()
        let connection = try #require(bench.call.connections[JanusBench.place])
        bench.call.feed(session: .connection(connection, .iceFailed))
        #expect(bench.words.last == "unpublish 21")
        // The end of the old one is no news.
        bench.receive(#"{"janus":"hangup","session_id":11,"sender":21,"reason":"Close PC"}"#)
        #expect(!bench.call.timers.contains(Machine.publishTimer))
        try bench.answer(
            "unpublish",
            #""janus":"event","session_id":11,"sender":21,"plugindata":{"data":{"videoroom":"event","unpublished":"ok"}}"#
        )
        bench.call.feed(.timerFired(Machine.publishTimer))
        #expect(bench.words.last == "publish 21")
        // Nothing was published: as good.
        bench.call.feed(.command(.resetCall(JanusBench.place)))
        try bench.refuse("unpublish", 435)
        #expect(bench.call.timers.contains(Machine.publishTimer))
    }

    @Test func whatIsPublishedTwiceIsWithdrawn() throws {
        var bench = try JanusBench(sends: true)
        try bench.join()
        try bench.refuse("publish", 434)
        #expect(bench.words.last == "unpublish 21")
    }

    @Test func ourPublishingThatEndsBeginsAgain() throws {
        var bench = try JanusBench(sends: true)
        try bench.join()
        try bench.configured()
        bench.receive(#"{"janus":"hangup","session_id":11,"sender":21,"reason":"DTLS alert"}"#)
        #expect(bench.call.facts.last == .publishingFailed(JanusBench.place, reason: "Janus ended it: DTLS alert"))
        bench.call.feed(.timerFired(Machine.publishTimer))
        #expect(bench.words.last == "publish 21")
    }
}
