// SPDX-License-Identifier: Apache-2.0

import Basics
import Signalling
import TestSupport
import Testing

@Suite struct SocketIORoomStateMachineTests {
    typealias Machine = SocketIORoomStateMachine
    typealias Action = SocketIORoomStateMachine.Action
    typealias Phase = SocketIORoomStateMachine.Phase

    static let own = PeerID("d")
    static let peer = PeerID("p")
    static let cancels: [Action] = Machine.Timer.allCases.map { .cancelTimer($0) }
    static let join = Action.send(.event("join", ["r"]))
    static let leave = Action.send(.event("leave", ["r"]))
    static let offer: JSONValue = .object(["type": "offer", "sdp": "v=0"])

    /// A machine in a state, reached the way a server leads there.
    static func machine(_ phase: Phase, waitsWhenFull: Bool = true) -> SocketIORoomStateMachine {
        var machine = Machine(room: "r", waitsWhenFull: waitsWhenFull)
        guard phase != .offline else { return machine }
        _ = machine.opened(sessionID: "d", version: .three)
        guard phase != .connecting else { return machine }
        _ = machine.received(SocketIOPacket(.connect))
        switch phase {
        case .offline, .connecting, .joining: break
        case .fullWait: _ = machine.received(.event("full", ["r", "d"]))
        case .joined: _ = machine.received(.event("joined", ["r", "d"]))
        case .joinedConnected, .joinedUnbound, .resetting, .leaving, .left:
            _ = machine.received(.event("joined", ["r", "d"]))
            _ = machine.received(.event("otherjoin", ["r", "p"]))
            if phase == .joinedUnbound { _ = machine.received(.event("bye", ["r", "p"])) }
            if phase == .resetting { _ = machine.command(.resetCall(peer)) }
            if phase == .leaving || phase == .left { _ = machine.command(.leave) }
            if phase == .left { _ = machine.received(.event("leaved", ["r", "d"])) }
        }
        return machine
    }

    static func expect(
        _ machine: borrowing SocketIORoomStateMachine,
        _ phase: Phase,
        _ location: SourceLocation = #_sourceLocation
    ) {
        let actual = machine.phase
        #expect(actual == phase, sourceLocation: location)
    }

    /// The inputs of a machine in the table below.
    enum Input: String, CaseIterable, Sendable {
        case opened, connect, disconnect, namespaceError, joined, full, otherJoined, message, bye, leaved
        case closed, joinTimer, fullTimer, leaveTimer, offerCommand, reset, yield, leave
    }

    static func apply(_ input: Input, to machine: inout SocketIORoomStateMachine) -> [Action] {
        switch input {
        case .opened: machine.opened(sessionID: "d", version: .three)
        case .connect: machine.received(SocketIOPacket(.connect))
        case .disconnect: machine.received(SocketIOPacket(.disconnect))
        case .namespaceError: machine.received(SocketIOPacket(.error, data: "no"))
        case .joined: machine.received(.event("joined", ["r", "d"]))
        case .full: machine.received(.event("full", ["r", "d"]))
        case .otherJoined: machine.received(.event("otherjoin", ["r", "q"]))
        case .message: machine.received(.event("message", ["r", offer]))
        case .bye: machine.received(.event("bye", ["r", "p"]))
        case .leaved: machine.received(.event("leaved", ["r", "d"]))
        case .closed: machine.closed(reason: "x")
        case .joinTimer: machine.timerFired(.join)
        case .fullTimer: machine.timerFired(.full)
        case .leaveTimer: machine.timerFired(.leave)
        case .offerCommand: machine.command(.offer(to: peer, sdp: "v=1"))
        case .reset: machine.command(.resetCall(peer))
        case .yield: machine.command(.yield)
        case .leave: machine.command(.leave)
        }
    }

    static let finished: [Action] =
        cancels + [
            .send(SocketIOPacket(.disconnect)), .event(.left), .finish(.left),
        ]
    static let finishedSilently: [Action] = cancels + [.event(.left), .finish(.left)]
    static let removed: [Action] = cancels + [.event(.removed), .finish(.removed)]
    static let yielded: [Action] = [leave, .event(.yielded), .startTimer(.full, after: .seconds(300))]
    static let lost: [Action] = cancels + [.event(.signallingLost(reason: "x"))]
    static let joins: [Action] = [join, .startTimer(.join, after: .seconds(5))]
    static let offered = Action.event(.offerReceived(from: peer, sdp: "v=0"))
    static let offeredByStranger = Action.event(.offerReceived(from: .unidentified, sdp: "v=0"))
    static let sent = Action.send(
        .event("message", ["r", .object(["type": "offer", "sdp": "v=1", "from": "d", "to": "p"])])
    )

    /// Every pair that does something: the state afterwards and the actions.
    ///
    /// Every other pair changes nothing and at most reports that something was ignored.
    static let table: [Phase: [Input: (Phase, [Action])]] = [
        .offline: [
            .opened: (.connecting, []),
            .leave: (.left, finishedSilently),
        ],
        .connecting: [
            .connect: (.joining, joins),
            .disconnect: (.connecting, [.reconnect(.disconnectedByServer)]),
            .namespaceError: (.connecting, [.reconnect(.refused("no"))]),
            .closed: (.offline, []),
            .leave: (.left, finishedSilently),
        ],
        .joining: [
            .disconnect: (.left, removed),
            .joined: (.joined, [.cancelTimer(.join), .event(.joined(ownID: own))]),
            .full: (.fullWait, [.cancelTimer(.join), .event(.full), .startTimer(.full, after: .seconds(5))]),
            .closed: (.offline, lost),
            .joinTimer: (.joining, joins),
            .leave: (.left, finished),
        ],
        .fullWait: [
            .disconnect: (.fullWait, [.reconnect(.disconnectedByServer)]),
            .fullTimer: (.joining, joins),
            .closed: (.offline, lost),
            .leave: (.left, finished),
        ],
        .joined: [
            .disconnect: (.left, removed),
            .leaved: (.left, removed),
            .yield: (.fullWait, yielded),
            .otherJoined: (.joinedConnected, [.event(.peerArrived(PeerID("q")))]),
            .message: (.joinedConnected, [offeredByStranger]),
            .bye: (.joinedUnbound, []),
            .closed: (.offline, lost),
            .reset: (.resetting, [leave, .startTimer(.leave, after: .seconds(2))]),
            .leave: (.leaving, [leave, .startTimer(.leave, after: .seconds(2))]),
        ],
        .joinedConnected: [
            .disconnect: (.left, removed),
            .leaved: (.left, removed),
            .yield: (.fullWait, yielded),
            .otherJoined: (.joinedConnected, [.event(.peerLeft(peer)), .event(.peerArrived(PeerID("q")))]),
            .message: (.joinedConnected, [offered]),
            .bye: (.joinedUnbound, [.event(.peerLeft(peer))]),
            .closed: (.offline, lost),
            .offerCommand: (.joinedConnected, [sent]),
            .reset: (.resetting, [.event(.peerLeft(peer)), leave, .startTimer(.leave, after: .seconds(2))]),
            .leave: (.leaving, [leave, .startTimer(.leave, after: .seconds(2))]),
        ],
        .joinedUnbound: [
            .disconnect: (.left, removed),
            .leaved: (.left, removed),
            .yield: (.fullWait, yielded),
            .otherJoined: (.joinedConnected, [.event(.peerArrived(PeerID("q")))]),
            .message: (.joinedConnected, [offeredByStranger]),
            .closed: (.offline, lost),
            .reset: (.resetting, [leave, .startTimer(.leave, after: .seconds(2))]),
            .leave: (.leaving, [leave, .startTimer(.leave, after: .seconds(2))]),
        ],
        .resetting: [
            .disconnect: (.resetting, [.reconnect(.disconnectedByServer)]),
            .leaved: (.joining, [.cancelTimer(.leave)] + joins),
            .leaveTimer: (.joining, joins),
            .closed: (.offline, lost),
            .leave: (.left, finished),
        ],
        .leaving: [
            .disconnect: (.left, finishedSilently),
            .leaved: (.left, finished),
            .leaveTimer: (.left, finished),
            .closed: (.left, finishedSilently),
        ],
        .left: [:],
    ]

    @Test(arguments: Phase.allCases, Input.allCases)
    func followsTheTable(_ phase: Phase, _ input: Input) throws {
        var machine = Self.machine(phase)
        Self.expect(machine, phase)
        let actions = Self.apply(input, to: &machine)
        let row = try #require(Self.table[phase])
        if let (next, expected) = row[input] {
            Self.expect(machine, next)
            #expect(actions == expected)
        } else {
            Self.expect(machine, phase)
            for action in actions {
                guard case .event(.ignored) = action else {
                    Issue.record("\(phase) and \(input) gave \(action)")
                    continue
                }
            }
        }
    }

    @Test(arguments: Phase.allCases)
    func neverLeavesUnlessJoined(_ phase: Phase) {
        var machine = Self.machine(phase)
        let leaves = machine.command(.leave).contains(Self.leave)
        #expect(leaves == [.joined, .joinedConnected, .joinedUnbound].contains(phase))
    }

    @Test func versionFourAsksForTheNamespace() {
        var machine = Machine(room: "r", waitsWhenFull: true)
        #expect(machine.opened(sessionID: "e", version: .four) == [.send(SocketIOPacket(.connect))])
        #expect(machine.received(SocketIOPacket(.connect, data: .object(["sid": "d"]))) == Self.joins)
        #expect(
            machine.received(.event("joined", ["r", "d"])) == [.cancelTimer(.join), .event(.joined(ownID: Self.own))]
        )
    }

    @Test func changedVersionAsksForTheNamespace() {
        var machine = Self.machine(.connecting)
        #expect(machine.versionChanged() == [.send(SocketIOPacket(.connect))])
    }

    @Test func joinIsRepeatedOnceThenReconnects() {
        var machine = Self.machine(.joining)
        #expect(machine.timerFired(.join) == Self.joins)
        #expect(machine.timerFired(.join) == [.reconnect(.joinUnanswered)])
    }

    @Test func fullWaitsGrow() {
        var machine = Self.machine(.joining)
        for seconds in [5, 10, 20, 30, 30, 30] {
            let actions = machine.received(.event("full", ["r", "d"]))
            #expect(actions.last == .startTimer(.full, after: .seconds(seconds)))
            #expect(machine.timerFired(.full) == Self.joins)
        }
    }

    @Test func aPolicyMaySetTheWaitOfAFullRoom() {
        var machine = Machine(room: "r", waitsWhenFull: true, fullWait: .seconds(600))
        _ = machine.opened(sessionID: "d", version: .three)
        _ = machine.received(SocketIOPacket(.connect))
        for _ in 0..<3 {
            let actions = machine.received(.event("full", ["r", "d"]))
            #expect(actions == [.cancelTimer(.join), .event(.full), .startTimer(.full, after: .seconds(600))])
            #expect(machine.timerFired(.full) == Self.joins)
        }
        // A client that leaves the room to people does not come back sooner than to a full room.
        _ = machine.received(.event("joined", ["r", "d"]))
        #expect(machine.command(.yield).last == .startTimer(.full, after: .seconds(600)))
        #expect(machine.received(.event("leaved", ["r", "d"])).isEmpty)
        #expect(machine.timerFired(.full) == Self.joins)
    }

    @Test func onlyALeavedThatNamesUsPutsUsOut() {
        for arguments: [JSONValue] in [[], ["r"], ["other", "d"]] {
            var machine = Self.machine(.joinedConnected)
            let actions = machine.received(.event("leaved", arguments))
            Self.expect(machine, .joinedConnected)
            guard case .event(.ignored)? = actions.first, actions.count == 1 else {
                Issue.record("\(arguments) gave \(actions)")
                continue
            }
        }
        // Another member's is a bye.
        var machine = Self.machine(.joinedConnected)
        #expect(machine.received(.event("leaved", ["r", "p"])) == [.event(.peerLeft(Self.peer))])
    }

    @Test func anImpatientRunMakesNoPlace() {
        var machine = Self.machine(.joinedConnected, waitsWhenFull: false)
        #expect(machine.command(.yield).isEmpty)
        Self.expect(machine, .joinedConnected)
    }

    @Test func fullEndsAnImpatientRun() {
        var machine = Self.machine(.joining, waitsWhenFull: false)
        #expect(
            machine.received(.event("full", ["r", "d"])) == Self.cancels + [.event(.full), .finish(.full)]
        )
    }

    @Test func earlyEventsAreQueuedAndBounded() {
        var machine = Self.machine(.connecting)
        for _ in 0..<Machine.maximumEarlyEvents {
            #expect(machine.received(.event("joined", ["welcome"])).isEmpty)
        }
        #expect(machine.received(.event("joined", ["welcome"])).count == 1)
        #expect(machine.received(SocketIOPacket(.connect)).prefix(2) == Self.joins[...])
        Self.expect(machine, .joining)
    }

    @Test func eventsWithAnIdAreAnsweredOnce() {
        var machine = Self.machine(.joinedUnbound)
        let packet = SocketIOPacket(.event, acknowledgementID: 7, data: .array(["nonsense"]))
        let actions = machine.received(packet)
        #expect(actions.first == .send(SocketIOPacket(.acknowledgement, acknowledgementID: 7, data: .array([]))))
        #expect(actions.count == 2)
    }

    @Test(arguments: [
        "otherjoin", "other_joined", "otherjoined", "otherJoined", "other_join", "OtherJoin",
    ])
    func knowsOtherJoined(_ name: String) {
        var machine = Self.machine(.joined)
        #expect(machine.received(.event(name, ["r", "p"])) == [.event(.peerArrived(Self.peer))])
    }

    @Test(arguments: ["leaved", "left", "leave"])
    func knowsLeaved(_ name: String) {
        var machine = Self.machine(.leaving)
        #expect(machine.received(.event(name, ["r", "d"])) == Self.finished)
        var other = Self.machine(.joinedConnected)
        #expect(other.received(.event(name, ["r", "p"])) == [.event(.peerLeft(Self.peer))])
        Self.expect(other, .joinedUnbound)
    }

    @Test(arguments: ["bye", "bay", "userdisconnect"])
    func knowsBye(_ name: String) {
        var machine = Self.machine(.joinedConnected)
        #expect(machine.received(.event(name, ["r", "p"])) == [.event(.peerLeft(Self.peer))])
        var foreign = Self.machine(.joinedConnected)
        _ = foreign.received(.event(name, ["r", "stranger"]))
        Self.expect(foreign, .joinedConnected)
        _ = foreign.received(.event(name, ["r", "d"]))
        Self.expect(foreign, .joinedConnected)
    }

    @Test(arguments: [
        [JSONValue.object(["room": "r", "path": "x"]), "d"],
        [.object(["receiver": "r", "sender": "s"])],
        ["r"],
        ["r", "d", .null, .bool(true)],
    ])
    func knowsJoined(_ arguments: [JSONValue]) {
        var machine = Self.machine(.joining)
        _ = machine.received(.event("joined", arguments))
        Self.expect(machine, .joined)
    }

    @Test(arguments: [["welcome"], ["r", "stranger"], [], [.null], [.object([:])], [.array([])]] as [[JSONValue]])
    func ignoresForeignJoined(_ arguments: [JSONValue]) {
        var machine = Self.machine(.joining)
        _ = machine.received(.event("joined", arguments))
        Self.expect(machine, .joining)
    }

    @Test func numericRoomsAreText() {
        var machine = Machine(room: "123123", waitsWhenFull: true)
        _ = machine.opened(sessionID: "d", version: .three)
        _ = machine.received(SocketIOPacket(.connect))
        _ = machine.received(.event("joined", [.integer(123_123), "d"]))
        Self.expect(machine, .joined)
    }

    /// socket.io 1.4 calls us by the namespace and the session's id.
    @Test func ownIdsMayBeginWithTheNamespace() {
        let own: JSONValue = "/#qX7cSk1wAAAB"
        var machine = Machine(room: "123123", waitsWhenFull: true)
        _ = machine.opened(sessionID: "qX7cSk1wAAAB", version: .three)
        _ = machine.received(SocketIOPacket(.connect))
        // Another member's.
        _ = machine.received(.event("joined", ["123123", "/#qX7cSk1wAAAC"]))
        Self.expect(machine, .joining)
        #expect(
            machine.received(.event("joined", ["123123", own])) == [
                .cancelTimer(.join), .event(.joined(ownID: PeerID("/#qX7cSk1wAAAB"))),
            ]
        )
        #expect(machine.received(.event("otherjoin", ["123123", own])).isEmpty)
        #expect(machine.received(.event("message", ["123123", own, Self.offer])).isEmpty)
        Self.expect(machine, .joined)
        _ = machine.command(.leave)
        #expect(machine.received(.event("leaved", ["123123", own])) == Self.finished)
    }

    @Test func senderComesFromDataThenArgumentThenPeer() {
        var machine = Self.machine(.joined)
        #expect(machine.received(.event("message", ["r", "p", Self.offer])) == [Self.offered])
        var named = Self.machine(.joined)
        let data: JSONValue = .object(["type": "offer", "sdp": "v=0", "from": "p"])
        #expect(named.received(.event("message", ["r", data])) == [Self.offered])
        #expect(named.received(.event("message", ["r", Self.offer])) == [Self.offered])
        // A third member of a room without mesh: the first one stays.
        #expect(named.received(.event("message", ["r", "q", Self.offer])).count == 1)
        Self.expect(named, .joinedConnected)
    }

    /// The session recognises our own messages that come back without our name.
    @Test func messagesUnderOurOwnNameAreDropped() {
        var machine = Self.machine(.joinedConnected)
        let own: JSONValue = .object(["type": "offer", "sdp": "other", "from": "d"])
        #expect(machine.received(.event("message", ["r", own])).isEmpty)
        #expect(machine.received(.event("message", ["r", "d", Self.offer])).isEmpty)
        #expect(machine.received(.event("otherjoin", ["r", "d"])).isEmpty)
    }

    @Test func messagesForOthersAreDropped() {
        var machine = Self.machine(.joinedConnected)
        let data: JSONValue = .object(["type": "offer", "sdp": "v=0", "to": "q"])
        #expect(machine.received(.event("message", ["r", data])).isEmpty)
    }

    @Test(
        arguments: [
            [], ["r"], ["r", .null], ["r", "text"], ["r", .object([:])], ["r", .object(["type": "dance"])],
            ["r", .object(["type": "offer"])], ["r", .array([.integer(1)])],
            [.null, .object(["type": "answer", "sdp": .null])],
        ] as [[JSONValue]]
    )
    func brokenMessagesAreIgnored(_ arguments: [JSONValue]) {
        var machine = Self.machine(.joinedConnected)
        let actions = machine.received(.event("message", arguments))
        #expect(actions.count == 1)
        guard case .event(.ignored) = actions.first else {
            Issue.record("\(actions)")
            return
        }
    }

    @Test func peersSurviveReconnectsUntilReplaced() {
        var machine = Self.machine(.joinedConnected)
        _ = machine.closed(reason: "x")
        _ = machine.opened(sessionID: "e", version: .three)
        _ = machine.received(SocketIOPacket(.connect))
        #expect(
            machine.received(.event("joined", ["r", "e"])) == [
                .cancelTimer(.join), .event(.joined(ownID: PeerID("e"))),
            ]
        )
        #expect(machine.received(.event("message", ["r", Self.offer])) == [Self.offered])
        // It may be another member by now, and any bye ends it.
        #expect(machine.received(.event("bye", ["r", "q"])) == [.event(.peerLeft(Self.peer))])
    }

    @Test func namedPeerReplacesRememberedOne() {
        var machine = Self.machine(.joinedConnected)
        _ = machine.closed(reason: "x")
        _ = machine.opened(sessionID: "d", version: .three)
        _ = machine.received(SocketIOPacket(.connect))
        _ = machine.received(.event("joined", ["r", "d"]))
        #expect(
            machine.received(.event("message", ["r", "q", Self.offer])) == [
                .event(.peerLeft(Self.peer)), .event(.offerReceived(from: PeerID("q"), sdp: "v=0")),
            ]
        )
    }

    @Test func dialectNamesAreSent() throws {
        let dialect = try #require(SocketIORoomDialect(text: "join:enter,leave:exit,message:signal,room:object"))
        var machine = Machine(room: "r", dialect: dialect, waitsWhenFull: true)
        _ = machine.opened(sessionID: "d", version: .three)
        let room: JSONValue = .object(["room": "r"])
        #expect(machine.received(SocketIOPacket(.connect)).first == .send(.event("enter", [room])))
        _ = machine.received(.event("joined", ["r", "d"]))
        #expect(machine.received(.event("signal", ["r", "p", Self.offer])) == [Self.offered])
        guard case .send(let answer)? = machine.command(.answer(to: Self.peer, sdp: "v=1")).first else {
            Issue.record("No answer")
            return
        }
        #expect(answer.event?.name == "signal")
        #expect(machine.command(.leave).first == .send(.event("exit", [room])))
        #expect(SocketIORoomDialect(text: "stock") == SocketIORoomDialect())
        for text in ["", "join", "join:", "dance:x", "room:list"] { #expect(SocketIORoomDialect(text: text) == nil) }
    }

    /// Altered packets in every state: never a trap, and never `leave` from a server's doing.
    @Test(arguments: Phase.allCases)
    func survivesNoise(_ phase: Phase) {
        var generator = SeededGenerator(seed: 0x726f_6f6d)
        let seeds = [
            #"0{"sid":"d"}"#, "1", #"2["joined","r","d",{"mesh":true,"peers":["p","q"]}]"#, #"2["otherjoin","r","q"]"#,
            #"2["bye","r","p"]"#, #"2["leaved","r","d"]"#, #"2["full","r","d"]"#,
            #"2["message","r",{"type":"offer","sdp":"v=0","from":"p","to":"d"}]"#,
            #"27["message","r",{"type":"candidate","label":"0","id":null,"candidate":"x"}]"#,
        ].map { [UInt8]($0.utf8) }
        var read = 0
        for _ in 0..<200 {
            var machine = Self.machine(phase)
            for _ in 0..<20 {
                guard var bytes = seeds.randomElement(using: &generator) else { continue }
                for _ in 0..<Int.random(in: 0...1, using: &generator) {
                    bytes[Int.random(in: 0..<bytes.count, using: &generator)] = .random(in: 32...126, using: &generator)
                }
                guard let packet = try? SocketIOPacket(text: String(decoding: bytes, as: UTF8.self)) else { continue }
                read += 1
                #expect(!machine.received(packet).contains(Self.leave))
            }
        }
        #expect(read > 1000)
    }
}
