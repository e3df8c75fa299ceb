// SPDX-License-Identifier: Apache-2.0

/// The state of a cluster as one host sees it: a listing and what a watch has reported since.
///
/// Pure. News may come twice and in any order, from listings, watches and answers to transactions: for each key the highest
/// revision counts. A value that cannot be read stays in the view with its problem.
public struct ClusterView: Sendable {
    /// A value of the store with the record that it holds.
    public struct Entry<Record: ClusterRecord>: Sendable, Hashable {
        /// The value as the store has it.
        public let stored: StoredValue
        /// The record.
        public let reading: RecordReading<Record>

        init(_ stored: StoredValue) {
            self.stored = stored
            self.reading = RecordReading(stored.value)
        }

        /// The record, where this version can read it.
        public var record: Record? { self.reading.record }
    }

    /// What an input changed.
    public struct Change: Sendable, Hashable {
        /// Rooms whose definition, request, claim or owner changed.
        public internal(set) var rooms: Set<String> = []
        /// Whether hosts changed.
        public internal(set) var hosts = false
        /// Hosts whose record was deleted while this host watched, with that record.
        ///
        /// A listing does not say whether a host stopped in order before it went.
        public internal(set) var goneHosts: [String: Entry<HostRecord>] = [:]
        /// Whether the identity of the cluster changed.
        public internal(set) var meta = false
    }

    /// The most keys that are taken, of all kinds: ten thousand rooms and their hosts.
    ///
    /// Further ones are counted.
    public static let maximumKeys = 60_000
    /// The most foreign keys whose names are kept.
    public static let maximumForeignKeys = 100

    /// The cluster's name.
    public let cluster: String
    /// The revision of the last listing; nil before the first.
    public private(set) var listed: Revision?
    /// The identity of the cluster.
    public private(set) var meta: Entry<MetaRecord>?
    /// Definitions by room.
    public private(set) var rooms: [String: Entry<RoomRecord>] = [:]
    /// Requests by room.
    public private(set) var wishes: [String: Entry<WishRecord>] = [:]
    /// Living hosts by name.
    public private(set) var hosts: [String: Entry<HostRecord>] = [:]
    /// Claims by room.
    public private(set) var claims: [String: Entry<ClaimRecord>] = [:]
    /// Last owners by room.
    public private(set) var owners: [String: Entry<OwnerRecord>] = [:]
    /// Series that are to be brought together, by their ids.
    public private(set) var series: [String: Entry<SeriesRecord>] = [:]
    /// The occupied places of the budget of moves.
    public private(set) var moves: Set<Int> = []
    /// Keys that no host of this version writes, at most `maximumForeignKeys`.
    public private(set) var foreignKeys: Set<String> = []
    /// Keys that did not fit `maximumKeys`.
    public private(set) var leftOut = 0
    /// The sum of the costs of each host's claims.
    public private(set) var loads: [String: Int] = [:]

    /// Deletions after `listed`, until the next listing: older news of the key are ignored.
    private var deletions: [ClusterKey: Revision] = [:]
    /// Revisions of keys whose values are not kept.
    private var revisions: [ClusterKey: Revision] = [:]
    /// Keys that were taken since a listing was requested.
    private var news: Set<ClusterKey> = []
    private var count = 0

    /// A view before the first listing.
    public init(cluster: String) { self.cluster = cluster }

    /// A listing was requested: what is taken until its answer may be newer than it.
    public mutating func beginListing() { self.news = [] }

    /// Takes the listing that was requested last: what is not in it does not exist, unless it is newer.
    ///
    /// It replaces all else, also what has a higher revision: then this is another store at the same address.
    public mutating func list(_ values: [StoredValue], at revision: Revision) -> Change {
        var change = Change()
        let seen = Set(values.compactMap { ClusterKey($0.key, cluster: self.cluster) })
        for key in self.keys where !seen.contains(key) && !self.isNewer(key, than: revision) {
            self.remove(key, &change)
        }
        self.listed = revision
        self.deletions = self.deletions.filter { $0.value > revision && self.news.contains($0.key) }
        self.foreignKeys = []
        self.leftOut = 0
        for value in values {
            guard let key = self.key(of: value.key), !self.isNewer(key, than: value.modified) else { continue }
            self.put(key, value, &change)
        }
        self.news = []
        change.goneHosts = [:]
        return change
    }

    /// Whether something is known of a key that a listing at a revision cannot show.
    private func isNewer(_ key: ClusterKey, than revision: Revision) -> Bool {
        self.news.contains(key) && max(self.revision(of: key) ?? .none, self.deletions[key] ?? .none) > revision
    }

    /// Takes one event of a watch.
    public mutating func take(_ event: StoreEvent) -> Change {
        var change = Change()
        guard event.revision > self.listed ?? .none, let key = self.key(of: event.key) else { return change }
        switch event {
        case .put(let value): self.putNews(key, value, &change)
        case .delete(_, let revision): self.delete(key, revision, &change)
        }
        return change
    }

    /// Takes what a transaction read of a key: nil if it did not exist at this revision.
    public mutating func take(_ value: StoredValue?, of key: ClusterKey, at revision: Revision) -> Change {
        var change = Change()
        if let value {
            self.putNews(key, value, &change)
        } else {
            self.delete(key, revision, &change)
        }
        return change
    }

    /// The cost of a room for its owner.
    public func cost(of room: String) -> Int {
        self.claims[room]?.record?.localCost ?? self.rooms[room]?.record?.cost ?? 1
    }

    // MARK: Parts

    private mutating func key(of text: String) -> ClusterKey? {
        if let key = ClusterKey(text, cluster: self.cluster) { return key }
        if self.foreignKeys.count < Self.maximumForeignKeys { self.foreignKeys.insert(text) }
        return nil
    }

    private var keys: [ClusterKey] {
        var keys: [ClusterKey] = self.meta == nil ? [] : [.meta]
        keys += self.rooms.keys.map { .room($0) }
        keys += self.wishes.keys.map { .wish($0) }
        keys += self.hosts.keys.map { .host($0) }
        keys += self.claims.keys.map { .claim($0) }
        keys += self.owners.keys.map { .owner($0) }
        keys += self.series.keys.map { .series($0) }
        keys += self.revisions.keys
        return keys
    }

    private func revision(of key: ClusterKey) -> Revision? { self.stored(key)?.modified ?? self.revisions[key] }

    /// The value of a key; nil if it does not exist, or is one whose value is not kept.
    private func stored(_ key: ClusterKey) -> StoredValue? {
        switch key {
        case .meta: self.meta?.stored
        case .room(let room): self.rooms[room]?.stored
        case .wish(let room): self.wishes[room]?.stored
        case .host(let host): self.hosts[host]?.stored
        case .claim(let room): self.claims[room]?.stored
        case .owner(let room): self.owners[room]?.stored
        case .series(let id): self.series[id]?.stored
        case .move, .said: nil
        }
    }

    /// Takes a value that a watch or a transaction showed, unless more is known.
    private mutating func putNews(_ key: ClusterKey, _ value: StoredValue, _ change: inout Change) {
        let known = self.revision(of: key) ?? self.deletions[key] ?? self.listed ?? .none
        guard known < value.modified else { return }
        self.news.insert(key)
        self.put(key, value, &change)
    }

    private mutating func put(_ key: ClusterKey, _ value: StoredValue, _ change: inout Change) {
        let known = self.revision(of: key)
        // What has not changed is not read again.
        if known == value.modified, self.stored(key) == value { return }
        self.deletions[key] = nil
        if known == nil {
            guard self.count < Self.maximumKeys else {
                self.leftOut += 1
                return
            }
            self.count += 1
        }
        switch key {
        case .meta:
            self.meta = Entry(value)
            change.meta = true
        case .room(let room):
            self.recount(room) { $0.rooms[room] = Entry(value) }
            change.rooms.insert(room)
        case .wish(let room):
            self.wishes[room] = Entry(value)
            change.rooms.insert(room)
        case .host(let host):
            self.hosts[host] = Entry(value)
            change.hosts = true
        case .claim(let room):
            self.recount(room) { $0.claims[room] = Entry(value) }
            change.rooms.insert(room)
        case .owner(let room):
            self.owners[room] = Entry(value)
            change.rooms.insert(room)
        case .series(let id): self.series[id] = Entry(value)
        case .move(let number):
            self.moves.insert(number)
            self.revisions[key] = value.modified
        case .said:
            self.revisions[key] = value.modified
        }
    }

    private mutating func delete(_ key: ClusterKey, _ revision: Revision, _ change: inout Change) {
        guard (self.revision(of: key) ?? .none) < revision, (self.deletions[key] ?? .none) < revision else { return }
        if revision > self.listed ?? .none { self.deletions[key] = revision }
        self.news.insert(key)
        self.remove(key, &change)
    }

    private mutating func remove(_ key: ClusterKey, _ change: inout Change) {
        guard self.revision(of: key) != nil else { return }
        self.count -= 1
        switch key {
        case .meta:
            self.meta = nil
            change.meta = true
        case .room(let room):
            self.recount(room) { $0.rooms[room] = nil }
            change.rooms.insert(room)
        case .wish(let room):
            self.wishes[room] = nil
            change.rooms.insert(room)
        case .host(let host):
            change.goneHosts[host] = self.hosts[host]
            self.hosts[host] = nil
            change.hosts = true
        case .claim(let room):
            self.recount(room) { $0.claims[room] = nil }
            change.rooms.insert(room)
        case .owner(let room):
            self.owners[room] = nil
            change.rooms.insert(room)
        case .series(let id): self.series[id] = nil
        case .move(let number):
            self.moves.remove(number)
            self.revisions[key] = nil
        case .said:
            self.revisions[key] = nil
        }
    }

    /// Changes a room's claim or definition, and the load of its owner with it.
    private mutating func recount(_ room: String, _ body: (inout Self) -> Void) {
        if let host = self.claims[room]?.record?.host { self.loads[host, default: 0] -= self.cost(of: room) }
        body(&self)
        if let host = self.claims[room]?.record?.host { self.loads[host, default: 0] += self.cost(of: room) }
    }
}

extension ClusterView.Change {
    mutating func merge(_ other: Self) {
        self.rooms.formUnion(other.rooms)
        self.hosts = self.hosts || other.hosts
        self.goneHosts.merge(other.goneHosts) { $1 }
        self.meta = self.meta || other.meta
    }
}
