// SPDX-License-Identifier: Apache-2.0

import Model
import Testing

@Suite struct ExportPolicyTests {
    private let policy = ExportPolicy()

    @Test func waitsGrowAndEnd() {
        let waits = (1...8).map { self.policy.wait(afterAttempts: $0, isRetriable: true, random: 0.5) }
        #expect(waits == [5, 20, 80, 320, 1280, 3600, 3600, nil].map { $0.map { .seconds($0) } })
    }

    @Test func whatWouldFailAgainIsGivenUp() {
        #expect(self.policy.wait(afterAttempts: 1, isRetriable: false, random: 0.5) == nil)
    }

    @Test(arguments: [
        (Int64(100), Int64(1100), Int64(2000), Int64(0)), (100, 1099, 2000, 1), (0, 0, 0, 0), (-5, -5, -5, 0),
        (.max, 0, .max, .max), (3_000_000, 1_000_000, 0, 2_000_000),
    ])
    func leavesWhatRecordingsNeed(recording: Int64, free: Int64, minimum: Int64, missing: Int64) {
        let found = self.policy.missingBytes(
            exportBytes: recording,
            freeBytes: free,
            minimumFreeBytes: minimum
        )
        #expect(found == missing)
    }
}
