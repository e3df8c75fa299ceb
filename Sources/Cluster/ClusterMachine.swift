// SPDX-License-Identifier: Apache-2.0

/// Decides which rooms of a cluster this host is in: claims in a store with leases, without the store.
///
/// Every host runs one over the same state; there is no host that decides for others. Media never stop because the store
/// cannot be reached: a claim that may be gone is `uncertain`, its room is recorded, and side effects wait. Every ownership
/// of a room has an epoch that no other has, and every write depends on the claim or the last owner being as they were
/// seen. Pure: time comes with each input. After each input, perform the actions in order, then hand in the next one, at
/// the latest `.tick` at `nextDeadline`.
///
///     no lease ──granted──► valid, not seen ──listing──► connected ──no renewal──► invalid ──renewed──► valid, not seen
///        ▲                                                   │                        │
///        └────────────────────────── lease gone ─────────────┴────────────────────────┘
public struct ClusterMachine: Sendable {
    /// A lease that the store granted.
    struct Lease: Sendable, Hashable {
        let id: LeaseID
        /// Until when it certainly lives.
        var until: Duration
        var nextRenewal: Duration
        var isValid: Bool
        var isRenewing = false
    }

    /// Where the lease of this host is.
    enum LeaseState: Sendable, Hashable {
        /// None; the next try is due.
        case none(retry: Duration)
        /// One is requested.
        case granting
        /// There is one.
        case granted(Lease)
        /// The machine has ended.
        case ended
    }

    /// What the answer to a request is for.
    enum Purpose: Sendable, Hashable {
        case grant(sent: Duration)
        case renewal(LeaseID, sent: Duration)
        case listing(connection: Int)
        case host([RoomWrite.Put], LeaseID)
        case room(String, RoomWrite)
        case wish(String, WishRecord)
        case budgetLease(room: String, to: String, place: Int)
        case budget(room: String, to: String, place: Int, LeaseID)
        case series(String, RoomWrite.Put?)
        case memoryLease
        case memory(String)
        case revocation
    }

    /// The settings, with the present record of this host.
    public internal(set) var settings: ClusterSettings
    /// The cluster as this host sees it.
    public internal(set) var view: ClusterView
    /// Rooms that this host is in, or leaves.
    public internal(set) var holdings: [String: ClusterHolding] = [:]
    /// Whether everything ends.
    public internal(set) var isStopping = false
    /// Whether this host drains.
    public var isDraining: Bool { self.drainDeadline != nil }

    /// When the store last confirmed the lease, by the time at which that was requested; nil before the first.
    public internal(set) var lastRenewal: Duration?

    var leaseState = LeaseState.none(retry: .zero)
    /// Counts how often the lease became valid: an older listing may show claims that were gone.
    var connection = 0
    /// Whether the view was listed since.
    var isSeen = false
    /// Whether the store has the identity that this host knows.
    var isOurs = false
    /// When the last rooms leave this host; nil while it does not drain.
    public internal(set) var drainDeadline: Duration?
    var hasReportedDrained = false

    var requests: [ClusterRequestID: Purpose] = [:]
    private var nextRequest = 1
    var watch: ClusterWatchID?
    private var nextWatch = 1
    var nextListing: Duration?
    var isListing = false
    var isHostBusy = false
    var hostRetry: Duration?

    /// Rooms with a write in flight.
    var busy: Set<String> = []
    /// When a write about a room that failed may be tried again.
    var writeRetry: [String: Duration] = [:]
    /// Rooms to look at again when one of the writes in flight is answered.
    var waitingForTurn: Set<String> = []
    /// Claims in flight: the cost of each room.
    var claiming: [String: Int] = [:]
    /// The hosts that had the rooms which this host claims, until it knows that it has them.
    var previousOwners: [String: String] = [:]
    /// The epochs under which this run was in rooms to take them: one is good for one recording.
    var prepared: [String: Int] = [:]
    /// When the next claim may be sent, if claims were spread evenly; a second of them may be ahead.
    var claimSchedule: Duration = .zero
    /// Rooms that no host has.
    var unclaimed: [String: Offer] = [:]
    /// Rooms of them that have no place here.
    var stuck: Set<String> = []
    /// Rooms of them that this host claims as soon as it may, with its place in their rankings.
    var turns: [String: Int] = [:]
    /// When the next of those may be claimed; nil while that is up to answers.
    var nextTurn: Duration?
    /// How many rooms without a host each host is offered.
    var offers: [String: Int] = [:]
    /// The largest cost of a room that was offered.
    var largestCost = 0
    /// How far other hosts are with their claims.
    var progress: [String: Progress] = [:]
    /// Rooms of this host's own configuration and their costs.
    var local: [String: Int] = [:]
    /// Verdicts on definitions.
    var verdicts: [String: (revision: Revision, verdict: RoomVerdict?)] = [:]
    /// Requests of operators that the store does not have yet.
    var wishes: [String: WishRecord] = [:]
    var busyWishes: Set<String> = []
    /// Times at which a room is to be looked at.
    var due: [String: Duration] = [:]
    /// The first of them, or a time before it.
    var nextDue: Duration?
    var dirty: Set<String> = []
    var placement: Placement?

    /// When a room to move is looked for.
    var nextBalancing: Duration?
    var isBalancing = false

    /// Hosts that are away, and when that is reported.
    var missing: [String: (life: String, since: Revision, due: Duration)] = [:]
    /// Events that wait for the store, by id.
    var events: [String: ClusterEvent] = [:]
    var busyEvents: Set<String> = []
    var memoryLease: (id: LeaseID, until: Duration)?
    var isMemoryBusy = false
    var memoryRetry: Duration?

    /// Since when the hosts of series are away, by series.
    var orphans: [String: Duration] = [:]
    /// Series of this host that are brought together, until the store has that.
    var gathered: Set<String> = []
    var busySeries: Set<String> = []
    var seriesRetry: [String: Duration] = [:]
    /// When a series is to be looked at, if nothing happens before.
    var nextSeries: Duration?
    /// What was said of series last; nil before the first time.
    var toldSeries: (series: [String: SeriesRecord]?, hosts: Set<String>)?

    /// Facts that were reported and still hold.
    var reported: Set<ClusterEvent> = []
    /// Why the store did not do what was asked last; nil once it does.
    public internal(set) var storeFailure: StoreError?
    var actions: [ClusterAction] = []

    /// A host that is in no room and knows nothing of the store.
    public init(settings: ClusterSettings) {
        self.settings = settings
        self.view = ClusterView(cluster: settings.cluster)
    }

    /// Whether the host has left every room and the cluster.
    public var hasStopped: Bool { self.leaseState == .ended }

    /// Whether the lease is valid, and the view is newer than that.
    public var isConnected: Bool { self.lease?.isValid == true && self.isSeen && self.isOurs }

    var lease: Lease? {
        get { if case .granted(let lease) = self.leaseState { lease } else { nil } }
        set { if let newValue { self.leaseState = .granted(newValue) } }
    }

    /// When `.tick` is due, if nothing happens before; nil when nothing is waited for.
    public var nextDeadline: Duration? {
        guard !self.hasStopped else { return nil }
        var deadlines: [Duration?] = [self.nextDue]
        switch self.leaseState {
        case .none(let retry): if !self.isStopping { deadlines.append(retry) }
        case .granting, .ended: break
        case .granted(let lease):
            if lease.isValid { deadlines.append(lease.until) }
            if !lease.isRenewing { deadlines.append(lease.nextRenewal) }
            if !self.isListing { deadlines.append(self.nextListing) }
            if self.isConnected {
                deadlines += [self.nextBalancing, self.memoryRetry, self.hostRetry, self.nextTurn]
                deadlines.append(self.missing.values.map(\.due).min())
                deadlines.append(self.nextSeries)
            }
        }
        return deadlines.compactMap { $0 }.min()
    }

    /// Takes one input.
    ///
    /// - Parameter now: time since any fixed instant; never goes back, and counts while the machine is suspended.
    public mutating func handle(_ input: ClusterInput, now: Duration) -> [ClusterAction] {
        guard !self.hasStopped else { return [] }
        let free = self.freeCapacity
        let wasReady = self.isConnected && self.isRegistered
        self.expire(now)
        switch input {
        case .answer(let id, let result): self.answer(id, result, now)
        case .watched(let id, let update): self.watched(id, update, now)
        case .examined(let room, let revision, let verdict): self.examined(room, revision, verdict)
        case .room(let room, let news): self.take(news, of: room, now)
        case .pin(let rooms): self.pin(rooms)
        case .wish(let room, let wish):
            self.wishes[room] = wish
            self.dirty.insert(room)
        case .gathered(let series): if self.view.series[series] != nil { self.gathered.insert(series) }
        case .configure(let record): self.configure(record)
        case .drain(let deadline): self.drain(deadline)
        case .undrain: self.drain(nil)
        case .stop: self.stop()
        case .tick: break
        }
        self.drive(now)
        if !wasReady, self.isConnected, self.isRegistered { self.everythingIsDirty() }
        if self.freeCapacity > free { self.dirty.formUnion(self.stuck) }
        self.wakeUp(now)
        self.settle(now)
        self.driveSeries(now)
        self.finish(now)
        defer { self.actions.removeAll() }
        return self.actions
    }

    // MARK: Requests

    @discardableResult
    mutating func send(_ request: StoreRequest, for purpose: Purpose, limit: Duration? = nil) -> ClusterRequestID {
        let id = ClusterRequestID(self.nextRequest)
        self.nextRequest += 1
        self.requests[id] = purpose
        self.actions.append(.request(id, request, limit: limit ?? self.settings.requestLimit))
        return id
    }

    mutating func newWatch(from revision: Revision) {
        if let watch = self.watch { self.actions.append(.endWatch(watch)) }
        let id = ClusterWatchID(self.nextWatch)
        self.nextWatch += 1
        self.watch = id
        self.actions.append(.watch(id, prefix: ClusterKey.prefix(cluster: self.settings.cluster), from: revision))
    }

    mutating func report(_ event: ClusterEvent) { self.actions.append(.report(event)) }

    /// Reports a fact that holds for a while, once.
    mutating func reportOnce(_ event: ClusterEvent) {
        if self.reported.insert(event).inserted { self.report(event) }
    }

    // MARK: Requests of operators

    private mutating func configure(_ record: HostRecord) {
        self.settings.record = record
        self.hostChanged()
    }

    private mutating func drain(_ deadline: Duration?) {
        self.drainDeadline = deadline
        self.hasReportedDrained = false
        // What is under way is withdrawn, unless the successor is faster.
        if deadline == nil { for room in self.holdings.keys { self.holdings[room]?.move = nil } }
        self.hostChanged()
        self.dirty.formUnion(self.unclaimed.keys)
    }

    private mutating func stop() {
        self.isStopping = true
        self.hostChanged()
    }

    private mutating func pin(_ rooms: [String: Int]) {
        self.dirty.formUnion(self.local.keys)
        self.dirty.formUnion(rooms.keys)
        self.local = rooms
    }

    private mutating func hostChanged() {
        self.placement = nil
        self.dirty.formUnion(self.holdings.keys)
        self.dirty.formUnion(self.stuck)
    }

    /// The record that the store should have of this host.
    var ownRecord: HostRecord {
        var record = self.settings.record
        record.isDraining = self.isDraining
        record.isStopping = self.isStopping
        return record
    }

    private mutating func finish(_ now: Duration) {
        if self.isDraining, self.isConnected, !self.hasReportedDrained,
            self.holdings.values.allSatisfy(\.isLocal), self.claiming.isEmpty
        {
            self.hasReportedDrained = true
            self.report(.drained)
        }
        guard self.isStopping, self.holdings.isEmpty, self.busy.isEmpty else { return }
        // A lease that is being granted ends automatically.
        guard let lease = self.lease else {
            self.leaseState = .ended
            return
        }
        // Other hosts are to see first that it stops in order.
        guard !self.isHostBusy, !self.requests.values.contains(.revocation) else { return }
        self.send(.revoke(lease.id), for: .revocation)
    }
}
