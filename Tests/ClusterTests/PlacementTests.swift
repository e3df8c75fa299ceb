// SPDX-License-Identifier: Apache-2.0

import Cluster
import Testing

@Suite struct PlacementTests {
    private static func room(_ members: String = "") throws -> RoomRecord {
        try #require(RecordReading<RoomRecord>(ClusterDriver.definition(members)).record)
    }

    private static func placement(_ names: [String], free: Int = 1000) -> Placement {
        Placement(names.map { Placement.Host(name: $0, labels: ["zone": $0], free: free) })
    }

    private static let rooms = (0..<1000).map { "room-\($0)" }

    /// Every version must compute this alike: hosts of n and n - 1 share rooms.
    @Test func theOrderIsTheSameInEveryVersion() throws {
        let placement = Self.placement(["a", "b", "c", "d"])
        let rankings = try ["standup", "all-hands", "café"].map {
            placement.ranking(of: $0, try Self.room()).joined()
        }
        #expect(rankings == ["adcb", "dcab", "dbca"])
    }

    @Test func aNewHostTakesItsShareAndNothingElseMoves() throws {
        let record = try Self.room()
        let (three, four) = (Self.placement(["a", "b", "c"]), Self.placement(["a", "b", "c", "d"]))
        let before = Self.rooms.map { three.ranking(of: $0, record).first }
        let after = Self.rooms.map { four.ranking(of: $0, record).first }
        let moved = zip(before, after).filter { $0 != $1 }
        #expect(moved.allSatisfy { $0.1 == "d" })
        #expect((200...300).contains(moved.count), "a quarter of 1000 is 250: \(moved.count)")
        let shares = Dictionary(grouping: after) { $0 }.mapValues(\.count)
        #expect(shares.values.allSatisfy { (200...300).contains($0) }, "\(shares)")
    }

    @Test func theRightOfFirstRefusalIsFirst() throws {
        let placement = Self.placement(["a", "b", "c"])
        for room in Self.rooms.prefix(20) {
            let record = try Self.room()
            let ranking = placement.ranking(of: room, record, first: "b")
            #expect(ranking.first == "b")
            #expect(ranking.filter { $0 != "b" } == placement.ranking(of: room, record).filter { $0 != "b" })
            #expect(placement.ranking(of: room, record, first: "gone") == placement.ranking(of: room, record))
        }
    }

    @Test func labelsExcludeAndPrefer() throws {
        let placement = Self.placement(["a", "b", "c"])
        let required = try Self.room(#","hosts":{"require":{"zone":"c"}}"#)
        #expect(placement.ranking(of: "r", required) == ["c"])
        let impossible = try Self.room(#","hosts":{"require":{"zone":"x"}}"#)
        #expect(placement.ranking(of: "r", impossible).isEmpty)
        for room in Self.rooms.prefix(20) {
            let preferred = try Self.room(#","hosts":{"prefer":{"zone":"c"}}"#)
            #expect(placement.ranking(of: room, preferred).first == "c")
            #expect(placement.ranking(of: room, preferred).count == 3)
        }
    }

    @Test func aHostWithoutRoomForTheCostIsNoCandidate() throws {
        let placement = Placement([
            Placement.Host(name: "a", labels: [:], free: 4), Placement.Host(name: "b", labels: [:], free: 5),
        ])
        let record = try Self.room(#","cost":5"#)
        #expect(placement.ranking(of: "r", record) == ["b"])
        // The host that has the room does not need its cost once more.
        #expect(placement.ranking(of: "r", record, present: "a").sorted() == ["a", "b"])
    }

    @Test func drainingAndStoppingHostsHaveNoPlace() {
        var driver = ClusterDriver(rooms: [], hasOther: false)
        var record = ClusterDriver.record("b")
        driver.put(.host("b"), record.text)
        record.isDraining = true
        driver.put(.host("c"), record.text)
        record.isDraining = false
        record.isStopping = true
        driver.put(.host("d"), record.text)
        driver.put(.host("e"), #"{"schema":2}"#)
        driver.connect()
        #expect(Placement(driver.machine.view).hosts.map(\.name) == ["a", "b"])
    }
}
