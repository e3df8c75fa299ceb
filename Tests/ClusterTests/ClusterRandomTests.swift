// SPDX-License-Identifier: Apache-2.0

import Basics
import Cluster
import TestSupport
import Testing

/// Random inputs in any order, also such as no store and no room would give, against rules that must always hold.
@Suite struct ClusterRandomTests {
    private static let rooms = ["a", "b", "c", "d"]
    private static let hosts = ["me", "other", "third"]

    /// What a driver knows of the machine.
    private struct World {
        var open: [ClusterRequestID: StoreRequest] = [:]
        var newest = ClusterRequestID(0)
        var watch: ClusterWatchID?
        var assignments: [String: RoomAssignment] = [:]
        var examined: [(String, Revision)] = []
        var now = Duration.seconds(10)
        var revision: Int64 = 5
        var lease: Int64 = 1
        var reports = 0
        var phases: Set<String> = []
        var series: [String: SeriesRecord]?
        var hosts: Set<String>?

        mutating func run(_ actions: [ClusterAction], _ machine: ClusterMachine) throws {
            for action in actions {
                switch action {
                case .request(let id, let request, let limit):
                    try #require(id > self.newest, "numbers are not used again")
                    try #require(limit > .zero && limit <= .seconds(5))
                    self.newest = id
                    self.open[id] = request
                    try self.check(request)
                case .watch(let id, let prefix, _):
                    try #require(self.watch == nil, "the watch before was ended")
                    try #require(prefix == "/tapedeck/calls/")
                    self.watch = id
                case .endWatch(let id):
                    try #require(self.watch == id)
                    self.watch = nil
                case .examine(let room, _, let revision): self.examined.append((room, revision))
                case .be(let room, let assignment):
                    try #require(assignment != self.assignments[room], "only changes are reported")
                    if let before = self.assignments[room], let assignment {
                        try #require(before.epoch == assignment.epoch, "an epoch ends with the room")
                    }
                    self.assignments[room] = assignment
                case .gather(let series, let hosts):
                    try #require(series != self.series || hosts != self.hosts, "only changes are reported")
                    (self.series, self.hosts) = (series, hosts)
                case .report: self.reports += 1
                }
            }
            try self.check(machine)
        }

        private func check(_ request: StoreRequest) throws {
            let kinds = self.open.values.map { request in
                switch request {
                case .list: "list"
                case .grant(let duration): duration == .seconds(4) ? "lease" : "grant"
                case .keepAlive(let lease): "renewal \(lease.number)"
                case .revoke: "revoke"
                case .transact(let transaction): transaction.conditions.first?.key ?? "wish"
                }
            }
            // One at a time of each kind, and one for each room and host.
            for kind in ["list", "lease", "renewal \(self.lease)"] {
                try #require(kinds.count { $0 == kind } <= 1, "\(kind)")
            }
            let keys = kinds.filter {
                $0.hasPrefix("/tapedeck/calls/claims/") || $0.hasPrefix("/tapedeck/calls/hosts/")
            }
            try #require(Set(keys).count == keys.count, "\(keys)")
            guard case .transact(let transaction) = request else { return }
            for operation in transaction.success {
                guard case .put(let key, _, let lease) = operation, let key = ClusterKey(key, cluster: "calls") else {
                    continue
                }
                switch key {
                case .claim, .host, .move, .said: try #require(lease != nil, "\(key) ends with its host")
                case .owner, .series: try #require(lease == nil, "\(key) stays")
                case .wish: try #require(lease == nil && transaction.conditions.isEmpty)
                case .meta, .room: Issue.record("\(key) is not written by a host")
                }
                if case .claim = key { try #require(transaction.conditions.count == 2, "claim and owner are compared") }
                if case .owner = key { try #require(transaction.conditions.count == 2, "claim and owner are compared") }
            }
        }

        private mutating func check(_ machine: ClusterMachine) throws {
            for holding in machine.holdings.values { self.phases.insert(ClusterDriver.name(holding.phase)) }
            for (room, assignment) in self.assignments {
                let holding = try #require(machine.holdings[room], "\(room) is assigned and not held")
                try #require(holding.epoch == assignment.epoch)
                try #require(assignment.mayAct == (holding.phase == .held))
                if assignment.mayAct { try #require(machine.isConnected, "it acts without a lease") }
            }
            if let deadline = machine.nextDeadline { try #require(deadline > self.now, "\(deadline) is over") }
            if machine.hasStopped { try #require(machine.holdings.isEmpty && machine.nextDeadline == nil) }
            try #require(self.open.values.count { if case .transact = $0 { true } else { false } } <= 40)
        }
    }

    private static func record(_ random: inout SeededGenerator, host: String) -> HostRecord {
        HostRecord(
            url: "u",
            version: "1",
            capacity: random.pick(0...5),
            isDraining: random.pick(0...9) == 0,
            isStopping: random.pick(0...9) == 0,
            boot: "b",
            life: host + (random.pick(0...4) == 0 ? "2" : "")
        )
    }

    /// Any value under a key, mostly one that fits it.
    private static func value(_ random: inout SeededGenerator, _ world: World) -> StoredValue {
        let room = Self.rooms[random.pick(0...3)]
        let host = Self.hosts[random.pick(0...2)]
        let epoch = Int(world.revision) / 8 + random.pick(1...6)
        let handover = random.pick(0...3) == 0 ? Handover(to: Self.hosts[random.pick(0...2)], epoch: epoch + 1) : nil
        let key: ClusterKey
        var text: String
        switch random.pick(0...21) {
        case 0: (key, text) = (.meta, MetaRecord(id: random.pick(0...9) == 0 ? "two" : "one").text)
        case 1...4: (key, text) = (.room(room), ClusterDriver.definition(#","cost":\#(random.pick(1...3))"#))
        case 5...6: (key, text) = (.host(host), Self.record(&random, host: host).text)
        case 7...12:
            let phase = random.pick(0...1) == 0 ? ClaimRecord.Phase.joining : .joined
            (key, text) = (.claim(room), ClaimRecord(host: host, epoch: epoch, phase: phase, handover: handover).text)
        case 13...17:
            let next = random.pick(0...5) == 0 ? host : nil
            (key, text) = (.owner(room), OwnerRecord(epoch: epoch, host: host, handover: handover, next: next).text)
        case 18: (key, text) = (.move(random.pick(0...1)), "x")
        case 19...20:
            let pointer = RecordingPointer(series: "s", segment: 2, recording: "x", isRecording: false, isShared: true)
            let record = SeriesRecord(room: room, host: host, epoch: epoch, pointer: pointer)
            (key, text) = (.series("s\(random.pick(0...1))"), record.text)
        default: (key, text) = (.wish(room), WishRecord(order: .hold, requested: "t", by: "x").text)
        }
        switch random.pick(0...40) {
        case 0: text = #"{"schema":2}"#
        case 1: text = "?"
        default: break
        }
        return StoredValue(
            key: key.text(cluster: "calls"),
            value: text,
            created: Revision(world.revision - Int64(random.pick(0...3))),
            modified: Revision(world.revision),
            lease: [nil, LeaseID(1), LeaseID(world.lease)][random.pick(0...2)]
        )
    }

    private static func events(_ random: inout SeededGenerator, _ world: inout World) -> [StoreEvent] {
        (0..<random.pick(1...4)).map { _ in
            world.revision += Int64(random.pick(0...2)) - (random.pick(0...20) == 0 ? 3 : 0)
            let value = Self.value(&random, world)
            return random.pick(0...3) == 0 ? .delete(key: value.key, Revision(world.revision)) : .put(value)
        }
    }

    private static func answer(
        _ random: inout SeededGenerator,
        _ request: StoreRequest,
        _ world: inout World
    ) -> Result<StoreAnswer, StoreError> {
        switch random.pick(0...19) {
        case 0: return .failure(.unreachable("x"))
        case 1: return .failure(.full("x"))
        case 2: return .failure(.leaseNotFound)
        case 3: return .failure(.refused("x"))
        // What does not belong to the request.
        case 4: return .success(.revoked)
        default: break
        }
        switch request {
        case .list:
            var values: [String: StoredValue] = [:]
            for _ in 0..<random.pick(0...20) {
                let value = Self.value(&random, world)
                values[value.key] = value
            }
            let meta = ClusterKey.meta.text(cluster: "calls")
            values[meta] = StoredValue(
                key: meta,
                value: MetaRecord(id: "one").text,
                created: Revision(1),
                modified: Revision(1)
            )
            return .success(.listed(values.values.sorted { $0.key < $1.key }, Revision(world.revision)))
        case .transact(let transaction):
            world.revision += 1
            let holds = random.pick(0...3) > 0
            let reads = (holds ? transaction.success : transaction.failure).filter {
                if case .get = $0 { true } else { false }
            }
            let values = reads.map { operation -> StoredValue? in
                guard case .get(let key) = operation, random.pick(0...2) > 0 else { return nil }
                let value = Self.value(&random, world)
                return StoredValue(
                    key: key,
                    value: value.value,
                    created: value.created,
                    modified: value.modified,
                    lease: value.lease
                )
            }
            let result = StoreTransactionResult(
                hasSucceeded: holds,
                revision: Revision(world.revision),
                values: values
            )
            return .success(.transacted(result))
        case .grant(let duration):
            world.lease += 1
            return .success(.granted(LeaseID(world.lease), duration: duration))
        case .keepAlive: return .success(.renewed(random.pick(0...9) == 0 ? nil : .seconds(4)))
        case .revoke: return .success(.revoked)
        }
    }

    private static func news(_ random: inout SeededGenerator) -> RoomNews {
        switch random.pick(0...7) {
        case 0...2: .joined
        case 3: .left
        case 4: .gone
        case 5: .members(isOccupied: random.pick(0...1) == 0, takesOneMore: random.pick(0...1) == 0)
        case 6:
            .recording(
                RecordingPointer(
                    series: "s\(random.pick(0...2))",
                    segment: 2,
                    recording: "x",
                    isRecording: random.pick(0...1) == 0,
                    isShared: random.pick(0...3) > 0
                )
            )
        default: .rival(epoch: random.pick(1...9))
        }
    }

    private static func input(_ random: inout SeededGenerator, _ world: inout World) -> ClusterInput {
        switch random.pick(0...99) {
        case 0...44:
            let open = world.open.keys.sorted()
            guard !open.isEmpty else { return .tick }
            let id = open[random.pick(0...open.count - 1)]
            let request = world.open.removeValue(forKey: id) ?? .revoke(LeaseID(1))
            return .answer(id, Self.answer(&random, request, &world))
        case 45...64:
            guard let watch = world.watch else { return .tick }
            if random.pick(0...30) == 0 {
                world.watch = nil
                return .watched(watch, .compacted)
            }
            return .watched(watch, .events(Self.events(&random, &world), Revision(world.revision)))
        case 65...79: return .room(Self.rooms[random.pick(0...3)], Self.news(&random))
        case 80...86:
            guard let (room, revision) = world.examined.popLast() else { return .tick }
            let isUsable = random.pick(0...9) > 0
            return .examined(
                room: room,
                revision,
                isUsable ? .usable(leavesWhenCutOff: random.pick(0...2) == 0) : .unusable("x")
            )
        case 87: return .pin(random.pick(0...1) == 0 ? [:] : ["d": 1])
        case 88: return .wish(room: Self.rooms[random.pick(0...3)], WishRecord(order: .stop, requested: "t", by: "x"))
        case 89: return .drain(deadline: world.now + .seconds(random.pick(-5...60)))
        case 90: return .undrain
        case 91: return .gathered(series: "s\(random.pick(0...1))")
        case 92: return .configure(Self.record(&random, host: "me"))
        case 93: return random.pick(0...20) == 0 ? .stop : .tick
        default: return .tick
        }
    }

    @Test func holdsItsPromises() {
        var phases: Set<String> = []
        for seed in UInt64(1)...24 {
            var world = World()
            do {
                try Self.run(seed, &world)
            } catch {
                Issue.record("seed \(seed)")
                return
            }
            phases.formUnion(world.phases)
            #expect(world.reports > 5)
        }
        #expect(phases == ["held", "uncertain", "preparing", "lost", "leaving"])
    }

    private static func run(_ seed: UInt64, _ world: inout World) throws {
        var random = SeededGenerator(seed: seed)
        var settings = ClusterSettings(cluster: "calls", host: "me", record: ClusterDriver.record("me"))
        settings.record.life = "me"
        settings.rebalancing = .always
        var machine = ClusterMachine(settings: settings)
        for _ in 0..<1500 {
            if random.pick(0...2) == 0 { world.now += .milliseconds(random.pick(1...600)) }
            if random.pick(0...200) == 0 { world.now += .seconds(random.pick(1...100)) }
            // A driver hands in a tick when it is due, whatever else there is.
            if let deadline = machine.nextDeadline, deadline <= world.now {
                try world.run(machine.handle(.tick, now: world.now), machine)
            }
            let input = Self.input(&random, &world)
            try world.run(machine.handle(input, now: world.now), machine)
            if machine.hasStopped { return }
        }
    }
}
