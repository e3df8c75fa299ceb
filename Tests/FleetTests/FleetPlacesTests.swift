// SPDX-License-Identifier: Apache-2.0

import Fleet
import Model
import Testing

/// Fleets that may not be in all of their rooms.
@Suite struct FleetPlacesTests {
    private var driver = FleetDriver { $0.maximumRooms = 2 }

    private func phases(_ names: String...) -> [String] { names.map { name(self.driver.fleet.rooms[$0]?.phase) } }

    /// A room that was told to leave has left.
    private mutating func left(_ name: String) {
        guard let id = self.driver.fleet.rooms[name]?.worker else { return }
        self.driver.feed(.event(id, .left(room: name, .ordered)))
    }

    @Test mutating func whatHasNoPlaceWaitsForOne() {
        self.driver.join("a")
        self.driver.join("b")
        let reason = "2 rooms are joined, and no more may be (workers.maximum_rooms)"
        #expect(self.driver.want("c") == [.report(.unreachable(room: "c", reason: reason))])
        self.driver.now += .seconds(1)
        self.driver.want("d")
        #expect(self.driver.tick(after: 1).isEmpty)
        #expect(self.phases("a", "b", "c", "d") == ["joined", "joined", "queued", "queued"])
        #expect(self.driver.fleet.rooms["c"]?.reason == reason)
        // Whoever waits the longest comes first, and not before the other has left.
        #expect(self.driver.feed(.want(room: "b", false)) == [.send(WorkerID(2), .leave(room: "b"))])
        #expect(self.phases("c", "d") == ["queued", "queued"])
        self.left("b")
        #expect(self.phases("b", "c", "d") == ["idle", "starting", "queued"])
        // Who is not wanted any more waits no more.
        self.driver.feed(.want(room: "d", false))
        #expect(self.phases("d") == ["idle"])
        self.driver.feed(.remove(room: "a"))
        self.left("a")
        #expect(self.phases("c", "d") == ["starting", "idle"])
    }

    @Test mutating func aMoreImportantRoomTakesThePlaceOfAnother() {
        self.driver.join("a")
        self.driver.now += .seconds(1)
        self.driver.join("b")
        // Equals do not.
        self.driver.want("equal")
        #expect(self.phases("a", "b", "equal") == ["joined", "joined", "queued"])
        // The one that is there for the shortest time goes, and nobody else.
        #expect(self.driver.want("c", priority: 51).contains(.send(WorkerID(2), .leave(room: "b"))))
        #expect(self.driver.tick(after: 1).isEmpty)
        #expect(self.phases("a", "b", "c") == ["joined", "leaving", "queued"])
        #expect(self.driver.fleet.rooms["b"]?.reason == "its place is for c, which is more important")
        self.left("b")
        #expect(self.phases("a", "b", "c", "equal") == ["joined", "queued", "starting", "queued"])
        // A second one takes the other place; a third finds nobody that is less important.
        self.driver.want("d", priority: 100)
        self.left("a")
        self.driver.want("e", priority: 51)
        #expect(self.phases("a", "b", "c", "d", "e") == ["queued", "queued", "starting", "starting", "queued"])
        // The most important of those that wait is next.
        self.driver.feed(.remove(room: "d"))
        self.left("d")
        #expect(self.phases("a", "b", "e", "equal") == ["queued", "queued", "starting", "queued"])
    }

    @Test mutating func twoImportantRoomsTakeTwoPlacesAtOnce() {
        self.driver.join("a")
        self.driver.join("b")
        self.driver.want("c", priority: 60)
        self.driver.want("d", priority: 60)
        #expect(self.phases("a", "b", "c", "d") == ["leaving", "leaving", "queued", "queued"])
        self.left("a")
        self.left("b")
        #expect(self.phases("a", "b", "c", "d") == ["queued", "queued", "starting", "starting"])
    }

    @Test mutating func aRoomWhoseWorkerDiesKeepsItsPlace() {
        self.driver.join("a")
        self.driver.join("b")
        self.driver.want("c")
        self.driver.feed(.exited(WorkerID(1), reason: "crashed"))
        #expect(self.phases("a", "c") == ["starting", "queued"])
        // While it is not tried, somebody else may have it.
        self.driver.ready(3)
        self.driver.feed(.exited(WorkerID(3), reason: "crashed"))
        #expect(self.phases("a", "c") == ["backingOff", "starting"])
        self.driver.tick(after: 60)
        #expect(self.phases("a", "c") == ["queued", "starting"])
    }

    @Test mutating func anotherPriorityIsNoReasonToLeave() {
        self.driver.join("a")
        self.driver.join("b")
        self.driver.want("c")
        let more = FleetDriver.order("b", priority: 60)
        #expect(self.driver.feed(.define(more)) == [.send(WorkerID(2), .be(more, revision: 1))])
        #expect(self.phases("a", "b", "c") == ["joined", "joined", "queued"])
        // But for one that has become the least important while somebody waits.
        let less = FleetDriver.order("a", priority: 10)
        let actions = self.driver.feed(.define(less))
        #expect(actions == [.send(WorkerID(1), .be(less, revision: 1)), .send(WorkerID(1), .leave(room: "a"))])
    }

    @Test mutating func theEndOfEverythingIsTheEndOfWaiting() {
        self.driver.join("a")
        self.driver.join("b")
        self.driver.want("c")
        self.driver.feed(.stop)
        for id in [1, 2] { self.driver.feed(.exited(WorkerID(id), reason: "ended")) }
        #expect(self.phases("a", "b", "c") == ["idle", "idle", "idle"])
        #expect(self.driver.fleet.hasStopped)
    }
}
