// SPDX-License-Identifier: Apache-2.0

import Session
import Signalling
import TestSupport
import Testing

/// Random inputs in any order, from a fixed seed, against rules that must always hold.
@Suite struct SessionRandomTests {

    /// The open objects of a driver.
    private struct World {
        var owners: [ConnectionID: PeerID] = [:]
        var closing: Set<ConnectionID> = []
        var handed: [ConnectionID: Int] = [:]
        var described: Set<ConnectionID> = []
        var timers: Set<TimerID> = []
        var isFinished = false
        var newest: UInt64 = 0

        mutating func run(_ actions: [SessionAction]) throws {
            for action in actions {
                try #require(!self.isFinished, "\(action) after finished")
                switch action {
                case .openConnection(let id, let peer, _):
                    try #require(id.rawValue > self.newest)
                    try #require(!self.owners.values.contains(peer), "two connections of one peer")
                    self.newest = id.rawValue
                    self.owners[id] = peer
                    try #require(self.owners.count <= 3)
                case .createOffer(let id):
                    try #require(self.owners[id] != nil)
                case .applyOffer(let id, _), .applyAnswer(let id, _):
                    try #require(self.owners[id] != nil)
                    self.described.insert(id)
                    self.handed[id] = 0
                case .addCandidate(let id, _):
                    try #require(self.owners[id] != nil)
                    try #require(self.described.contains(id), "a candidate before its description")
                    self.handed[id, default: 0] += 1
                    try #require((self.handed[id] ?? 0) <= 8)
                case .closeConnection(let id, _, _):
                    try #require(self.owners.removeValue(forKey: id) != nil)
                    self.closing.insert(id)
                case .startTimer(let timer, let duration):
                    try #require(self.timers.insert(timer).inserted)
                    try #require(duration > .zero)
                    try #require(self.timers.count <= 3 * 7 + 1)
                case .cancelTimer(let timer):
                    try #require(self.timers.remove(timer) != nil)
                case .finished:
                    self.isFinished = true
                    try #require(self.owners.isEmpty)
                    try #require(self.timers.subtracting(self.timers.filter { $0.purpose == .stop }).isEmpty)
                case .send, .report, .useICEServers: break
                }
            }
        }
    }

    private static let peers = ["a", "b", "c", "d", "e"].map { PeerID($0) }

    private static func sdp(_ generator: inout SeededGenerator) -> String {
        if Int.random(in: 0..<20, using: &generator) == 0 { return "garbage" }
        return SessionHarness.sdp(
            session: "\(Int.random(in: 0..<4, using: &generator))",
            version: Int.random(in: 0..<4, using: &generator),
            ufrag: Bool.random(using: &generator) ? "u" : nil,
            fingerprint: Bool.random(using: &generator) ? "\(Int.random(in: 0..<9, using: &generator))" : nil
        )
    }

    private static func candidate(_ generator: inout SeededGenerator) -> ICECandidate {
        let suffix = ["", " ufrag u", " ufrag u1", " ufrag"].randomElement(using: &generator) ?? ""
        return ICECandidate(
            line: "candidate:\(UInt8.random(in: 0...255, using: &generator))\(suffix)",
            mLineIndex: 0,
            mid: nil
        )
    }

    private static func roomEvent(_ generator: inout SeededGenerator) -> RoomEvent {
        let peer = Self.peers.randomElement(using: &generator) ?? .unidentified
        return switch Int.random(in: 0..<40, using: &generator) {
        case 0..<3: .joined(ownID: Bool.random(using: &generator) ? nil : peer)
        case 3..<7: .peerArrived(peer)
        case 7..<9: .peerAwaited(peer)
        case 9..<17: .offerReceived(from: peer, sdp: Self.sdp(&generator))
        case 17..<23: .answerReceived(from: peer, sdp: Self.sdp(&generator))
        case 23..<33: .candidateReceived(from: peer, Self.candidate(&generator))
        case 33: .endOfCandidatesReceived(from: peer)
        case 34..<36: .peerLeft(peer)
        case 36: .full
        case 37: .signallingLost(reason: "random")
        case 38: .left
        default: .ignored(what: "random", detail: "")
        }
    }

    private static func connectionEvent(_ generator: inout SeededGenerator) -> ConnectionEvent {
        switch Int.random(in: 0..<25, using: &generator) {
        case 0..<4: .offerCreated(sdp: Self.sdp(&generator))
        case 4..<9: .answerCreated(sdp: Self.sdp(&generator))
        case 9: .rebuildNeeded(reason: "random")
        case 10: .descriptionRefused(reason: "random")
        case 11: .negotiationFailed(reason: "random")
        case 12..<15: .localCandidate(Self.candidate(&generator))
        case 15..<18: .connected
        case 18: .iceDisconnected
        case 19: .iceFailed
        case 20: .mediaSilent
        case 21: .mediaHeard
        case 22: .authenticityFailed(reason: "random")
        case 23: .offerDeclined(sdp: Self.sdp(&generator), reason: "random")
        default: .closed
        }
    }

    @Test(arguments: UInt64(1)...24)
    func holdsItsPromises(seed: UInt64) throws {
        var generator = SeededGenerator(seed: seed)
        var configuration = SessionConfiguration()
        configuration.maximumPeers = 3
        configuration.maximumCandidates = 8
        configuration.maximumConnections = 6
        var machine = RoomSessionStateMachine(configuration: configuration)
        var world = World()
        try world.run(machine.handle(.room(.joined(ownID: nil))))
        for _ in 0..<4000 {
            let input: SessionInput
            switch Int.random(in: 0..<100, using: &generator) {
            case 0..<45:
                input = .room(Self.roomEvent(&generator))
            case 45..<80:
                let live = world.owners.keys.sorted().randomElement(using: &generator)
                let id = live ?? ConnectionID(UInt64.random(in: 0...world.newest, using: &generator))
                let event = Self.connectionEvent(&generator)
                if event == .closed, world.closing.remove(id) == nil { world.owners[id] = nil }
                input = .connection(id, event)
            case 80..<90:
                let id = world.closing.sorted().randomElement(using: &generator)
                if let id { world.closing.remove(id) }
                input = .connection(id ?? ConnectionID(0), .closed)
            default:
                let timer = world.timers.sorted { $0.serial < $1.serial }.randomElement(using: &generator)
                if let timer { world.timers.remove(timer) }
                input = .timerFired(timer ?? TimerID(purpose: .connect, serial: 0))
            }
            try world.run(machine.handle(input))
            for purpose in [TimerID.Purpose.connect, .disconnected, .stale] {
                let count = world.timers.count { $0.purpose == purpose }
                try #require(count <= world.owners.count, "a timer outlives its connection")
            }
            for (id, peer) in world.owners { try #require(machine.peer(of: id) == peer) }
        }
        #expect(world.newest > 100)
        #expect(!world.isFinished)
        try world.run(machine.handle(.stop))
        #expect(world.owners.isEmpty)
        for id in world.closing { try world.run(machine.handle(.connection(id, .closed))) }
        try world.run(machine.handle(.signallerEnded(nil)))
        #expect(world.isFinished)
        #expect(machine.isFinished == true)
    }
}
