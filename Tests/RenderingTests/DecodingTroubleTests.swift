// SPDX-License-Identifier: Apache-2.0

internal import Matroska
import Testing

@testable import Rendering

@Suite struct DecodingTroubleTests {
    @Test func framesThatAreTooLargeReachNoDecoderAndAreNamedOnce() throws {
        var trouble = DecodingTrouble()
        let fitting = trouble.mayDecode(.fits)
        #expect(fitting && trouble.sizeWarning("a.mkv", of: "Ada") == nil)
        let unreadable = trouble.mayDecode(.unreadable)
        #expect(!unreadable && trouble.sizeWarning("a.mkv", of: "Ada") == nil)
        for width in 5_000..<5_100 {
            let may = trouble.mayDecode(.tooLarge(width: width, height: 4_000))
            #expect(!may)
        }
        #expect(
            trouble.sizeWarning("a.mkv", of: "Ada")
                == "Ada is not always shown: a.mkv has frames of 5000 x 4000 pixels, and none of more than 16777216 is decoded"
        )
        #expect(!trouble.isHopeless, "smaller ones may follow")
    }
}
