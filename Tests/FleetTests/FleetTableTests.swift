// SPDX-License-Identifier: Apache-2.0

import Fleet
import Model
import Testing

/// Every phase of a room against every input: where the room is afterwards.
@Suite struct FleetTableTests {
    private static let phases = ["idle", "starting", "joining", "joined", "leaving", "backingOff", "failed", "queued"]

    private static var recorded: RoomSpec {
        var spec = FleetDriver.order("a")
        spec.recording = .on
        return spec
    }

    /// The phase after the input, in the order of `phases`.
    private static let table: [(String, FleetInput, [String])] = [
        ("define the same", .define(FleetDriver.order("a")), phases),
        (
            "define another", .define(FleetDriver.order("a", url: "socketio+http://192.0.2.1/b")),
            ["idle", "starting", "leaving", "leaving", "leaving", "starting", "starting", "queued"]
        ),
        (
            "remove", .remove(room: "a"),
            ["-", "-", "leaving", "leaving", "leaving", "-", "-", "-"]
        ),
        (
            "want", .want(room: "a", true),
            ["starting", "starting", "joining", "joined", "leaving", "backingOff", "failed", "queued"]
        ),
        (
            "want no more", .want(room: "a", false),
            ["idle", "idle", "leaving", "leaving", "leaving", "idle", "idle", "idle"]
        ),
        ("request a recording", .define(Self.recorded), phases),
        (
            "retry", .retry(room: "a"),
            ["idle", "starting", "joining", "joined", "leaving", "starting", "starting", "queued"]
        ),
        ("joined", .event(WorkerID(1), .joined(room: "a")), at(2, "joined")),
        ("not joined", .event(WorkerID(1), .notJoined(room: "a", reason: "full")), at(3, "joining")),
        (
            "left", .event(WorkerID(1), .left(room: "a", .ordered)),
            ["idle", "starting", "starting", "starting", "idle", "backingOff", "failed", "queued"]
        ),
        (
            "left for good", .event(WorkerID(1), .left(room: "a", .failed(message: "x", retriable: false))),
            ["idle", "failed", "failed", "failed", "idle", "backingOff", "failed", "queued"]
        ),
        (
            "put out", .event(WorkerID(1), .left(room: "a", .removed(message: "x"))),
            ["idle", "failed", "failed", "failed", "idle", "backingOff", "failed", "queued"]
        ),
        (
            "worker ended", .exited(WorkerID(1), reason: "x"),
            ["idle", "starting", "starting", "starting", "idle", "backingOff", "failed", "queued"]
        ),
        ("tick", .tick, phases),
        (
            "stop", .stop,
            ["idle", "starting", "leaving", "leaving", "leaving", "idle", "failed", "idle"]
        ),
        ("event of an unknown worker", .event(WorkerID(99), .joined(room: "a")), phases),
        ("end of an unknown worker", .exited(WorkerID(99), reason: "x"), phases),
        ("event of an unknown room", .event(WorkerID(1), .joined(room: "b")), phases),
        ("remove an unknown room", .remove(room: "b"), phases),
        ("want an unknown room", .want(room: "b", true), phases),
    ]

    /// What the other room of a worker does when one is not left in time, and whether that costs the worker.
    static let neighbours: [(title: String, neighbour: @Sendable (inout FleetDriver) -> Void, isKilled: Bool)] = [
        ("is joined", { _ in }, false),
        ("waits at a full room", { $0.feed(.event(WorkerID(1), .notJoined(room: "b", reason: "full"))) }, false),
        ("is left later", { $0.feed(.want(room: "b", false)) }, false),
        (
            "was left",
            {
                $0.feed(.want(room: "b", false))
                $0.feed(.event(WorkerID(1), .left(room: "b", .ordered)))
            }, true
        ),
        ("failed", { $0.feed(.event(WorkerID(1), .left(room: "b", .failed(message: "x", retriable: false)))) }, true),
        ("ends with the daemon", { $0.feed(.stop) }, false),
    ]

    @Test(arguments: neighbours.indices)
    func aRoomThatIsNotLeftInTime(row: Int) {
        let (title, neighbour, isKilled) = Self.neighbours[row]
        var driver = FleetDriver { $0.roomsPerWorker = 2 }
        for room in ["a", "b"] { driver.join(room) }
        driver.feed(.want(room: "a", false))
        driver.now += .seconds(12)
        neighbour(&driver)
        driver.beat(1)
        let kills = driver.tick(after: 8).filter { if case .kill = $0 { true } else { false } }
        let expected = [FleetAction.kill(WorkerID(1), reason: "did not leave a within 20.0 seconds")]
        #expect(kills == (isKilled ? expected : []), "\(title)")
        #expect(name(driver.fleet.rooms["a"]?.phase) == "leaving", "\(title)")
        if !isKilled { #expect(driver.fleet.nextDeadline.map { $0 > driver.now } == true, "\(title)") }
    }

    /// Whatever `workers.stop_limit` is: who waits for others waits longer than they do.
    @Test(arguments: [1, 2, 20, 90, 600]) func limitsAreOrdered(seconds: Int) {
        let limits = StopLimits(process: .seconds(seconds))
        #expect(limits.files > .zero)
        #expect(limits.files < limits.rooms && limits.rooms < limits.process)
    }

    @Test func theWorkerOfARoomThatIsNotLeftEndsWithItsLastOther() {
        var driver = FleetDriver { $0.roomsPerWorker = 3 }
        for room in ["a", "b"] { driver.join(room) }
        driver.feed(.want(room: "a", false))
        driver.now += .seconds(20)
        driver.beat(1)
        let told = FleetEvent.misbehaved(WorkerID(1), "did not leave a within 20.0 seconds: its other rooms continue")
        #expect(driver.feed(.tick) == [.report(told)])
        // Said once; nobody else comes to it; what it says late is still heard.
        for _ in 1...30 {
            driver.beat(1)
            #expect(driver.tick(after: 5).isEmpty)
        }
        driver.join("c")
        #expect(driver.fleet.rooms["c"]?.worker == WorkerID(2))
        driver.feed(.want(room: "b", false))
        let ends = (1...4).map { _ in
            driver.beat(1)
            driver.beat(2)
            return driver.tick(after: 5)
        }
        #expect(ends.joined().count { if case .kill(WorkerID(1), _) = $0 { true } else { false } } == 1)
        #expect(ends.joined().count { if case .kill(WorkerID(2), _) = $0 { true } else { false } } == 0)
    }

    @Test func aRoomThatIsLeftLateIsLeft() {
        var driver = FleetDriver { $0.roomsPerWorker = 2 }
        for room in ["a", "b"] { driver.join(room) }
        driver.feed(.want(room: "a", false))
        driver.now += .seconds(20)
        driver.beat(1)
        driver.feed(.tick)
        driver.feed(.want(room: "a", true))
        driver.feed(.event(WorkerID(1), .left(room: "a", .ordered)))
        #expect(driver.fleet.rooms["a"]?.worker == WorkerID(1), "wanted again, by a worker that is well again")
        #expect(name(driver.fleet.rooms["b"]?.phase) == "joined")
    }

    private static func at(_ index: Int, _ phase: String) -> [String] {
        var phases = Self.phases
        phases[index] = phase
        return phases
    }

    @Test(arguments: table.indices)
    func phaseAfterInput(row: Int) {
        let (title, input, expected) = Self.table[row]
        for (phase, after) in zip(Self.phases, expected) {
            var driver = FleetDriver.inPhase(phase)
            #expect(name(driver.fleet.rooms["a"]?.phase) == phase)
            driver.feed(input)
            #expect(name(driver.fleet.rooms["a"]?.phase) == after, "\(title) in \(phase)")
            // Whatever happened: a room and its worker agree about each other.
            for (room, state) in driver.fleet.rooms {
                guard let worker = state.worker else { continue }
                #expect(driver.fleet.workers[worker]?.rooms.contains(room) == true, "\(title) in \(phase)")
            }
        }
    }
}
