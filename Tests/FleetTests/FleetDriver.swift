// SPDX-License-Identifier: Apache-2.0

import Fleet
import Model

/// Feeds a fleet and plays well-behaved workers, with time in whole seconds.
struct FleetDriver {
    var fleet: Fleet
    var now = Duration.zero

    init(_ change: (inout FleetSettings) -> Void = { _ in }) {
        var settings = FleetSettings()
        settings.stop = StopLimits(process: .seconds(20))
        change(&settings)
        self.fleet = Fleet(settings: settings, seed: 7)
    }

    static func order(
        _ name: String,
        url: String = "socketio+http://192.0.2.1/a",
        priority: Int = RoomSpec.usualPriority
    ) -> RoomSpec {
        var order = RoomSpec(name: name, url: url, storage: "/srv")
        order.record = RecordSpec()
        order.priority = priority
        return order
    }

    @discardableResult
    mutating func feed(_ input: FleetInput) -> [FleetAction] { self.fleet.handle(input, now: self.now) }

    @discardableResult
    mutating func tick(after seconds: Int) -> [FleetAction] {
        self.now += .seconds(seconds)
        return self.feed(.tick)
    }

    /// Defines a room and wants it; what the fleet does then.
    @discardableResult
    mutating func want(_ name: String, priority: Int = RoomSpec.usualPriority) -> [FleetAction] {
        self.feed(.define(Self.order(name, priority: priority)))
        return self.feed(.want(room: name, true))
    }

    /// A worker says that it is there.
    mutating func beat(_ id: Int) {
        let vitals = WorkerVitals(cpuSeconds: 1, residentBytes: 1, threads: 1, descriptors: 1)
        self.feed(.event(WorkerID(id), .heartbeat(vitals)))
    }

    @discardableResult
    mutating func ready(_ id: Int) -> [FleetAction] {
        self.feed(.event(WorkerID(id), .ready(protocolVersion: WorkerLine.protocolVersion, processID: Int32(100 + id))))
    }

    /// Brings a room to `joined` with the worker that the fleet gives it.
    mutating func join(_ name: String) {
        self.want(name)
        guard let id = self.fleet.rooms[name]?.worker else { return }
        self.ready(id.rawValue)
        self.feed(.event(id, .joined(room: name)))
    }

    /// Brings a room into a phase; the worker has number 1 where there is one.
    static func inPhase(_ phase: String) -> FleetDriver {
        var driver = FleetDriver()
        switch phase {
        case "idle":
            driver.feed(.define(Self.order("a")))
        case "starting":
            driver.want("a")
        case "joining":
            driver.want("a")
            driver.ready(1)
        case "joined":
            driver.join("a")
        case "leaving":
            driver.join("a")
            driver.feed(.want(room: "a", false))
        case "queued":
            driver = FleetDriver { $0.maximumRooms = 1 }
            driver.join("b")
            driver.want("a")
        case "backingOff":
            driver.join("a")
            driver.feed(.event(WorkerID(1), .left(room: "a", .failed(message: "x", retriable: true))))
            driver.ready(2)
            driver.feed(.event(WorkerID(2), .left(room: "a", .failed(message: "x", retriable: true))))
        default:
            driver.join("a")
            driver.feed(.event(WorkerID(1), .left(room: "a", .failed(message: "gone", retriable: false))))
        }
        return driver
    }
}

/// The name of a phase, without its values.
func name(_ phase: FleetRoom.Phase?) -> String {
    switch phase {
    case .idle: "idle"
    case .queued: "queued"
    case .starting: "starting"
    case .joining: "joining"
    case .joined: "joined"
    case .leaving: "leaving"
    case .backingOff: "backingOff"
    case .failed: "failed"
    case nil: "-"
    }
}
