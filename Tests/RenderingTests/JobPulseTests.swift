// SPDX-License-Identifier: Apache-2.0

import Foundation
import Synchronization
import Testing

@testable import Rendering

@Suite struct JobPulseTests {
    @Test func saysSomethingOnlyWhenBytesWereMoved() {
        let moved = Mutex<UInt64?>(5 << 20)
        let beats = Mutex(0)
        let pulse = JobPulse(moved: { moved.withLock { $0 } }, beat: { beats.withLock { $0 += 1 } })
        defer { pulse.stop() }
        // The reads of the look itself are no sign of life.
        for bytes in [5 << 20, (5 << 20) + 1000, nil, (6 << 20) - 1] as [UInt64?] {
            moved.withLock { $0 = bytes }
            pulse.look()
        }
        #expect(beats.withLock { $0 } == 0)
        moved.withLock { $0 = 6 << 20 }
        pulse.look()
        pulse.look()
        #expect(beats.withLock { $0 } == 1)
        // Slowly, but it makes progress.
        moved.withLock { $0 = (6 << 20) + (1 << 19) }
        pulse.look()
        moved.withLock { $0 = 7 << 20 }
        pulse.look()
        #expect(beats.withLock { $0 } == 2)
    }

    @Test func theKernelCountsWhatIsRead() throws {
        let before = try #require(JobPulse.bytesMoved())
        let path = FileManager.default.temporaryDirectory.path + "/tapedeck-pulse-\(UInt64.random(in: .min ... .max))"
        defer { try? FileManager.default.removeItem(atPath: path) }
        let bytes = Data(count: 2 << 20)
        try bytes.write(to: URL(filePath: path))
        _ = try Data(contentsOf: URL(filePath: path))
        #expect(try #require(JobPulse.bytesMoved()) >= before + 4 << 20)
    }
}
