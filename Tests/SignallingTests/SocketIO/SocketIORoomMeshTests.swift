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

    @Test func rejoinReportsWhoIsGone() {
        var machine = Self.machine()
        _ = machine.received(.event("otherjoin", ["r", "q"]))
        _ = machine.received(Self.offer(from: "p"))
        _ = machine.closed(reason: "x")
        _ = machine.opened(sessionID: "e", version: .three)
        _ = machine.received(SocketIOPacket(.connect))
        #expect(
            machine.received(.event("joined", ["r", "e", Self.rules(["q"])])) == [
                .cancelTimer(.join), .event(.joined(ownID: PeerID("e"))), .event(.peerLeft(Self.p)),
            ]
        )
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
