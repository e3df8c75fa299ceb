// SPDX-License-Identifier: Apache-2.0

import Foundation
import GStreamer
import Testing

@Suite struct HostTests {
    /// On a thread that ends with the test: the class stays with a thread.
    @Test func theKernelTakesTheClassOfDiskTime() async {
        let isTaken = await withCheckedContinuation { continuation in
            Thread.detachNewThread { continuation.resume(returning: Runtime.useIdleDiskTime()) }
        }
        #expect(isTaken)
    }
}
