// SPDX-License-Identifier: Apache-2.0

import Cluster
import TestSupport

/// A cluster in simulated time: real machines, a simulated store, room server, network and clocks.
///
/// Everything comes from the seed. The first violation of an invariant ends it.
final class Simulation {
    struct Size {
        var hosts = 3
        var rooms = 9
        /// When the last fault is over.
        var faultsEnd = 80_000_000
        /// When it ends.
        var end = 165_000_000
        var faults = 1...6
        var kinds = Fault.Kind.allCases
        /// Whether the last minute is without faults, and nothing may happen in it.
        var hasQuietEnd = true
        /// The faults; from the seed where they are missing.
        var planned: [Fault]?
        /// Whether people come and go.
        var hasCalls = true
        /// When the rooms are defined.
        var applied = 0
        /// The capacity of each host; the number of rooms where it is missing.
        var capacities: [Int] = []
        /// The labels of each host; none where they are missing.
        var labels: [[String: String]] = []
        /// How much longer each host takes to read what the store says.
        var slowness: [Int] = []
        /// More members of the definition of a room, by its number.
        var members: (Int) -> String = { _ in "" }
    }

    let seed: UInt64
    let size: Size
    let faults: [Fault]
    let planted: PlantedFault?
    private(set) var now = 0
    private var queue = EventQueue()
    var random: SeededGenerator
    var etcd = SimulatedEtcd()
    var bucket = SimulatedBucket()
    var server: SimulatedRoomServer
    let hosts: [SimulatedHost]
    let roomNames: [String]
    let rebalancing: ClusterSettings.Rebalancing
    var clusterNumber = 1
    private var plannedExpiry = Int.max
    private var visits = 0
    private(set) var inputs = 0
    /// Whatever happened in simulated time.
    private(set) var events = 0
    private(set) lazy var checker = Checker(self)
    var isRecreated = false
    /// Takes what happens, to understand a seed.
    var story: ((String) -> Void)?
    var violation: String? { self.checker.violation }

    static let cluster = "calls"

    init(seed: UInt64, size: Size = Size(), planted: PlantedFault? = nil, faults: [Fault]? = nil) {
        (self.seed, self.size, self.planted) = (seed, size, planted)
        var random = SeededGenerator(seed: seed)
        self.faults = faults ?? size.planned ?? Self.faults(size, &random)
        // The same call whichever faults are left.
        random = SeededGenerator(seed: seed ^ 0x5EED)
        let names = (0..<size.rooms).map { "room-\($0)" }
        self.roomNames = names
        self.rebalancing = [.empty, .never, .always][random.pick(0...2)]
        self.hosts = (0..<size.hosts).map { index in
            SimulatedHost(
                index: index,
                capacity: index < size.capacities.count ? size.capacities[index] : size.rooms,
                clockZero: random.pick(0...1_000_000_000),
                partsPerMillion: random.pick(-200...200)
            )
        }
        var rooms: [String: SimulatedRoomServer.Room] = [:]
        for name in names { rooms[name] = .init(limit: random.pick(0...4) == 0 ? 2 : 10) }
        self.server = SimulatedRoomServer(rooms: rooms)
        self.random = random
    }

    /// Faults from a seed.
    private static func faults(_ size: Size, _ random: inout SeededGenerator) -> [Fault] {
        (0..<random.pick(size.faults)).map { _ in
            let time = random.pick(20_000_000...size.faultsEnd - 25_000_000)
            let longest = size.faultsEnd - time
            let isShort = random.pick(0...1) == 0
            let duration = isShort ? random.pick(300_000...6_000_000) : random.pick(6_000_000...40_000_000)
            return Fault(
                kind: size.kinds[random.pick(0...size.kinds.count - 1)],
                time: time,
                duration: min(duration, longest),
                host: random.pick(0...size.hosts - 1)
            )
        }
        .sorted { $0.time < $1.time }
    }

    // MARK: Time

    func after(_ delay: Int, _ body: @escaping () -> Void) { self.queue.plan(at: self.now + delay, body) }

    func at(_ time: Int, _ body: @escaping () -> Void) { self.queue.plan(at: max(time, self.now), body) }

    /// Runs to the end or to the first violation.
    func run() {
        self.initialise()
        for host in self.hosts { self.at(self.random.pick(0...3_000_000)) { self.start(host) } }
        if self.size.hasCalls { for name in self.roomNames { self.scheduleCall(name) } }
        for fault in self.faults { self.at(fault.time) { self.begin(fault) } }
        self.at(500_000) { self.sample() }
        while self.checker.violation == nil, let (time, body) = self.queue.next() {
            guard time <= self.size.end else { break }
            self.now = time
            self.events += 1
            body()
        }
        if self.checker.violation == nil { self.checker.end() }
    }

    /// The seed with the faults that are needed to fail: each is left out in turn.
    func shortest() -> String {
        var (faults, violation) = (self.faults, self.violation ?? "")
        var index = 0
        while index < faults.count {
            var fewer = faults
            fewer.remove(at: index)
            let simulation = Simulation(seed: self.seed, size: self.size, planted: self.planted, faults: fewer)
            simulation.run()
            if let found = simulation.violation {
                (faults, violation) = (fewer, found)
            } else {
                index += 1
            }
        }
        return "seed \(self.seed), \(violation); faults: \(faults)"
    }

    private func sample() {
        self.server.clean(at: self.now)
        for host in self.hosts { self.upload(host) }
        self.checker.sample()
        self.after(1_000_000) { self.sample() }
    }

    // MARK: The store

    private func key(_ key: ClusterKey) -> String { key.text(cluster: Self.cluster) }

    private func definition(_ room: String, _ version: Int) -> String {
        let members = self.size.members(Int(room.dropFirst("room-".count)) ?? 0)
        return #"{"room":{"url":"wss://rooms.example/\#(room)","version":\#(version)\#(members)},"schema":1}"#
    }

    func initialise() {
        self.changed(self.etcd.write(self.key(.meta), MetaRecord(id: "cluster-\(self.clusterNumber)").text))
        self.at(self.size.applied) { for room in self.roomNames { self.define(room, 1) } }
    }

    func define(_ room: String, _ version: Int) {
        self.changed(self.etcd.write(self.key(.room(room)), self.definition(room, version)))
    }

    /// Something in the store changed: it is checked, and watches report it.
    func changed(_ events: [StoreEvent]) {
        guard !events.isEmpty else { return }
        for event in events { self.checker.stored(event) }
        for host in self.hosts { self.pump(host) }
        self.planExpiry()
    }

    private func planExpiry() {
        guard let next = self.etcd.nextExpiry, next < self.plannedExpiry else { return }
        self.plannedExpiry = next
        self.at(next) {
            self.plannedExpiry = .max
            self.changed(self.etcd.expire(at: self.now))
            self.planExpiry()
        }
    }

    /// Delivers what the watch of a host has not seen, as soon as a member of the store is reached.
    private func pump(_ host: SimulatedHost) {
        guard host.watch != nil, !host.isPumping else { return }
        host.isPumping = true
        let slowness = host.index < self.size.slowness.count ? self.size.slowness[host.index] : 0
        self.after(self.random.pick(2_000...60_000) + slowness) {
            host.isPumping = false
            guard let watch = host.watch else { return }
            guard self.reaches(host, host.member), self.now >= self.etcd.stalledUntil else {
                if watch.next <= self.etcd.revision { self.after(500_000) { self.pump(host) } }
                return
            }
            guard let events = self.etcd.events(from: watch.next) else {
                host.watch = nil
                self.give(host, .watched(watch.id, .compacted))
                return
            }
            host.watch?.next = self.etcd.revision + 1
            guard !host.losesEvents, !events.isEmpty else { return }
            self.give(host, .watched(watch.id, .events(self.seen(events, by: host), Revision(self.etcd.revision))))
        }
    }

    private func reaches(_ host: SimulatedHost, _ member: Int) -> Bool {
        host.isOn && host.links[member] && !host.losesAnswers
    }

    /// What the host is given to see of events.
    private func seen(_ events: [StoreEvent], by host: SimulatedHost) -> [StoreEvent] {
        switch self.planted {
        case .renewalTrustedWithoutWatch:
            events.filter { event in
                switch ClusterKey(event.key, cluster: Self.cluster) {
                case .claim(let room)?: return host.machine?.holdings[room] == nil
                case .host(let name)?: return name != host.name || host.machine?.holdings.isEmpty != false
                default: return true
                }
            }
        case .noFirstRefusal:
            events.map { event in
                if case .put(let value) = event { .put(self.seen(value, by: host)) } else { event }
            }
        default: events
        }
    }

    private func seen(_ value: StoredValue, by host: SimulatedHost) -> StoredValue {
        guard self.planted == .noFirstRefusal, case .owner(let room)? = ClusterKey(value.key, cluster: Self.cluster),
            host.machine?.holdings[room] == nil, let record = RecordReading<OwnerRecord>(value.value).record
        else { return value }
        return StoredValue(
            key: value.key,
            value: OwnerRecord(epoch: record.epoch, host: "nobody", pointer: record.pointer, handover: record.handover)
                .text,
            created: value.created,
            modified: value.modified,
            lease: value.lease
        )
    }

    private func send(_ id: ClusterRequestID, _ request: StoreRequest, _ limit: Duration, from host: SimulatedHost) {
        var isAnswered = false
        let life = host.life
        let member = host.member
        var request = request
        if self.planted == .comparesIgnored, case .transact(let transaction) = request,
            case .claim? = transaction.conditions.first.flatMap({ ClusterKey($0.key, cluster: Self.cluster) })
        {
            request = .transact(StoreTransaction(if: [], then: transaction.success, else: transaction.failure))
        }
        let slowness = self.now < self.etcd.slowUntil ? self.random.pick(100_000...700_000) : 0
        self.after(self.random.pick(500...15_000) + slowness) {
            guard host.isOn, host.links[member] else { return }
            guard
                let (result, events) = self.etcd.answer(
                    request,
                    at: self.now,
                    liesAboutLeases: self.now < host.liesUntil
                )
            else { return }
            self.checker.sent(request, by: host)
            self.changed(events)
            self.planExpiry()
            self.after(self.random.pick(500...15_000)) {
                guard !isAnswered, self.reaches(host, member) else { return }
                isAnswered = true
                self.give(host, .answer(id, result.map { self.seen($0, by: host) }), life: life)
            }
        }
        self.after(Int(limit.components.seconds) * 1_000_000) {
            guard !isAnswered else { return }
            isAnswered = true
            if host.life == life, host.member == member { host.member = (member + 1) % host.links.count }
            self.give(host, .answer(id, .failure(.unreachable("no answer in \(limit)"))), life: life)
        }
    }

    private func seen(_ answer: StoreAnswer, by host: SimulatedHost) -> StoreAnswer {
        guard self.planted == .noFirstRefusal else { return answer }
        switch answer {
        case .listed(let values, let revision): return .listed(values.map { self.seen($0, by: host) }, revision)
        case .transacted(let result):
            return .transacted(
                StoreTransactionResult(
                    hasSucceeded: result.hasSucceeded,
                    revision: result.revision,
                    values: result.values.map { $0.map { self.seen($0, by: host) } }
                )
            )
        case .granted, .renewed, .revoked: return answer
        }
    }

    // MARK: Hosts

    func start(_ host: SimulatedHost) {
        guard host.isOn, host.machine == nil else { return }
        host.life += 1
        host.isStopping = false
        host.healthySince = self.now
        var settings = ClusterSettings(
            cluster: Self.cluster,
            host: host.name,
            record: HostRecord(
                url: "https://\(host.name)",
                version: "1",
                labels: host.index < self.size.labels.count ? self.size.labels[host.index] : [:],
                capacity: host.capacity,
                boot: "boot",
                life: "life-\(host.index)-\(host.life)"
            )
        )
        settings.id = host.clusterID
        settings.epochs = host.epochs
        settings.rebalancing = self.rebalancing
        host.machine = ClusterMachine(settings: settings)
        host.watch = nil
        host.inbox = []
        host.plannedTick = .max
        self.give(host, .tick)
        if host.isDraining { self.give(host, .drain(deadline: .microseconds(host.clock(at: self.now) + 10_000_000))) }
    }

    /// Hands an input to the machine of a host, unless that is of an earlier life.
    func give(_ host: SimulatedHost, _ input: ClusterInput, life: Int? = nil) {
        guard host.machine != nil, life ?? host.life == host.life else { return }
        if host.isPaused {
            if host.inbox.count < 1000 { host.inbox.append(input) }
            return
        }
        self.inputs += 1
        var clock = host.clock(at: self.now)
        if self.planted == .wallClock { clock += host.wallOffset }
        guard let actions = host.machine?.handle(input, now: .microseconds(clock)) else { return }
        if let story = self.story { self.tell(story, input, actions, host) }
        for action in actions { self.perform(action, host) }
        guard let deadline = host.machine?.nextDeadline else {
            if host.machine?.hasStopped == true { self.stopped(host) }
            return
        }
        if deadline <= .microseconds(clock) { self.checker.isNotAwaited(deadline, input, host) }
        self.planTick(host, deadline)
    }

    private func tell(
        _ story: (String) -> Void,
        _ input: ClusterInput,
        _ actions: [ClusterAction],
        _ host: SimulatedHost
    ) {
        let told = actions.filter { action in
            switch action {
            case .request(_, .keepAlive, _), .request(_, .list, _), .endWatch, .watch, .examine, .gather: false
            case .request, .be, .report: true
            }
        }
        guard !told.isEmpty else { return }
        story("\(Double(self.now) / 1e6) \(host.name): \(input)")
        for action in told { story("    \(action)") }
    }

    private func planTick(_ host: SimulatedHost, _ deadline: Duration) {
        let offset = self.planted == .wallClock ? host.wallOffset : 0
        let time = max(host.trueTime(of: deadline - .microseconds(offset)), self.now + 500)
        guard time < host.plannedTick else { return }
        host.plannedTick = time
        let life = host.life
        self.at(time) {
            guard host.life == life, host.plannedTick == time else { return }
            host.plannedTick = .max
            self.give(host, .tick)
        }
    }

    private func perform(_ action: ClusterAction, _ host: SimulatedHost) {
        switch action {
        case .request(let id, let request, let limit): self.send(id, request, limit, from: host)
        case .watch(let id, _, let from):
            host.watch = (id, from.number)
            self.pump(host)
        case .endWatch(let id): if host.watch?.id == id { host.watch = nil }
        case .examine(let room, _, let revision):
            let life = host.life
            self.after(self.random.pick(1_000...20_000)) {
                self.give(host, .examined(room: room, revision, .usable(leavesWhenCutOff: false)), life: life)
            }
        case .be(let room, let assignment): self.be(room, assignment, host)
        case .gather: break
        case .report(let event):
            if case .connected(let id) = event { host.clusterID = id }
            if case .claimed(let room, let epoch, _) = event { host.epochs[room] = max(host.epochs[room] ?? 0, epoch) }
            self.checker.reported(event, by: host)
        }
    }

    // MARK: Workers

    private func be(_ room: String, _ assignment: RoomAssignment?, _ host: SimulatedHost) {
        var presence = host.presences[room] ?? SimulatedHost.Presence()
        let before = presence.assignment
        presence.assignment = assignment
        presence.supersededSince =
            assignment?.standing == .superseded ? presence.supersededSince ?? self.now : presence.supersededSince
        host.presences[room] = presence
        self.checker.assigned(room, from: before, to: assignment, host)
        if assignment != nil {
            if self.planted == .handoverBeforeJoined, assignment?.standing == .preparing {
                self.after(10_000) { self.give(host, .room(room, .joined)) }
            }
            self.join(room, host)
        } else {
            host.presences[room]?.pointer = nil
            self.leave(room, host)
        }
    }

    private func join(_ room: String, _ host: SimulatedHost) {
        guard let presence = host.presences[room], presence.visit == nil, !presence.isJoining, !presence.isLeaving
        else { return }
        host.presences[room]?.isJoining = true
        self.tryToJoin(room, host, life: host.life, after: self.random.pick(300_000...2_000_000))
    }

    private func tryToJoin(_ room: String, _ host: SimulatedHost, life: Int, after delay: Int) {
        self.after(delay) {
            guard host.life == life, let presence = host.presences[room], presence.isJoining else { return }
            guard presence.assignment != nil else {
                host.presences[room]?.isJoining = false
                self.give(host, .room(room, .gone))
                return
            }
            self.server.clean(at: self.now)
            self.visits += 1
            guard host.reachesRooms, self.server.join(room, host: host.index, visit: self.visits) else {
                self.tryToJoin(room, host, life: life, after: 1_000_000)
                return
            }
            host.presences[room]?.isJoining = false
            host.presences[room]?.visit = self.visits
            self.checker.wasMember(of: room, host)
            self.give(host, .room(room, .joined), life: life)
            self.tellMembers(room)
            guard let assignment = host.presences[room]?.assignment else { return }
            let last = host.presences[room]?.pointer ?? assignment.continues
            let pointer = RecordingPointer(
                series: last?.series ?? "\(room)-\(assignment.epoch)",
                segment: (last?.segment ?? 0) + 1,
                recording: "\(room)-\(assignment.epoch)-\(self.visits)",
                isRecording: true
            )
            host.presences[room]?.pointer = pointer
            self.beginPart(pointer, room, epoch: assignment.epoch, host)
            self.give(host, .room(room, .recording(pointer)), life: life)
        }
    }

    private func leave(_ room: String, _ host: SimulatedHost) {
        guard let presence = host.presences[room], !presence.isLeaving else { return }
        // One that joins notices when its attempt ends.
        guard !presence.isJoining else { return }
        guard let visit = presence.visit else {
            let life = host.life
            self.after(1_000) { self.gone(room, host, life) }
            return
        }
        host.presences[room]?.isLeaving = true
        let life = host.life
        self.after(self.random.pick(50_000...400_000)) {
            guard host.life == life else { return }
            self.server.leave(room, host: host.index, visit: visit)
            host.presences[room]?.visit = nil
            host.presences[room]?.isLeaving = false
            self.endPart(room, host)
            self.checker.wasMember(of: room, host)
            host.presences[room]?.supersededSince = nil
            self.tellMembers(room)
            self.gone(room, host, life)
        }
    }

    private func gone(_ room: String, _ host: SimulatedHost, _ life: Int) {
        guard host.life == life, let presence = host.presences[room] else { return }
        if presence.assignment != nil {
            self.join(room, host)
        } else if presence.visit == nil, !presence.isJoining, !presence.isLeaving {
            host.presences[room]?.supersededSince = nil
            self.give(host, .room(room, .gone), life: life)
        }
    }

    /// The host is a member no more, and was not asked.
    func kick(_ room: String, _ host: SimulatedHost) {
        guard let visit = host.presences[room]?.visit, host.presences[room]?.isLeaving == false else { return }
        self.server.leave(room, host: host.index, visit: visit)
        host.presences[room]?.visit = nil
        self.endPart(room, host)
        self.tellMembers(room)
        self.give(host, .room(room, .left))
        if host.presences[room]?.assignment != nil { self.join(room, host) } else { self.leave(room, host) }
    }

    func tellMembers(_ room: String) {
        guard let state = self.server.rooms[room] else { return }
        for host in self.hosts where host.presences[room]?.visit != nil && host.reachesRooms {
            self.give(
                host,
                .room(room, .members(isOccupied: state.people > 0, takesOneMore: state.takesOneMore))
            )
        }
    }

    /// People come and go.
    private func scheduleCall(_ room: String) {
        self.after(self.random.pick(1_000_000...30_000_000)) {
            let isEmpty = self.server.rooms[room]?.people == 0
            self.server.rooms[room]?.people = isEmpty ? 1 : 0
            self.tellMembers(room)
            self.scheduleCall(room)
        }
    }

    private func stopped(_ host: SimulatedHost) {
        let isUndisturbed = host.links.allSatisfy(\.self) && !host.losesAnswers && self.now > host.disturbed + 5_000_000
        if isUndisturbed { self.checker.hasStopped(life: "life-\(host.index)-\(host.life)") }
        host.machine = nil
        self.endParts(host)
        host.watch = nil
        host.life += 1
    }

    /// The supervisor ends at once; its workers leave in order.
    func kill(_ host: SimulatedHost) {
        host.machine = nil
        self.endParts(host)
        host.watch = nil
        host.life += 1
        for room in host.presences.keys.sorted() {
            guard let visit = host.presences[room]?.visit else { continue }
            self.after(self.random.pick(100_000...400_000)) {
                self.server.leave(room, host: host.index, visit: visit)
                self.tellMembers(room)
            }
        }
        host.presences = [:]
    }

    /// The host is gone without a word.
    func powerOff(_ host: SimulatedHost) {
        self.server.abandon(host: host.index, at: self.now)
        host.machine = nil
        self.endParts(host)
        host.watch = nil
        host.life += 1
        host.presences = [:]
        host.isOn = false
    }
}
