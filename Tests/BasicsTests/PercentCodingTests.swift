// SPDX-License-Identifier: Apache-2.0

import Basics
import Testing

@Suite struct PercentCodingTests {
    @Test(arguments: [
        ("", ""), ("aZ09-._~", "aZ09-._~"), ("a b/c", "a%20b%2Fc"), ("客厅", "%E5%AE%A2%E5%8E%85"), ("\u{1}%", "%01%25"),
    ])
    func writesAndReadsBack(_ text: String, _ encoded: String) {
        #expect(PercentCoding.encode(text) == encoded)
        #expect(PercentCoding.decode(encoded) == text)
    }

    @Test func keepsWhatItIsToldTo() {
        #expect(PercentCoding.encode("/a=b c", keeping: "/=") == "/a=b%20c")
        #expect(PercentCoding.ascii("/%41?a=ä b") == "/%41?a=%C3%A4%20b")
    }

    @Test(arguments: ["%", "%4", "%zz", "a%4g", "%+1", "%FF", "%C0%AF", "%ED%A0%80"])
    func refuses(_ text: String) {
        #expect(PercentCoding.decode(text) == nil)
    }

    @Test func plusIsASpaceInForms() {
        #expect(PercentCoding.decode("a+b%2Bc") == "a+b+c")
        #expect(PercentCoding.decode("a+b%2Bc", taking: .plusIsSpace) == "a b+c")
        #expect(PercentCoding.decode("100%+%41%4", taking: [.plusIsSpace, .brokenSequences]) == "100% A%4")
    }
}
