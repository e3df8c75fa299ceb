// SPDX-License-Identifier: Apache-2.0

import Foundation
import Matroska
import Session
import Testing

@testable import Media

/// What `storage.synchronise_every` comes to: how often a recording is forced to the disk.
@Suite struct SynchroniseTests {
    private static func rounds(_ feed: RecorderFeed) -> UInt64 {
        feed.recorder.lock.withLock { feed.recorder.state.synchronisation.rounds }
    }

    private static func lastTick(_ feed: RecorderFeed) -> Int64 {
        feed.recorder.lock.withLock { feed.recorder.state.lastTick }
    }

    @Test func aShortIntervalIsFollowedByRoundAfterRound() async throws {
        let feed = try RecorderFeed { $0.synchroniseEvery = .nanoseconds(1) }
        feed.push(feed.open(.vp8), FedUnit.keyframe(), at: 0)
        try await feed.settle { $0.written == 1 }
        try await feed.settle { Self.rounds($0) >= 5 }
        #expect(Self.rounds(feed) >= 5)
        feed.recorder.finish(reason: "test")
    }

    @Test func aLongIntervalIsWaitedFor() async throws {
        let feed = try RecorderFeed { $0.synchroniseEvery = .seconds(1_000_000_000) }
        feed.push(feed.open(.vp8), FedUnit.keyframe(), at: 0)
        try await feed.settle { $0.written == 1 }
        for _ in 0..<5 {
            let before = Self.lastTick(feed)
            try await feed.settle { Self.lastTick($0) > before }
        }
        // It was not due yet when the recording began: the clock is that of the machine's start.
        #expect(Self.rounds(feed) == 0)
        feed.recorder.finish(reason: "test")
    }
}
