// SPDX-License-Identifier: Apache-2.0

/// Claims, and the rooms that this host holds.
extension ClusterMachine {
    /// Looks at every room that something happened to.
    mutating func settle(_ now: Duration) {
        while !self.dirty.isEmpty {
            let rooms = self.dirty.sorted()
            self.dirty = []
            for room in rooms {
                self.due[room] = nil
                self.examine(room)
                self.settleWish(room, now)
                if self.holdings[room] != nil { self.settleHolding(room, now) }
                if self.holdings[room] == nil { self.settleFree(room, now) }
                if self.holdings[room] != nil { self.assign(room) }
            }
        }
        self.takeTurns(now)
    }

    /// Whether a claim is this host's, under its present lease.
    func isMine(_ entry: ClusterView.Entry<ClaimRecord>) -> Bool {
        entry.record?.host == self.settings.host && entry.stored.lease == self.lease?.id
    }

    /// Looks at a room again at a time, or before.
    mutating func wake(_ room: String, at time: Duration) {
        self.due[room] = min(self.due[room] ?? time, time)
        self.nextDue = min(self.nextDue ?? time, time)
    }

    /// Looks at the rooms whose time has come.
    mutating func wakeUp(_ now: Duration) {
        guard let next = self.nextDue, next <= now else { return }
        for (room, time) in self.due where time <= now {
            self.due[room] = nil
            self.dirty.insert(room)
        }
        self.nextDue = self.due.values.min()
    }

    // MARK: News

    mutating func take(_ news: RoomNews, of room: String, _ now: Duration) {
        guard let holding = self.holdings[room] else { return }
        self.dirty.insert(room)
        switch news {
        case .joined:
            self.holdings[room]?.isJoined = true
            self.holdings[room]?.isOccupied = true
            self.holdings[room]?.areHeard = false
            self.holdings[room]?.joined = now
        case .left: self.holdings[room]?.isJoined = false
        case .gone:
            guard holding.assignment == nil else { return }
            self.holdings[room]?.isGone = true
            self.holdings[room]?.isJoined = false
        case .members(let isOccupied, let takesOneMore, let areHeard):
            self.holdings[room]?.isOccupied = isOccupied
            self.holdings[room]?.takesOneMore = takesOneMore
            self.holdings[room]?.areHeard = areHeard
        case .recording(let pointer):
            self.noteEnds(room, holding.pointer, pointer)
            self.holdings[room]?.pointer = pointer
        case .rival(let epoch):
            // A participant can show any epoch: while the store says that the room is ours, that is what counts.
            guard holding.phase == .uncertain, epoch > holding.epoch else { return }
            self.lose(room, to: nil, deadline: now)
        }
    }

    // MARK: Definitions

    /// Has the definition examined that the view shows, and takes what was found.
    private mutating func examine(_ room: String) {
        guard let entry = self.view.rooms[room] else {
            self.verdicts[room] = nil
            return
        }
        let revision = entry.stored.modified
        guard self.verdicts[room]?.revision != revision else { return }
        if let record = entry.record {
            self.verdicts[room] = (revision, nil)
            self.actions.append(.examine(room: room, record, revision))
        } else {
            self.examinedAs(.unusable(entry.reading.problem ?? ""), room, revision)
        }
    }

    /// Has the definitions examined again that this host cannot run: their files may have come since.
    mutating func examineAgain() {
        for (room, known) in self.verdicts.sorted(by: { $0.key < $1.key }) {
            guard case .unusable? = known.verdict, let entry = self.view.rooms[room], let record = entry.record,
                entry.stored.modified == known.revision
            else { continue }
            self.actions.append(.examine(room: room, record, known.revision))
        }
    }

    mutating func examined(_ room: String, _ revision: Revision, _ verdict: RoomVerdict) {
        guard let known = self.verdicts[room], known.revision == revision, known.verdict != verdict else { return }
        self.examinedAs(verdict, room, revision)
        self.dirty.insert(room)
    }

    private mutating func examinedAs(_ verdict: RoomVerdict, _ room: String, _ revision: Revision) {
        self.verdicts[room] = (revision, verdict)
        if case .unusable(let reason) = verdict { self.report(.unusable(.room(room), reason)) }
    }

    /// The definition that this host can run, as the view shows it.
    func usable(_ room: String) -> (record: RoomRecord, leavesWhenCutOff: Bool)? {
        guard let entry = self.view.rooms[room], let record = entry.record, let known = self.verdicts[room],
            known.revision == entry.stored.modified, case .usable(let leaves)? = known.verdict
        else { return nil }
        return (record, record.whenCutOff.map { $0 == .leave } ?? leaves)
    }

    private mutating func settleWish(_ room: String, _ now: Duration) {
        guard let wish = self.wishes[room], self.isConnected, !self.busyWishes.contains(room) else { return }
        self.busyWishes.insert(room)
        let put = StoreTransaction.Operation.put(
            key: ClusterKey.wish(room).text(cluster: self.settings.cluster),
            value: wish.text
        )
        self.send(.transact(StoreTransaction(if: [], then: [put])), for: .wish(room, wish))
    }

    // MARK: Rooms that this host does not hold

    /// What this host can take in addition to its rooms, its claims in flight, and the rooms that it is about to take.
    var freeCapacity: Int {
        let preparing = self.holdings.values.reduce(0) { sum, holding in
            if case .preparing = holding.phase { sum + (holding.definition?.cost ?? 0) } else { sum }
        }
        return self.settings.record.capacity - self.view.loads[self.settings.host, default: 0]
            - self.claiming.values.reduce(preparing, +)
    }

    /// The hosts for rankings; for this one, claims in flight count.
    mutating func currentPlacement() -> Placement {
        if let placement = self.placement { return placement }
        let own = self.settings.host
        let placement = Placement(
            Placement(self.view).hosts.compactMap { host in
                guard host.name == own else { return host }
                if self.isDraining { return nil }
                return Placement.Host(name: own, labels: self.settings.record.labels, free: self.freeCapacity)
            }
        )
        self.placement = placement
        return placement
    }

    private mutating func settleFree(_ room: String, _ now: Duration) {
        self.stuck.remove(room)
        self.turns[room] = nil
        guard self.isConnected, self.isRegistered, !self.isStopping, !self.busy.contains(room) else {
            self.withdraw(room)
            return
        }
        if let claim = self.view.claims[room] {
            self.withdraw(room)
            self.settleClaimed(room, claim, now)
            return
        }
        self.prepared[room] = nil
        let isLocal = self.local[room] != nil && self.view.rooms[room] == nil
        guard isLocal || self.usable(room) != nil else {
            self.withdraw(room)
            return
        }
        if let problem = self.view.owners[room]?.reading.problem {
            self.withdraw(room)
            self.reportOnce(.unusable(.owner(room), problem))
            return
        }
        self.awaitTurn(room, now)
    }

    /// A room that has an owner.
    private mutating func settleClaimed(_ room: String, _ claim: ClusterView.Entry<ClaimRecord>, _ now: Duration) {
        guard let record = claim.record else {
            self.reportOnce(.unusable(.claim(room), claim.reading.problem ?? ""))
            return
        }
        if self.isMine(claim) {
            self.hold(room, record, from: nil)
            return
        }
        guard let handover = record.handover, handover.to == self.settings.host, record.host != self.settings.host,
            handover.epoch > record.epoch, self.isFresh(handover, claim, room), !self.isDraining,
            let usable = self.usable(room), Placement.allows(self.settings.record.labels, usable.record),
            usable.record.cost <= self.freeCapacity
        else { return }
        self.prepared[room] = handover.epoch
        var holding = ClusterHolding(
            epoch: handover.epoch,
            phase: .preparing(deadline: now + self.settings.handoverLimit),
            continues: self.view.owners[room]?.record?.pointer,
            definition: usable.record
        )
        holding.leavesWhenCutOff = usable.leavesWhenCutOff
        self.holdings[room] = holding
        self.placement = nil
        self.wake(room, at: now + self.settings.handoverLimit)
    }

    /// Whether nothing was recorded under the epoch of a handover: not by this run, nor by the one that a handover older than
    /// this run's record named.
    private func isFresh(_ handover: Handover, _ claim: ClusterView.Entry<ClaimRecord>, _ room: String) -> Bool {
        guard let own = self.view.hosts[self.settings.host] else { return false }
        return claim.stored.modified > own.stored.created && handover.epoch > self.prepared[room] ?? 0
    }

    /// Sends a claim as the next owner.
    mutating func claim(_ room: String, _ now: Duration) {
        guard let lease = self.lease else { return }
        self.writeRetry[room] = nil
        let owner = self.view.owners[room]
        let highest = max(owner?.record?.highestEpoch ?? 0, self.settings.epochs[room] ?? 0)
        guard OwnerRecord.epochs.contains(highest + 1) else { return }
        self.claimSchedule = max(self.claimSchedule, now) + .seconds(1) / self.settings.claimsPerSecond
        self.claiming[room] = self.usable(room)?.record.cost ?? self.local[room] ?? 0
        self.placement = nil
        let local = self.view.rooms[room] == nil ? self.local[room] : nil
        let previous = owner?.record.flatMap { $0.host == self.settings.host ? nil : $0.host }
        self.previousOwners[room] = previous
        self.write(
            .claim(from: previous),
            room,
            claim: ClaimRecord(host: self.settings.host, epoch: highest + 1, phase: .joining, localCost: local),
            owner: OwnerRecord(epoch: highest + 1, host: self.settings.host, pointer: owner?.record?.pointer),
            lease
        )
    }

    /// This host owns a room that the store shows as its own.
    private mutating func hold(_ room: String, _ claim: ClaimRecord, from previous: String?) {
        let usable = self.usable(room)
        var holding = ClusterHolding(
            epoch: claim.epoch,
            phase: .held,
            continues: self.view.owners[room]?.record?.pointer,
            // Without a definition it is local, or was just deleted and is released at once.
            definition: usable?.record ?? self.view.rooms[room]?.record
        )
        holding.leavesWhenCutOff = usable?.leavesWhenCutOff ?? false
        self.holdings[room] = holding
        self.withdraw(room)
        self.noteEpoch(claim.epoch, of: room)
        self.dirty.insert(room)
        // The watch may be faster than the answer.
        let known = self.previousOwners.removeValue(forKey: room)
        self.report(.claimed(room: room, epoch: claim.epoch, from: previous ?? known))
    }

    /// This host owns a room that it prepared for.
    private mutating func take(_ room: String, from previous: String?) {
        guard let epoch = self.holdings[room]?.epoch else { return }
        self.holdings[room]?.phase = .held
        self.noteEpoch(epoch, of: room)
        let known = self.previousOwners.removeValue(forKey: room)
        self.report(.claimed(room: room, epoch: epoch, from: previous ?? known))
    }

    // MARK: Writes

    /// Sends a transaction about a room that depends on its claim and owner being as the view shows them.
    ///
    /// - Parameters:
    ///   - claim: the claim to write; nil leaves it or, in a release, deletes it.
    ///   - owner: the owner to write; nil leaves it.
    mutating func write(
        _ kind: RoomWrite.Kind,
        _ room: String,
        claim: ClaimRecord?,
        owner: OwnerRecord?,
        _ lease: Lease
    ) {
        let (oldClaim, oldOwner) = (self.view.claims[room]?.stored, self.view.owners[room]?.stored)
        var puts: [RoomWrite.Put] = []
        if let claim {
            puts.append(
                RoomWrite.Put(key: .claim(room), value: claim.text, isLeased: true, created: oldClaim?.created)
            )
        }
        if let owner {
            puts.append(
                RoomWrite.Put(key: .owner(room), value: owner.text, isLeased: false, created: oldOwner?.created)
            )
            puts += self.endedSeries(room, epoch: owner.epoch)
        }
        var write = RoomWrite(
            kind: kind,
            lease: lease.id,
            claim: oldClaim?.modified ?? .none,
            owner: oldOwner?.modified ?? .none,
            puts: puts
        )
        if case .release = kind { write.deletesClaim = true }
        self.busy.insert(room)
        self.send(.transact(write.transaction(room, cluster: self.settings.cluster)), for: .room(room, write))
    }

    mutating func roomWritten(
        _ room: String,
        _ write: RoomWrite,
        _ result: Result<StoreAnswer, StoreError>,
        _ now: Duration
    ) {
        self.busy.remove(room)
        if case .success(.transacted(let answer)) = result, answer.hasSucceeded { self.haveEnded(room, write.puts) }
        if self.claiming.removeValue(forKey: room) != nil { self.placement = nil }
        self.dirty.formUnion(self.waitingForTurn)
        self.waitingForTurn = []
        self.dirty.insert(room)
        self.written(write.puts, result, under: write.lease, now)
        switch result {
        case .success(.transacted(let answer)):
            guard answer.hasSucceeded else {
                guard answer.values.count == 2 else { return }
                for (key, value) in zip([ClusterKey.claim(room), .owner(room)], answer.values) {
                    self.merge(self.view.take(value, of: key, at: answer.revision), now)
                }
                return
            }
            switch write.kind {
            case .claim(let previous):
                guard let claim = self.view.claims[room], self.isMine(claim), let record = claim.record else { return }
                if let holding = self.holdings[room] {
                    guard case .preparing = holding.phase, holding.epoch == record.epoch else { return }
                    self.take(room, from: previous)
                } else {
                    self.hold(room, record, from: previous)
                }
                if !self.isConnected { self.doubt(room, "the lease may have ended while it was claimed") }
            case .update: break
            case .release(let next):
                self.merge(self.view.take(nil, of: .claim(room), at: answer.revision), now)
                if let holding = self.holdings[room] { self.forget(room, holding, next) }
            }
        case .success, .failure(.leaseNotFound): break
        case .failure:
            // Nothing about it before; by then the watch may have shown what became of it.
            self.writeRetry[room] = now + self.wait(after: result)
        }
    }

    // MARK: Rooms that this host holds

    /// The claim of a room may be gone.
    mutating func doubt(_ room: String, _ reason: String) {
        guard let holding = self.holdings[room], holding.phase == .held else { return }
        self.holdings[room]?.phase = .uncertain
        self.dirty.insert(room)
        self.report(.uncertain(room: room, epoch: holding.epoch, reason))
    }

    private mutating func lose(_ room: String, to host: String?, deadline: Duration) {
        guard let holding = self.holdings[room] else { return }
        self.holdings[room]?.phase = .lost(deadline: deadline)
        self.report(.lost(room: room, epoch: holding.epoch, to: host))
    }

    private mutating func forget(_ room: String, _ holding: ClusterHolding, _ next: String?) {
        self.holdings[room] = nil
        self.writeRetry[room] = nil
        self.dirty.insert(room)
        self.report(.released(room: room, epoch: holding.epoch, next: next))
    }

    /// Follows the view until nothing changes any more.
    private mutating func settleHolding(_ room: String, _ now: Duration) {
        // Each step leads to a phase that is not left in the same moment: held, uncertain, lost, leaving.
        for _ in 0..<4 {
            guard let holding = self.holdings[room] else { return }
            switch holding.phase {
            case .held: self.settleHeld(room, holding, now)
            case .uncertain: self.settleUncertain(room, holding, now)
            case .preparing(let deadline): self.settlePreparing(room, holding, deadline, now)
            case .lost(let deadline): self.settleLost(room, holding, deadline, now)
            case .leaving(let next): self.settleLeaving(room, holding, next, now)
            }
            guard self.holdings[room]?.phase != holding.phase else { return }
        }
    }

    private mutating func settleHeld(_ room: String, _ holding: ClusterHolding, _ now: Duration) {
        guard let claim = self.view.claims[room], self.isMine(claim), claim.record?.epoch == holding.epoch else {
            self.doubt(room, "the claim is not ours any more")
            return
        }
        if self.isStopping {
            self.holdings[room]?.phase = .leaving(next: nil)
            return
        }
        if holding.isLocal {
            guard self.local[room] != nil, self.view.rooms[room] == nil else {
                self.holdings[room]?.phase = .leaving(next: nil)
                return
            }
        } else if let usable = self.usable(room) {
            self.holdings[room]?.definition = usable.record
            self.holdings[room]?.leavesWhenCutOff = usable.leavesWhenCutOff
        } else if self.view.rooms[room] == nil, self.isConnected {
            self.holdings[room]?.phase = .leaving(next: nil)
            return
        }
        self.move(room, now)
        if self.holdings[room]?.phase == .held { self.synchronise(room, claim, now) }
    }

    /// Writes what the store should have of a room and has not.
    private mutating func synchronise(_ room: String, _ claim: ClusterView.Entry<ClaimRecord>, _ now: Duration) {
        guard self.mayWrite(room, now), let holding = self.holdings[room], let lease = self.lease else { return }
        let owner = self.view.owners[room]
        let handover = holding.move?.handover
        let wantedClaim = self.claimRecord(room, holding)
        let wantedOwner = OwnerRecord(
            epoch: holding.epoch,
            host: self.settings.host,
            pointer: holding.pointer ?? owner?.record?.pointer,
            // A reserved epoch stays so: the successor may have written under it.
            handover: handover ?? owner?.record?.handover
        )
        let isClaimNew = wantedClaim != claim.record
        let isOwnerNew = owner?.record != wantedOwner && owner?.reading.problem == nil
        guard isClaimNew || isOwnerNew else { return }
        self.write(
            .update,
            room,
            claim: isClaimNew ? wantedClaim : nil,
            owner: isOwnerNew ? wantedOwner : nil,
            lease
        )
    }

    /// The claim that the store should have of a room.
    private func claimRecord(_ room: String, _ holding: ClusterHolding) -> ClaimRecord {
        ClaimRecord(
            host: self.settings.host,
            epoch: holding.epoch,
            phase: holding.isJoined || holding.isLocal ? .joined : .joining,
            handover: holding.move?.handover,
            localCost: holding.isLocal ? self.local[room] : nil
        )
    }

    /// Whether a write about a room may be sent; if not yet, the room is looked at again.
    private mutating func mayWrite(_ room: String, _ now: Duration) -> Bool {
        guard self.isConnected, !self.busy.contains(room) else { return false }
        guard self.busy.count < self.settings.maximumWrites else {
            self.waitingForTurn.insert(room)
            return false
        }
        if let retry = self.writeRetry[room] {
            guard now >= retry else {
                self.wake(room, at: retry)
                return false
            }
            self.writeRetry[room] = nil
        }
        return true
    }

    private mutating func settleUncertain(_ room: String, _ holding: ClusterHolding, _ now: Duration) {
        if self.isStopping {
            self.holdings[room]?.phase = .leaving(next: nil)
            return
        }
        guard self.isConnected, let lease = self.lease else { return }
        let owner = self.view.owners[room]
        if let claim = self.view.claims[room] {
            guard let record = claim.record else {
                self.reportOnce(.unusable(.claim(room), claim.reading.problem ?? ""))
                return
            }
            if record.host == self.settings.host, record.epoch == holding.epoch, claim.stored.lease == lease.id {
                self.holdings[room]?.phase = .held
                self.report(.heldAgain(room: room, epoch: holding.epoch))
            } else if record.epoch > holding.epoch {
                self.lose(room, to: record.host, deadline: now + self.settings.lossLimit)
            } else if record.epoch == holding.epoch, record.host != self.settings.host {
                self.regress(room, holding, record.epoch)
                self.lose(room, to: record.host, deadline: now + self.settings.lossLimit)
            } else {
                if record.epoch < holding.epoch { self.regress(room, holding, record.epoch) }
                self.reclaim(room, holding, record.epoch, lease, now)
            }
            return
        }
        if let problem = owner?.reading.problem {
            self.reportOnce(.unusable(.owner(room), problem))
            return
        }
        let stored = owner?.record?.epoch ?? 0
        if stored > holding.epoch {
            self.lose(room, to: owner?.record?.host, deadline: now)
        } else if stored == holding.epoch, owner?.record?.host != self.settings.host {
            self.regress(room, holding, stored)
            self.lose(room, to: owner?.record?.host, deadline: now)
        } else {
            if stored < holding.epoch { self.regress(room, holding, stored) }
            self.reclaim(room, holding, stored, lease, now)
        }
    }

    /// Puts the claim of a room that no host with a higher epoch had: the epoch stays the same.
    private mutating func reclaim(
        _ room: String,
        _ holding: ClusterHolding,
        _ stored: Int,
        _ lease: Lease,
        _ now: Duration
    ) {
        guard self.mayWrite(room, now) else { return }
        let owner = OwnerRecord(
            epoch: holding.epoch,
            host: self.settings.host,
            pointer: holding.pointer ?? holding.continues
        )
        self.write(
            .update,
            room,
            claim: self.claimRecord(room, holding),
            owner: stored == holding.epoch ? nil : owner,
            lease
        )
    }

    /// The store knows less of a room than this host: it was replaced, or restored to its past.
    private mutating func regress(_ room: String, _ holding: ClusterHolding, _ stored: Int) {
        guard !holding.isRegressed else { return }
        self.holdings[room]?.isRegressed = true
        self.report(.regressed(room: room, epoch: holding.epoch, stored: stored))
    }

    private mutating func settlePreparing(
        _ room: String,
        _ holding: ClusterHolding,
        _ deadline: Duration,
        _ now: Duration
    ) {
        if self.isStopping || self.isDraining {
            self.holdings[room]?.phase = .leaving(next: nil)
            return
        }
        guard self.isConnected, let lease = self.lease else { return }
        let handover = Handover(to: self.settings.host, epoch: holding.epoch)
        let owner = self.view.owners[room]?.record
        if let claim = self.view.claims[room] {
            if self.isMine(claim), claim.record?.epoch == holding.epoch {
                self.take(room, from: nil)
                return
            }
            guard claim.record?.handover == handover, now < deadline else {
                self.holdings[room]?.phase = .leaving(next: nil)
                return
            }
            self.wake(room, at: deadline)
            guard holding.isJoined else { return }
            // The owner leaves as soon as the claim is ours: it records until we do.
            let wait = holding.isOccupied ? self.settings.hearingLimit : self.settings.emptinessLimit
            guard holding.isOccupied && holding.areHeard || now >= holding.joined + wait else {
                self.wake(room, at: holding.joined + wait)
                return
            }
        } else {
            // The owner is gone; the epoch is reserved for us unless another host was faster.
            guard let owner, owner.handover == handover, owner.epoch < holding.epoch else {
                self.holdings[room]?.phase = .leaving(next: nil)
                return
            }
        }
        guard self.mayWrite(room, now) else { return }
        self.previousOwners[room] = owner?.host
        self.write(
            .claim(from: owner?.host),
            room,
            claim: ClaimRecord(
                host: self.settings.host,
                epoch: holding.epoch,
                phase: holding.isJoined ? .joined : .joining
            ),
            owner: OwnerRecord(
                epoch: holding.epoch,
                host: self.settings.host,
                pointer: holding.pointer ?? owner?.pointer
            ),
            lease
        )
    }

    private mutating func settleLost(
        _ room: String,
        _ holding: ClusterHolding,
        _ deadline: Duration,
        _ now: Duration
    ) {
        let claim = self.view.claims[room]?.record
        let hasJoined = claim.map { $0.epoch > holding.epoch && $0.phase == .joined } ?? false
        guard self.isStopping || !holding.isJoined || hasJoined || now >= deadline else {
            self.wake(room, at: deadline)
            return
        }
        self.holdings[room]?.phase = .leaving(next: nil)
    }

    private mutating func settleLeaving(_ room: String, _ holding: ClusterHolding, _ next: String?, _ now: Duration) {
        // Without an assignment there is nothing to leave.
        guard holding.isGone else { return }
        guard self.isConnected, let lease = self.lease else {
            if self.isStopping, !self.busy.contains(room) { self.forget(room, holding, next) }
            return
        }
        guard let claim = self.view.claims[room], self.isMine(claim), claim.record?.epoch == holding.epoch else {
            if !self.busy.contains(room) { self.forget(room, holding, next) }
            return
        }
        guard self.mayWrite(room, now) else { return }
        let owner = self.view.owners[room]
        let pointer = holding.pointer ?? owner?.record?.pointer
        if self.view.rooms[room] == nil { self.noteEnds(room, pointer, pointer?.ended) }
        let released = OwnerRecord(
            epoch: holding.epoch,
            host: self.settings.host,
            // A room of the name that is defined later is another one.
            pointer: self.view.rooms[room] == nil ? pointer?.ended : pointer,
            handover: owner?.record?.handover,
            next: next
        )
        self.write(
            .release(next: next),
            room,
            claim: nil,
            owner: owner?.reading.problem == nil ? released : nil,
            lease
        )
    }

    // MARK: Assignments

    /// Emits what this host should be in a room, if that changed.
    private mutating func assign(_ room: String) {
        guard var holding = self.holdings[room] else { return }
        // It left the room, and comes again.
        if holding.assignment == nil, let pointer = holding.pointer { holding.continues = pointer }
        self.holdings[room]?.continues = holding.continues
        let assignment = self.assignment(room, holding)
        guard assignment != holding.assignment else { return }
        self.holdings[room]?.assignment = assignment
        self.holdings[room]?.isGone = false
        self.actions.append(.be(room: room, assignment))
    }

    private func assignment(_ room: String, _ holding: ClusterHolding) -> RoomAssignment? {
        guard let definition = holding.definition else { return nil }
        let standing: RoomAssignment.Standing
        switch holding.phase {
        case .held: standing = .held
        case .uncertain:
            guard !holding.leavesWhenCutOff else { return nil }
            standing = .uncertain
        case .preparing: standing = .preparing
        case .lost: standing = .superseded
        case .leaving: return nil
        }
        return RoomAssignment(
            epoch: holding.epoch,
            standing: standing,
            definition: definition,
            wish: self.wishes[room] ?? self.view.wishes[room]?.record,
            continues: holding.continues.flatMap { $0.isRecording ? $0 : nil }
        )
    }
}
