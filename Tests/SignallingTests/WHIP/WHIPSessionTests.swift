// SPDX-License-Identifier: Apache-2.0

import TestSupport
import Testing

@testable import Signalling

/// Events once the endpoint has made a session: candidates, resets, the end.
@Suite struct WHIPSessionTests {
    private let peer = PeerID("cam1")

    private static func joined(secret: String? = nil) throws -> WHIPBench {
        var bench = WHIPBench(try WHIPWire.machine(secret: secret))
        try bench.join()
        return bench
    }

    private func candidate(_ number: Int) -> SignallingInput {
        .command(.candidate(to: self.peer, WHIPWire.candidate(number)))
    }

    // MARK: - Candidates

    @Test func sendsWhatCameBeforeTheSessionInOneRequest() throws {
        var bench = WHIPBench(try WHIPWire.machine())
        try bench.post()
        let inside = ICECandidate(line: "candidate:1 1 udp 1 192.0.2.9 6000 typ host", mLineIndex: 0, mid: "0")
        bench.feed(.command(.candidate(to: self.peer, inside)))
        bench.feed(self.candidate(2))
        bench.feed(self.candidate(3))
        bench.feed(self.candidate(2))
        try bench.answer("POST", try WHIPWire.created())
        let patch = try #require(bench.open.first)
        #expect(bench.open.count == 1 && patch.method == "PATCH")
        #expect(patch.header("If-Match") == "\"t1\"")
        #expect(patch.header("Content-Type") == "application/trickle-ice-sdpfrag")
        #expect(patch.text.hasSuffix("6002 typ srflx\r\na=candidate:3 1 udp 1 192.0.2.9 6003 typ srflx\r\n"))
        #expect(!patch.text.contains("6000"))
        // Those that come in between wait for the answer, and go together.
        #expect(bench.feed(self.candidate(4)).isEmpty)
        #expect(bench.feed(self.candidate(5)).isEmpty)
        #expect(try bench.answer("PATCH", HTTPAnswer(status: 204)).requests.count == 1)
        #expect(try bench.answer("PATCH", HTTPAnswer(status: 204)).isEmpty)
    }

    @Test func sendsNothingIfTheOfferHadThemAll() throws {
        var bench = try Self.joined()
        #expect(bench.open.isEmpty)
        #expect(bench.feed(.timerFired(WHIPRoomStateMachine.trickleTimer)).requests.isEmpty)
    }

    @Test func collectsLaterOnesForAMoment() throws {
        var bench = try Self.joined()
        #expect(bench.feed(self.candidate(2)).count == 1)
        #expect(bench.feed(self.candidate(3)).isEmpty)
        #expect(bench.feed(.timerFired(WHIPRoomStateMachine.trickleTimer)).requests.count == 1)
    }

    @Test(arguments: [405, 501, 400, 403, 404, 415, 422, 301])
    func stopsTricklingWhereItIsNotTaken(status: Int) throws {
        var bench = try Self.joined()
        bench.feed(self.candidate(2))
        bench.feed(.timerFired(WHIPRoomStateMachine.trickleTimer))
        try bench.answer("PATCH", HTTPAnswer(status: status))
        #expect(bench.last.events.count == 1 && bench.last.count == 1)
        #expect(bench.feed(self.candidate(3)).isEmpty)
        #expect(bench.feed(.command(.leave)).requests.map(\.method) == ["DELETE"])
    }

    @Test func takesTheTagThatTheEndpointWants() throws {
        var bench = try Self.joined()
        bench.feed(self.candidate(2))
        bench.feed(.timerFired(WHIPRoomStateMachine.trickleTimer))
        try bench.answer("PATCH", try WHIPWire.answer("HTTP/1.1 412 Precondition Failed\r\nETag: \"t2\"\r\n\r\n"))
        #expect(bench.open.first?.header("If-Match") == "\"t2\"")
        #expect(bench.open.first?.text.contains("6002") == true)
        // Once is enough.
        try bench.answer("PATCH", try WHIPWire.answer("HTTP/1.1 412 Precondition Failed\r\nETag: \"t3\"\r\n\r\n"))
        #expect(bench.open.isEmpty)
        var untagged = WHIPBench(try WHIPWire.machine())
        try untagged.post()
        untagged.feed(self.candidate(2))
        try untagged.answer("POST", try WHIPWire.created(extra: ""))
        #expect(untagged.open.first?.header("If-Match") == nil)
        try untagged.answer("PATCH", HTTPAnswer(status: 428))
        #expect(untagged.open.first?.header("If-Match") == "*")
    }

    @Test func triesOnceMoreAfterAFailure() throws {
        var bench = try Self.joined()
        bench.feed(self.candidate(2))
        bench.feed(.timerFired(WHIPRoomStateMachine.trickleTimer))
        try bench.fail("PATCH")
        #expect(bench.last == [.startTimer(WHIPRoomStateMachine.trickleTimer, after: .seconds(1))])
        bench.feed(.timerFired(WHIPRoomStateMachine.trickleTimer))
        #expect(try bench.answer("PATCH", HTTPAnswer(status: 503)).events.count == 1)
        #expect(bench.open.isEmpty)
        var busy = try Self.joined()
        busy.feed(self.candidate(2))
        busy.feed(.timerFired(WHIPRoomStateMachine.trickleTimer))
        try busy.answer("PATCH", try WHIPWire.answer("HTTP/1.1 503 X\r\nRetry-After: 2\r\n\r\n"))
        #expect(busy.last == [.startTimer(WHIPRoomStateMachine.trickleTimer, after: .seconds(2))])
    }

    @Test func keepsABoundedNumber() throws {
        var bench = WHIPBench(try WHIPWire.machine())
        try bench.post()
        for number in 1...500 { bench.feed(self.candidate(number)) }
        try bench.answer("POST", try WHIPWire.created())
        let lines = try #require(bench.open.first).text.split(separator: "\r\n").filter { $0.hasPrefix("a=candidate") }
        #expect(lines.count == WHIPSession.maximumCandidates)
    }

    // MARK: - A new session

    @Test func aSessionThatIsGoneIsMadeAnew() throws {
        var bench = try Self.joined()
        for number in [2, 3] {
            bench.feed(self.candidate(number))
            bench.feed(.timerFired(WHIPRoomStateMachine.trickleTimer))
            try bench.answer("PATCH", HTTPAnswer(status: number == 2 ? 204 : 404))
        }
        #expect(bench.open.map(\.method) == ["OPTIONS"])
        #expect(try bench.answer("OPTIONS", HTTPAnswer(status: 200)).events == [.peerArrived(self.peer)])
    }

    @Test func aCallResetEndsTheSessionAndOffersAfresh() throws {
        var bench = try Self.joined()
        bench.feed(self.candidate(2))
        bench.feed(.timerFired(WHIPRoomStateMachine.trickleTimer))
        let stale = try #require(bench.open.first)
        bench.feed(.command(.resetCall(self.peer)))
        #expect(bench.last.requests.map(\.method) == ["OPTIONS", "DELETE"])
        #expect(bench.last.requests.last?.url.description == "https://media.example.org/session/1")
        #expect(bench.feed(.answered(stale.id, HTTPAnswer(status: 204))).isEmpty)
        try bench.fail("DELETE")
        try bench.answer("OPTIONS", HTTPAnswer(status: 200))
        bench.feed(.command(.offer(to: self.peer, sdp: WHIPWire.offer)))
        try bench.answer("POST", try WHIPWire.created(WHIPWire.description(session: "8"), location: "/session/2"))
        #expect(
            bench.last == [
                .note("https://media.example.org/session/2"),
                .event(.answerReceived(from: self.peer, sdp: WHIPWire.description(session: "8"))),
            ]
        )
    }

    /// What an answer to an offer names comes too late for its own session (livekit/ingress#459).
    @Test(arguments: [200, 204, 405])
    func serversOfAnAnswerCountForTheNextOffer(status: Int) throws {
        var bench = WHIPBench(try WHIPWire.machine())
        try bench.post()
        let link = "Link: <turn:turn.example.net>; rel=\"ice-server\"; username=\"u\"; credential=\"c==\"\r\n"
        let server = ICEServer(urls: ["turn:turn.example.net"], username: "u", credential: "c==")
        let events = try bench.answer("POST", try WHIPWire.created(extra: link)).events
        #expect(events.contains(.iceServersReceived([server])))
        bench.feed(.command(.resetCall(self.peer)))
        try bench.answer("DELETE", HTTPAnswer(status: 200))
        // An answer to OPTIONS that names none does not take them away.
        #expect(try bench.answer("OPTIONS", HTTPAnswer(status: status)).events == [.peerArrived(self.peer)])
    }

    @Test func aServerThatIsDownIsTriedAgainByTheDriver() throws {
        var bench = try Self.joined()
        bench.feed(.command(.resetCall(self.peer)))
        #expect(try bench.fail("OPTIONS").failure?.code == .unreachable)
        #expect(bench.feed(.attempt(note: nil)).requests.map(\.method) == ["OPTIONS", "DELETE"])
        try bench.answer("OPTIONS", HTTPAnswer(status: 200))
        try bench.answer("DELETE", HTTPAnswer(status: 404))
        bench.feed(.command(.offer(to: self.peer, sdp: WHIPWire.offer)))
        #expect(try bench.answer("POST", try WHIPWire.created()).events.contains(.joined(ownID: nil)))
    }

    @Test func aCallResetWhileJoiningEndsTheAttempt() throws {
        var posting = WHIPBench(try WHIPWire.machine())
        try posting.post()
        #expect(posting.feed(.command(.resetCall(self.peer))).failure?.code == .timedOut)
        // The late answer belongs to nothing.
        #expect(try posting.answer("POST", try WHIPWire.created()).isEmpty)
    }

    // MARK: - Leaving

    @Test func leavesFromEveryState() throws {
        let done: [SignallingAction] = [.event(.left), .finished(nil)]
        #expect(try WHIPWire.machine().handled(.command(.leave)) == done)
        var asking = WHIPBench(try WHIPWire.machine())
        asking.feed(.attempt(note: nil))
        #expect(asking.feed(.command(.leave)) == done)
        var offering = WHIPBench(try WHIPWire.machine())
        offering.feed(.attempt(note: nil))
        try offering.answer("OPTIONS", HTTPAnswer(status: 200))
        #expect(offering.feed(.command(.leave)) == done)
        var cleaning = WHIPBench(try WHIPWire.machine())
        cleaning.feed(.attempt(note: "https://media.example.org/session/old"))
        #expect(cleaning.feed(.command(.leave)).isEmpty)
        #expect(try cleaning.answer("OPTIONS", HTTPAnswer(status: 200)).isEmpty)
        #expect(try cleaning.answer("DELETE", HTTPAnswer(status: 200)) == [.note(nil)] + done)
        #expect(cleaning.feed(.command(.leave)).isEmpty)
    }

    @Test func endsASessionThatComesIntoBeingWhileWeLeave() throws {
        var bench = WHIPBench(try WHIPWire.machine())
        try bench.post()
        #expect(bench.feed(.command(.leave)).isEmpty)
        try bench.answer("POST", try WHIPWire.created())
        #expect(bench.last.requests.map(\.method) == ["DELETE"])
        #expect(try bench.fail("DELETE") == [.event(.left), .finished(nil)])
        for answer in [HTTPAnswer(status: 403), try WHIPWire.created(location: nil)] {
            var refused = WHIPBench(try WHIPWire.machine())
            try refused.post()
            refused.feed(.command(.leave))
            #expect(try refused.answer("POST", answer) == [.event(.left), .finished(nil)])
        }
    }

    // MARK: - Anything

    @Test func neverTrapsAndNeverAsksForMoreAfterItsEnd() throws {
        for seed in UInt64(1)...300 {
            var random = SeededGenerator(seed: seed)
            let direction: WHIPDirection = Bool.random(using: &random) ? .play : .publish
            var bench = WHIPBench(try WHIPWire.machine(direction, policy: .persistent))
            var isEnded = false
            for _ in 0..<80 {
                let actions = bench.feed(try Self.input(bench, &random))
                #expect(!isEnded || actions.isEmpty, "seed \(seed)")
                if actions.contains(where: { if case .finished = $0 { true } else { false } }) { isEnded = true }
                #expect(actions.requests.count <= 2, "seed \(seed)")
            }
        }
    }

    private static func input(_ bench: WHIPBench, _ random: inout SeededGenerator) throws -> SignallingInput {
        let peer = PeerID("cam1")
        let statuses = [200, 201, 204, 307, 400, 401, 404, 405, 406, 409, 412, 428, 500, 503]
        switch Int.random(in: 0..<20, using: &random) {
        case 0: return .attempt(note: Bool.random(using: &random) ? "https://media.example.org/s/0" : nil)
        case 1...4: return .command(.offer(to: peer, sdp: WHIPWire.offer))
        case 5: return .command(.answer(to: peer, sdp: WHIPWire.offer))
        case 6, 7: return .command(.candidate(to: peer, WHIPWire.candidate(Int.random(in: 0..<9, using: &random))))
        case 8: return .command(.resetCall(peer))
        case 9: return .command(Int.random(in: 0..<4, using: &random) == 0 ? .leave : .yield)
        case 10:
            let names = ["offer", "retry", "trickle", "other"]
            return .timerFired(SignallingTimer(rawValue: names.randomElement(using: &random) ?? ""))
        default:
            let ids = bench.open.map(\.id) + [HTTPRequest.ID(rawValue: "offer-1"), HTTPRequest.ID(rawValue: "-")]
            let id = ids.randomElement(using: &random) ?? HTTPRequest.ID(rawValue: "")
            let error = SignallingError(.unreachable, "test", blame: .network)
            if Int.random(in: 0..<8, using: &random) == 0 { return .requestFailed(id, error) }
            var answer = try WHIPWire.created()
            answer.status = statuses.randomElement(using: &random) ?? 200
            return .answered(id, answer)
        }
    }
}
