// SPDX-License-Identifier: Apache-2.0

import Cluster
import Coordination
import Model
import Synchronization
import Testing

@testable import Daemon

/// What the catalogue has of a cluster, between the runs of a daemon.
final class KeptMemory: Sendable {
    private let state = Mutex(ClusterMemory())

    var value: ClusterMemory {
        get { self.state.withLock { $0 } }
        set { self.state.withLock { $0 = newValue } }
    }
}

/// Hosts that restart, over a real etcd.
@Suite(.serialized, .timeLimit(.minutes(5))) struct ClusterMemoryTests {
    private typealias Member = ClusterServiceTests.Member

    /// A new etcd at the same address.
    private static func replace(_ etcd: Etcd) async throws {
        etcd.kill(0)
        try etcd.wipe(0)
        try etcd.start(0)
        try await etcd.ready()
    }

    @Test func anEtcdThatWasReplacedIsRefusedAlsoAfterARestart() async throws {
        let etcd = try await Etcd()
        defer { etcd.end() }
        try await ClusterServiceTests.initialise(etcd)
        let memory = KeptMemory()
        let first = Member(etcd, "a", memory: memory)
        #expect(try await first.host.epoch(of: "r", .held) == 1)
        try await ClusterServiceTests.until { memory.value.id == "one" && memory.value.epochs == ["r": 1] }
        first.kill()
        try await Self.replace(etcd)
        let room = ClusterServiceTests.definition
        try await ClusterServiceTests.put(etcd, [(.meta, MetaRecord(id: "two").text), (.room("r"), room)])
        let second = Member(etcd, "a", memory: memory)
        try await ClusterServiceTests.until { await second.service.resource.reason?.contains("adopt") == true }
        #expect(await second.service.resource.reason?.contains("the id was one, and is two") == true)
        let keys = try await ClusterServiceTests.keys(etcd)
        #expect(keys.count == 2, "\(keys)")
        try await ClusterServiceTests.put(etcd, [(.meta, MetaRecord(id: "two", replaced: ["one"]).text)])
        #expect(try await second.host.epoch(of: "r", .held) == 2)
        try await second.stop()
        #expect(memory.value == ClusterMemory(id: "two", epochs: ["r": 2]))
    }

    /// The last owner is away: another host knows its epoch from the etcd as it was.
    @Test func anEtcdThatWasRestoredLowersNoEpoch() async throws {
        let etcd = try await Etcd()
        defer { etcd.end() }
        try await ClusterServiceTests.initialise(etcd)
        let owner = Member(etcd, "a")
        #expect(try await owner.host.epoch(of: "r", .held) == 1)
        let memory = KeptMemory()
        let other = Member(etcd, "b", memory: memory)
        try await ClusterServiceTests.until { memory.value.epochs == ["r": 1] }
        other.kill()
        owner.kill()
        try await Self.replace(etcd)
        try await ClusterServiceTests.initialise(etcd)
        let again = Member(etcd, "b", memory: memory)
        #expect(try await again.host.epoch(of: "r", .held) == 2)
    }

    @Test(arguments: [false, true]) func aDrainEndsWithUndrainOrWithTheRun(untilRestart: Bool) async throws {
        let etcd = try await Etcd()
        defer { etcd.end() }
        try await ClusterServiceTests.initialise(etcd)
        let memory = KeptMemory()
        let first = Member(etcd, "a", memory: memory)
        #expect(try await first.host.epoch(of: "r", .held) == 1)
        await first.service.drain(within: .seconds(600), untilRestart: untilRestart)
        #expect((memory.value.drain == nil) == untilRestart)
        let deadline = await first.service.resource.drain?.deadline
        first.kill()
        let second = Member(etcd, "a", memory: memory)
        guard !untilRestart else {
            #expect(try await second.host.epoch(of: "r", .held) == 2)
            return
        }
        try await ClusterServiceTests.until { await second.service.resource.hosts.first?.isDraining == true }
        #expect(await second.service.resource.drain?.deadline == deadline)
        // A hook before each stop does not end it.
        await second.service.drain(within: .seconds(1), untilRestart: true)
        #expect(memory.value.drain != nil)
        await second.service.drain(within: nil)
        #expect(memory.value.drain == nil)
        #expect(try await second.host.epoch(of: "r", .held) == 2)
    }
}
