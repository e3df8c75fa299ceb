// SPDX-License-Identifier: Apache-2.0

internal import Basics

/// The order in which hosts should have a room: a pure function that every host computes alike.
///
/// Rendezvous hashing (Thaler, Ravishankar 1998): a host that comes or leaves moves only its own share of the rooms.
public struct Placement: Sendable {
    /// A host that can have rooms.
    public struct Host: Sendable, Hashable {
        /// Its name.
        public let name: String
        /// Its labels.
        public let labels: [String: String]
        /// How much it can take in addition to its rooms; below 0 where it has too much.
        public let free: Int
        /// A hash of its name.
        let hash: UInt64

        /// A host with each part given.
        public init(name: String, labels: [String: String], free: Int) {
            (self.name, self.labels, self.free) = (name, labels, free)
            self.hash = fnv1a(name.utf8)
        }
    }

    /// The hosts, by name.
    public let hosts: [Host]

    /// The hosts that are alive and take rooms.
    public init(_ hosts: [Host]) { self.hosts = hosts.sorted { $0.name < $1.name } }

    /// The hosts of a view that are neither draining nor stopping.
    public init(_ view: ClusterView) {
        self.init(
            view.hosts.compactMap { name, entry in
                guard let record = entry.record, !record.isDraining, !record.isStopping else { return nil }
                return Host(name: name, labels: record.labels, free: record.capacity - view.loads[name, default: 0])
            }
        )
    }

    /// The hosts that may have a room, best first.
    ///
    /// - Parameters:
    ///   - present: the host that has it, whose load includes it.
    ///   - first: the host with the right of first refusal; it is first if it may have the room.
    public func ranking(
        of room: String,
        _ record: RoomRecord,
        present: String? = nil,
        first: String? = nil
    ) -> [String] {
        let hash = fnv1a(room.utf8)
        let candidates = self.hosts.filter { host in
            let free = host.free + (host.name == present ? record.cost : 0)
            return record.cost <= free && Self.allows(host.labels, record)
        }
        if candidates.count == 1 { return [candidates[0].name] }
        return candidates.map { host in
            let liked = record.preferred.count { host.labels[$0.key] == $0.value }
            return (host.name, host.name == first ? Int.max : liked, Self.weight(hash, host.hash))
        }
        .sorted { ($0.1, $0.2, $0.0) > ($1.1, $1.2, $1.0) }
        .map(\.0)
    }

    /// Whether labels satisfy what a room requires.
    public static func allows(_ labels: [String: String], _ record: RoomRecord) -> Bool {
        record.required.allSatisfy { labels[$0.key] == $0.value }
    }

    /// The weight of a room at a host: the finaliser of SplitMix64 over both hashes.
    private static func weight(_ room: UInt64, _ host: UInt64) -> UInt64 {
        var mixed = room ^ (host &* 0x9E37_79B9_7F4A_7C15)
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }
}
