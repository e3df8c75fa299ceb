// SPDX-License-Identifier: Apache-2.0

import Basics
import Testing

@Suite struct UnicodeScalarDisplayTests {
    @Test(
        arguments: [
            // An escape, a bell, a line's end, right to left, a joiner without width, both separators.
            ("\u{1B}\u{7}\u{A}\u{202E}\u{200D}\u{2028}\u{2029}", true, true),
            // Private use, nothing yet.
            ("\u{E000}\u{378}", false, true),
            ("a é😀\u{A0}客", false, false),
        ]
    )
    func tellsWhatIsShown(_ text: String, steers: Bool, isUnfit: Bool) {
        for scalar in text.unicodeScalars {
            #expect(scalar.steersText == steers, "\(scalar.value)")
            #expect(scalar.isUnfitForNames == isUnfit, "\(scalar.value)")
        }
    }
}
