// SPDX-License-Identifier: Apache-2.0

import Cluster

/// The invariants of a cluster, checked against the truth of the simulation.
final class Checker {
    private unowned let simulation: Simulation
    private(set) var violation: String?
    private(set) var checks = 0

    /// The one owner of each epoch of a room.
    private var epochs: [String: [Int: String]] = [:]
    private var claims: [String: ClaimRecord] = [:]
    private var owners: [String: OwnerRecord] = [:]
    private var unclaimedSince: [String: Int] = [:]
    private var registeredSince: [String: Int] = [:]
    /// When a host was last a member of a room.
    private var memberAt: [String: Int] = [:]
    private var keys: [String: String] = [:]
    /// Counts the stores: the first, and those that replaced it.
    private(set) var generation = 1
    private var gapSince: [String: Int] = [:]
    private var moves: [Int] = []
    private var begun: Set<String> = []
    private var orderly: Set<String> = []
    private var once: Set<ClusterEvent> = []
    private var transactionsBeforeQuiet: Int?
    /// When a fault of the store was last over.
    var storeDisturbed = 0
    /// What the checks came across, for the table of the run.
    private(set) var claimsSeen = 0
    private(set) var handoversSeen = 0
    private(set) var movesSeen = 0
    private(set) var longestGap = 0
    private(set) var uploadsSeen = 0
    /// When a room without a host was last claimed.
    private(set) var lastClaim = 0

    init(_ simulation: Simulation) { self.simulation = simulation }

    private var now: Int { self.simulation.now }

    private func fail(_ text: String) {
        if self.violation == nil { self.violation = "\(Double(self.now) / 1e6) s: \(text)" }
    }

    private lazy var hosts = Dictionary(uniqueKeysWithValues: self.simulation.hosts.map { ($0.name, $0) })

    private func host(_ name: String) -> SimulatedHost? { self.hosts[name] }

    private var isStoreCalm: Bool {
        self.now > self.storeDisturbed + 15_000_000 && self.now > self.simulation.etcd.stalledUntil + 15_000_000
            && self.now > self.simulation.etcd.fullUntil + 15_000_000
            && self.now > self.simulation.etcd.slowUntil + 15_000_000
    }

    // MARK: The store

    func stored(_ event: StoreEvent) {
        guard let key = ClusterKey(event.key, cluster: Simulation.cluster) else { return }
        switch (key, event) {
        case (.claim(let room), .put(let value)):
            guard let record = RecordReading<ClaimRecord>(value.value).record else {
                self.fail("\(event.key) is not a claim: \(value.value)")
                return
            }
            self.claimed(room, record)
        case (.claim(let room), .delete):
            self.claims[room] = nil
            self.unclaimedSince[room] = self.now
        case (.owner(let room), .put(let value)):
            let record = RecordReading<OwnerRecord>(value.value).record
            if let record { self.checkPointer(room, record) }
            if let record, let next = record.next { self.begunMove(room, record.host, "\(record.epoch) \(next)") }
            self.owners[room] = record
        case (.host(let name), .put): if self.registeredSince[name] == nil { self.registeredSince[name] = self.now }
        case (.host(let name), .delete): self.registeredSince[name] = nil
        default: break
        }
    }

    /// The store is another one: what it knew of epochs, moves and events is lost, but for what living hosts know.
    func recreated() {
        self.generation += 1
        self.epochs = [:]
        self.moves = []
        self.once = []
        for host in self.simulation.hosts { host.liesUntil = 0 }
        self.claims = [:]
        self.owners = [:]
        self.registeredSince = [:]
        for room in self.simulation.roomNames { self.unclaimedSince[room] = self.now }
        self.storeDisturbed = self.now
    }

    private func claimed(_ room: String, _ record: ClaimRecord) {
        self.checks += 1
        self.claimsSeen += 1
        if self.claims[room] == nil { self.lastClaim = self.now }
        let known = self.epochs[room] ?? [:]
        if let owner = known[record.epoch], owner != record.host {
            self.fail("\(room): epoch \(record.epoch) has two owners, \(owner) and \(record.host)")
        }
        if let highest = known.keys.max(), record.epoch < highest {
            self.fail("\(room): epoch \(record.epoch) of \(record.host) follows \(highest)")
        }
        self.epochs[room, default: [:]][record.epoch] = record.host
        if record.phase == .joined {
            let last = self.memberAt["\(room) \(record.host)"]
            let isMember = self.host(record.host)?.presences[room]?.visit != nil
            if !isMember, last.map({ self.now - $0 > 2_000_000 }) ?? true {
                self.fail("\(room): \(record.host) says joined in the store and is not a member")
            }
        }
        let before = self.claims[room]
        self.claims[room] = record
        if let before, before.host != record.host {
            self.handoversSeen += 1
            // In a store that lost its past, an owner with a higher epoch takes the claim of one with a lower.
            let isHigher = self.generation > 1 && record.epoch > before.epoch
            if before.handover?.to != record.host, !isHigher {
                self.fail("\(room): \(record.host) took a claim of \(before.host) that was not handed over")
            }
        }
        if before == nil { self.checkFirstRefusal(room, record) }
        if let handover = record.handover { self.begunMove(room, record.host, "\(handover.epoch)") }
        let previous = before?.host ?? self.owners[room]?.host
        let isPlanned = before?.handover?.to == record.host || self.owners[room]?.handover?.to == record.host
        if let previous, previous != record.host, !isPlanned, self.owners[room]?.next == nil {
            self.moved(room, previous, record)
        }
    }

    /// The series continues with each owner, and no two of its segments under one epoch have one number.
    private func checkPointer(_ room: String, _ record: OwnerRecord) {
        // A store that lost its past may continue with that of any host.
        guard self.generation == 1, let before = self.owners[room]?.pointer else { return }
        guard let pointer = record.pointer else {
            self.fail("\(room): \(record.host) forgets the recording \(before.recording)")
            return
        }
        if pointer.series != before.series {
            self.fail("\(room): \(record.host) begins \(pointer.series), and \(before.series) is in progress")
        }
        if record.epoch == self.owners[room]?.epoch, pointer.segment < before.segment {
            self.fail("\(room): segment \(pointer.segment) of \(record.host) follows \(before.segment)")
        }
    }

    private func checkFirstRefusal(_ room: String, _ record: ClaimRecord) {
        guard let owner = self.owners[room], owner.handover.map({ $0.epoch != record.epoch }) ?? true,
            owner.next == nil, owner.host != record.host, let first = self.host(owner.host),
            let registered = self.registeredSince[owner.host], first.isHealthy, !first.isDraining,
            first.machine?.isConnected == true, self.now > first.disturbed + 5_000_000, self.isStoreCalm,
            self.now - max(registered, self.unclaimedSince[room] ?? 0) > 350_000
        else { return }
        self.fail("\(room): \(record.host) claimed it before \(owner.host), which had it last and lives")
    }

    /// A room has another host without a plan: something failed.
    private func moved(_ room: String, _ previous: String, _ record: ClaimRecord) {
        guard let host = self.host(previous), host.isHealthy, !host.isDraining, self.isStoreCalm,
            self.now > host.healthySince + 15_000_000, self.now > host.disturbed + 15_000_000,
            self.simulation.hosts.allSatisfy({ self.now > $0.lostEvents + 70_000_000 })
        else { return }
        self.fail("\(room): moved from \(previous) to \(record.host) while nothing failed")
    }

    /// A host that does not drain moves a room to balance.
    private func begunMove(_ room: String, _ name: String, _ id: String) {
        // A claim that is put again says the same.
        guard self.begun.insert("\(self.generation) \(room) \(name) \(id)").inserted else { return }
        // What it began while it drained, or in the store before, continues, also once a full store takes it.
        let disturbed = max(self.storeDisturbed, self.simulation.etcd.fullUntil)
        guard let host = self.host(name), !host.isDraining, self.now > host.drainedAt + 15_000_000,
            self.now > disturbed + 25_000_000
        else { return }
        self.movesSeen += 1
        self.moves = self.moves.filter { $0 > self.now - 59_000_000 } + [self.now]
        if self.simulation.rebalancing == .never { self.fail("\(room): \(name) moves it, and nothing is to move") }
        if self.moves.count > 2 { self.fail("\(self.moves.count) moves to balance begun within a minute") }
    }

    func sent(_ request: StoreRequest, by host: SimulatedHost) {
        guard case .transact(let transaction) = request else { return }
        if transaction.conditions.isEmpty, self.simulation.planted == nil {
            self.fail("\(host.name) wrote without a condition: \(transaction)")
        }
        if transaction.success.count > StoreTransaction.maximumOperations { self.fail("a transaction is too large") }
    }

    // MARK: Hosts

    func assigned(_ room: String, from before: RoomAssignment?, to after: RoomAssignment?, _ host: SimulatedHost) {
        self.checks += 1
        let isCutOff = host.machine?.isConnected == false && host.machine?.isStopping == false
        if after == nil, isCutOff, before?.standing == .held || before?.standing == .uncertain {
            self.fail("\(room): \(host.name) leaves because it is cut off from the store")
        }
        if let before, let after, before.epoch != after.epoch {
            self.fail("\(room): \(host.name) goes from epoch \(before.epoch) to \(after.epoch) without leaving")
        }
        if after?.mayAct != true { host.presences[room]?.unfoundedSince = nil }
    }

    /// The machine waits for a time that is over: it would be called without end.
    func isNotAwaited(_ deadline: Duration, _ input: ClusterInput, _ host: SimulatedHost) {
        self.fail("\(host.name) waits for \(deadline), which is over, after \(input)")
    }

    /// A host begins a recording under names, which no recording had before.
    func writes(_ key: String, _ host: SimulatedHost) {
        if let writer = self.keys[key] {
            self.fail("\(key) is written by \(writer) and \(host.name)")
        }
        self.keys[key] = host.name
    }

    func wasMember(of room: String, _ host: SimulatedHost) {
        self.memberAt["\(room) \(host.name)"] = self.now
    }

    /// A host stopped in order, and could say so.
    func hasStopped(life: String) { if self.isStoreCalm { self.orderly.insert(life) } }

    func reported(_ event: ClusterEvent, by host: SimulatedHost) {
        if case .hostLost(let name, let life, _) = event, self.orderly.contains(life),
            self.now > host.lostEvents + 70_000_000
        {
            self.fail("\(name) is reported as lost, and stopped in order")
        }
        switch event {
        case .claimed, .hostLost:
            if !self.once.insert(event).inserted { self.fail("\(event) is reported twice, now by \(host.name)") }
        default: break
        }
    }

    // MARK: The bucket

    /// The manifest of a recording is in the bucket.
    func committed(_ part: String) {
        self.checks += 1
        let isWhole = self.simulation.bucket.hasWhole("\(part)/track")
        if !isWhole { self.fail("\(part): the manifest names a track that is not in the bucket") }
    }

    /// A host deletes its own copy.
    func deletes(_ part: String, _ host: SimulatedHost) {
        self.checks += 1
        self.uploadsSeen += 1
        for file in SimulatedHost.files where !self.simulation.bucket.hasWhole("\(part)/\(file)") {
            self.fail("\(host.name) deletes \(part)/\(file), and the bucket does not have it")
        }
    }

    // MARK: Each second

    func sample() {
        for host in self.simulation.hosts {
            for room in host.presences.keys.sorted() { self.check(room, host) }
        }
        let isAnyHostHealthy = self.simulation.hosts.contains {
            $0.isHealthy && !$0.isDraining && self.now > $0.healthySince + 12_000_000
                && self.now > $0.disturbed + 12_000_000
        }
        for room in self.simulation.roomNames { self.checkCoverage(room, isAnyHostHealthy) }
        let size = self.simulation.size
        if size.hasQuietEnd, self.transactionsBeforeQuiet == nil, self.now >= size.end - 51_000_000 {
            self.transactionsBeforeQuiet = self.simulation.etcd.transactions
            self.checkEverythingIsClaimed()
        }
    }

    private func check(_ room: String, _ host: SimulatedHost) {
        guard let presence = host.presences[room] else { return }
        self.checks += 1
        if presence.visit != nil { self.memberAt["\(room) \(host.name)"] = self.now }
        guard !host.isPaused, host.machine != nil, self.now > host.resumed + 500_000 else {
            host.presences[room]?.unfoundedSince = nil
            if presence.supersededSince != nil { host.presences[room]?.supersededSince = self.now }
            return
        }
        if let since = presence.supersededSince, presence.visit != nil, self.now - since > 11_500_000 {
            self.fail("\(room): \(host.name) lost it and is still there \((self.now - since) / 1_000_000) s later")
        }
        guard let assignment = presence.assignment, assignment.mayAct else { return }
        let claim = self.claims[room]
        if claim?.host == host.name, claim?.epoch == assignment.epoch {
            host.presences[room]?.unfoundedSince = nil
            return
        }
        let since = presence.unfoundedSince ?? self.now
        host.presences[room]?.unfoundedSince = since
        // A watch that lost the event is repaired by the listing of each minute.
        let allowed = self.now < host.lostEvents + 70_000_000 ? 66_000_000 : 4_100_000
        if self.now - since > allowed {
            self.fail("\(room): \(host.name) acts for \(Double(self.now - since) / 1e6) s without a claim in the store")
        }
    }

    private func checkCoverage(_ room: String, _ isAnyHostHealthy: Bool) {
        guard let state = self.simulation.server.rooms[room] else { return }
        let isCovered = state.members.contains { $0.endsAt == nil }
        let owner = self.claims[room].flatMap { self.host($0.host) }
        let isExcused =
            isCovered || state.people == 0 || !state.takesOneMore || !self.isStoreCalm || !isAnyHostHealthy
            || (owner.map { !$0.isHealthy || self.now < $0.resumed + 5_000_000 } ?? false)
        guard !isExcused else {
            self.gapSince[room] = nil
            return
        }
        let since = self.gapSince[room] ?? self.now
        self.gapSince[room] = since
        self.longestGap = max(self.longestGap, self.now - since)
        if self.now - since > 8_000_000 {
            let seconds = Double(self.now - since) / 1e6
            self.fail("\(room): nobody records it for \(seconds) s, owner \(owner?.name ?? "none")")
        }
    }

    private func checkEverythingIsClaimed() {
        for room in self.simulation.roomNames {
            guard let claim = self.claims[room] else {
                self.fail("\(room): not claimed long after the last fault")
                continue
            }
            let isMember = self.host(claim.host)?.presences[room]?.visit != nil
            let isFull = self.simulation.server.rooms[room]?.takesOneMore == false
            if !isMember, !isFull { self.fail("\(room): \(claim.host) owns it and is not there") }
            // Where rooms are moved to balance, one may just move.
            for host in self.simulation.hosts where self.simulation.rebalancing == .never && host.name != claim.host {
                if host.presences[room]?.visit != nil {
                    self.fail("\(room): \(host.name) is still there, and \(claim.host) owns it")
                }
            }
            let standing = self.host(claim.host)?.presences[room]?.assignment?.standing
            if standing != .held, self.simulation.rebalancing == .never || standing != .preparing {
                self.fail("\(room): \(claim.host) owns it as \(standing.map(\.rawValue) ?? "nothing")")
            }
        }
    }

    func end() {
        guard let before = self.transactionsBeforeQuiet, self.simulation.rebalancing == .never else { return }
        let sent = self.simulation.etcd.transactions - before
        if sent > 0 { self.fail("\(sent) transactions in the last minute, in which nothing happened") }
    }
}
