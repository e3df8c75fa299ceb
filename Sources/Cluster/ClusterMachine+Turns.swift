// SPDX-License-Identifier: Apache-2.0

/// When this host claims rooms that no host has.
///
/// A room is offered to the host that is first in its ranking; each further host waits longer. A host claims only some rooms
/// in a second. Rooms that wait for that are not left to faster hosts: every host counts how many rooms the first one was
/// offered before, and sees how far it is.
extension ClusterMachine {
    /// A room that no host has.
    struct Offer: Sendable, Hashable {
        /// Since when no host has it.
        let since: Duration
        /// The host that is first in its ranking; nil where it is offered to none.
        var host: String?
        /// Since when that host is.
        var offered: Duration
        /// How many rooms that host was offered before and had not claimed then.
        var ahead: Int
        /// The cost of the room.
        var cost: Int
    }

    /// How far a host is that claims rooms in the order of their names.
    struct Progress: Sendable, Hashable {
        /// The last claim of it that was seen.
        var revision: Revision
        /// Its room.
        var room: String
        /// When it was seen.
        var seen: Duration
    }

    /// Notes the host that is first in the ranking of a room that no host has.
    private mutating func offer(_ room: String, to host: String?, cost: Int, _ now: Duration) -> Offer {
        let known = self.unclaimed[room]
        if let known, known.host == host, known.cost == cost { return known }
        if let before = known?.host { self.offers[before, default: 0] -= 1 }
        let ahead = host.map { self.offers[$0, default: 0] } ?? 0
        if let host { self.offers[host, default: 0] += 1 }
        let offer = Offer(since: known?.since ?? now, host: host, offered: now, ahead: ahead, cost: cost)
        self.unclaimed[room] = offer
        self.largestCost = max(self.largestCost, cost)
        return offer
    }

    /// A host has the room, or this one may not claim it.
    mutating func withdraw(_ room: String) {
        if let host = self.unclaimed.removeValue(forKey: room)?.host { self.offers[host, default: 0] -= 1 }
        self.turns[room] = nil
    }

    /// The cluster is not seen any more: nothing of this is known.
    mutating func withdrawEverything() {
        self.unclaimed.removeAll()
        self.offers.removeAll()
        self.largestCost = 0
        self.progress.removeAll()
        self.turns.removeAll()
        self.stuck.removeAll()
    }

    /// Notes the claims that other hosts made in rooms that changed.
    mutating func follow(_ rooms: Set<String>, _ now: Duration) {
        var latest: [String: Progress] = [:]
        for room in rooms {
            guard let claim = self.view.claims[room], let host = claim.record?.host, host != self.settings.host,
                claim.stored.created > self.progress[host]?.revision ?? .none
            else { continue }
            let before = latest[host]
            latest[host] = Progress(
                revision: max(before?.revision ?? .none, claim.stored.created),
                room: max(before?.room ?? "", room),
                seen: now
            )
        }
        self.progress.merge(latest) { $1 }
    }

    /// Looks again at rooms whose first host is gone, drains or is full.
    mutating func reoffer() {
        let short = self.offers.filter { host, rooms in
            rooms > 0 && host != self.settings.host && self.free(host) < self.largestCost
        }
        guard !short.isEmpty else { return }
        for (room, offer) in self.unclaimed {
            guard let host = offer.host, short[host] != nil, self.free(host) < offer.cost else { continue }
            self.dirty.insert(room)
        }
    }

    /// How much another host can take in addition to its rooms.
    private func free(_ host: String) -> Int {
        guard let record = self.view.hosts[host]?.record, !record.isDraining, !record.isStopping else { return 0 }
        return record.capacity - self.view.loads[host, default: 0]
    }

    /// When this host may claim a room, and its place in the ranking; nil if it cannot have the room.
    private mutating func turn(of room: String, _ now: Duration) -> (time: Duration, rank: Int)? {
        guard let record = self.usable(room)?.record else {
            // A room of this host's own configuration.
            return (self.offer(room, to: nil, cost: 0, now).since, 0)
        }
        let own = self.settings.host
        let last = self.view.owners[room]?.record.map { $0.next ?? $0.host }
        let ranking = self.currentPlacement().ranking(of: room, record, first: last)
        let offer = self.offer(room, to: ranking.first, cost: record.cost, now)
        guard let rank = ranking.firstIndex(of: own) else { return nil }
        guard rank > 0, let first = offer.host else {
            return (last == own ? offer.since : offer.since + self.settings.claimDelay, 0)
        }
        var from = offer.offered + .seconds(1) * offer.ahead / self.settings.claimsPerSecond
        let progress = self.progress[first]
        // It may be slower than that. One that claims rooms behind this one leaves it out, one that claims nothing all.
        if let progress, progress.room < room { from = max(from, progress.seen) }
        from = min(from, max(offer.offered, progress?.seen ?? .zero) + self.settings.claimPause)
        return (from + self.settings.claimDelay + self.settings.claimStep * rank, rank)
    }

    /// Claims a room that no host has when it is this host's turn.
    mutating func awaitTurn(_ room: String, _ now: Duration) {
        guard let (time, rank) = self.turn(of: room, now) else {
            self.stuck.insert(room)
            return
        }
        let due = max(time, self.writeRetry[room] ?? time)
        guard now >= due else {
            self.wake(room, at: due)
            return
        }
        self.turns[room] = rank
    }

    /// Sends claims: first of rooms that this host is the first for, then by name, as many as may be under way.
    mutating func takeTurns(_ now: Duration) {
        self.nextTurn = nil
        guard self.isConnected, self.isRegistered, !self.isStopping else {
            self.turns.removeAll()
            return
        }
        while !self.turns.isEmpty, self.busy.count < self.settings.maximumWrites,
            self.claiming.count < self.settings.maximumClaims
        {
            // A second of claims may be sent at once.
            let earliest = self.claimSchedule - .seconds(1)
            guard now >= earliest else {
                self.nextTurn = earliest
                return
            }
            guard let (room, _) = self.turns.min(by: { ($0.value, $0.key) < ($1.value, $1.key) }) else { return }
            self.turns[room] = nil
            // Other hosts may have room for it by now.
            self.awaitTurn(room, now)
            if self.turns.removeValue(forKey: room) != nil { self.claim(room, now) }
        }
    }
}
