// SPDX-License-Identifier: Apache-2.0

/// Rooms that move while their owner lives: draining, constraints, and balancing.
extension ClusterMachine {
    /// Begins, follows and ends the move of a room that this host holds.
    mutating func move(_ room: String, _ now: Duration) {
        guard self.isConnected, let holding = self.holdings[room], let definition = holding.definition else { return }
        if let move = holding.move {
            let life = self.view.hosts[move.handover.to]?.record?.life
            // Another run of the successor takes no epoch under which the one before may have recorded.
            let isAnotherRun = life != nil && life != move.life
            guard isAnotherRun || now >= move.deadline else {
                self.wake(room, at: move.deadline)
                return
            }
            // The successor did not join in time: another one, or none.
            if !isAnotherRun { self.holdings[room]?.refused.insert(move.handover.to) }
            self.holdings[room]?.move = nil
        }
        guard let urgency = self.urgency(of: room, now) else { return }
        let refused = self.holdings[room]?.refused ?? []
        let target =
            holding.balanceTo
            ?? self.currentPlacement().ranking(of: room, definition, present: self.settings.host)
            .first { $0 != self.settings.host && !refused.contains($0) }
        self.holdings[room]?.balanceTo = nil
        if holding.isJoined, holding.takesOneMore, let target {
            guard self.holdings.values.count(where: { $0.move != nil }) < self.settings.maximumHandovers else {
                self.wake(room, at: now + self.settings.retry)
                return
            }
            let reserved = self.view.owners[room]?.record?.highestEpoch ?? 0
            let epoch = max(reserved, holding.epoch, self.settings.epochs[room] ?? 0) + 1
            guard OwnerRecord.epochs.contains(epoch) else { return }
            self.holdings[room]?.move = ClusterHolding.Move(
                handover: Handover(to: target, epoch: epoch),
                life: self.view.hosts[target]?.record?.life,
                deadline: now + self.settings.handoverLimit
            )
            self.wake(room, at: now + self.settings.handoverLimit)
        } else if urgency == .now || (!holding.isInUse && target != nil) {
            self.holdings[room]?.phase = .leaving(next: target)
        }
    }

    private enum Urgency {
        case whenPossible
        case now
    }

    /// Whether a room is to leave this host; nil if it stays, for now.
    private mutating func urgency(of room: String, _ now: Duration) -> Urgency? {
        guard let holding = self.holdings[room], let definition = holding.definition else { return nil }
        if let deadline = self.drainDeadline {
            if now >= deadline { return .now }
            self.wake(room, at: deadline)
            return holding.isInUse ? nil : .whenPossible
        }
        if !Placement.allows(self.settings.record.labels, definition) {
            return holding.isInUse ? nil : .whenPossible
        }
        return holding.balanceTo == nil ? nil : .whenPossible
    }

    // MARK: Balancing

    /// Looks for a room that another host should have, and asks the budget of the cluster for its move.
    mutating func balance(_ now: Duration) {
        guard let due = self.nextBalancing, now >= due else { return }
        self.nextBalancing = now + self.settings.balancing
        guard !self.isBalancing, !self.isDraining, !self.isStopping, self.settings.rebalancing != .never,
            self.unclaimed.keys.allSatisfy(self.stuck.contains), self.holdings.values.allSatisfy({ $0.move == nil }),
            let place = (0..<self.settings.moves).first(where: { !self.view.moves.contains($0) })
        else { return }
        for (room, holding) in self.holdings.sorted(by: { $0.key < $1.key }) {
            guard holding.phase == .held, holding.isJoined, let definition = holding.definition,
                !holding.isOccupied || self.settings.rebalancing == .always && holding.takesOneMore
            else { continue }
            let ranking = self.currentPlacement().ranking(of: room, definition, present: self.settings.host)
            guard let best = ranking.first, best != self.settings.host, !holding.refused.contains(best)
            else { continue }
            self.isBalancing = true
            self.send(
                .grant(duration: self.settings.moveWindow),
                for: .budgetLease(room: room, to: best, place: place)
            )
            return
        }
    }

    /// Takes answers about the budget: a move may begin once this host has a place in it, for as long as its lease lives.
    mutating func budgetAnswered(_ purpose: Purpose, _ result: Result<StoreAnswer, StoreError>, _ now: Duration) {
        switch (purpose, result) {
        case (.budgetLease(let room, let to, let place), .success(.granted(let lease, _))):
            let key = ClusterKey.move(place).text(cluster: self.settings.cluster)
            self.send(
                .transact(
                    StoreTransaction(
                        if: [.created(key: key, .none)],
                        then: [.put(key: key, value: self.settings.host, lease: lease)]
                    )
                ),
                for: .budget(room: room, to: to, place: place, lease)
            )
            return
        case (.budget(let room, let to, _, _), .success(.transacted(let answer))) where answer.hasSucceeded:
            // Not where people came in while the store was asked.
            if let holding = self.holdings[room], holding.phase == .held,
                !holding.isOccupied || self.settings.rebalancing == .always
            {
                self.holdings[room]?.balanceTo = to
                self.dirty.insert(room)
            }
        default: break
        }
        self.isBalancing = false
    }
}
