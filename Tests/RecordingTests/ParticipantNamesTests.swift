// SPDX-License-Identifier: Apache-2.0

import Recording
import Testing

@Suite struct ParticipantNamesTests {
    @Test func theOldestNamesAreForgotten() {
        var names = ParticipantNames()
        names.note("Ada", of: "a")
        names.note("Ada L.", of: "a")
        #expect(names["a"] == "Ada L.")
        for number in 0..<256 { names.note("x", of: "\(number)") }
        #expect(names["a"] == nil && names["255"] == "x")
    }
}
