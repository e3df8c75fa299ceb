// SPDX-License-Identifier: Apache-2.0

import Cluster

/// Feeds the machine of host `a` and plays a store that answers when the test says so; host `b` lives next to it.
struct ClusterDriver {
    var machine: ClusterMachine
    var etcd = SimulatedEtcd()
    var now = Duration.seconds(1000)
    /// Requests without an answer.
    var open: [(id: ClusterRequestID, request: StoreRequest)] = []
    /// What was sent, in all.
    var sent: [StoreRequest] = []
    var watch: ClusterWatchID?
    /// What the host should be in each room.
    var assignments: [String: RoomAssignment] = [:]
    /// Rooms to leave, until `.gone`.
    var leaving: Set<String> = []
    var events: [ClusterEvent] = []
    /// What was said last of series to bring together.
    var series: [String: SeriesRecord]?
    /// Whether definitions can be run; nil: nobody answers.
    var verdict: RoomVerdict? = .usable(leavesWhenCutOff: false)
    private var seen: Int64 = 0

    static let cluster = "calls"

    init(rooms: [String] = ["r"], hasOther: Bool = true, _ change: (inout ClusterSettings) -> Void = { _ in }) {
        var settings = ClusterSettings(cluster: Self.cluster, host: "a", record: Self.record("a"))
        settings.rebalancing = .never
        change(&settings)
        self.machine = ClusterMachine(settings: settings)
        self.put(.meta, MetaRecord(id: "one").text)
        for room in rooms { self.put(.room(room), Self.definition()) }
        if hasOther { self.put(.host("b"), Self.record("b").text) }
    }

    static func record(_ host: String, capacity: Int = 10) -> HostRecord {
        HostRecord(url: "https://\(host)", version: "1", capacity: capacity, boot: "boot", life: "life-\(host)")
    }

    static func definition(_ members: String = "") -> String {
        #"{"room":{"url":"wss://example.org/r"\#(members)},"schema":1}"#
    }

    /// The clock of the store.
    private var storeTime: Int {
        let (seconds, attoseconds) = self.now.components
        return Int(seconds) * 1_000_000 + Int(attoseconds / 1_000_000_000_000)
    }

    /// Writes a key as another would, or deletes it; the watch reports it with `news`.
    mutating func put(_ key: ClusterKey, _ value: String?) {
        _ = self.etcd.write(key.text(cluster: Self.cluster), value)
    }

    func stored(_ key: ClusterKey) -> StoredValue? { self.etcd.values[key.text(cluster: Self.cluster)] }

    func claim(_ room: String = "r") -> ClaimRecord? {
        self.stored(.claim(room)).flatMap { RecordReading<ClaimRecord>($0.value).record }
    }

    func owner(_ room: String = "r") -> OwnerRecord? {
        self.stored(.owner(room)).flatMap { RecordReading<OwnerRecord>($0.value).record }
    }

    @discardableResult
    mutating func feed(_ input: ClusterInput) -> [ClusterAction] {
        let actions = self.machine.handle(input, now: self.now)
        for action in actions {
            switch action {
            case .request(let id, let request, _):
                self.open.append((id, request))
                self.sent.append(request)
            case .watch(let id, _, let from): (self.watch, self.seen) = (id, from.number)
            case .endWatch: break
            case .examine(let room, _, let revision):
                if let verdict = self.verdict { self.feed(.examined(room: room, revision, verdict)) }
            case .be(let room, let assignment):
                self.assignments[room] = assignment
                if assignment == nil { self.leaving.insert(room) } else { self.leaving.remove(room) }
            case .gather(let series, _): self.series = series
            case .report(let event): self.events.append(event)
            }
        }
        return actions
    }

    /// Reports what changed in the store.
    mutating func news() {
        guard let watch = self.watch, let events = self.etcd.events(from: self.seen), !events.isEmpty else { return }
        self.seen = self.etcd.revision + 1
        self.feed(.watched(watch, .events(events, Revision(self.etcd.revision))))
    }

    /// The store has lost what the watch waits for.
    mutating func compact() {
        if let watch = self.watch { self.feed(.watched(watch, .compacted)) }
    }

    /// Answers the oldest request.
    mutating func answer() {
        let (id, request) = self.open.removeFirst()
        guard let (result, _) = self.etcd.answer(request, at: self.storeTime, liesAboutLeases: false) else { return }
        self.feed(.answer(id, result))
    }

    /// Carries out the oldest request, and reports the change before the answer.
    mutating func answerLate() {
        let (id, request) = self.open.removeFirst()
        guard let (result, _) = self.etcd.answer(request, at: self.storeTime, liesAboutLeases: false) else { return }
        self.news()
        self.feed(.answer(id, result))
    }

    mutating func fail(_ error: StoreError = .unreachable("no answer")) {
        let (id, _) = self.open.removeFirst()
        self.feed(.answer(id, .failure(error)))
    }

    /// Answers everything until nothing is left to be done now.
    mutating func calm() {
        for _ in 0..<200 {
            if !self.open.isEmpty { self.answer() }
            self.news()
            if self.open.isEmpty { return }
        }
    }

    /// Lets time pass in steps of the machine, with a store that answers at once, or not at all.
    mutating func pass(_ duration: Duration, isReachable: Bool = true) {
        let end = self.now + duration
        while let deadline = self.machine.nextDeadline, deadline <= end {
            self.now = max(self.now, deadline)
            _ = self.etcd.expire(at: self.storeTime)
            self.feed(.tick)
            if isReachable { self.calm() } else { while !self.open.isEmpty { self.fail() } }
        }
        self.now = end
        _ = self.etcd.expire(at: self.storeTime)
        if isReachable { self.news() }
    }

    /// Host `b` hands the room to this host.
    mutating func handOver(epoch: Int) {
        let handover = Handover(to: "a", epoch: epoch)
        self.put(.claim("r"), ClaimRecord(host: "b", epoch: 3, phase: .joined, handover: handover).text)
        self.put(.owner("r"), OwnerRecord(epoch: 3, host: "b", handover: handover).text)
    }

    /// Gets a lease, the state of the store and a record.
    mutating func connect() {
        self.feed(.tick)
        self.calm()
    }

    /// Owns the room and is a member.
    mutating func hold(_ room: String = "r") {
        self.put(.owner(room), OwnerRecord(epoch: 3, host: "a").text)
        self.connect()
        self.join(room)
    }

    mutating func join(_ room: String = "r", isOccupied: Bool = true, takesOneMore: Bool = true) {
        self.feed(.room(room, .joined))
        self.feed(.room(room, .members(isOccupied: isOccupied, takesOneMore: takesOneMore)))
        self.calm()
    }

    mutating func leave(_ room: String = "r") {
        self.leaving.remove(room)
        self.feed(.room(room, .gone))
        self.calm()
    }

    var phase: String { self.phase(of: "r") }

    func phase(of room: String) -> String {
        if let phase = self.machine.holdings[room]?.phase { return Self.name(phase) }
        return self.open.contains { self.isClaim($0.request, of: room) } ? "claiming" : "-"
    }

    /// The name of a phase, without its values.
    static func name(_ phase: ClusterHolding.Phase) -> String {
        switch phase {
        case .held: "held"
        case .uncertain: "uncertain"
        case .preparing: "preparing"
        case .lost: "lost"
        case .leaving: "leaving"
        }
    }

    func isClaim(_ request: StoreRequest, of room: String? = nil) -> Bool {
        guard case .transact(let transaction) = request else { return false }
        return transaction.success.contains { operation in
            guard case .put(let key, _, _?) = operation else { return false }
            guard case .claim(let name)? = ClusterKey(key, cluster: Self.cluster) else { return false }
            return room.map { $0 == name } ?? true
        }
    }

    /// Brings the room into a phase: what the table begins with.
    static func inPhase(_ phase: String) -> ClusterDriver {
        var driver = ClusterDriver()
        switch phase {
        case "free":
            driver.put(.owner("r"), OwnerRecord(epoch: 3, host: "b").text)
            driver.connect()
        case "another's":
            driver.put(.claim("r"), ClaimRecord(host: "b", epoch: 3, phase: .joined).text)
            driver.put(.owner("r"), OwnerRecord(epoch: 3, host: "b").text)
            driver.connect()
        case "claiming":
            driver.put(.claim("r"), ClaimRecord(host: "b", epoch: 3, phase: .joined).text)
            driver.put(.owner("r"), OwnerRecord(epoch: 3, host: "a").text)
            driver.connect()
            driver.put(.claim("r"), nil)
            driver.news()
        case "held": driver.hold()
        case "uncertain":
            driver.hold()
            driver.cutOff()
        case "preparing":
            driver.put(.claim("r"), ClaimRecord(host: "b", epoch: 3, phase: .joined).text)
            driver.connect()
            driver.handOver(epoch: 4)
            driver.news()
        case "lost":
            driver.hold()
            driver.put(.claim("r"), ClaimRecord(host: "b", epoch: 5, phase: .joining).text)
            driver.put(.owner("r"), OwnerRecord(epoch: 5, host: "b").text)
            driver.news()
        default:
            driver.hold()
            driver.put(.room("r"), nil)
            driver.news()
        }
        return driver
    }

    /// Lets the lease run out: no renewal is answered.
    mutating func cutOff() { self.pass(.seconds(5), isReachable: false) }
}
