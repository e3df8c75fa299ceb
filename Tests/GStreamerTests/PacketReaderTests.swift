// SPDX-License-Identifier: Apache-2.0

import CTapedeck
import Dispatch
import Foundation
import Synchronization
import Testing

@testable import GStreamer

/// Separate from those that read the packets of other tests at the same time.
private nonisolated(unsafe) let testReaders: OpaquePointer = CTapedeck_readers_new()

/// A connection without sockets: a thread that shares again and again, and turns that only count, or hang.
private final class SharingConnection: @unchecked Sendable {
    struct State {
        var isOver = false
        var hangs = false
        /// The result of the next turn.
        var stays = true
        var turns = 0
        /// Threads that took turns.
        var readers: Set<UInt> = []
        /// How often its own thread had to do it.
        var returns = 0
        var isInTurn = false
        var wasTakenByTwo = false
    }

    let state = Mutex(State())
    /// A turn that hangs continues after this.
    let goOn = DispatchSemaphore(value: 0)
    private let ended = DispatchSemaphore(value: 0)
    // Made before its thread begins, and freed behind it.
    private var place: OpaquePointer?

    init() {
        let turn: CTapedeckTurn = { user in
            guard let user else { return false }
            return Unmanaged<SharingConnection>.fromOpaque(user).takeUnretainedValue().turn()
        }
        self.place = CTapedeck_reader_place_new(testReaders, turn, Unmanaged.passUnretained(self).toOpaque())
        Thread.detachNewThread { [self] in
            while !self.state.withLock(\.isOver) {
                CTapedeck_reader_share(self.place)
                self.state.withLock {
                    $0.wasTakenByTwo = $0.wasTakenByTwo || $0.isInTurn
                    $0.returns += 1
                }
                // It looks at its sockets.
                usleep(1000)
            }
            CTapedeck_reader_place_free(self.place)
            self.ended.signal()
        }
    }

    private func turn() -> Bool {
        let (hangs, stays) = self.state.withLock { state in
            state.turns += 1
            state.readers.insert(UInt(pthread_self()))
            state.wasTakenByTwo = state.wasTakenByTwo || state.isInTurn
            state.isInTurn = true
            return (state.hangs, state.stays)
        }
        if hangs { self.goOn.wait() }
        self.state.withLock { $0.isInTurn = false }
        return stays
    }

    var turns: Int { self.state.withLock(\.turns) }
    var returns: Int { self.state.withLock(\.returns) }
    var isInTurn: Bool { self.state.withLock(\.isInTurn) }
    private var wasTakenByTwo: Bool { self.state.withLock(\.wasTakenByTwo) }
    var wasSlow: Bool { CTapedeck_reader_was_slow(self.place) }

    /// The steps of webrtcbin when it is stopped: the thread is interrupted and waited for.
    func close() {
        self.state.withLock { $0.isOver = true }
        CTapedeck_reader_interrupt(self.place, true)
        self.ended.wait()
        #expect(!self.wasTakenByTwo, "two threads had the connection at a time")
    }
}

extension AllGStreamer {
    @Suite(.serialized)
    struct PacketReaderTests {
        private var counters: CTapedeckReaderCounters { CTapedeck_reader_counters(testReaders) }

        /// Threads of readers and of the watch.
        private static var threads: Int {
            let tasks = (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/task")) ?? []
            return tasks.count { task in
                let name = try? String(contentsOfFile: "/proc/self/task/\(task)/comm", encoding: .utf8)
                return name?.hasPrefix("packet-") ?? false
            }
        }

        @Test
        func oneThreadTakesTheTurnsOfAll() async {
            let connections = (0..<5).map { _ in SharingConnection() }
            defer { for connection in connections { connection.close() } }
            #expect(await eventually { connections.allSatisfy { $0.turns >= 5 } })
            // A machine with too much to do has more of them.
            #expect(connections.reduce(into: Set()) { $0.formUnion($1.state.withLock(\.readers)) }.count < 5)
            #expect(await eventually { counters.connections == 5 })
            #expect(counters.readers < 5)
        }

        /// One that hangs costs the others a moment: they are read by their own threads, and then by another reader.
        @Test
        func aTurnThatHangsStopsNobodyElse() async {
            let before = counters
            let (stuck, others) = (SharingConnection(), (0..<3).map { _ in SharingConnection() })
            #expect(await eventually { ([stuck] + others).allSatisfy { $0.turns > 0 } })
            let returns = others.map(\.returns)
            stuck.state.withLock { $0.hangs = true }
            #expect(await eventually { stuck.isInTurn })
            #expect(await eventually { zip(others, returns).allSatisfy { $0.returns > $1 } })
            let turns = others.map(\.turns)
            #expect(await eventually { zip(others, turns).allSatisfy { $0.turns > $1 + 3 } })
            #expect(stuck.isInTurn, "nobody waited for it")
            // The others come and go in that time.
            for other in others { other.close() }
            stuck.state.withLock { $0.hangs = false }
            stuck.goOn.signal()
            #expect(await eventually { stuck.wasSlow })
            #expect(counters.slow > before.slow)
            #expect(counters.given_back >= before.given_back + 3)
            // Now its own thread reads it.
            let (alone, taken) = (stuck.returns, stuck.turns)
            #expect(await eventually { stuck.returns > alone + 20 })
            #expect(stuck.turns == taken)
            stuck.close()
        }

        @Test
        func whoIsClosedWaitsForTheEndOfItsTurn() async {
            let (closed, other) = (SharingConnection(), SharingConnection())
            defer { other.close() }
            closed.state.withLock { $0.hangs = true }
            #expect(await eventually { closed.isInTurn })
            let isClosed = Mutex(false)
            let done = DispatchSemaphore(value: 0)
            Thread.detachNewThread {
                closed.close()
                isClosed.withLock { $0 = true }
                done.signal()
            }
            #expect(await eventually { closed.state.withLock(\.isOver) })
            // As long as a moment is, nothing may come of it.
            try? await Task.sleep(for: .milliseconds(200))
            #expect(!isClosed.withLock { $0 })
            closed.goOn.signal()
            await onForeignThread { done.wait() }
            #expect(!closed.isInTurn)
        }

        @Test
        func aTurnMayGiveTheConnectionBack() async {
            let connections = [SharingConnection(), SharingConnection()]
            defer { for connection in connections { connection.close() } }
            #expect(await eventually { connections.allSatisfy { $0.turns > 0 } })
            let returns = connections[0].returns
            connections[0].state.withLock { $0.stays = false }
            #expect(await eventually { connections[0].returns > returns + 5 })
            connections[0].state.withLock { $0.stays = true }
            let turns = connections[0].turns
            #expect(await eventually { connections[0].turns > turns + 3 })
        }

        /// A thread in the place of one thread would save nothing.
        @Test
        func whoIsAloneReadsByItself() async {
            let alone = SharingConnection()
            #expect(await eventually { alone.returns > 20 })
            #expect(alone.turns == 0)
            let other = SharingConnection()
            #expect(await eventually { alone.turns > 3 && other.turns > 3 })
            other.close()
            #expect(await eventually { counters.connections == 0 })
            let turns = alone.turns
            let returns = alone.returns
            #expect(await eventually { alone.returns > returns + 20 })
            #expect(alone.turns == turns)
            alone.close()
        }

        @Test
        func thereAreAsManyReadersAsThatTakes() async {
            let places = Int(CTAPEDECK_READER_PLACES)
            let connections = (0..<(places * 2 + 1)).map { _ in SharingConnection() }
            #expect(await eventually { connections.allSatisfy { $0.turns > 3 } })
            #expect(counters.readers >= 3)
            await onForeignThread { for connection in connections { connection.close() } }
            #expect(await eventually { counters.readers == 0 && Self.threads == 0 })
        }

        /// Connections come and go during rounds.
        @Test
        func manyConnectionsLeaveNothingBehind() async {
            let stays = SharingConnection()
            for _ in 0..<40 {
                let connections = (0..<5).map { _ in SharingConnection() }
                #expect(await eventually { connections.allSatisfy { $0.turns > 0 || $0.returns > 0 } })
                await onForeignThread { for connection in connections { connection.close() } }
            }
            #expect(await eventually { counters.connections == 0 })
            stays.close()
            #expect(await eventually { counters.readers == 0 && Self.threads == 0 })
        }
    }
}
