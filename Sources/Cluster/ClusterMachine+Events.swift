// SPDX-License-Identifier: Apache-2.0

/// Events of the whole cluster: one host reports each of them.
extension ClusterMachine {
    /// Asks the store for the right to report what happened, and for the lease under which it remembers that.
    mutating func driveEvents(_ now: Duration) {
        for (host, absence) in self.missing.sorted(by: { $0.key < $1.key }) {
            if self.view.hosts[host]?.record?.life == absence.life {
                self.missing[host] = nil
            } else if now >= absence.due {
                self.missing[host] = nil
                // A host that comes back and is lost again is another event: its record was created again.
                let id = "host-lost/\(host)/\(absence.life)/\(absence.since.number)"
                self.events[id] = .hostLost(host, life: absence.life, since: absence.since)
            }
        }
        guard now >= self.memoryRetry ?? now else { return }
        self.memoryRetry = nil
        guard !self.events.isEmpty, !self.isMemoryBusy else { return }
        guard let lease = self.memoryLease, now < lease.until else {
            self.isMemoryBusy = true
            self.send(.grant(duration: self.settings.memory), for: .memoryLease)
            return
        }
        for id in self.events.keys.sorted() where self.busyEvents.insert(id).inserted {
            let key = ClusterKey.said(id).text(cluster: self.settings.cluster)
            self.send(
                .transact(
                    StoreTransaction(
                        if: [.created(key: key, .none)],
                        then: [.put(key: key, value: self.settings.record.life, lease: lease.id)],
                        else: [.get(key: key)]
                    )
                ),
                for: .memory(id)
            )
        }
    }

    /// Takes answers about what is remembered.
    mutating func memoryAnswered(_ purpose: Purpose, _ result: Result<StoreAnswer, StoreError>, _ now: Duration) {
        switch (purpose, result) {
        case (.memoryLease, .success(.granted(let id, let duration))):
            self.isMemoryBusy = false
            // Events are remembered for half of it at least.
            self.memoryLease = (id, now + duration / 2)
            self.memoryRetry = now
        case (.memory(let id), .success(.transacted(let answer))):
            self.busyEvents.remove(id)
            // A failure that shows this run is the answer to a request that was repeated.
            let isOurs = answer.hasSucceeded || answer.values.first??.value == self.settings.record.life
            if isOurs, let event = self.events[id] { self.report(event) }
            self.events[id] = nil
        case (.memory(let id), _):
            self.busyEvents.remove(id)
            if case .failure(.leaseNotFound) = result { self.memoryLease = nil }
            self.memoryRetry = now + self.wait(after: result)
        default:
            self.isMemoryBusy = false
            self.memoryRetry = now + self.wait(after: result)
        }
    }
}
