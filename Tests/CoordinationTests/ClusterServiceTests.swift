// SPDX-License-Identifier: Apache-2.0

import Basics
import Cluster
import Coordination
import Logging
import Model
import Observability
import ServiceLifecycle
import Synchronization
import Testing

@testable import Daemon

/// Hosts of a cluster over a real etcd.
@Suite(.serialized, .timeLimit(.minutes(5))) struct ClusterServiceTests {
    /// A host that is in a room as soon as it is told so, and out of it as well.
    final class Host: ClusterHost {
        private let rooms = Mutex<[String: RoomAssignment]>([:])
        private let news = Mutex<(@Sendable (ClusterInput) -> Void)?>(nil)
        private let verdict: RoomVerdict

        init(_ verdict: RoomVerdict) { self.verdict = verdict }

        func report(to news: @escaping @Sendable (ClusterInput) -> Void) { self.news.withLock { $0 = news } }

        func examine(_ room: String, _ record: RoomRecord) async -> RoomVerdict { self.verdict }

        func be(_ room: String, _ assignment: RoomAssignment?) async {
            let before = self.rooms.withLock { rooms in
                defer { rooms[room] = assignment }
                return rooms[room]
            }
            let news: RoomNews? = assignment == nil ? .gone : before == nil ? .joined : nil
            if let news { self.news.withLock { $0 }?(.room(room, news)) }
        }

        func assignment(_ room: String) -> RoomAssignment? { self.rooms.withLock { $0[room] } }

        /// Waits until this host stands so to a room; returns its epoch.
        func epoch(of room: String, _ standing: RoomAssignment.Standing) async throws -> Int {
            while true {
                if let now = self.assignment(room), now.standing == standing { return now.epoch }
                try await Task.sleep(for: .milliseconds(10))
            }
        }
    }

    /// A host with its service, until the end of the test.
    final class Member: Sendable {
        let name: String
        let host: Host
        let service: ClusterService
        private let group: ServiceGroup
        private let task: Task<Void, any Error>

        /// - Parameter memory: what an earlier run of this host kept; the present one keeps it there as well.
        init(
            _ etcd: Etcd,
            _ name: String,
            verdict: RoomVerdict = .usable(leavesWhenCutOff: false),
            memory: KeptMemory = KeptMemory()
        ) {
            self.name = name
            let record = HostRecord(
                url: "http://\(name)",
                version: "1",
                capacity: 10,
                boot: "boot",
                life: "life-\(name)-\(UInt64.random(in: 0...UInt64.max))"
            )
            var settings = ClusterSettings(cluster: ClusterServiceTests.cluster, host: name, record: record)
            settings.lease = .seconds(3)
            self.host = Host(verdict)
            let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
            let service = ClusterService(
                settings: settings,
                memory: memory.value,
                store: etcd.client(),
                host: self.host,
                logger: logger,
                keep: { memory.value = $0 }
            )
            self.service = service
            self.host.report { service.note($0) }
            let group = ServiceGroup(services: [service], logger: logger)
            self.group = group
            self.task = Task { try await group.run() }
        }

        deinit { self.task.cancel() }

        /// Starts a host, and returns when it reaches the store.
        static func connected(_ etcd: Etcd, _ name: String) async throws -> Member {
            let member = Member(etcd, name)
            while await !member.service.isConnected { try await Task.sleep(for: .milliseconds(10)) }
            return member
        }

        /// Ends as by `kill -9`: nothing is told to the store.
        func kill() { self.task.cancel() }

        /// Ends in order, and returns when it has.
        func stop() async throws {
            await self.group.triggerGracefulShutdown()
            try await self.task.value
        }
    }

    static let cluster = "calls"
    static let definition = #"{"room":{"url":"socketio+http://192.0.2.1/r"},"schema":1}"#

    /// Writes keys of the cluster; nil deletes.
    static func put(
        _ etcd: Etcd,
        _ values: [(ClusterKey, String?)],
        asking members: [Int]? = nil
    ) async throws {
        try await etcd.client(members).transact(
            then: values.map { key, value in
                let text = key.text(cluster: Self.cluster)
                return value.map { .put(key: text, value: $0) } ?? .delete(key: text)
            }
        )
    }

    static func initialise(_ etcd: Etcd, rooms: [String] = ["r"]) async throws {
        try await Self.put(etcd, [(.meta, MetaRecord(id: "one").text)] + rooms.map { (.room($0), Self.definition) })
    }

    static func keys(_ etcd: Etcd) async throws -> [String] {
        try await etcd.client().list(ClusterKey.prefix(cluster: Self.cluster)).0.map(\.key)
    }

    @Test func theRoomOfAHostThatDiesGetsTheNextEpoch() async throws {
        let etcd = try await Etcd()
        defer { etcd.end() }
        try await Self.initialise(etcd)
        let first = Member(etcd, "a")
        #expect(try await first.host.epoch(of: "r", .held) == 1)
        let second = try await Member.connected(etcd, "b")
        #expect(second.host.assignment("r") == nil)
        first.kill()
        #expect(try await second.host.epoch(of: "r", .held) == 2)
        #expect(await second.service.view.owners["r"]?.record?.host == "b")
    }

    @Test func aHostThatStopsLeavesNothingButItsTrace() async throws {
        let etcd = try await Etcd()
        defer { etcd.end() }
        try await Self.initialise(etcd, rooms: ["r", "s"])
        let member = Member(etcd, "a")
        for room in ["r", "s"] { #expect(try await member.host.epoch(of: room, .held) == 1) }
        try await member.stop()
        #expect(member.host.assignment("r") == nil && member.host.assignment("s") == nil)
        let left = try await Self.keys(etcd).filter { $0.contains("/claims/") || $0.contains("/hosts/") }
        #expect(left.isEmpty)
        #expect(try await Self.keys(etcd).count { $0.contains("/owners/") } == 2)
    }

    @Test func nothingIsClaimedBeforeTheClusterIsMade() async throws {
        let etcd = try await Etcd()
        defer { etcd.end() }
        try await Self.put(etcd, [(.room("r"), Self.definition)])
        let member = Member(etcd, "a")
        while await member.service.view.listed == nil { try await Task.sleep(for: .milliseconds(10)) }
        #expect(try await Self.keys(etcd).count == 1)
        try await Self.put(etcd, [(.meta, MetaRecord(id: "one").text)])
        #expect(try await member.host.epoch(of: "r", .held) == 1)
    }

    @Test func aRoomGoesToAHostThatCanHaveIt() async throws {
        let etcd = try await Etcd()
        defer { etcd.end() }
        try await Self.initialise(etcd)
        let lacking = Member(etcd, "a", verdict: .unusable("no secret"))
        let other = Member(etcd, "b")
        #expect(try await other.host.epoch(of: "r", .held) == 1)
        #expect(lacking.host.assignment("r") == nil)
    }

    @Test func aRoomThatIsDeletedIsLeft() async throws {
        let etcd = try await Etcd()
        defer { etcd.end() }
        try await Self.initialise(etcd)
        let member = Member(etcd, "a")
        #expect(try await member.host.epoch(of: "r", .held) == 1)
        try await Self.put(etcd, [(.room("r"), nil)])
        while member.host.assignment("r") != nil { try await Task.sleep(for: .milliseconds(10)) }
        while try await Self.keys(etcd).contains(where: { $0.contains("/claims/") }) {
            try await Task.sleep(for: .milliseconds(10))
        }
        #expect(try await Self.keys(etcd).contains { $0.hasSuffix("/owners/r") })
    }

    @Test func whatMetricsAndOperatorsSeeFollowsTheStore() async throws {
        let etcd = try await Etcd()
        defer { etcd.end() }
        try await Self.initialise(etcd, rooms: ["r", "s"])
        let member = Member(etcd, "a")
        for room in ["r", "s"] { #expect(try await member.host.epoch(of: room, .held) == 1) }
        try await Self.put(etcd, [(.room("odd"), #"{"schema":9}"#)])
        try await Self.until { member.service.measurement.unclaimedRooms == 1 }
        let calm = member.service.measurement
        #expect(calm.hosts == 1 && calm.heldClaims == 2 && calm.uncertainClaims == 0)
        let seen = await member.service.resource
        #expect(seen.isConnected && seen.reason == nil && seen.id == "one" && seen.drain == nil)
        #expect(seen.hosts.map(\.name) == ["a"] && seen.hosts.first?.load == 2 && seen.hosts.first?.rooms == 2)
        #expect(seen.rooms.map(\.name) == ["odd", "r", "s"])
        #expect(seen.rooms[0].phase == .unclaimed && seen.rooms[0].reason?.contains("update this host") == true)
        #expect(seen.rooms[1].host == "a" && seen.rooms[1].epoch == 1 && seen.rooms[1].reason == nil)
        etcd.stop(0)
        try await Self.until { member.service.measurement.uncertainClaims == 2 }
        try await Self.until { member.service.measurement.renewalAgeSeconds > 5 }
        let stale = await member.service.resource
        #expect(!stale.isConnected && stale.reason != nil && stale.since > seen.since && stale.rooms.count == 3)
        etcd.continue(0)
        try await Self.until {
            let now = member.service.measurement
            return now.heldClaims == 2 && now.renewalAgeSeconds < 5
        }
        #expect(await member.service.resource.reason == nil)
    }

    /// The host next to it takes what it leaves, and the one that drains takes it back no more.
    @Test func aHostThatDrainsHandsOn() async throws {
        let etcd = try await Etcd()
        defer { etcd.end() }
        try await Self.initialise(etcd)
        let first = Member(etcd, "a")
        #expect(try await first.host.epoch(of: "r", .held) == 1)
        let second = try await Member.connected(etcd, "b")
        first.service.note(.room("r", .members(isOccupied: true, takesOneMore: false)))
        await first.service.drain(within: .seconds(600))
        #expect(await first.service.resource.drain?.rooms == ["r"])
        try await Self.until { await second.service.resource.hosts.first?.isDraining == true }
        #expect(second.host.assignment("r") == nil, "a call is in progress")
        first.service.note(.room("r", .members(isOccupied: false, takesOneMore: false)))
        #expect(try await second.host.epoch(of: "r", .held) == 2)
        try await Self.until { await first.service.resource.drain?.rooms == [] }
        await first.service.drain(within: nil)
        #expect(await first.service.resource.drain == nil)
        try await Self.until { await second.service.resource.hosts.first?.isDraining == false }
    }

    static func until(_ isSo: () async -> Bool) async throws {
        while await !isSo() { try await Task.sleep(for: .milliseconds(10)) }
    }

    /// A member that hangs answers nothing at all.
    @Test func anEtcdThatHangsMakesClaimsUncertainAndMovesNothing() async throws {
        let etcd = try await Etcd()
        defer { etcd.end() }
        try await Self.initialise(etcd)
        let member = Member(etcd, "a")
        #expect(try await member.host.epoch(of: "r", .held) == 1)
        etcd.stop(0)
        #expect(try await member.host.epoch(of: "r", .uncertain) == 1)
        etcd.continue(0)
        #expect(try await member.host.epoch(of: "r", .held) == 1)
    }

    @Test func roomsOfTheHostItselfAreSeenAndNotOrdered() async throws {
        let etcd = try await Etcd()
        defer { etcd.end() }
        try await Self.initialise(etcd, rooms: [])
        let member = Member(etcd, "a")
        member.service.note(.pin(["own": 3]))
        while await member.service.view.claims["own"]?.record?.phase != .joined {
            try await Task.sleep(for: .milliseconds(10))
        }
        #expect(await member.service.view.claims["own"]?.record?.localCost == 3)
        #expect(member.host.assignment("own") == nil)
    }

    /// One of three members dies, whichever the client asks.
    @Test func theDeathOfAMemberIsNotNoticed() async throws {
        let etcd = try await Etcd(members: 3)
        defer { etcd.end() }
        try await Self.initialise(etcd)
        let member = Member(etcd, "a")
        #expect(try await member.host.epoch(of: "r", .held) == 1)
        etcd.kill(0)
        // The others may have to choose a leader first.
        while (try? await Self.put(etcd, [(.room("s"), Self.definition)], asking: [1, 2])) == nil {
            try await Task.sleep(for: .milliseconds(10))
        }
        #expect(try await member.host.epoch(of: "s", .held) == 1)
        #expect(member.host.assignment("r")?.epoch == 1)
    }
}
