// SPDX-License-Identifier: Apache-2.0

import Foundation
import Matroska
import Testing

@testable import Media

/// What `storage.synchronise_every` comes to: how often a recording is written through to the disk.
@Suite struct SynchroniseTests {
    /// When the recorder last looked at its clock, and when it last synchronised, after a few looks in a recording.
    private func instants(every interval: Duration) async throws -> [(look: Int64, synchronised: Int64)] {
        let feed = try RecorderFeed { $0.synchroniseEvery = interval }
        let track = feed.open(.vp8)
        feed.push(track, FedUnit.keyframe(), at: 0)
        try await feed.settle { $0.written == 1 }
        var instants = [Self.instant(feed)]
        for _ in 0..<4 {
            let before = instants.last?.look ?? 0
            try await feed.settle { Self.instant($0).look > before }
            instants.append(Self.instant(feed))
        }
        feed.recorder.finish(reason: "test")
        // The first look may have been before there was a recording.
        return Array(instants.dropFirst(2))
    }

    private static func instant(_ feed: RecorderFeed) -> (look: Int64, synchronised: Int64) {
        feed.recorder.lock.withLock { (feed.recorder.state.lastTick, feed.recorder.state.lastSynchronised) }
    }

    @Test func aShortIntervalEndsWithEveryLook() async throws {
        for instant in try await self.instants(every: .nanoseconds(1)) {
            #expect(instant.look == instant.synchronised)
        }
    }

    @Test func aLongIntervalIsWaitedFor() async throws {
        let instants = try await self.instants(every: .seconds(1_000_000_000))
        #expect(Set(instants.map(\.synchronised)).count == 1)
        #expect(instants.allSatisfy { $0.look > $0.synchronised })
    }
}
