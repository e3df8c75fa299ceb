// SPDX-License-Identifier: Apache-2.0

import Basics
import Testing

@Suite struct JSONValueTests {
    /// Foundation's decoder recognises UTF-16 and UTF-32 by their zero bytes, and would read them behind our limits.
    @Test(arguments: ["\0\0\01", "\0[\01\0]", "[\0]\0", "1\0\0\0"])
    func otherEncodingsAreRefused(_ text: String) {
        #expect(throws: JSONValue.ParsingError.invalid) { try JSONValue(parsing: text) }
    }

    @Test func escapedZeroIsTaken() throws {
        #expect(try JSONValue(parsing: #""a\u0000""#) == "a\0")
    }
}
