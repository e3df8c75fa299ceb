// SPDX-License-Identifier: Apache-2.0

import Basics
import Dispatch
import Foundation
import Glibc
import Recording
import Synchronization
import Testing

@testable import GStreamer
@testable import Media

/// The thread of all recorders.
@Suite(.timeLimit(.minutes(2)))
struct RecorderThreadTests {
    private final class Threads: Sendable {
        let ids = Mutex<Set<UInt>>([])
    }

    @Test func oneThreadRecordsForAllRooms() async throws {
        let (thread, threads) = (RecorderThread(), Threads())
        let feeds = try (0..<4).map { _ in
            try RecorderFeed(on: thread, onEvent: { _ in _ = threads.ids.withLock { $0.insert(UInt(pthread_self())) } })
        }
        for feed in feeds {
            let sound = feed.open(.opus)
            feed.push(sound, FedUnit.opus, at: 0, rateHz: 48_000)
        }
        for feed in feeds { try await feed.settle { $0.written == 1 } }
        // A busy machine makes turns long.
        #expect(threads.ids.withLock { $0.count } == 1 || thread.figures.setAside > 0)
        for feed in feeds { feed.recorder.finish(reason: "test") }
        #expect(feeds.allSatisfy { $0.finished.count == 1 })
    }

    @Test func aRoomWhoseDiskHangsHoldsUpNoOther() async throws {
        let thread = RecorderThread(timeAlone: .zero)
        let held = HeldRecorder()
        let slow = try RecorderFeed(on: thread, onEvent: held.onEvent)
        let others = try (0..<3).map { _ in try RecorderFeed(on: thread) }
        let sound = slow.open(.opus)
        slow.push(sound, FedUnit.opus, at: 0, rateHz: 48_000)
        let hangs = await withCheckedContinuation { continuation in
            DispatchQueue.global().async { continuation.resume(returning: held.waits()) }
        }
        #expect(hangs)
        for other in others {
            let sound = other.open(.opus)
            for time in 0..<50 as Range<Int64> { other.push(sound, FedUnit.opus, at: 20 * time, rateHz: 48_000) }
        }
        for time in 1..<50 as Range<Int64> { slow.push(sound, FedUnit.opus, at: 20 * time, rateHz: 48_000) }
        for other in others { try await other.settle { $0.written == 50 } }
        #expect(thread.figures.setAside > 0 && slow.written < 2)
        held.release()
        try await slow.settle { $0.written == 50 }
        // It is one of all again when nothing hangs.
        try await slow.settle { _ in thread.figures.rooms == 4 }
        for feed in others + [slow] { feed.recorder.finish(reason: "test") }
        try await slow.settle { _ in thread.figures.rooms == 0 }
    }

    @Test func aRoomThatIsAloneWithItsDiskEnds() async throws {
        let thread = RecorderThread()
        let held = HeldRecorder()
        let slow = try RecorderFeed(on: thread, onEvent: held.onEvent)
        let sound = slow.open(.opus)
        slow.push(sound, FedUnit.opus, at: 0, rateHz: 48_000)
        // Who asks for the status has a turn that hangs noticed.
        try await slow.settle { $0.written < 2 && thread.figures.setAside == 1 }
        held.release()
        slow.push(sound, FedUnit.opus, at: 20, rateHz: 48_000)
        slow.recorder.finish(reason: "test")
        #expect(slow.written == 2 && slow.finished.count == 1)
        // Another room has a thread all the same.
        let next = try RecorderFeed(on: thread)
        let other = next.open(.opus)
        next.push(other, FedUnit.opus, at: 0, rateHz: 48_000)
        next.recorder.finish(reason: "test")
        #expect(next.written == 1)
    }
}
