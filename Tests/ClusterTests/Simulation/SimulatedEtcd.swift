// SPDX-License-Identifier: Apache-2.0

import Cluster

/// A store with etcd's rules on its own clock, in microseconds, and the faults that real ones have.
struct SimulatedEtcd {
    struct Lease {
        let duration: Int
        var expires: Int
        var keys: Set<String> = []
    }

    private(set) var revision: Int64 = 1
    private(set) var values: [String: StoredValue] = [:]
    private(set) var leases: [LeaseID: Lease] = [:]
    /// Every change, in order.
    private(set) var history: [StoreEvent] = []
    /// Events up to this one are not in the history any more.
    private(set) var compacted: Int64 = 0
    private var nextLease: Int64 = 100
    /// Until when no request is answered: no leader.
    var stalledUntil = 0
    /// Until when puts are refused.
    var fullUntil = 0
    /// Until when requests take longer.
    var slowUntil = 0
    /// Writes so far.
    private(set) var writes = 0
    /// Transactions so far, also those that failed.
    private(set) var transactions = 0

    /// The answer to a request at a time, with what it changed; nil: it is not answered.
    mutating func answer(
        _ request: StoreRequest,
        at now: Int,
        liesAboutLeases: Bool
    ) -> (Result<StoreAnswer, StoreError>, [StoreEvent])? {
        guard now >= self.stalledUntil else { return nil }
        switch request {
        case .list(let prefix):
            let found = self.values.values.filter { $0.key.hasPrefix(prefix) }.sorted { $0.key < $1.key }
            return (.success(.listed(found, Revision(self.revision))), [])
        case .transact(let transaction):
            return self.transact(transaction, now)
        case .grant(let duration):
            let id = LeaseID(self.nextLease)
            self.nextLease += 1
            let length = Int(duration.components.seconds) * 1_000_000
            self.leases[id] = Lease(duration: length, expires: now + length)
            return (.success(.granted(id, duration: duration)), [])
        case .keepAlive(let id):
            guard let lease = self.leases[id] else {
                return (.success(.renewed(liesAboutLeases ? .seconds(4) : nil)), [])
            }
            self.leases[id]?.expires = now + lease.duration
            return (.success(.renewed(.microseconds(lease.duration))), [])
        case .revoke(let id):
            return (.success(.revoked), self.end(id))
        }
    }

    private mutating func transact(
        _ transaction: StoreTransaction,
        _ now: Int
    ) -> (Result<StoreAnswer, StoreError>, [StoreEvent]) {
        self.transactions += 1
        let holds = transaction.conditions.allSatisfy { condition in
            switch condition {
            case .created(let key, let revision): (self.values[key]?.created ?? .none) == revision
            case .modified(let key, let revision): (self.values[key]?.modified ?? .none) == revision
            }
        }
        let operations = holds ? transaction.success : transaction.failure
        for case .put(_, _, let lease?) in operations where self.leases[lease] == nil {
            return (.failure(.leaseNotFound), [])
        }
        if now < self.fullUntil, operations.contains(where: { if case .put = $0 { true } else { false } }) {
            return (.failure(.full("mvcc: database space exceeded")), [])
        }
        var read: [StoredValue?] = []
        var events: [StoreEvent] = []
        let next = Revision(self.revision + 1)
        for operation in operations {
            switch operation {
            case .get(let key): read.append(self.values[key])
            case .put(let key, let value, let lease):
                events.append(.put(self.put(key, value, lease, next)))
            case .delete(let key):
                guard let old = self.values.removeValue(forKey: key) else { continue }
                if let lease = old.lease { self.leases[lease]?.keys.remove(key) }
                events.append(.delete(key: key, next))
            }
        }
        self.commit(events)
        let result = StoreTransactionResult(hasSucceeded: holds, revision: Revision(self.revision), values: read)
        return (.success(.transacted(result)), events)
    }

    private mutating func put(_ key: String, _ text: String, _ lease: LeaseID?, _ revision: Revision) -> StoredValue {
        let old = self.values[key]
        if let before = old?.lease { self.leases[before]?.keys.remove(key) }
        if let lease { self.leases[lease]?.keys.insert(key) }
        let value = StoredValue(
            key: key,
            value: text,
            created: old?.created ?? revision,
            modified: revision,
            lease: lease
        )
        self.values[key] = value
        return value
    }

    private mutating func commit(_ events: [StoreEvent]) {
        guard !events.isEmpty else { return }
        self.revision += 1
        self.writes += 1
        self.history += events
    }

    /// What an administrator writes.
    mutating func write(_ key: String, _ value: String?) -> [StoreEvent] {
        let next = Revision(self.revision + 1)
        var events: [StoreEvent] = []
        if let value {
            events = [.put(self.put(key, value, nil, next))]
        } else if self.values.removeValue(forKey: key) != nil {
            events = [.delete(key: key, next)]
        }
        self.commit(events)
        return events
    }

    /// Ends a lease with its keys.
    mutating func end(_ id: LeaseID) -> [StoreEvent] {
        guard let lease = self.leases.removeValue(forKey: id) else { return [] }
        let next = Revision(self.revision + 1)
        let events = lease.keys.sorted().map { StoreEvent.delete(key: $0, next) }
        for key in lease.keys { self.values[key] = nil }
        self.commit(events)
        return events
    }

    /// Ends the leases whose time is over.
    mutating func expire(at now: Int) -> [StoreEvent] {
        guard now >= self.stalledUntil else { return [] }
        let ended = self.leases.filter { $0.value.expires <= now }.keys.sorted { $0.number < $1.number }
        return ended.flatMap { self.end($0) }
    }

    /// When the next lease ends.
    var nextExpiry: Int? { self.leases.values.map(\.expires).min().map { max($0, self.stalledUntil) } }

    /// Nobody answers until then; the leader that answers then gives every lease its full time (etcd: `lessor.Promote`).
    mutating func stall(until time: Int) {
        self.stalledUntil = max(self.stalledUntil, time)
        for (id, lease) in self.leases { self.leases[id]?.expires = time + lease.duration }
    }

    /// Forgets all events before the present.
    mutating func compact() {
        self.compacted = self.revision
        self.history.removeAll()
    }

    /// Another store at the same address, empty.
    mutating func recreate() {
        let (writes, transactions, lease) = (self.writes, self.transactions, self.nextLease)
        self = SimulatedEtcd()
        (self.writes, self.transactions, self.nextLease) = (writes, transactions, lease + 1000)
        self.compacted = 0
    }

    /// The events from a revision on; nil: some of them are compacted.
    func events(from revision: Int64) -> [StoreEvent]? {
        guard revision > self.compacted else { return nil }
        // The history is sorted: from its end is faster than from its beginning.
        var index = self.history.endIndex
        while index > 0, self.history[index - 1].revision.number >= revision { index -= 1 }
        return Array(self.history[index...])
    }
}
