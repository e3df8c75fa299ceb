// SPDX-License-Identifier: Apache-2.0

import Basics
import Cluster
import Coordination
import Testing

/// The client and real etcds.
@Suite(.serialized, .timeLimit(.minutes(5))) struct EtcdClientTests {
    private static func error(_ body: () async throws -> Void) async -> StoreError? {
        do {
            try await body()
            return nil
        } catch {
            return error as? StoreError ?? .unreachable("no error of the store: \(error)")
        }
    }

    private static func isUnreachable(_ error: StoreError?) -> Bool {
        if case .unreachable? = error { true } else { false }
    }
    private static func isRefused(_ error: StoreError?) -> Bool { if case .refused? = error { true } else { false } }
    private static func isFull(_ error: StoreError?) -> Bool { if case .full? = error { true } else { false } }

    // MARK: - One member

    @Test func leasesLiveAndEnd() async throws {
        let etcd = try await Etcd()
        defer { etcd.end() }
        let client = etcd.client()
        let lease = try await client.grant(.seconds(60))
        #expect(try await client.perform(.keepAlive(lease)) == .renewed(.seconds(60)))
        try await client.transact(then: [.put(key: "a", value: "x", lease: lease)])
        #expect(try await client.list("").0.map(\.lease) == [lease])
        #expect(try await client.perform(.revoke(lease)) == .revoked)
        #expect(try await client.list("").0.isEmpty)
        #expect(try await client.perform(.keepAlive(lease)) == .renewed(nil))
        #expect(try await client.perform(.revoke(lease)) == .revoked)
        let error = await Self.error { try await client.transact(then: [.put(key: "a", value: "x", lease: lease)]) }
        #expect(error == .leaseNotFound)
        // One that no one renews.
        let short = try await client.grant(.seconds(1))
        let log = WatchLog(client, prefix: "", from: try await client.list("").1.next)
        try await client.transact(then: [.put(key: "b", value: "", lease: short)])
        #expect(try await log.changes(2) == ["+b=", "-b"])
        #expect(try await client.perform(.keepAlive(short)) == .renewed(nil))
    }

    @Test func transactionsAreDoneOrNot() async throws {
        let etcd = try await Etcd()
        defer { etcd.end() }
        let client = etcd.client()
        let claim: ([StoreTransaction.Condition], [StoreTransaction.Operation], [StoreTransaction.Operation]) = (
            [.created(key: "claims/a", .none), .modified(key: "owners/a", .none)],
            [
                .put(key: "claims/a", value: "me"), .put(key: "owners/a", value: "1"), .get(key: "owners/a"),
                .get(key: "x"),
            ],
            [.get(key: "claims/a"), .get(key: "x")]
        )
        let first = try await client.transact(if: claim.0, then: claim.1, else: claim.2)
        #expect(first.hasSucceeded && first.values.map { $0?.value } == ["1", nil])
        let second = try await client.transact(if: claim.0, then: claim.1, else: claim.2)
        #expect(!second.hasSucceeded && second.values.map { $0?.value } == ["me", nil])
        #expect(second.revision == first.revision)
        let mine = try #require(second.values.first ?? nil)
        #expect(mine.created == first.revision && mine.modified == first.revision && mine.lease == nil)
        let gone = try await client.transact(
            if: [.created(key: "claims/a", mine.created), .modified(key: "claims/a", mine.modified)],
            then: [.delete(key: "claims/a"), .delete(key: "never")]
        )
        #expect(gone.hasSucceeded && gone.revision > first.revision && gone.values.isEmpty)
        #expect(try await client.list("").0.map(\.key) == ["owners/a"])
    }

    @Test func listsAreWhole() async throws {
        let etcd = try await Etcd()
        defer { etcd.end() }
        let client = etcd.client()
        let keys = (0..<600).map { "a/\(1000 + $0)" }
        for start in stride(from: 0, to: keys.count, by: 100) {
            try await client.transact(then: keys[start..<start + 100].map { .put(key: $0, value: "ü\($0)") })
        }
        let last = try await client.transact(then: [.put(key: "a", value: ""), .put(key: "a0", value: "")])
        let (values, revision) = try await client.list("a/")
        #expect(values.map(\.key) == keys)
        #expect(values.allSatisfy { $0.value == "ü\($0.key)" })
        #expect(revision == last.revision)
        #expect(try await client.list("").0.count == 602)
        #expect(try await client.list("b").0.isEmpty)
    }

    @Test func listsOfLargeValuesAreWhole() async throws {
        let etcd = try await Etcd()
        defer { etcd.end() }
        let client = etcd.client()
        let value = String(repeating: "x", count: 64 << 10)
        let keys = (0..<200).map { "a/\(1000 + $0)" }
        for start in stride(from: 0, to: keys.count, by: 20) {
            try await client.transact(then: keys[start..<start + 20].map { .put(key: $0, value: value) })
        }
        // One of somebody else's.
        let foreign = Base64.encode(Array(repeating: 0x78, count: 1 << 20))
        try await etcd.call(
            "/v3/kv/put",
            ["key": .string(Base64.encode(Array("a/2000".utf8))), "value": .string(foreign)]
        )
        let values = try await client.list("a/").0
        #expect(values.map(\.key) == keys + ["a/2000"])
        #expect(values.allSatisfy { $0.value == value })
    }

    @Test func aWatchTellsEveryChangeOnce() async throws {
        let etcd = try await Etcd()
        defer { etcd.end() }
        let client = etcd.client()
        let start = try await client.list("").1.next
        try await client.transact(then: [.put(key: "a/0", value: "early"), .put(key: "b/0", value: "")])
        let log = WatchLog(client, prefix: "a/", from: start)
        #expect(try await log.changes(1) == ["+a/0=early"])
        try await client.transact(then: [.put(key: "a/1", value: "1"), .delete(key: "a/0")])
        try await client.transact(then: [.put(key: "a/1", value: "2")])
        #expect(try await log.changes(4) == ["+a/0=early", "+a/1=1", "-a/0", "+a/1=2"])
        // Both changes of one revision in one update, with it.
        guard case .events(let events, let revision) = log.updates[1] else {
            Issue.record("\(log.updates[1])")
            return
        }
        #expect(events.count == 2 && events.allSatisfy { $0.revision == revision })
        #expect(await log.end(cancels: true) == nil)
    }

    @Test func aChangeThatComesInPiecesIsOne() async throws {
        let etcd = try await Etcd(["--max-request-bytes", "4000000"])
        defer { etcd.end() }
        let client = etcd.client()
        let start = try await client.list("").1.next
        // More than etcd sends at once.
        let value = String(repeating: "x", count: 64 << 10)
        let log = WatchLog(client, prefix: "", from: start)
        try await client.transact(then: (0..<50).map { .put(key: "\(10 + $0)", value: value) })
        let changes = try await log.changes(50)
        #expect(changes == (0..<50).map { "+\(10 + $0)=\(value)" })
        #expect(log.updates.count == 1)
    }

    @Test func aSlowReaderLosesNothing() async throws {
        let etcd = try await Etcd()
        defer { etcd.end() }
        let client = etcd.client()
        let value = String(repeating: "x", count: 64 << 10)
        // Of all that comes meanwhile, 21 MB, some is not held.
        let keys = (0..<240).map { "\(100 + $0)" }
        let log = WatchLog(client, prefix: "", from: try await client.list("").1.next, holds: true)
        for key in keys { try await client.transact(then: [.put(key: key, value: value)]) }
        log.release()
        #expect(try await log.changes(240) == keys.map { "+\($0)=\(value)" })
    }

    @Test func whatIsCompactedHasToBeListed() async throws {
        let etcd = try await Etcd()
        defer { etcd.end() }
        let client = etcd.client()
        let first = try await client.transact(then: [.put(key: "a", value: "1")]).revision
        let last = try await client.transact(then: [.put(key: "a", value: "2")]).revision
        try await etcd.call("/v3/kv/compaction", ["revision": .string("\(last.number)")])
        let log = WatchLog(client, prefix: "", from: first)
        #expect(await log.end() == nil)
        #expect(log.updates == [.compacted])
        let (values, revision) = try await client.list("")
        #expect(values.map(\.value) == ["2"])
        let next = WatchLog(client, prefix: "", from: revision.next)
        try await client.transact(then: [.put(key: "a", value: "3")])
        #expect(try await next.changes(1) == ["+a=3"])
    }

    /// Recreated, or restored to an earlier day.
    @Test func aStoreThatBeganAnewHasToBeListed() async throws {
        let etcd = try await Etcd()
        defer { etcd.end() }
        let client = etcd.client()
        for number in 0..<10 { try await client.transact(then: [.put(key: "a", value: "\(number)")]) }
        let log = WatchLog(client, prefix: "", from: try await client.list("").1.next)
        etcd.kill(0)
        try etcd.wipe(0)
        try etcd.start(0)
        #expect(await log.end() == nil)
        #expect(log.updates == [.compacted])
        #expect(try await client.list("").0.isEmpty)
    }

    @Test func aFullStoreStillRenews() async throws {
        let etcd = try await Etcd(["--quota-backend-bytes", "2000000"])
        defer { etcd.end() }
        let client = etcd.client()
        let lease = try await client.grant(.seconds(60))
        let value = String(repeating: "x", count: 64 << 10)
        var error: StoreError?
        while error == nil {
            error = await Self.error { try await client.transact(then: [.put(key: "a", value: value)]) }
        }
        #expect(Self.isFull(error))
        #expect(await Self.isFull(Self.error { _ = try await client.grant(.seconds(60)) }))
        #expect(try await client.perform(.keepAlive(lease)) == .renewed(.seconds(60)))
        #expect(try await client.list("").0.count == 1)
        #expect(try await client.status().first?.status.get().problems.isEmpty == false)
    }

    // MARK: - Who we are

    private static let user = EtcdConfiguration.User(name: "tapedeck", password: Secret("secret"))

    /// One user may read and write keys that begin with `a/`.
    private static func guarded() async throws -> Etcd {
        let etcd = try await Etcd()
        let (start, end) = (Base64.encode(Array("a/".utf8)), Base64.encode(Array("a0".utf8)))
        for name in ["root", "tapedeck"] {
            try await etcd.call("/v3/auth/user/add", ["name": .string(name), "password": "secret"])
            try await etcd.call("/v3/auth/role/add", ["name": .string(name)])
            try await etcd.call("/v3/auth/user/grant", ["user": .string(name), "role": .string(name)])
        }
        let right: [String: JSONValue] = ["permType": "READWRITE", "key": .string(start), "range_end": .string(end)]
        try await etcd.call("/v3/auth/role/grant", ["name": "tapedeck", "perm": .object(right)])
        try await etcd.call("/v3/auth/enable", [:])
        return etcd
    }

    @Test func aUserMayDoWhatItMay() async throws {
        let etcd = try await Self.guarded()
        defer { etcd.end() }
        let client = etcd.client(user: Self.user)
        let lease = try await client.grant(.seconds(60))
        try await client.transact(then: [.put(key: "a/1", value: "x", lease: lease)])
        let (values, revision) = try await client.list("a/")
        #expect(values.map(\.key) == ["a/1"])
        #expect(try await client.perform(.keepAlive(lease)) == .renewed(.seconds(60)))
        #expect(await Self.isRefused(Self.error { _ = try await client.list("b/") }))
        #expect(await Self.isRefused(Self.error { try await client.transact(then: [.put(key: "b", value: "x")]) }))
        #expect(await Self.isRefused(WatchLog(client, prefix: "b/", from: revision).end()))
        // Who is nobody, or somebody else.
        #expect(await Self.isRefused(Self.error { _ = try await etcd.client().list("a/") }))
        #expect(await Self.isRefused(WatchLog(etcd.client(), prefix: "a/", from: revision).end()))
        let wrong = etcd.client(user: .init(name: "tapedeck", password: Secret("wrong")))
        #expect(await Self.isRefused(Self.error { _ = try await wrong.list("a/") }))
        #expect(await Self.isRefused(WatchLog(wrong, prefix: "a/", from: revision).end()))
    }

    @Test func aUserWhomEtcdDoesNotAskForIsRefused() async throws {
        let etcd = try await Etcd()
        defer { etcd.end() }
        #expect(await Self.isRefused(Self.error { _ = try await etcd.client(user: Self.user).list("") }))
    }

    /// etcd keeps tokens in memory.
    @Test func aTokenThatHasEndedIsRenewed() async throws {
        let etcd = try await Self.guarded()
        defer { etcd.end() }
        let client = etcd.client(user: Self.user)
        try await client.transact(then: [.put(key: "a/1", value: "x")])
        let log = WatchLog(client, prefix: "a/", from: Revision(1))
        #expect(try await log.changes(1) == ["+a/1=x"])
        etcd.kill(0)
        try etcd.start(0)
        try await etcd.ready()
        try await client.transact(then: [.put(key: "a/2", value: "y")])
        #expect(try await log.changes(2) == ["+a/1=x", "+a/2=y"])
        // Many at once, none of which has a valid one.
        etcd.kill(0)
        try etcd.start(0)
        try await etcd.ready()
        try await withThrowingTaskGroup { group in
            for _ in 0..<20 { group.addTask { _ = try await client.list("a/") } }
            try await group.waitForAll()
        }
        #expect(await log.end(cancels: true) == nil)
    }

    @Test func itShowsItsCertificate() async throws {
        let etcd = try await Etcd(secure: true)
        defer { etcd.end() }
        let client = etcd.client()
        try await client.transact(then: [.put(key: "a", value: "x")])
        #expect(try await client.list("").0.map(\.value) == ["x"])
        let log = WatchLog(client, prefix: "", from: Revision(1))
        #expect(try await log.changes(1) == ["+a=x"])
        var nobody = etcd.configuration()
        nobody.identity = nil
        #expect(await Self.isUnreachable(Self.error { _ = try await EtcdClient(nobody).list("") }))
        var distrusting = etcd.configuration()
        distrusting.authorityFile = nil
        #expect(await Self.isUnreachable(Self.error { _ = try await EtcdClient(distrusting).list("") }))
    }

    // MARK: - Three members

    /// Which member is asked first, the leader or another, and what happens to it.
    @Test(arguments: [true, false], [true, false])
    func theNextMemberTakesOver(_ leads: Bool, _ dies: Bool) async throws {
        let etcd = try await Etcd(members: 3)
        defer { etcd.end() }
        let leader = try await etcd.leader()
        let order = (0..<3).map { (leader + $0 + (leads ? 0 : 1)) % 3 }
        let (client, other) = (etcd.client(order), etcd.client(order.reversed()))
        let lease = try await client.grant(.seconds(60))
        try await client.transact(then: [.put(key: "lease", value: "", lease: lease)])
        let log = WatchLog(client, prefix: "key/", from: try await client.list("").1.next)
        let keys = (0..<20).map { "key/\(10 + $0)" }
        try await other.write(Array(keys.prefix(10)))
        _ = try await log.changes(10)
        if dies { etcd.kill(order[0]) } else { etcd.stop(order[0]) }
        // Renewed in time by another one, which a new leader gives all of it, and told by it.
        #expect(try await client.renew(lease) != nil)
        try await other.write(Array(keys.dropFirst(10)))
        #expect(try await client.renew(lease) != nil)
        #expect(try await log.changes(20) == keys.map { "+\($0)=" })
        #expect(try await client.list("lease").0.map(\.lease) == [lease])
        if dies { try etcd.start(order[0]) } else { etcd.continue(order[0]) }
        try await etcd.ready()
        #expect(await client.status().map(\.member) == order.map { etcd.urls[$0] })
        #expect(await log.end(cancels: true) == nil)
        #expect(log.changes.count == 20)
    }

    @Test func whatWithoutAMajorityCannotBeIsUnreachable() async throws {
        let etcd = try await Etcd(members: 3)
        defer { etcd.end() }
        let client = etcd.client()
        let lease = try await client.grant(.seconds(60))
        let log = WatchLog(client, prefix: "key/", from: try await client.list("").1.next)
        try await client.write(["key/1"])
        _ = try await log.changes(1)
        for member in [1, 2] { etcd.kill(member) }
        #expect(
            await Self.isUnreachable(Self.error { try await client.transact(then: [.put(key: "key/2", value: "")]) })
        )
        #expect(await Self.isUnreachable(Self.error { _ = try await client.perform(.keepAlive(lease)) }))
        #expect(await Self.isUnreachable(Self.error { _ = try await client.list("") }))
        for member in [1, 2] { try etcd.start(member) }
        try await etcd.ready()
        // The leases live, and nothing was missed: what nobody knew of is there or not, once.
        #expect(try await client.renew(lease) != nil)
        try await client.write(["key/2", "key/3"])
        #expect(try await client.list("key/").0.map(\.key) == ["key/1", "key/2", "key/3"])
        #expect(try await log.changes(3) == ["+key/1=", "+key/2=", "+key/3="])
    }

    /// A transaction too: what cannot have come to one member may be sent to another.
    @Test func membersThatAreNotThereAreLeft() async throws {
        let etcd = try await Etcd()
        defer { etcd.end() }
        var configuration = etcd.configuration()
        configuration.members = ["http://127.0.0.1:9", "http://nobody.invalid:2379", etcd.urls[0] + "/"]
        let client = EtcdClient(configuration)
        try await client.transact(then: [.put(key: "a", value: "x")])
        #expect(try await client.list("").0.map(\.value) == ["x"])
        let all = await client.status().map { try? $0.status.get().version }
        #expect(all[0] == nil && all[1] == nil && all[2] != nil)
        configuration.members.removeLast()
        let error = await Self.error { _ = try await EtcdClient(configuration).list("") }
        #expect(Self.isUnreachable(error))
    }
}
