// SPDX-License-Identifier: Apache-2.0

/// What operators ask of a host and its cluster.
extension ClusterMachine {
    /// Rooms of the cluster that this host has, claims or leaves: one that drains is empty without any.
    public var roomsLeft: [String] {
        let held = self.holdings.filter { !$0.value.isLocal }.map(\.key)
        return Set(held).union(self.claiming.keys.filter { self.view.rooms[$0] != nil }).sorted()
    }

    /// Whether another run of a daemon has this host's name: one before this, until its lease ends, or one on another host.
    public var isNameTaken: Bool {
        guard self.isConnected, let entry = self.view.hosts[self.settings.host] else { return false }
        return entry.record?.life != self.settings.record.life
    }

    /// How many rooms of the cluster no host has, as far as this host knows.
    public var ownerless: Int { self.view.rooms.keys.count { self.view.claims[$0] == nil } }

    /// Why no host has a room, human-readable; nil where one has it, or will soon.
    ///
    /// Hosts judge secrets and files for themselves: of those, only this host's verdict is known.
    public func absence(of room: String) -> String? {
        guard let entry = self.view.rooms[room], self.view.claims[room] == nil else { return nil }
        guard let record = entry.record else { return entry.reading.problem }
        if let problem = self.view.owners[room]?.reading.problem { return "the note of its last owner \(problem)" }
        let hosts = Placement(self.view).hosts
        guard !hosts.isEmpty else { return "no host takes rooms" }
        let allowed = hosts.filter { Placement.allows($0.labels, record) }
        guard !allowed.isEmpty else {
            let labels = record.required.sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value)" }
            return "no host that takes rooms has \(labels.joined(separator: ", "))"
        }
        guard allowed.contains(where: { $0.free >= record.cost }) else {
            return "no host has capacity left for its cost of \(record.cost)"
        }
        if case .unusable(let reason)? = self.verdicts[room]?.verdict { return "this host cannot run it: \(reason)" }
        return nil
    }
}
