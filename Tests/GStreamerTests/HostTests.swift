// SPDX-License-Identifier: Apache-2.0

import Foundation
import GStreamer
import Testing

@Suite struct HostTests {
    /// On a thread that ends with the test: both stay with a thread.
    @Test func theKernelTakesThatRecordingsGoFirst() async {
        let (isTaken, nice) = await withCheckedContinuation { continuation in
            Thread.detachNewThread {
                let isTaken = Runtime.letRecordingsGoFirst()
                continuation.resume(returning: (isTaken, getpriority(__priority_which_t(PRIO_PROCESS.rawValue), 0)))
            }
        }
        #expect(isTaken)
        #expect(nice == 19)
    }
}
