// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import Rendering

@Suite struct JobLimitsTests {
    /// `test_exports.py` looks whether the kernel has them.
    @Test func timeFollowsTheLengthOfTheTracks() {
        #expect(JobLimits.processorTime(ofMedia: .zero) == .seconds(600))
        #expect(JobLimits.processorTime(ofMedia: .seconds(3600)) == .seconds(36_600))
        #expect(JobLimits.processorTime(ofMedia: .seconds(-5)) == .seconds(600))
        // A damaged file may claim any length.
        #expect(JobLimits.processorTime(ofMedia: .seconds(Int64.max)) == .seconds(86_400_000_600))
    }
}
