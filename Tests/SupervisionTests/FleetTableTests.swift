// SPDX-License-Identifier: Apache-2.0

import Rooms
import Supervision
import Testing

/// Every phase of a room against every input: where the room is afterwards.
@Suite struct FleetTableTests {
    private static let phases = ["idle", "starting", "joining", "joined", "leaving", "backingOff", "failed", "queued"]

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
