// SPDX-License-Identifier: Apache-2.0

import Cluster
import Testing

/// Rooms that are to be claimed at once, by host `a` and a host `b` that the tests play.
@Suite struct ClaimTurnTests {
    private static let rooms = (100..<500).map { "room-\($0)" }

    /// The rooms that a host is the first for, in their order.
    private static func rooms(of host: String, _ driver: ClusterDriver) -> [String] {
        let placement = Placement(driver.machine.view)
        return Self.rooms.filter { room in
            guard let record = driver.machine.view.rooms[room]?.record else { return false }
            return placement.ranking(of: room, record).first == host
        }
    }

    private static func driver() -> ClusterDriver {
        var driver = ClusterDriver(rooms: Self.rooms) { $0.record.capacity = 1000 }
        driver.put(.host("b"), ClusterDriver.record("b", capacity: 1000).text)
        driver.connect()
        return driver
    }

    private static func claim(_ room: String, _ driver: inout ClusterDriver) {
        driver.put(.claim(room), ClaimRecord(host: "b", epoch: 1, phase: .joining).text)
        driver.put(.owner(room), OwnerRecord(epoch: 1, host: "b").text)
        driver.news()
    }

    @Test(arguments: [20, 4]) func aHostThatClaimsKeepsItsRooms(perSecond: Int) {
        var driver = Self.driver()
        let others = Self.rooms(of: "b", driver)
        #expect((150...250).contains(others.count))
        driver.pass(.milliseconds(500))
        for room in others {
            Self.claim(room, &driver)
            driver.pass(.seconds(1) / perSecond)
        }
        driver.pass(.seconds(3))
        #expect(others.allSatisfy { driver.claim($0)?.host == "b" })
        #expect(driver.machine.holdings.count == 400 - others.count)
    }

    /// Its own rooms first, then those of the other as fast as it may.
    @Test func aHostThatClaimsNothingLosesItsRooms() {
        var driver = Self.driver()
        let others = Set(Self.rooms(of: "b", driver))
        driver.pass(.seconds(3))
        #expect(driver.machine.holdings.keys.count { others.contains($0) } == 0)
        #expect(driver.machine.holdings.count > 60)
        driver.pass(.seconds(18))
        #expect(driver.machine.holdings.count == 400)
    }

    @Test func aRoomThatIsLeftOutIsLost() {
        var driver = Self.driver()
        let others = Self.rooms(of: "b", driver)
        driver.pass(.milliseconds(500))
        for room in others.dropFirst() {
            Self.claim(room, &driver)
            driver.pass(.milliseconds(50))
        }
        driver.pass(.seconds(3))
        #expect(driver.machine.holdings[others[0]] != nil)
        #expect(driver.machine.holdings.count == 401 - others.count)
    }

    @Test(arguments: ["gone", "full", "draining"]) func aHostThatCannotHaveThemLosesThem(reason: String) {
        var driver = Self.driver()
        let others = Self.rooms(of: "b", driver)
        driver.pass(.milliseconds(500))
        for room in others.prefix(10) { Self.claim(room, &driver) }
        switch reason {
        case "gone": driver.put(.host("b"), nil)
        case "full": driver.put(.host("b"), ClusterDriver.record("b", capacity: 10).text)
        default:
            var record = ClusterDriver.record("b", capacity: 1000)
            record.isDraining = true
            driver.put(.host("b"), record.text)
        }
        driver.news()
        driver.pass(.seconds(20))
        #expect(driver.machine.holdings.count == 390)
        #expect(others.prefix(10).allSatisfy { driver.claim($0)?.host == "b" })
    }
}
