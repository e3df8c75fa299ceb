// SPDX-License-Identifier: Apache-2.0

import Basics
import Testing

@Suite struct DisplayNameTests {
    @Test(
        arguments: [
            ("Zoë", "Zoë"), ("  Ann \t B.\n", "Ann B."), ("a\u{202E}b\u{2066}", "a b"), ("", nil),
            (" \u{0}\u{200B}", nil),
            (String(repeating: "é", count: 500), String(repeating: "é", count: 128)),
        ] as [(String, String?)]
    )
    func isOneLine(_ text: String, _ line: String?) {
        #expect(DisplayName.line(text) == line)
    }
}
