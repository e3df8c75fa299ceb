// SPDX-License-Identifier: Apache-2.0

import Cluster
import Logging
import Model
import Synchronization
import Testing

@testable import Daemon

@Suite struct EventBusTests {
    @Test func eventsOfAClusterNameTheHost() {
        let events = Mutex<[DaemonEvent]>([])
        for host in [nil, "a"] {
            let bus = EventBus(
                life: "life",
                host: host,
                logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() },
                listeners: [{ event in events.withLock { $0.append(event) } }]
            )
            bus.publish(.roomJoined, room: "hall")
        }
        #expect(events.withLock { $0.map(\.host) } == [nil, "a"])
    }

    @Test func numbersEventsAndTellsEveryListener() {
        let first = Mutex<[DaemonEvent]>([])
        let second = Mutex<[UInt64]>([])
        let bus = EventBus(
            life: "life",
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() },
            listeners: [
                { event in first.withLock { $0.append(event) } },
                { event in second.withLock { $0.append(event.sequence) } },
            ]
        )
        bus.publish(.roomJoined, room: "a")
        bus.publish(.recordingStarted, room: "a", recording: "r", ["part": "1"])
        bus.publish(.configurationReloaded)
        let events = first.withLock { $0 }
        #expect(events.map(\.sequence) == [1, 2, 3])
        #expect(events.map(\.id.description) == ["life-1", "life-2", "life-3"])
        #expect(second.withLock { $0 } == [1, 2, 3])
        #expect(events.map(\.kind) == [.roomJoined, .recordingStarted, .configurationReloaded])
        #expect(events.map(\.room) == ["a", "a", nil])
        #expect(events[1].recording == "r" && events[1].details == ["part": "1"])
        #expect(events.allSatisfy { $0.time.hasSuffix("Z") })
    }

    @Test func eventsFromManyThreadsKeepNumbersOfTheirOwn() async {
        let numbers = Mutex<Set<UInt64>>([])
        let bus = EventBus(
            life: "life",
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() },
            listeners: [{ event in numbers.withLock { _ = $0.insert(event.sequence) } }]
        )
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<8 {
                group.addTask { for _ in 0..<100 { bus.publish(.exportProgress) } }
            }
        }
        #expect(numbers.withLock { $0 } == Set(1...800))
    }

    @Test func whatHostsOfAClusterHearIsPublished() async throws {
        let bench = try DaemonBench()
        bench.bus.publish(ClusterEvent.connected(id: "one"), host: "b")
        bench.bus.publish(ClusterEvent.claimed(room: "r", epoch: 1, from: nil), host: "b")
        bench.bus.publish(ClusterEvent.claimed(room: "r", epoch: 2, from: "a"), host: "b")
        bench.bus.publish(ClusterEvent.hostLost("a", life: "life", since: .none), host: "b")
        var events = bench.events.makeAsyncIterator()
        let moved = await events.next()
        #expect(moved?.kind == .roomMoved && moved?.room == "r")
        #expect(moved?.details == ["from": "a", "to": "b", "epoch": "2"])
        let lost = await events.next()
        #expect(lost?.kind == .hostLost && lost?.details == ["host": "a"])
    }
}
