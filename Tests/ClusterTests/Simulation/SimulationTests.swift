// SPDX-License-Identifier: Apache-2.0

import Cluster
import Foundation
import Testing

/// Clusters in simulated time against their invariants.
///
/// A failure prints its seed and the shortest list of faults that still fails.
@Suite struct SimulationTests {
    private static let isLong = ProcessInfo.processInfo.environment["TAPEDECK_TEST_ALL"] == "1"
    /// Seeds in blocks, which run on all cores.
    private static let blocks = isLong ? 400 : 8
    private static let seedsOfBlock: UInt64 = 25

    /// Prints what happens in one seed: `TAPEDECK_SIMULATED_SEED=7 swift test --filter SimulationTests.story`.
    @Test(.enabled(if: Self.told != nil, "TAPEDECK_SIMULATED_SEED names the seed"))
    func story() {
        let simulation = Simulation(seed: Self.told ?? 1)
        simulation.story = { print($0) }
        simulation.run()
        print(simulation.faults, simulation.violation ?? "no violation", separator: "\n")
    }

    private static let told = ProcessInfo.processInfo.environment["TAPEDECK_SIMULATED_SEED"].flatMap { UInt64($0) }

    private static let table = SimulationTable("3 hosts, 9 rooms, 1 to 6 faults:", blocks: blocks)
    private static let plantedTable = SimulationTable("planted faults:", blocks: PlantedFault.allCases.count)

    @Test(arguments: 0..<blocks) func holdsItsPromises(block: Int) {
        let first = UInt64(block) * Self.seedsOfBlock + 1
        defer { Self.table.end() }
        var (claims, handovers, moves, uploads) = (0, 0, 0, 0)
        for seed in first..<first + Self.seedsOfBlock {
            let simulation = Simulation(seed: seed)
            simulation.run()
            Self.table.add(simulation)
            claims += simulation.checker.claimsSeen
            handovers += simulation.checker.handoversSeen
            moves += simulation.checker.movesSeen
            uploads += simulation.checker.uploadsSeen
            guard simulation.violation != nil else { continue }
            Issue.record("\(simulation.shortest())")
            // One of a block is enough to understand.
            return
        }
        // What is checked happened.
        #expect(claims > 500 && handovers > 10 && moves > 10 && uploads > 50)
    }

    /// Also with more rooms than claims in a second; a release build has time for more.
    @Test(.enabled(if: isLong, "make test-all runs it")) func aLargeClusterHoldsThem() {
        var size = Simulation.Size()
        #if DEBUG
            (size.hosts, size.rooms) = (50, 1000)
        #else
            (size.hosts, size.rooms) = (50, 5000)
        #endif
        (size.faults, size.faultsEnd, size.end) = (4...4, 60_000_000, 145_000_000)
        size.kinds = [.kill, .powerOff, .cutOffStore, .leaderLost]
        let simulation = Simulation(seed: 1, size: size)
        simulation.run()
        let table = SimulationTable("\(size.hosts) hosts, \(size.rooms) rooms:", blocks: 1)
        table.add(simulation)
        table.end()
        #expect(simulation.violation == nil)
        #expect(simulation.checker.claimsSeen > 2 * size.rooms)
    }

    /// A bug in the code around the machine violates an invariant in one of 400 seeds.
    ///
    /// In the gate their faults are those that show it most often, without the quiet minute at the end.
    @Test(arguments: PlantedFault.allCases) func isFound(planted: PlantedFault) {
        var size = Simulation.Size()
        if !Self.isLong {
            size.kinds = planted.kinds
            size.faults = 6...10
            size.end = size.faultsEnd
            size.hasQuietEnd = false
        }
        for seed in UInt64(1)...400 {
            let simulation = Simulation(seed: seed, size: size, planted: planted)
            simulation.run()
            guard simulation.violation != nil else { continue }
            Self.plantedTable.end("\(planted): \(simulation.shortest())")
            return
        }
        Self.plantedTable.end("\(planted): not found")
        Issue.record("\(planted) was not found")
    }

    // MARK: Placement

    /// The rooms of each host, of 1000 that are applied while all hosts are idle.
    private static func spread(
        _ seed: UInt64,
        _ change: (inout Simulation.Size) -> Void = { _ in }
    ) -> (simulation: Simulation, rooms: [String: [String]]) {
        var size = Simulation.Size()
        (size.hosts, size.rooms, size.faults) = (3, 1000, 0...0)
        (size.applied, size.end) = (8_000_000, 45_000_000)
        (size.hasQuietEnd, size.hasCalls) = (false, false)
        change(&size)
        let simulation = Simulation(seed: seed, size: size)
        simulation.run()
        var rooms: [String: [String]] = [:]
        for (key, value) in simulation.etcd.values {
            guard case .claim(let room)? = ClusterKey(key, cluster: Simulation.cluster),
                let host = RecordReading<ClaimRecord>(value.value).record?.host
            else { continue }
            rooms[host, default: []].append(room)
        }
        return (simulation, rooms)
    }

    private static func isNear(_ count: Int?, _ expected: Int) -> Bool {
        (expected * 85 / 100...expected * 115 / 100).contains(count ?? 0)
    }

    /// Also where one host reads much later than another what there is to claim.
    @Test(arguments: [[0, 0, 0], [0, 300_000, 900_000]]) func roomsAppliedAtOnceAreSpread(slowness: [Int]) {
        let (simulation, rooms) = Self.spread(1) { $0.slowness = slowness }
        #expect(simulation.violation == nil)
        let counts = rooms.mapValues(\.count)
        #expect(counts.values.reduce(0, +) == 1000)
        #expect(counts.count == 3 && counts.values.allSatisfy { Self.isNear($0, 333) }, "\(counts)")
        // 17 s for a third of them; two thirds take 33.
        #expect(simulation.checker.lastClaim < Self.seconds(8 + 22), "\(simulation.checker.lastClaim)")
    }

    /// The rooms of a full host go to the others before all else is claimed.
    @Test func aFullHostTakesWhatItCan() {
        let (simulation, rooms) = Self.spread(2) { $0.capacities = [1000, 200, 200] }
        #expect(simulation.violation == nil)
        #expect(rooms.mapValues(\.count) == ["host-0": 600, "host-1": 200, "host-2": 200])
        #expect(simulation.checker.lastClaim < Self.seconds(8 + 33), "\(simulation.checker.lastClaim)")
    }

    /// Rooms that only one host may have, or should, are there; the others are spread.
    @Test func labelsAreKeptWhenRoomsAreSpread() {
        let (simulation, rooms) = Self.spread(3) { size in
            size.labels = [["zone": "a"], ["zone": "b"], ["zone": "b"]]
            size.members = { number in
                switch number % 4 {
                case 0: #","hosts":{"require":{"zone":"b"}}"#
                case 1: #","hosts":{"prefer":{"zone":"a"}}"#
                default: ""
                }
            }
        }
        #expect(simulation.violation == nil)
        let numbers = rooms.mapValues { $0.compactMap { Int($0.dropFirst("room-".count)) } }
        #expect(numbers["host-0"]?.contains { $0 % 4 == 0 } == false)
        #expect(Self.isNear(numbers["host-0"]?.count { $0 % 4 == 1 }, 250))
        #expect(Self.isNear(numbers["host-0"]?.count { $0 % 4 > 1 }, 167))
        for host in ["host-1", "host-2"] {
            #expect(Self.isNear(numbers[host]?.count { $0 % 4 == 0 }, 125))
            #expect(Self.isNear(numbers[host]?.count { $0 % 4 > 1 }, 167))
        }
    }

    /// A host that dies while it claims loses its rooms as soon as its lease ends.
    @Test func aHostThatDiesWhileItClaimsLosesItsRooms() {
        let (simulation, rooms) = Self.spread(4) { size in
            size.planned = [Fault(kind: .powerOff, time: 11_000_000, duration: 90_000_000, host: 1)]
        }
        #expect(simulation.violation == nil)
        let counts = rooms.mapValues(\.count)
        #expect(counts["host-1"] == nil && counts.values.reduce(0, +) == 1000)
        #expect(counts.values.allSatisfy { Self.isNear($0, 500) }, "\(counts)")
        #expect(simulation.checker.lastClaim < Self.seconds(8 + 33), "\(simulation.checker.lastClaim)")
    }

    private static func seconds(_ seconds: Int) -> Int { seconds * 1_000_000 }
}
