// SPDX-License-Identifier: Apache-2.0

import Basics
import Foundation
import Synchronization
import Testing

@testable import Media

@Suite(.timeLimit(.minutes(5))) struct SynchroniserTests {
    private final class Log: Sendable {
        struct Result: Hashable {
            var room: String
            var cost: Duration
        }

        let now = Mutex<Int64>(0)
        private let begun = Mutex<[String]>([])
        /// Files that were forced to the disk together, call after call.
        let forced = Mutex<[[Int32]]>([])
        private let told = Mutex<[Result]>([])
        private let threads = Mutex<Set<ObjectIdentifier>>([])

        var rooms: [String] { self.begun.withLock { $0 } }
        var results: [Result] { self.told.withLock { $0 } }
        var threadCount: Int { self.threads.withLock { $0.count } }

        func clock() -> Int64 { self.now.withLock { $0 } }

        /// Returns the error number 0 for files below 100.
        func force(_ files: [Int32]) -> [Int32] {
            self.forced.withLock { $0.append(files) }
            return files.map { $0 < 100 ? 0 : $0 }
        }

        /// A round of a room that lets the clock go on by so much, and waits for the gate.
        func round(_ room: String, takes milliseconds: Int64 = 0, behind gate: DispatchSemaphore? = nil)
            -> Synchroniser.Round
        {
            Synchroniser.Round(files: []) { _ in
                self.begun.withLock { $0.append(room) }
                _ = self.threads.withLock { $0.insert(ObjectIdentifier(Thread.current)) }
                gate?.wait()
                self.now.withLock { $0 += milliseconds * 1_000_000 }
                return .tell { cost in self.told.withLock { $0.append(Result(room: room, cost: cost)) } }
            }
        }

        func wait(until isSo: (Log) -> Bool) async {
            while !isSo(self) { try? await Task.sleep(for: .milliseconds(1)) }
        }
    }

    @Test func whatIsWantedTogetherIsDoneTogether() async {
        let (log, gate) = (Log(), DispatchSemaphore(value: 0))
        let synchroniser = Synchroniser(gather: { gate.wait() }, clock: { log.clock() })
        for room in ["a", "b", "c"] { synchroniser.add(log.round(room, takes: 10)) }
        #expect(log.rooms.isEmpty)
        gate.signal()
        await log.wait { $0.results.count == 3 }
        // Each hears of the time that the disk took for all of them.
        #expect(Set(log.results) == Set(["a", "b", "c"].map { .init(room: $0, cost: .milliseconds(30)) }))
        synchroniser.add(log.round("a", takes: 5))
        gate.signal()
        await log.wait { $0.results.count == 4 }
        #expect(log.results.last == .init(room: "a", cost: .milliseconds(5)))
        #expect(log.threadCount == 1)
    }

    /// A file system commits, and a disk empties its cache, once for all that is forced together.
    @Test func filesOfAllRoomsAreForcedTogetherStepByStep() async {
        let (log, gate) = (Log(), DispatchSemaphore(value: 0))
        let errors = Mutex<[[Int32]]>([])
        let synchroniser = Synchroniser(gather: { gate.wait() }, force: log.force)
        for (tracks, journal) in [([1, 102], 3), ([4], 105), ([], 6)] as [([Int32], Int32)] {
            synchroniser.add(
                .init(files: tracks) { ofTracks in
                    .round(
                        .init(files: [journal]) { ofJournal in
                            .tell { _ in errors.withLock { $0.append(ofTracks + ofJournal) } }
                        }
                    )
                }
            )
        }
        gate.signal()
        await log.wait { _ in errors.withLock { $0.count == 3 } }
        #expect(log.forced.withLock { $0 } == [[1, 102, 4], [3, 105, 6]])
        #expect(errors.withLock { $0 } == [[0, 102, 0], [0, 105], [0]])
    }

    /// Else a slow disk would be asked again while it is at work for others.
    @Test func waitingForTheDiskIsPartOfTheCost() async {
        let (log, gate) = (Log(), DispatchSemaphore(value: 0))
        let synchroniser = Synchroniser(gather: {}, clock: { log.clock() })
        synchroniser.add(log.round("slow", takes: 1500, behind: gate))
        await log.wait { $0.rooms == ["slow"] }
        synchroniser.add(log.round("next", takes: 20))
        gate.signal()
        await log.wait { $0.results.count == 2 }
        #expect(log.results.first == .init(room: "slow", cost: .milliseconds(1500)))
        #expect(log.results.last == .init(room: "next", cost: .milliseconds(1520)))
    }

    @Test func aDiskThatHangsHoldsUpNoOtherStorage() async {
        let (log, gate) = (Log(), DispatchSemaphore(value: 0))
        let folder = FileManager.default.temporaryDirectory.path
        let (slow, quick) = (Synchroniser.of(storage: folder + "/slow"), Synchroniser.of(storage: folder + "/quick"))
        #expect(slow === Synchroniser.of(storage: folder + "/slow") && slow !== quick)
        slow.add(log.round("slow", behind: gate))
        await log.wait { $0.rooms == ["slow"] }
        for number in 1...3 {
            quick.add(log.round("quick"))
            await log.wait { $0.results.count == number }
        }
        #expect(log.results.map(\.room) == ["quick", "quick", "quick"])
        gate.signal()
        await log.wait { $0.results.count == 4 }
    }
}
