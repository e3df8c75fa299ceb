// SPDX-License-Identifier: Apache-2.0

import Basics
import Session
import TestSupport
import Testing

@testable import Signalling

/// One membership of an AppRTC room, step by step.
@Suite struct AppRTCRoomStateMachineTests {
    private typealias Timer = AppRTCRoomStateMachine.Timer

    private static let note = #"{"client":"40271866","collider":"https://ws.example.org/","room":"lab7"}"#

    private static func urls(_ room: AppRTCBench) -> [String] {
        room.requests.map { "\($0.method) \($0.url)" }
    }

    @Test func theFirstMemberPostsItsOfferAndCandidatesOneAtATime() throws {
        var room = try AppRTCBench("apprtc+https://appr.example.org/r/lab7?wshpp=ws.example.org")
        room.bench.feed(.attempt(note: nil))
        let join = try #require(room.open.first)
        #expect(join.url.description == "https://appr.example.org/join/lab7?wshpp=ws.example.org")
        #expect(join.method == "POST" && join.body == [])
        room.answer("join", AppRTCBench.joined(isInitiator: true))
        let socket = WebURL(parsing: "wss://ws.example.org/ws")
        #expect(room.bench.sent.contains(.note(Self.note)))
        #expect(
            room.bench.sent.contains(
                .openWebSocket(
                    WebSocketRequest(
                        url: try #require(socket),
                        headers: [HTTPField("Origin", "https://appr.example.org")]
                    )
                )
            )
        )
        #expect(room.bench.events.isEmpty, "not joined before the collider knows us")
        room.bench.feed(.webSocket(.opened))
        #expect(room.frames == ["register"])
        #expect(room.bench.events == [.joined(ownID: PeerID("40271866")), .peerAwaited(.unidentified)])
        let connection = try #require(room.bench.connections[.unidentified])
        let candidate = ICECandidate(line: AppRTCBench.line, mLineIndex: 1, mid: "video")
        room.bench.feed(session: .connection(connection, .localCandidate(candidate)))
        #expect(room.open.count == 1, "the candidate waits for the offer")
        #expect(
            room.open.first?.url.description == "https://appr.example.org/message/lab7/40271866?wshpp=ws.example.org"
        )
        #expect(room.takePosts() == ["offer", "candidate"])
        let posted = try #require(room.requests.last?.body)
        let value = try JSONValue(parsing: String(decoding: posted, as: UTF8.self))
        #expect(
            value["label"] == .integer(1) && value["id"] == "video" && value["candidate"]?.string == AppRTCBench.line
        )
    }

    @Test func theSecondMemberAnswersThroughTheCollider() throws {
        let messages = [AppRTCBench.candidate, AppRTCBench.bye, AppRTCBench.description("offer"), "garbage", "[]"]
        let room = try AppRTCBench.member(isInitiator: false, messages: messages)
        #expect(room.bench.applied == [AppRTCBench.sdp()] && room.bench.candidates.count == 1)
        #expect(room.frames == ["register", "answer"] && room.open.isEmpty)
        #expect(room.ignored == ["Stored messages could not be read"])
    }

    @Test func typedAnswersOfOtherServersAreRead() throws {
        var room = try AppRTCBench()
        room.bench.feed(.attempt(note: nil))
        room.answer(
            "join",
            #"{"result":"SUCCESS","params":{"client_id":40271866,"is_initiator":false,"messages":[\#(AppRTCBench.description("offer"))],"wss_url":"ws://ws.example.org:8089/ws"}}"#
        )
        room.bench.feed(.webSocket(.opened))
        #expect(room.bench.applied == [AppRTCBench.sdp()])
        // Without `is_initiator` the stored messages tell who is first.
        var other = try AppRTCBench()
        other.bench.feed(.attempt(note: nil))
        other.answer("join", #"{"result":"SUCCESS","params":{"client_id":"1","wss_url":"ws://h/ws"}}"#)
        other.bench.feed(.webSocket(.opened))
        #expect(other.bench.events.last == .peerAwaited(.unidentified))
    }

    // Servers for ICE

    @Test func serversForICEComeBeforeThePeer() throws {
        var room = try AppRTCBench.member(
            isInitiator: false,
            messages: [AppRTCBench.description("offer")],
            extra: #""ice_server_url":"/iceconfig?key=k","pc_config":"{\"iceServers\":[{\"urls\":\"stun:s\"}]}""#
        )
        let request = try #require(room.open.first)
        #expect("\(request.method) \(request.url)" == "POST https://appr.example.org/iceconfig?key=k")
        #expect(request.headers == [HTTPField("Referer", "https://appr.example.org/")])
        room.hear(AppRTCBench.candidate)
        #expect(room.bench.events == [.joined(ownID: PeerID("40271866"))])
        room.answer("servers", #"{"iceServers":[{"urls":["turn:t"],"username":"u","credential":"c"}]}"#)
        let servers = [ICEServer(urls: ["stun:s"]), ICEServer(urls: ["turn:t"], username: "u", credential: "c")]
        #expect(room.bench.events[1] == .iceServersReceived(servers))
        #expect(room.bench.applied.count == 1 && room.bench.candidates.count == 1)
    }

    @Test func theOldServiceIsAskedBothWays() throws {
        var room = try AppRTCBench.member(isInitiator: true, extra: #""turn_url":"https://turn.example.org/turn?u=1""#)
        #expect(room.open.first?.method == "GET")
        #expect(room.open.first?.headers == [HTTPField("Origin", "https://appr.example.org")])
        room.answer("servers", "", status: 405)
        #expect(room.open.first?.method == "POST")
        room.answer(
            "servers",
            #"{"username":"u","password":"p","uris":["turn:t?transport=udp","turn:t?transport=tcp"]}"#
        )
        let servers = ["turn:t?transport=udp", "turn:t?transport=tcp"].map {
            ICEServer(urls: [$0], username: "u", credential: "p")
        }
        #expect(room.bench.events.contains(.iceServersReceived(servers)))
        #expect(room.bench.events.last == .peerAwaited(.unidentified))
    }

    @Test(arguments: ["failure", "nonsense", "silence"])
    func aCallBeginsWithoutServersToo(how: String) throws {
        var room = try AppRTCBench.member(isInitiator: true, extra: #""ice_server_url":"https://turn.example.org/""#)
        #expect(!room.bench.events.contains(.peerAwaited(.unidentified)))
        switch how {
        case "failure": room.fail("servers")
        case "nonsense": room.answer("servers", "<html>")
        default: room.bench.feed(.timerFired(Timer.servers.name))
        }
        #expect(room.bench.events.last == .peerAwaited(.unidentified))
        #expect(room.takePosts() == ["offer"] && room.bench.end == nil)
    }

    @Test func nothingIsAskedIfTheServerGaveARelay() throws {
        let room = try AppRTCBench.member(
            isInitiator: true,
            extra: #""ice_server_url":"https://turn.example.org/","pc_config":{"iceServers":[{"urls":["turns:t"]}]}"#
        )
        #expect(!room.requests.contains { $0.id.rawValue.hasPrefix("servers") })
        #expect(room.bench.events[1] == .iceServersReceived([ICEServer(urls: ["turns:t"])]))
    }

    // Refusals

    @Test func aFullRoomIsAnErrorForOnePersonsCommand() throws {
        var room = try AppRTCBench(policy: .oneShot)
        room.bench.feed(.attempt(note: nil))
        room.answer("join", #"{"result":"FULL","params":{"messages":[]}}"#)
        guard case .finished(let error?) = room.bench.end else {
            Issue.record("not finished")
            return
        }
        #expect(error.code == .full && error.message.contains("lab7"))
    }

    @Test(arguments: [
        (#"{"result":"DUPLICATE_CLIENT","params":{"messages":[]}}"#, 200, SignallingError.Code.unreachable),
        (#"{"result":"ERROR","params":{"messages":[]}}"#, 200, .unreachable),
        (#"{"result":"MAYBE"}"#, 200, .protocolViolation), ("<html>", 200, .protocolViolation),
        (#"{"result":"SUCCESS"}"#, 200, .protocolViolation), ("", 404, .protocolViolation), ("", 403, .refused),
        ("", 502, .unreachable), ("", 408, .unreachable), ("", 429, .unreachable),
        (#"{"result":"SUCCESS","params":{"client_id":"../x","wss_url":"wss://h/ws"}}"#, 200, .protocolViolation),
        (#"{"result":"SUCCESS","params":{"client_id":"1","wss_url":"https://h/ws"}}"#, 200, .protocolViolation),
        (
            #"{"result":"SUCCESS","params":{"client_id":"1","room_id":"a/b","wss_url":"ws://h/"}}"#, 200,
            .protocolViolation
        ),
    ])
    func aRefusedJoinEndsTheAttempt(body: String, status: Int, code: SignallingError.Code) throws {
        var room = try AppRTCBench()
        room.bench.feed(.attempt(note: nil))
        room.answer("join", body, status: status)
        guard case .attemptFailed(let error) = room.bench.end else {
            Issue.record("\(String(describing: room.bench.end))")
            return
        }
        #expect(error.code == code)
        #expect(room.bench.machine.phase == .idle)
    }

    @Test func withoutTheColliderWeLeaveAgain() throws {
        var room = try AppRTCBench()
        room.bench.feed(.attempt(note: nil))
        room.answer("join", AppRTCBench.joined(isInitiator: true))
        room.bench.feed(.webSocket(.refused(status: 403, body: [])))
        room.bench.feed(.webSocket(.closed(nil)))
        #expect(room.bench.end == nil)
        room.answer("leave")
        room.answer("removal")
        guard case .attemptFailed(let error) = room.bench.end else {
            Issue.record("not failed")
            return
        }
        #expect(error.message.contains("403"))
    }

    @Test func aColliderThatNeverAnswersIsNotWaitedForForEver() throws {
        var room = try AppRTCBench()
        room.bench.feed(.attempt(note: nil))
        room.answer("join", AppRTCBench.joined(isInitiator: true))
        #expect(room.bench.sent.contains(.startTimer(Timer.resume.name, after: .seconds(15))))
        room.bench.feed(.timerFired(Timer.resume.name))
        room.answer("leave")
        #expect(room.bench.sent.contains(.closeWebSocket))
        room.answer("removal")
        guard case .attemptFailed(let error) = room.bench.end else {
            Issue.record("not failed")
            return
        }
        #expect(error.code == .timedOut && error.message.contains("ws.example.org"))
        #expect(room.bench.machine.phase == .idle && room.bench.timers.isEmpty)
        // Once it answered there is nothing to wait for.
        let other = try AppRTCBench.member(isInitiator: true)
        #expect(!other.bench.timers.contains(Timer.resume.name))
    }

    // Messages

    @Test func aPostIsRepeatedBeforeTheMembershipIsGivenUp() throws {
        var room = try AppRTCBench.member(isInitiator: true)
        for (index, answer) in [("", 500), (#"{"result":"ERROR"}"#, 200), ("", 500)].enumerated() {
            room.answer("message", answer.0, status: answer.1)
            #expect(room.bench.timers.contains(Timer.post.name), "\(index)")
            room.bench.feed(.timerFired(Timer.post.name))
        }
        #expect(Set(room.requests.filter { $0.id.rawValue.hasPrefix("message") }.map(\.body)).count == 1)
        room.fail("message")
        #expect(room.open.first?.id.rawValue.hasPrefix("leave") == true)
        room.takeLeaving()
        #expect(room.frames == ["register"], "no farewell: media may go on")
        guard case .attemptFailed = room.bench.end else {
            Issue.record("not failed")
            return
        }
    }

    @Test func byeMakesUsTheFirst() throws {
        var room = try AppRTCBench.member(isInitiator: false, messages: [AppRTCBench.description("offer")])
        room.hear(AppRTCBench.bye)
        #expect(room.bench.events.suffix(2) == [.peerLeft(.unidentified), .peerAwaited(.unidentified)])
        #expect(room.takePosts() == ["offer"])
        room.hear(AppRTCBench.description("answer", session: 9))
        #expect(room.bench.applied.last == AppRTCBench.sdp(session: 9))
    }

    @Test func candidatesThatAreTakenBackAreCounted() throws {
        var room = try AppRTCBench.called()
        room.hear(#"{"type":"remove-candidates","candidates":[\#(AppRTCBench.candidate)]}"#)
        #expect(room.ignored == ["Candidates that were taken back are kept"])
    }

    @Test func nothingIsSaidOutsideOfARoom() throws {
        var room = try AppRTCBench()
        room.bench.feed(.command(.answer(to: .unidentified, sdp: "v=0")))
        room.bench.feed(.command(.resetCall(.unidentified)))
        room.bench.feed(.command(.yield))
        #expect(room.requests.isEmpty && room.frames.isEmpty && room.ignored.count == 1)
    }

    // The collider goes away

    @Test func aLostSocketIsRegisteredAgainWithTheSameNames() throws {
        var room = try AppRTCBench.member(isInitiator: false)
        room.bench.feed(.webSocket(.closed(nil)))
        #expect(room.bench.timers.isSuperset(of: [Timer.resume.name, Timer.reconnect.name]))
        room.bench.feed(.timerFired(Timer.reconnect.name))
        room.bench.feed(.webSocket(.closed(SignallingError(.unreachable, "refused", blame: .network))))
        // Our messages in that time wait.
        room.bench.feed(.command(.answer(to: .unidentified, sdp: "v=0")))
        room.bench.feed(.timerFired(Timer.reconnect.name))
        room.bench.feed(.webSocket(.opened))
        #expect(room.frames == ["register", "register", "answer"])
        #expect(!room.bench.timers.contains(Timer.resume.name))
        // A question that changes nothing for the other member.
        #expect(room.takePosts() == ["remove-candidates"])
        #expect(
            room.bench.end == nil && room.bench.events.filter { $0 == .joined(ownID: PeerID("40271866")) }.count == 1
        )
    }

    @Test func afterTenSecondsWeLeaveAndJoinAgain() throws {
        var room = try AppRTCBench.called()
        room.bench.feed(.webSocket(.closed(nil)))
        room.bench.feed(.timerFired(Timer.resume.name))
        room.fail("leave")
        room.fail("removal")
        guard case .attemptFailed(let error) = room.bench.end else {
            Issue.record("not failed")
            return
        }
        #expect(error.isRetriable && room.bench.connections.count == 1)
        // The server still has us: we leave first, without a farewell.
        room.bench.reconnect(note: Self.note)
        #expect(Self.urls(room).last == "POST https://appr.example.org/leave/lab7/40271866")
        room.answer("leave")
        room.answer("removal")
        #expect(Self.urls(room).last == "POST https://appr.example.org/join/lab7")
        #expect(!Self.urls(room).contains("POST https://ws.example.org/lab7/40271866"))
    }

    @Test func aColliderThatHangsUpAllTheTimeIsGivenUp() throws {
        var room = try AppRTCBench.member(isInitiator: true)
        for _ in 1...AppRTCRoomStateMachine.maximumDrops {
            room.frame(#"{"msg":"","error":"Max room capacity reached"}"# + "\n")
            room.bench.feed(.webSocket(.closed(nil)))
            room.bench.feed(.timerFired(Timer.reconnect.name))
            room.bench.feed(.webSocket(.opened))
        }
        room.bench.feed(.timerFired(Timer.stable.name))
        for _ in 0...AppRTCRoomStateMachine.maximumDrops {
            #expect(room.bench.end == nil)
            room.frame(#"{"msg":"","error":"Max room capacity reached"}"# + "\n")
            room.bench.feed(.webSocket(.closed(nil)))
            room.bench.feed(.timerFired(Timer.reconnect.name))
            room.bench.feed(.webSocket(.opened))
        }
        room.answer("leave")
        room.answer("removal")
        guard case .attemptFailed(let error) = room.bench.end else {
            Issue.record("not failed")
            return
        }
        #expect(error.message.contains("Max room capacity reached"))
    }

    // Leaving

    @Test func leavesInTheOrderOfTheProtocol() throws {
        var room = try AppRTCBench.called()
        let before = room.bench.sent.count
        room.bench.feed(.command(.leave))
        #expect(room.bench.timers.isEmpty)
        #expect(Self.urls(room).last == "POST https://appr.example.org/leave/lab7/40271866")
        #expect(room.frames.last == "register")
        room.answer("leave")
        #expect(room.frames.last == "bye" && room.bench.sent.contains(.note(nil)))
        #expect(room.bench.sent[before...].contains(.closeWebSocket))
        #expect(room.bench.end == nil)
        room.bench.feed(.webSocket(.closed(nil)))
        #expect(Self.urls(room).last == "DELETE https://ws.example.org/lab7/40271866")
        #expect(room.bench.events.last == .left && room.bench.end == .finished(nil))
        let limits = room.requests.suffix(2).map(\.timeout).reduce(AppRTCRoomStateMachine.closeTimeout, +)
        #expect(limits <= .seconds(2))
        room.bench.feed(.attempt(note: Self.note))
        #expect(room.open.last?.method == "DELETE", "nothing begins after the end")
    }

    @Test func leavesWithoutTheColliderToo() throws {
        var room = try AppRTCBench.called()
        room.bench.feed(.webSocket(.closed(nil)))
        room.bench.feed(.command(.leave))
        room.fail("leave")
        #expect(!room.bench.sent.contains(.note(nil)), "the next process leaves for us")
        #expect(Self.urls(room).last == "POST https://ws.example.org/lab7/40271866")
        room.fail("bye")
        #expect(room.bench.end == .finished(nil))
    }

    @Test func aSocketThatDoesNotCloseHasALimit() throws {
        var room = try AppRTCBench.called()
        room.bench.feed(.command(.leave))
        room.answer("leave")
        room.bench.feed(.timerFired(Timer.close.name))
        #expect(room.bench.end == .finished(nil))
    }

    @Test func leavingWhileJoiningLeavesWhatWasJoined() throws {
        var room = try AppRTCBench()
        room.bench.feed(.attempt(note: nil))
        room.bench.feed(.command(.leave))
        #expect(room.bench.end == nil)
        room.answer("join", AppRTCBench.joined(isInitiator: true))
        room.answer("leave")
        room.answer("bye")
        #expect(room.bench.end == .finished(nil) && room.bench.events.last == .left)
        var full = try AppRTCBench()
        full.bench.feed(.attempt(note: nil))
        full.bench.feed(.command(.leave))
        full.answer("join", #"{"result":"FULL"}"#)
        #expect(full.bench.end == .finished(nil))
    }

    @Test func leavesForAProcessThatCouldNot() throws {
        var room = try AppRTCBench()
        room.bench.feed(.attempt(note: Self.note))
        room.answer("leave")
        #expect(room.bench.sent.contains(.note(nil)))
        // The peer of that process gets it, and redials.
        room.answer("bye", "OK")
        room.fail("removal")
        #expect(
            Self.urls(room) == [
                "POST https://appr.example.org/leave/lab7/40271866", "POST https://ws.example.org/lab7/40271866",
                "DELETE https://ws.example.org/lab7/40271866", "POST https://appr.example.org/join/lab7",
            ]
        )
        room.answer("join", AppRTCBench.joined(isInitiator: true, client: "2"))
        room.bench.feed(.webSocket(.opened))
        #expect(room.bench.events.first == .joined(ownID: PeerID("2")))
    }

    @Test(arguments: ["", "x", "{}", #"{"room":"a/b","client":"1"}"#, #"{"room":"a","client":".."}"#])
    func aNoteThatIsNoneIsForgotten(note: String) throws {
        var room = try AppRTCBench()
        room.bench.feed(.attempt(note: note))
        #expect(Self.urls(room) == ["POST https://appr.example.org/join/lab7"])
    }

    @Test func placeIsMadeForPeople() throws {
        var room = try AppRTCBench.called()
        room.bench.feed(.command(.yield))
        room.takeLeaving()
        #expect(room.bench.events.contains(.yielded) && room.bench.timers == [Timer.full.name])
        room.bench.feed(.timerFired(Timer.full.name))
        #expect(room.open.last?.id.rawValue.hasPrefix("join") == true)
        var command = try AppRTCBench.member(isInitiator: true, policy: .oneShot)
        command.bench.feed(.command(.yield))
        #expect(!command.bench.events.contains(.yielded) && command.bench.machine.phase == .member)
    }

    @Test func anOfferThatNobodyAnsweredIsRenewed() throws {
        var room = try AppRTCBench.member(isInitiator: true)
        room.takePosts()
        #expect(room.bench.timers.contains(Timer.renewal.name))
        room.bench.feed(.timerFired(Timer.renewal.name))
        room.takeLeaving()
        room.answer("join", AppRTCBench.joined(isInitiator: true, client: "2"))
        room.bench.feed(.webSocket(.opened))
        #expect(room.takePosts() == ["offer"] && room.bench.openings == 2 && room.bench.connections.count == 1)
        room.hear(AppRTCBench.description("answer"))
        #expect(!room.bench.timers.contains(Timer.renewal.name))
    }

    // Everything against everything

    @Test func everyInputInEveryStateIsTaken() throws {
        let inputs: [SignallingInput] =
            [
                .attempt(note: nil), .webSocket(.opened), .webSocket(.received(.text(AppRTCBench.candidate))),
                .webSocket(.received(.binary([0xFF]))), .webSocket(.refused(status: 500, body: [])),
                .webSocket(.closed(nil)), .stream(.listening),
                .answered(HTTPRequest.ID(rawValue: "stale"), HTTPAnswer(status: 200)),
                .requestFailed(HTTPRequest.ID(rawValue: "x"), SignallingError(.timedOut, "", blame: .network)),
                .timerFired(SignallingTimer(rawValue: "unknown")), .command(.offer(to: .unidentified, sdp: "v=0")),
                .command(.resetCall(.unidentified)), .command(.yield), .command(.leave),
            ] + Timer.allCases.map { .timerFired($0.name) }
        var phases: Set<String> = []
        for phase in AppRTCRoomStateMachine.Phase.allCases {
            for input in inputs {
                var room = try Self.room(in: phase)
                phases.insert(room.bench.machine.phase.rawValue)
                room.bench.feed(input)
                if case .ended = phase { #expect(room.bench.machine.phase == .ended) }
                // Late data from the network change nothing where they are not awaited.
                switch (phase, input) {
                case (.idle, .webSocket), (.idle, .answered), (.fullWait, .webSocket), (.joining, .webSocket),
                    (_, .stream), (_, .answered), (_, .requestFailed):
                    #expect(room.bench.machine.phase == phase, "\(phase) \(input)")
                default: break
                }
            }
        }
        #expect(phases.count == AppRTCRoomStateMachine.Phase.allCases.count)
    }

    private static func room(in phase: AppRTCRoomStateMachine.Phase) throws -> AppRTCBench {
        var room = try AppRTCBench()
        switch phase {
        case .idle: break
        case .joining: room.bench.feed(.attempt(note: nil))
        case .fullWait:
            room.bench.feed(.attempt(note: nil))
            room.answer("join", #"{"result":"FULL"}"#)
        case .member: room = try .called()
        case .leaving:
            room = try .called()
            room.bench.feed(.command(.resetCall(.unidentified)))
        case .ended: room.bench.feed(.command(.leave))
        }
        return room
    }

    @Test(arguments: UInt64(1)...12)
    func survivesAnythingInAnyOrder(seed: UInt64) throws {
        var generator = SeededGenerator(seed: seed)
        var room = try AppRTCBench()
        room.bench.feed(.attempt(note: nil))
        let bodies = [
            AppRTCBench.joined(isInitiator: true), AppRTCBench.joined(isInitiator: false), #"{"result":"FULL"}"#,
            #"{"result":"SUCCESS"}"#, #"{"result":"UNKNOWN_CLIENT"}"#, #"{"result":"ERROR"}"#, "garbage", "",
        ]
        let messages = [
            AppRTCBench.candidate, AppRTCBench.bye, AppRTCBench.description("offer"),
            AppRTCBench.description("answer", session: 3), "{", "null", #"{"type":"remove-candidates"}"#,
        ]
        for _ in 0..<1500 {
            switch Int.random(in: 0..<20, using: &generator) {
            case 0..<8:
                guard let request = room.open.randomElement(using: &generator) else { continue }
                let name = request.id.rawValue
                if Int.random(in: 0..<6, using: &generator) == 0 {
                    room.fail(name)
                } else {
                    let isJoin = name.hasPrefix("join")
                    let body = isJoin ? bodies[0] : bodies.randomElement(using: &generator) ?? ""
                    room.answer(name, body, status: [200, 200, 200, 500].randomElement(using: &generator) ?? 200)
                }
            case 8..<12: room.hear(messages.randomElement(using: &generator) ?? "")
            case 12: room.frame(bodies.randomElement(using: &generator) ?? "")
            case 13..<16: room.bench.feed(.webSocket(.opened))
            case 16: room.bench.feed(.webSocket(.closed(nil)))
            case 17:
                guard let timer = room.bench.timers.randomElement(using: &generator) else { continue }
                room.bench.feed(.timerFired(timer))
            case 18: room.bench.feed(.command(.resetCall(.unidentified)))
            default:
                room.bench.feed(
                    .command(
                        .candidate(to: .unidentified, ICECandidate(line: AppRTCBench.line, mLineIndex: 0, mid: nil))
                    )
                )
            }
            if room.bench.end != nil { room.bench.reconnect(note: Self.note) }
            #expect(room.bench.connections.count <= 1)
        }
        #expect(room.frames.contains("register"))
    }
}
