// SPDX-License-Identifier: Apache-2.0

import CTapedeck
import TestSupport
import Testing
import Timeline

/// The probe in C and the journal's reader in Swift must agree on every time stamp.
@Suite
struct RTPTimeTests {
    private func expectAgreement(_ timestamps: [UInt32], sourceLocation: SourceLocation = #_sourceLocation) {
        var unwrapper = RTPTimestampUnwrapper()
        var previous: Int64?
        for timestamp in timestamps {
            let inC = previous.map { CTapedeck_unwrap_rtp_time($0, timestamp) } ?? Int64(timestamp)
            let inSwift = unwrapper.unwrap(timestamp)
            guard inC == inSwift else {
                Issue.record("\(inC) in C, \(inSwift) in Swift for \(timestamp)", sourceLocation: sourceLocation)
                return
            }
            previous = inC
        }
    }

    @Test
    func agreesOverWrapsAndBackwardSteps() {
        self.expectAgreement([0xFFFF_F000, 0xFFFF_FFFF, 0, 1, 0xFFFF_FFFF, 5, 0x8000_0004, 0x8000_0005, 4])
        self.expectAgreement([0, 0x8000_0000, 0, 0x8000_0000, 0x7FFF_FFFF, 0xFFFF_FFFE, 0xFFFF_FFFF])
        // Ten wraps forward, ten back.
        let steps = (0..<40).map { UInt32(truncatingIfNeeded: $0 &* 0x4000_0000) }
        self.expectAgreement(steps + steps.reversed())
    }

    @Test
    func knowsTheNearestTime() {
        #expect(CTapedeck_unwrap_rtp_time(0xFFFF_FFFF, 0) == 0x1_0000_0000)
        #expect(CTapedeck_unwrap_rtp_time(0x1_0000_0000, 0xFFFF_FFFF) == 0xFFFF_FFFF)
        #expect(CTapedeck_unwrap_rtp_time(0, 0xFFFF_FFFF) == -1)
        #expect(CTapedeck_unwrap_rtp_time(-1, 0) == 0)
        #expect(CTapedeck_unwrap_rtp_time(0, 0x7FFF_FFFF) == 0x7FFF_FFFF)
        #expect(CTapedeck_unwrap_rtp_time(0, 0x8000_0000) == -0x8000_0000)
    }

    @Test(arguments: [UInt64(1), 2, 3, 0xC0FFEE])
    func agreesOnRandomSequences(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        self.expectAgreement((0..<20_000).map { _ in UInt32(truncatingIfNeeded: random.next()) })
        // A likely stream: small steps, some of them back.
        var time = UInt32(truncatingIfNeeded: random.next())
        self.expectAgreement(
            (0..<200_000).map { _ in
                time &+= 900_000
                time &-= UInt32(random.next() % 1_000_000)
                return time
            }
        )
    }
}
