// SPDX-License-Identifier: Apache-2.0

import Basics
import Synchronization
import Testing

@Suite struct LimitTests {
    private struct Refusal: Error {}

    @Test func whatEndsInTimeIsReturned() async throws {
        #expect(try await within(.seconds(3600)) { 7 } == 7)
    }

    @Test func anErrorOfTheWorkIsThrown() async {
        await #expect(throws: Refusal.self) { try await within(.seconds(3600)) { throw Refusal() } }
    }

    /// The work is cancelled and waited for.
    @Test func aLimitEndsTheWork() async throws {
        let wasCancelled = Mutex(false)
        let value: Int? = try await within(.milliseconds(1)) {
            try? await Task.sleep(for: .seconds(3600))
            wasCancelled.withLock { $0 = Task.isCancelled }
            return 7
        }
        // The work answers too, once it is cancelled; the limit came first.
        #expect(value == nil)
        #expect(wasCancelled.withLock { $0 })
    }

    @Test func cancellingEndsBoth() async {
        let task = Task { try await within(.seconds(3600)) { try await Task.sleep(for: .seconds(3600)) } }
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
    }
}
