// SPDX-License-Identifier: Apache-2.0

import Basics
import Testing

@Suite struct SpellingTests {
    @Test(
        arguments: [
            ("recrod", "record"), ("Standup", "standup"), ("stand-up", "standup"), ("on_demand", "on-demand"),
            ("anne", "ann"), ("reviwe", "review"), ("x", nil), ("", nil), ("entirely different", nil),
            (String(repeating: "record", count: 20), nil),
        ] as [(String, String?)]
    )
    func findsTheNearestWord(_ word: String, _ found: String?) {
        let known = ["record", "standup", "on-demand", "ann", "review"]
        #expect(Spelling.suggestion(for: word, among: known) == found)
        #expect(Spelling.suggestion(for: word, among: []) == nil)
    }
}
