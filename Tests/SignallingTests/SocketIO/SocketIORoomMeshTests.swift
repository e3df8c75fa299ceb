// SPDX-License-Identifier: Apache-2.0

import Basics
import Signalling
import Testing

/// Rooms of more than two on our own server.
@Suite struct SocketIORoomMeshTests {
    static let p = PeerID("p")
    static let q = PeerID("q")

    static func rules(_ peers: [JSONValue]) -> JSONValue {
        .object(["mesh": .bool(true), "capacity": .integer(8), "peers": .array(peers)])
    }

    static func machine(_ peers: [JSONValue] = ["p"]) -> SocketIORoomStateMachine {
        var machine = SocketIORoomStateMachine(room: "r", waitsWhenFull: true)
        _ = machine.opened(sessionID: "d", version: .three)
        _ = machine.received(SocketIOPacket(.connect))
        _ = machine.received(.event("joined", ["r", "d", self.rules(peers)]))
        return machine
    }

    static func offer(from: JSONValue, to: JSONValue = "d") -> SocketIOPacket {
        .event("message", ["r", .object(["type": "offer", "sdp": "v=0", "from": from, "to": to])])
    }

    static func answer(from: JSONValue, was: [JSONValue] = []) -> SocketIOPacket {
        let data: JSONValue = .object([
            "type": "answer", "sdp": "v=0", "from": from, "to": "e", "was": .array(was),
        ])
        return .event("message", ["r", data])
    }

    @Test(arguments: [
        (#"{"mesh":true,"capacity":8,"peers":[]}"#, 8), (#"{"mesh":true,"peers":[]}"#, nil),
        (#"{"mesh":true,"capacity":2}"#, nil), (#"{"mesh":true,"capacity":1000000}"#, 65),
        (#"{"mesh":true,"capacity":"8"}"#, nil), (#"{"mesh":false,"capacity":8}"#, nil),
    ])
    func theServerSaysHowManyItTakes(rules: String, capacity: Int?) throws {
        var machine = SocketIORoomStateMachine(room: "r", waitsWhenFull: true)
        _ = machine.opened(sessionID: "d", version: .three)
        _ = machine.received(SocketIOPacket(.connect))
        let actions = machine.received(.event("joined", ["r", "d", try JSONValue(parsing: rules)]))
        #expect(actions.contains(.event(.joined(ownID: PeerID("d"), capacity: capacity))))
    }

    @Test func keepsManyPeers() {
        var machine = Self.machine()
        #expect(machine.received(Self.offer(from: "p")) == [.event(.offerReceived(from: Self.p, sdp: "v=0"))])
        #expect(machine.received(.event("otherjoin", ["r", "q"])) == [.event(.peerArrived(Self.q))])
        #expect(machine.received(.event("bye", ["r", "p"])) == [.event(.peerLeft(Self.p))])
        SocketIORoomStateMachineTests.expect(machine, .joinedConnected)
        #expect(machine.received(.event("bye", ["r", "q"])) == [.event(.peerLeft(Self.q))])
        SocketIORoomStateMachineTests.expect(machine, .joinedUnbound)
    }

    @Test func aMeshHasPlaceForEverybody() {
        var machine = Self.machine()
        _ = machine.received(Self.offer(from: "p"))
        #expect(machine.command(.yield).isEmpty)
        SocketIORoomStateMachineTests.expect(machine, .joinedConnected)
    }

    @Test func addressesMessages() {
        var machine = Self.machine()
        _ = machine.received(.event("otherjoin", ["r", "q"]))
        let sent = machine.command(.offer(to: Self.q, sdp: "v=1"))
        #expect(
            sent == [
                .send(.event("message", ["r", .object(["type": "offer", "sdp": "v=1", "from": "d", "to": "q"])]))
            ]
        )
        #expect(machine.received(Self.offer(from: "p", to: "q")).isEmpty)
        #expect(
            machine.received(.event("message", ["r", "p", .object(["type": "offer", "sdp": "v=0"])])) == [
                .event(.offerReceived(from: Self.p, sdp: "v=0"))
            ]
        )
    }

    @Test func peerThatJoinsAgainIsNew() {
        var machine = Self.machine()
        _ = machine.received(.event("otherjoin", ["r", "q"]))
        #expect(
            machine.received(.event("otherjoin", ["r", "q"])) == [
                .event(.peerLeft(Self.q)), .event(.peerArrived(Self.q)),
            ]
        )
    }

    @Test func resetsOnlyTheSolePeer() {
        var machine = Self.machine()
        _ = machine.received(.event("otherjoin", ["r", "q"]))
        #expect(machine.command(.resetCall(Self.q)).first == .event(.peerLeft(Self.q)))
        var full = Self.machine()
        _ = full.received(Self.offer(from: "p"))
        _ = full.received(.event("otherjoin", ["r", "q"]))
        guard case .event(.ignored) = full.command(.resetCall(Self.q)).first else {
            Issue.record("The reset was not dropped")
            return
        }
        SocketIORoomStateMachineTests.expect(full, .joinedConnected)
    }

    /// We are back under another id, and the server lists `q` only: `p` left, or all members have another id.
    private static func rejoined() -> SocketIORoomStateMachine {
        var machine = Self.machine()
        _ = machine.received(.event("otherjoin", ["r", "q"]))
        _ = machine.received(Self.offer(from: "p"))
        _ = machine.closed(reason: "x")
        _ = machine.opened(sessionID: "e", version: .three)
        _ = machine.received(SocketIOPacket(.connect))
        #expect(
            machine.received(.event("joined", ["r", "e", Self.rules(["q"])])) == [
                .cancelTimer(.join), .event(.joined(ownID: PeerID("e"), capacity: 8)),
            ],
            "whoever is not listed keeps its media"
        )
        return machine
    }

    @Test func unlistedMemberIsGoneWhenItIsBackUnderAnotherID() {
        var machine = Self.rejoined()
        _ = machine.received(.event("otherjoin", ["r", "n"]))
        #expect(machine.received(Self.answer(from: "n")).count == 1, "a newcomer is nobody else")
        _ = machine.received(.event("otherjoin", ["r", "p2"]))
        let events = machine.received(Self.answer(from: "p2", was: ["p0", "p", "q"]))
        #expect(events.first == .event(.peerLeft(Self.p)), "listed members are none of those")
        #expect(events.count == 2)
        #expect(machine.received(Self.answer(from: "p2", was: ["p"])).count == 1)
    }

    @Test func unlistedMemberEndsWithWhatItsCallNeedsTheRoomFor() {
        var machine = Self.rejoined()
        #expect(machine.command(.resetCall(Self.p)) == [.event(.peerLeft(Self.p))])
        SocketIORoomStateMachineTests.expect(machine, .joined)
        machine = Self.rejoined()
        #expect(machine.command(.offer(to: Self.p, sdp: "v=0\r\n")).last == .event(.peerLeft(Self.p)))
        machine = Self.rejoined()
        #expect(machine.received(.event("bye", ["r", "p"])) == [.event(.peerLeft(Self.p))])
        machine = Self.rejoined()
        #expect(machine.received(.event("otherjoin", ["r", "p"])).first == .event(.peerLeft(Self.p)))
        #expect(machine.command(.resetCall(Self.q)).count == 1, "the room has other members")
    }

    @Test func descriptionsSayUnderWhichIDsWeWere() {
        var machine = Self.rejoined()
        func was(_ actions: [SocketIORoomStateMachine.Action]) -> JSONValue? {
            guard case .send(let packet)? = actions.first else { return nil }
            return packet.event?.arguments.last?["was"]
        }
        #expect(was(machine.command(.offer(to: Self.q, sdp: "v=0\r\n"))) == .array(["d"]))
        let candidate = ICECandidate(line: "candidate:1 1 udp 1 192.0.2.1 9 typ host", mLineIndex: 0, mid: "0")
        #expect(was(machine.command(.candidate(to: Self.q, candidate))) == nil)
        for index in 1...20 {
            _ = machine.closed(reason: "x")
            _ = machine.opened(sessionID: "e\(index)", version: .three)
            _ = machine.received(SocketIOPacket(.connect))
            _ = machine.received(.event("joined", ["r", .string("e\(index)"), Self.rules(["q"])]))
        }
        #expect(was(machine.command(.offer(to: Self.q, sdp: "v=0\r\n")))?.array?.count == 8)
    }

    @Test func membersComeBeforeThoseWhomTheServerDoesNotList() {
        var machine = Self.machine([])
        func meet(_ name: String) -> Int {
            machine.received(.event("otherjoin", ["r", .string(name)])).count { action in
                if case .event(.peerLeft) = action { true } else { false }
            }
        }
        func rejoin() -> Int {
            _ = machine.closed(reason: "x")
            _ = machine.opened(sessionID: "e", version: .three)
            _ = machine.received(SocketIOPacket(.connect))
            return machine.received(.event("joined", ["r", "e", Self.rules([])])).count - 2
        }
        for index in 0..<10 { #expect(meet("a\(index)") == 0) }
        #expect(rejoin() == 0)
        // There is place for as many calls as a session has.
        let most = 40
        for index in 0..<most { #expect(meet("b\(index)") == (index < most - 10 ? 0 : 1)) }
        #expect(rejoin() == 0)
        for index in 0..<(most + 4) { #expect(meet("c\(index)") == (index < most ? 1 : 0)) }
        #expect(rejoin() == 4)
    }

    @Test func peersAreBounded() {
        var machine = Self.machine()
        var arrived = 0
        for index in 0..<200 {
            let actions = machine.received(.event("otherjoin", ["r", .string("m\(index)")]))
            if case .event(.peerArrived) = actions.first { arrived += 1 }
            _ = machine.received(Self.offer(from: .string("n\(index)")))
        }
        #expect(arrived <= 64)
        #expect(arrived > 20)
    }
}
