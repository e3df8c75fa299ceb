// SPDX-License-Identifier: Apache-2.0

/// A cluster as one of its hosts sees it: what `GET /v1/cluster` answers.
public struct ClusterResource: Sendable, Hashable, Codable {
    /// A host that lives.
    public struct Host: Sendable, Hashable, Codable {
        /// Its name.
        public var name: String
        /// Where its HTTP API is.
        public var url: String?
        /// Its version of Tapedeck.
        public var version: String?
        /// Its labels.
        public var labels: [String: String]
        /// The sum of costs that it takes.
        public var capacity: Int
        /// The sum of the costs of its rooms.
        public var load: Int
        /// How many rooms it has, those of its configuration among them.
        public var rooms: Int
        /// Whether it takes no more rooms and hands its own on.
        public var isDraining: Bool
        /// Whether its daemon ends.
        public var isStopping: Bool
        /// Since when its daemon runs: RFC 3339, UTC; `nil` where it does not say so.
        public var since: String?
        /// Why its record cannot be read.
        public var problem: String?

        /// A host without rooms.
        public init(name: String) {
            self.name = name
            (self.labels, self.capacity, self.load, self.rooms) = ([:], 0, 0, 0)
            (self.isDraining, self.isStopping) = (false, false)
        }

        private enum CodingKeys: String, CodingKey {
            case name, url, version, labels, capacity, load, rooms, isDraining = "draining", isStopping = "stopping"
            case since, problem
        }
    }

    /// A room of the cluster, or of a host's own configuration.
    public struct Room: Sendable, Hashable, Codable {
        /// How far its owner is.
        public enum Phase: String, Sendable, Hashable, Codable, CaseIterable {
            /// No host has it.
            case unclaimed
            /// Its host tries to become a member.
            case joining
            /// Its host is a member.
            case joined
            /// A newer version wrote what its claim says.
            case unknown
        }

        /// Its name.
        public var name: String
        /// The host that has it.
        public var host: String?
        /// The number of its last ownership; `nil` before the first.
        public var epoch: Int?
        /// How far its owner is.
        public var phase: Phase
        /// How much of a host's capacity it takes.
        public var cost: Int
        /// Whether only its host's configuration defines it.
        public var isLocal: Bool
        /// The host that is about to have it.
        public var next: String?
        /// Why no host has it, human-readable; `nil` where one has it, or will soon.
        public var reason: String?

        /// A room with each part given.
        public init(
            name: String,
            host: String? = nil,
            epoch: Int? = nil,
            phase: Phase,
            cost: Int,
            isLocal: Bool = false,
            next: String? = nil,
            reason: String? = nil
        ) {
            (self.name, self.host, self.epoch, self.phase) = (name, host, epoch, phase)
            (self.cost, self.isLocal, self.next, self.reason) = (cost, isLocal, next, reason)
        }

        private enum CodingKeys: String, CodingKey {
            case name, host, epoch, phase, cost, isLocal = "local", next, reason
        }
    }

    /// The drain of the host that answers.
    public struct Drain: Sendable, Hashable, Codable {
        /// When rooms with participants are left as well: RFC 3339, UTC.
        public var deadline: String
        /// Rooms of the cluster that the host still has.
        public var rooms: [String]

        /// A drain with each part given.
        public init(deadline: String, rooms: [String]) { (self.deadline, self.rooms) = (deadline, rooms) }
    }

    /// The cluster's name.
    public var name: String
    /// The cluster's id; `nil` until the store was reached.
    public var id: String?
    /// The host that answers.
    public var host: String
    /// Whether that host reaches the store: hosts and rooms are as they are now.
    public var isConnected: Bool
    /// Since when that is so: RFC 3339, UTC.
    ///
    /// Without a connection, hosts and rooms are as they were then.
    public var since: String
    /// Why there is no connection, or why this host takes no rooms all the same, human-readable.
    public var reason: String?
    /// The drain of that host; `nil` while it takes rooms.
    public var drain: Drain?
    /// The hosts, by name.
    public var hosts: [Host]
    /// The rooms, by name.
    public var rooms: [Room]

    /// A cluster of which nothing is known.
    public init(name: String, host: String, isConnected: Bool, since: String) {
        (self.name, self.host, self.isConnected, self.since) = (name, host, isConnected, since)
        (self.hosts, self.rooms) = ([], [])
    }

    private enum CodingKeys: String, CodingKey {
        case name, id, host, isConnected = "connected", since, reason, drain, hosts, rooms
    }
}
