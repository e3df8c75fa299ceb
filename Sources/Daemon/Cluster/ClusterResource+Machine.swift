// SPDX-License-Identifier: Apache-2.0

import Cluster
import Model

extension ClusterResource {
    /// What a host knows of its cluster.
    ///
    /// - Parameters:
    ///   - since: since when the store is reached, or not.
    ///   - reason: why it is not, or does not do what is asked.
    ///   - deadline: when the host has drained, in UTC.
    init(_ machine: ClusterMachine, since: String, reason: String?, deadline: String?) {
        let view = machine.view
        self.init(name: view.cluster, host: machine.settings.host, isConnected: machine.isConnected, since: since)
        self.id = machine.settings.id
        switch machine.storeFailure {
        // Other failures pass without a consequence, or end the connection.
        case .full, .refused: self.reason = reason
        case .unreachable, .leaseNotFound, nil: self.reason = machine.isConnected ? nil : reason
        }
        if machine.isNameTaken {
            let other = "another daemon, or an earlier run of this one"
            self.reason = "\(other), has the name \(self.host): no rooms until that ends"
        }
        self.drain = deadline.map { Drain(deadline: $0, rooms: machine.roomsLeft) }
        var counts: [String: Int] = [:]
        for claim in view.claims.values {
            if let host = claim.record?.host { counts[host, default: 0] += 1 }
        }
        self.hosts = view.hosts.sorted { $0.key < $1.key }.map { name, entry in
            var host = Host(name: name)
            host.problem = entry.reading.problem
            (host.load, host.rooms) = (view.loads[name, default: 0], counts[name, default: 0])
            guard let record = entry.record else { return host }
            (host.url, host.version, host.since) = (record.url, record.version, record.started)
            (host.labels, host.capacity) = (record.labels, record.capacity)
            (host.isDraining, host.isStopping) = (record.isDraining, record.isStopping)
            return host
        }
        self.rooms = Set(view.rooms.keys).union(view.claims.keys).sorted().map { name in
            let (entry, claim) = (view.claims[name], view.claims[name]?.record)
            var phase = Room.Phase.unclaimed
            if entry != nil { phase = claim.flatMap { Room.Phase(rawValue: $0.phase.rawValue) } ?? .unknown }
            return Room(
                name: name,
                host: claim?.host,
                epoch: claim?.epoch ?? view.owners[name]?.record?.epoch,
                phase: phase,
                cost: view.cost(of: name),
                isLocal: view.rooms[name] == nil,
                next: claim?.handover?.to,
                reason: machine.absence(of: name) ?? entry?.reading.problem
            )
        }
    }
}
