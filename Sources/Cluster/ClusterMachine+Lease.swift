// SPDX-License-Identifier: Apache-2.0

/// The lease of this host, its record, and the view of the store.
extension ClusterMachine {
    /// Treats a lease as ended whose time is over, before anything else is looked at: the process may have been suspended.
    mutating func expire(_ now: Duration) {
        guard let lease = self.lease, lease.isValid, now >= lease.until else { return }
        self.disconnect("no renewal was confirmed in time")
    }

    /// Sends what is due.
    mutating func drive(_ now: Duration) {
        switch self.leaseState {
        case .none(let retry):
            guard now >= retry, !self.isStopping else { break }
            self.leaseState = .granting
            self.send(.grant(duration: self.settings.lease), for: .grant(sent: now))
        case .granted(var lease):
            if !lease.isRenewing, now >= lease.nextRenewal {
                lease.isRenewing = true
                self.lease = lease
                self.send(.keepAlive(lease.id), for: .renewal(lease.id, sent: now))
            }
            if !self.isListing, let due = self.nextListing, now >= due { self.list() }
            self.driveHost(now)
            if self.isConnected {
                self.driveEvents(now)
                self.balance(now)
            }
        case .granting, .ended: break
        }
    }

    private mutating func list() {
        self.isListing = true
        self.view.beginListing()
        let prefix = ClusterKey.prefix(cluster: self.settings.cluster)
        self.send(.list(prefix: prefix), for: .listing(connection: self.connection), limit: self.settings.listLimit)
    }

    /// Takes the answer to a request; one that is not awaited is ignored.
    mutating func answer(_ id: ClusterRequestID, _ result: Result<StoreAnswer, StoreError>, _ now: Duration) {
        guard let purpose = self.requests.removeValue(forKey: id) else { return }
        self.note(result)
        switch purpose {
        case .grant(let sent): self.granted(result, sent, now)
        case .renewal(let lease, let sent): self.renewed(lease, result, sent, now)
        case .listing(let connection): self.listed(result, connection, now)
        case .host(let puts, let lease):
            self.isHostBusy = false
            if case .success(.transacted(let answer)) = result, !answer.hasSucceeded {
                let key = ClusterKey.host(self.settings.host)
                self.merge(self.view.take(answer.values.first ?? nil, of: key, at: answer.revision), now)
            }
            self.written(puts, result, under: lease, now)
            if case .failure(let error) = result, error != .leaseNotFound {
                self.hostRetry = now + self.wait(after: result)
            }
        case .room(let room, let write): self.roomWritten(room, write, result, now)
        case .wish(let room, let wish):
            self.busyWishes.remove(room)
            if case .success = result {
                if self.wishes[room] == wish { self.wishes[room] = nil }
                self.dirty.insert(room)
            } else {
                self.wake(room, at: now + self.wait(after: result))
            }
        case .series(let id, let put): self.seriesWritten(id, put, result, now)
        case .budgetLease, .budget: self.budgetAnswered(purpose, result, now)
        case .memoryLease, .memory: self.memoryAnswered(purpose, result, now)
        case .revocation: self.leaseState = .ended
        }
    }

    /// How long a request that failed waits for the next.
    func wait(after result: Result<StoreAnswer, StoreError>) -> Duration {
        switch result {
        case .failure(.full), .failure(.refused): self.settings.longRetry
        case .success, .failure(.unreachable), .failure(.leaseNotFound): self.settings.retry
        }
    }

    private mutating func note(_ result: Result<StoreAnswer, StoreError>) {
        switch result {
        // A renewal works where writes fail: only a write shows that the store takes them again.
        case .success(.transacted): self.storeFailure = nil
        case .success: if case .unreachable = self.storeFailure { self.storeFailure = nil }
        case .failure(.leaseNotFound): break
        case .failure(let error):
            let isKnown =
                switch (error, self.storeFailure) {
                case (.unreachable, .unreachable), (.full, .full), (.refused, .refused): true
                default: false
                }
            self.storeFailure = error
            if !isKnown { self.report(.storeFailed(error)) }
        }
    }

    // MARK: Lease

    private mutating func granted(_ result: Result<StoreAnswer, StoreError>, _ sent: Duration, _ now: Duration) {
        guard case .success(.granted(let id, let duration)) = result else {
            self.leaseState = .none(retry: now + self.wait(after: result))
            return
        }
        let until = sent + duration - self.settings.leaseMargin
        self.lastRenewal = sent
        self.lease = Lease(id: id, until: until, nextRenewal: sent + self.settings.renewal, isValid: now < until)
        self.becameValid(now)
    }

    private mutating func renewed(
        _ id: LeaseID,
        _ result: Result<StoreAnswer, StoreError>,
        _ sent: Duration,
        _ now: Duration
    ) {
        guard var lease = self.lease, lease.id == id else { return }
        lease.isRenewing = false
        guard case .success(.renewed(let duration)) = result else {
            lease.nextRenewal = max(now, sent + self.settings.renewalRetry)
            self.lease = lease
            return
        }
        guard let duration else {
            self.leaseEnded(id, now)
            return
        }
        self.lastRenewal = sent
        lease.nextRenewal = max(now, sent + self.settings.renewal)
        lease.until = max(lease.until, sent + duration - self.settings.leaseMargin)
        let wasValid = lease.isValid
        lease.isValid = now < lease.until
        self.lease = lease
        if !wasValid { self.becameValid(now) }
    }

    private mutating func becameValid(_ now: Duration) {
        guard self.lease?.isValid == true else { return }
        self.connection += 1
        self.isSeen = false
        self.nextListing = now
    }

    /// The store says that the lease does not exist.
    mutating func leaseEnded(_ id: LeaseID, _ now: Duration) {
        guard let lease = self.lease, lease.id == id else { return }
        if lease.isValid { self.disconnect("the store ended the lease") }
        self.leaseState = .none(retry: now)
    }

    /// The lease may have ended: so may every claim.
    private mutating func disconnect(_ reason: String) {
        self.lease?.isValid = false
        if self.isSeen { self.report(.disconnected(reason)) }
        self.isSeen = false
        self.doubt(reason)
    }

    /// Makes every claim uncertain.
    private mutating func doubt(_ reason: String) {
        for room in self.holdings.keys.sorted() { self.doubt(room, reason) }
        self.withdrawEverything()
    }

    // MARK: View

    private mutating func listed(_ result: Result<StoreAnswer, StoreError>, _ connection: Int, _ now: Duration) {
        self.isListing = false
        guard case .success(.listed(let values, let revision)) = result else {
            self.nextListing = now + self.wait(after: result)
            return
        }
        self.nextListing = now + self.settings.listing
        self.merge(self.view.list(values, at: revision), now)
        self.examineAgain()
        // Also where one runs: it may have lost events, or hang.
        self.newWatch(from: revision.next)
        guard connection == self.connection, self.lease?.isValid == true else {
            self.nextListing = now
            return
        }
        let wasSeen = self.isSeen
        self.isSeen = true
        self.identify(now, wasConnected: wasSeen && self.isOurs)
    }

    mutating func everythingIsDirty() {
        self.dirty.formUnion(self.view.rooms.keys)
        self.dirty.formUnion(self.view.claims.keys)
        self.dirty.formUnion(self.holdings.keys)
        self.dirty.formUnion(self.local.keys)
        self.dirty.formUnion(self.wishes.keys)
    }

    /// Takes news of the watch; those of an earlier one are ignored.
    mutating func watched(_ id: ClusterWatchID, _ update: StoreWatchUpdate, _ now: Duration) {
        guard id == self.watch else { return }
        switch update {
        case .events(let events, _):
            var change = ClusterView.Change()
            for event in events { change.merge(self.view.take(event)) }
            self.merge(change, now)
        case .compacted:
            self.watch = nil
            self.nextListing = now
        }
    }

    /// Looks again at everything that a change of the view concerns.
    mutating func merge(_ change: ClusterView.Change, _ now: Duration) {
        self.dirty.formUnion(change.rooms)
        self.follow(change.rooms, now)
        self.reoffer()
        self.placement = nil
        // They outlive a store that is replaced by an empty one.
        for room in change.rooms {
            if let epoch = self.view.owners[room]?.record?.highestEpoch { self.noteEpoch(epoch, of: room) }
        }
        if change.meta, self.isSeen { self.identify(now, wasConnected: self.isConnected) }
        for (host, entry) in change.goneHosts where host != self.settings.host {
            self.progress[host] = nil
            guard let record = entry.record, !record.isStopping else { continue }
            self.missing[host] = (record.life, entry.stored.created, now + self.settings.hostLoss)
        }
        guard change.hosts else { return }
        self.nextBalancing = now + self.settings.balancing
        self.dirty.formUnion(self.stuck)
        for room in self.holdings.keys {
            self.holdings[room]?.refused = []
            // A draining host waits for one that takes its rooms, and a move for its successor.
            if self.isDraining || self.holdings[room]?.move != nil { self.dirty.insert(room) }
        }
    }

    /// Notes that a room has had this epoch.
    mutating func noteEpoch(_ epoch: Int, of room: String) {
        let known = self.settings.epochs[room]
        guard epoch > known ?? 0, known != nil || self.settings.epochs.count < ClusterView.maximumKeys else { return }
        self.settings.epochs[room] = epoch
    }

    /// Compares the identity of the store with the one that this host knows.
    private mutating func identify(_ now: Duration, wasConnected: Bool) {
        self.isOurs = false
        switch (self.view.meta?.reading, self.settings.id) {
        case (nil, nil): self.reportOnce(.notInitialised)
        case (nil, let expected?): self.reportOnce(.otherCluster(expected: expected, found: nil))
        case (.known(let meta)?, let known):
            if let known, known != meta.id, !meta.replaced.contains(known) {
                self.reportOnce(.otherCluster(expected: known, found: meta.id))
            } else if meta.minimumSchema > RecordSchema.current {
                self.reportOnce(.tooOld(requiredSchema: meta.minimumSchema))
            } else {
                self.settings.id = meta.id
                self.isOurs = true
                self.reported = self.reported.filter { event in
                    switch event {
                    case .notInitialised, .otherCluster, .tooOld: false
                    default: true
                    }
                }
            }
        case (let reading?, _): self.reportOnce(.unusable(.meta, reading.problem ?? ""))
        }
        if wasConnected, !self.isConnected { self.doubt("the store is not the cluster that this host knows") }
        if !wasConnected, self.isConnected, let id = self.settings.id {
            self.nextBalancing = now + self.settings.balancing
            self.everythingIsDirty()
            self.report(.connected(id: id))
        }
    }

    // MARK: This host

    /// Whether the store has this host's record under the present lease.
    var isRegistered: Bool {
        guard let entry = self.view.hosts[self.settings.host], let lease = self.lease else { return false }
        return entry.record?.life == self.settings.record.life && entry.stored.lease == lease.id
    }

    private mutating func driveHost(_ now: Duration) {
        guard self.isConnected, now >= self.hostRetry ?? now, let lease = self.lease else { return }
        self.hostRetry = nil
        guard !self.isHostBusy else { return }
        let key = ClusterKey.host(self.settings.host)
        let entry = self.view.hosts[self.settings.host]
        let record = self.ownRecord
        if let entry {
            guard entry.record?.life == record.life else {
                // The run before, whose lease ends, or another daemon with this name.
                self.reportOnce(.nameTaken(life: entry.record?.life ?? "unknown"))
                return
            }
            if entry.record == record, entry.stored.lease == lease.id { return }
        }
        let put = RoomWrite.Put(key: key, value: record.text, isLeased: true, created: entry?.stored.created)
        let text = key.text(cluster: self.settings.cluster)
        self.isHostBusy = true
        self.send(
            .transact(
                StoreTransaction(
                    if: [.modified(key: text, entry?.stored.modified ?? .none)],
                    then: [.put(key: text, value: put.value, lease: lease.id)],
                    else: [.get(key: text)]
                )
            ),
            for: .host([put], lease.id)
        )
    }

    /// Takes what a transaction wrote into the view, or learns that its lease is gone.
    mutating func written(
        _ puts: [RoomWrite.Put],
        _ result: Result<StoreAnswer, StoreError>,
        under lease: LeaseID?,
        _ now: Duration
    ) {
        switch result {
        case .success(.transacted(let answer)) where answer.hasSucceeded:
            for put in puts {
                let value = StoredValue(
                    key: put.key.text(cluster: self.settings.cluster),
                    value: put.value,
                    created: put.created ?? answer.revision,
                    modified: answer.revision,
                    lease: put.isLeased ? lease : nil
                )
                self.merge(self.view.take(value, of: put.key, at: answer.revision), now)
            }
        case .failure(.leaseNotFound): if let lease { self.leaseEnded(lease, now) }
        case .success, .failure: break
        }
    }
}
