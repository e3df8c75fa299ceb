// SPDX-License-Identifier: Apache-2.0

import Dispatch
import GStreamer
import Synchronization
import Testing

@Suite(.timeLimit(.minutes(1))) struct ControlThreadTests {
    private let thread = ControlThread(name: "test")

    @Test func whatDoesNotBeginInTimeIsNeverDone() async throws {
        let release = DispatchSemaphore(value: 0)
        self.thread.enqueue { release.wait() }
        let isDone = Mutex(false)
        let error = await #expect(throws: GStreamerError.self) {
            try await self.thread.runInTime("a change", deadline: .milliseconds(20), limit: .seconds(60)) {
                isDone.withLock { $0 = true }
            }
        }
        #expect(error?.code == .timedOut)
        release.signal()
        // Its turn comes before that of this.
        try await self.thread.run("nothing", deadline: nil) {}
        #expect(isDone.withLock { !$0 })
    }

    @Test func whatHasBegunIsWaitedFor() async throws {
        let deadline = Duration.seconds(2)
        let isDone = try await self.thread.runInTime("a change", deadline: deadline, limit: .seconds(60)) {
            DispatchSemaphore(value: 0).wait(timeout: .now() + 2.2) == .timedOut
        }
        #expect(isDone)
    }

    @Test func whatDoesNotReturnIsWaitedForNoLonger() async throws {
        let release = DispatchSemaphore(value: 0)
        defer { release.signal() }
        let error = await #expect(throws: GStreamerError.self) {
            try await self.thread.runInTime("a change", deadline: .seconds(2), limit: .milliseconds(20)) {
                release.wait()
            }
        }
        #expect(error?.message.contains("did not return") == true)
    }
}
