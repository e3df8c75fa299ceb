// SPDX-License-Identifier: Apache-2.0

import Signalling
import TestSupport
import Testing

@Suite struct EngineIOSessionStateMachineTests {
    typealias Machine = EngineIOSessionStateMachine
    typealias Action = EngineIOSessionStateMachine.Action

    static let cancels: [Action] = Machine.Timer.allCases.map { .cancelTimer($0) }
    static let open = EngineIOOpenPacket(
        sessionID: "s",
        upgrades: ["websocket"],
        pingInterval: .seconds(25),
        pingTimeout: .seconds(20)
    )
    static let poll4 = Action.poll(version: .four, sessionID: "s")
    static let silence = Action.startTimer(.silence, after: .seconds(45))

    static func body(_ packets: [EngineIOPacket], _ version: EngineIOVersion = .four) -> [UInt8] {
        [UInt8](EngineIOPayload.encode(packets, version: version).utf8)
    }

    static var openBody: [UInt8] { self.body([EngineIOPacket(.open, self.open.text)]) }

    /// The places where a session can be.
    enum Place: String, CaseIterable, Sendable {
        case idle, handshakingPolling, handshakingWebSocket, polling, probing, draining, webSocket, closing, closed
    }

    static func machine(_ place: Place) -> EngineIOSessionStateMachine {
        let isSocket = place == .handshakingWebSocket || place == .webSocket
        var machine = Machine(
            transport: isSocket ? .webSocket : place == .polling || place == .closing ? .polling : .automatic,
            version: .four
        )
        guard place != .idle else { return machine }
        _ = machine.start()
        switch place {
        case .idle, .handshakingPolling, .handshakingWebSocket: break
        case .closed: _ = machine.close()
        case .webSocket: _ = machine.frameReceived(.text("0" + self.open.text))
        case .polling, .probing, .draining, .closing:
            _ = machine.pollCompleted(status: 200, body: self.openBody)
            if place == .probing || place == .draining { _ = machine.webSocketOpened() }
            if place == .draining { _ = machine.frameReceived(.text("3probe")) }
            if place == .closing { _ = machine.close() }
        }
        return machine
    }

    @Test func pollsThenUpgrades() {
        var machine = Machine(transport: .automatic, version: nil)
        #expect(machine.start() == [.poll(version: .four, sessionID: nil)])
        #expect(
            machine.pollCompleted(status: 200, body: Self.openBody) == [
                .opened(Self.open, version: .four), Self.silence,
                .startTimer(.upgrade, after: Machine.upgradeTimeout),
                .openWebSocket(version: .four, sessionID: "s"), Self.poll4,
            ]
        )
        #expect(machine.send(EngineIOPacket(.message, "0")) == [.post("40", version: .four, sessionID: "s")])
        #expect(machine.send(EngineIOPacket(.message, "2a")).isEmpty)
        #expect(machine.webSocketOpened() == [.sendFrame(.text("2probe"))])
        #expect(machine.frameReceived(.text("3probe")) == [.startTimer(.upgrade, after: Machine.upgradeTimeout)])
        #expect(machine.postCompleted(status: 200).isEmpty)
        #expect(
            machine.pollCompleted(status: 200, body: Self.body([EngineIOPacket(.message, "x"), EngineIOPacket(.noop)]))
                == [
                    Self.silence, .received(.text("x")), .cancelTimer(.upgrade), .sendFrame(.text("5")), .upgraded,
                    .sendFrame(.text("42a")),
                ]
        )
        #expect(machine.frameReceived(.text("2")) == [Self.silence, .sendFrame(.text("3"))])
    }

    @Test func answersPingsAndCoalesces() {
        var machine = Self.machine(.polling)
        #expect(
            machine.pollCompleted(status: 200, body: Self.body([EngineIOPacket(.ping)])) == [
                Self.silence, .post("3", version: .four, sessionID: "s"), Self.poll4,
            ]
        )
        for index in 0..<20 { #expect(machine.send(EngineIOPacket(.message, "\(index)")).isEmpty) }
        let first = (0..<16).map { "4\($0)" }.joined(separator: "\u{1e}")
        let second = (16..<20).map { "4\($0)" }.joined(separator: "\u{1e}")
        #expect(machine.postCompleted(status: 200) == [.post(first, version: .four, sessionID: "s")])
        #expect(machine.postCompleted(status: 200) == [.post(second, version: .four, sessionID: "s")])
        #expect(machine.postCompleted(status: 200).isEmpty)
    }

    @Test func versionThreePings() {
        var machine = Machine(transport: .polling, version: nil)
        _ = machine.start()
        let body = Self.body([EngineIOPacket(.open, Self.open.text), EngineIOPacket(.message, "0")], .three)
        #expect(
            machine.pollCompleted(status: 200, body: body) == [
                .opened(Self.open, version: .three), .startTimer(.heartbeat, after: .seconds(15)),
                .received(.text("0")), .poll(version: .three, sessionID: "s"),
            ]
        )
        #expect(
            machine.timerFired(.heartbeat) == [
                .startTimer(.heartbeat, after: .seconds(15)), .startTimer(.pong, after: .seconds(20)),
                .post("1:2", version: .three, sessionID: "s"),
            ]
        )
        #expect(machine.timerFired(.heartbeat) == [.startTimer(.heartbeat, after: .seconds(15))])
        #expect(
            machine.pollCompleted(status: 200, body: Self.body([EngineIOPacket(.pong)], .three)) == [
                .cancelTimer(.pong), .poll(version: .three, sessionID: "s"),
            ]
        )
        #expect(machine.timerFired(.pong) == Self.cancels + [.finished(.heartbeatMissed)])
    }

    @Test func readsVersionFromOctets() {
        var machine = Machine(transport: .polling, version: nil)
        _ = machine.start()
        let octets = EngineIOPayload.encodeOctets([EngineIOPacket(.open, Self.open.text)])
        #expect(machine.pollCompleted(status: 200, body: octets).first == .opened(Self.open, version: .three))
    }

    @Test func triesTheOtherVersionOnce() {
        var machine = Machine(transport: .webSocket, version: nil)
        #expect(machine.start() == [.openWebSocket(version: .three, sessionID: nil)])
        let body = [UInt8](#"{"code":5,"message":"Unsupported protocol version"}"#.utf8)
        #expect(machine.webSocketRefused(status: 400, body: body) == [.openWebSocket(version: .four, sessionID: nil)])
        #expect(
            machine.webSocketRefused(status: 400, body: body)
                == Self.cancels + [.finished(.refused(status: 400, message: "Unsupported protocol version"))]
        )
    }

    /// Ends a handshake on a WebSocket in one of four ways.
    static func spoil(_ machine: inout EngineIOSessionStateMachine, _ way: Int) -> [Action] {
        switch way {
        case 0: machine.violationSeen(.unknownPacketType)
        case 1: machine.webSocketClosed(failed: true)
        case 2: machine.webSocketClosed(failed: false)
        default: machine.timerFired(.opening)
        }
    }

    /// Node's servers look at the version only once the WebSocket is open.
    @Test(
        arguments: [
            (0, .violation(.unknownPacketType)), (1, .transportFailed), (2, .closedByServer), (3, nil),
        ] as [(Int, EngineIOEnd?)]
    )
    func triesTheOtherVersionOnceOnAnOpenWebSocket(_ way: Int, _ end: EngineIOEnd?) {
        let expected: [Action] = end.map { Self.cancels + [.finished($0)] } ?? []
        var machine = Machine(transport: .webSocket, version: nil)
        _ = machine.start()
        let opened = machine.webSocketOpened()
        #expect(opened == [.startTimer(.opening, after: .seconds(3))])
        let other = Self.spoil(&machine, way)
        #expect(other == [.cancelTimer(.opening), .openWebSocket(version: .four, sessionID: nil)])
        let again = machine.webSocketOpened()
        #expect(again.isEmpty)
        let last = Self.spoil(&machine, way)
        #expect(last == expected)

        // Without a WebSocket there is nothing that would speak another version.
        var early = Machine(transport: .webSocket, version: nil)
        _ = early.start()
        let refused = Self.spoil(&early, way)
        #expect(refused == expected)

        // A version that was asked for is the only one.
        var pinned = Self.machine(.handshakingWebSocket)
        let pinnedOpened = pinned.webSocketOpened()
        #expect(pinnedOpened.isEmpty)
        let pinnedEnd = Self.spoil(&pinned, way)
        #expect(pinnedEnd == expected)
    }

    @Test func theOpenPacketSettlesTheVersion() {
        var machine = Machine(transport: .webSocket, version: nil)
        _ = machine.start()
        _ = machine.webSocketOpened()
        let actions = machine.frameReceived(.text("0" + Self.open.text))
        #expect(actions.prefix(2) == [.cancelTimer(.opening), .opened(Self.open, version: .three)])
        // It fired while the packet was on its way.
        let late = machine.timerFired(.opening)
        #expect(late.isEmpty)
        let end = machine.webSocketClosed(failed: false)
        #expect(end == Self.cancels + [.finished(.closedByServer)])
    }

    @Test func webSocketTellsVersionFour() {
        var machine = Machine(transport: .webSocket, version: nil)
        _ = machine.start()
        var open = Self.open
        open.maximumPayload = 5000
        #expect(machine.frameReceived(.text("0" + open.text)).first == .opened(open, version: .four))
        var late = Machine(transport: .webSocket, version: nil)
        _ = late.start()
        #expect(late.frameReceived(.text("0" + Self.open.text)).first == .opened(Self.open, version: .three))
        #expect(late.frameReceived(.text("2")).contains(.versionChanged(.four)))
        #expect(late.frameReceived(.binary([1])) == [Self.silence, .received(.binary([1]))])
    }

    @Test(arguments: [
        (404, "Not found", EngineIOEnd.notEngineIO(status: 404)),
        (200, "<html>", .notEngineIO(status: 200)),
        (200, "", .notEngineIO(status: 200)),
        (200, "0{\"sid\":\"a", .notEngineIO(status: 200)),
        (200, "40", .notEngineIO(status: 200)),
        (302, "", .notEngineIO(status: 302)),
        (400, "<html>", .notEngineIO(status: 400)),
        (400, "\"no\"", .refused(status: 400, message: "no")),
        (403, #"{"code":4,"message":"Forbidden"}"#, .refused(status: 403, message: "Forbidden")),
        (502, "Bad gateway", .notEngineIO(status: 502)),
    ])
    func refusesHandshakes(_ status: Int, _ body: String, _ end: EngineIOEnd) {
        var machine = Self.machine(.handshakingPolling)
        #expect(machine.pollCompleted(status: status, body: [UInt8](body.utf8)) == Self.cancels + [.finished(end)])
    }

    @Test(arguments: [
        (400, #"{"code":1,"message":"Session ID unknown"}"#, EngineIOEnd.sessionLost(status: 400)),
        (200, "", .closedByServer),
        (200, "1", .closedByServer),
        (200, "hello", .violation(.unknownPacketType)),
        (200, "0{}", .violation(.invalidOpenPacket)),
    ])
    func endsOnPolls(_ status: Int, _ body: String, _ end: EngineIOEnd) {
        var machine = Self.machine(.polling)
        #expect(machine.pollCompleted(status: status, body: [UInt8](body.utf8)).last == .finished(end))
        #expect(machine.close().isEmpty)
    }

    @Test(arguments: [Place.probing, .draining])
    func failedUpgradeGoesOnPolling(_ place: Place) {
        for fail in 0..<3 {
            var machine = Self.machine(place)
            let actions =
                switch fail {
                case 0: machine.timerFired(.upgrade)
                case 1: machine.webSocketClosed(failed: true)
                default: machine.frameReceived(.text("nonsense"))
                }
            #expect(actions == [.cancelTimer(.upgrade), .closeWebSocket])
            let isOnPolling = machine.isOnPolling
            #expect(isOnPolling)
            #expect(machine.webSocketClosed(failed: false).isEmpty)
            #expect(machine.pollCompleted(status: 200, body: [0x36]) == [Self.silence, Self.poll4])
        }
    }

    @Test func closesPollingWithAPost() {
        var machine = Self.machine(.polling)
        #expect(
            machine.close().suffix(2) == [
                .startTimer(.close, after: Machine.closeTimeout), .post("1", version: .four, sessionID: "s"),
            ]
        )
        #expect(machine.postCompleted(status: 200) == Self.cancels + [.finished(.closedByUs)])
        var busy = Self.machine(.polling)
        _ = busy.send(EngineIOPacket(.message, "1"))
        _ = busy.send(EngineIOPacket(.message, "2"))
        #expect(!busy.close().contains { if case .post = $0 { true } else { false } })
        #expect(busy.postCompleted(status: 200) == [.post("42\u{1e}1", version: .four, sessionID: "s")])
        #expect(busy.timerFired(.close) == Self.cancels + [.finished(.closedByUs)])
    }

    @Test func closesWebSocket() {
        var machine = Self.machine(.webSocket)
        #expect(
            machine.close().suffix(2) == [.closeWebSocket, .startTimer(.close, after: Machine.closeTimeout)]
        )
        #expect(machine.webSocketClosed(failed: false) == Self.cancels + [.finished(.closedByUs)])
    }

    @Test func queuesAreBounded() {
        var machine = Self.machine(.polling)
        var end: Action?
        for _ in 0...(Machine.maximumQueuedPackets + 1) where end == nil {
            end = machine.send(EngineIOPacket(.message, "x")).last.flatMap {
                if case .finished = $0 { $0 } else { nil }
            }
        }
        #expect(end == .finished(.overloaded))
        var large = Self.machine(.webSocket)
        let text = String(repeating: "x", count: EngineIOLimits.maximumPayloadBytes)
        #expect(large.send(EngineIOPacket(.message, text)).last == .finished(.packetTooLarge))
    }

    /// Every event in every place: never a trap, at most one end, and nothing after it.
    @Test(arguments: Place.allCases)
    func survivesEveryEvent(_ place: Place) {
        let events: [@Sendable (inout Machine) -> [Action]] = [
            { $0.start() }, { $0.send(EngineIOPacket(.message, "x")) }, { $0.close() },
            { $0.pollCompleted(status: 200, body: Self.openBody) }, { $0.pollCompleted(status: 500, body: []) },
            { $0.postCompleted(status: 200) }, { $0.postCompleted(status: 400) }, { $0.webSocketOpened() },
            { $0.frameReceived(.text("4x")) }, { $0.frameReceived(.text("")) }, { $0.frameReceived(.text("3probe")) },
            { $0.webSocketRefused(status: 404, body: []) }, { $0.webSocketClosed(failed: true) },
            { $0.webSocketClosed(failed: false) }, { $0.transportFailed() }, { $0.violationSeen(.oversize) },
            { $0.timerFired(.heartbeat) }, { $0.timerFired(.pong) }, { $0.timerFired(.silence) },
            { $0.timerFired(.upgrade) }, { $0.timerFired(.opening) }, { $0.timerFired(.close) },
        ]
        var generator = SeededGenerator(seed: 0x656e_6769)
        for first in events.indices {
            var machine = Self.machine(place)
            var ends = 0
            var order = [first]
            order += (0..<60).map { _ in Int.random(in: 0..<events.count, using: &generator) }
            for index in order {
                let actions = events[index](&machine)
                if ends > 0 { #expect(actions.isEmpty) }
                ends += actions.count { if case .finished = $0 { true } else { false } }
            }
            #expect(ends <= 1)
        }
    }
}
