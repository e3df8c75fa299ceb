// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import Control

@Suite struct ByteRangeTests {
    @Test(arguments: [
        ("bytes=0-0", 0..<1), ("bytes=0-", 0..<10), ("bytes=3-5", 3..<6), ("bytes=9-", 9..<10), ("bytes=0-99", 0..<10),
        ("bytes=-1", 9..<10), ("bytes=-10", 0..<10), ("bytes=-11", 0..<10), ("Bytes=1-2", 1..<3),
        ("bytes= 1 - 2 ", 1..<3), ("bytes=0-9223372036854775807", 0..<10),
        ("bytes=1-99999999999999999999999999999999", 1..<10), ("bytes=-99999999999999999999999999", 0..<10),
        ("bytes=0000000000000000000000000002-3", 2..<4),
    ])
    func parts(_ header: String, _ range: Range<Int64>) {
        #expect(ByteRange(header: header, length: 10) == .part(range))
    }

    @Test(arguments: [
        nil, "", "bytes", "bytes=", "bytes=-", "bytes=a-b", "bytes=1", "bytes=5-3", "bytes=1-2-3", "items=0-1",
        "bytes=0-1,3-4", "bytes=--1", "bytes=+1-2", "bytes=0x1-2", "bytes=1-2;", "byte=0-1", "bytes=٣-٥",
        "bytes=99999999999999999999-1",
    ])
    func ignored(_ header: String?) {
        #expect(ByteRange(header: header, length: 10) == .whole)
    }

    @Test(arguments: ["bytes=10-", "bytes=10-20", "bytes=-0", "bytes=99999999999999999999999-"])
    func unsatisfiable(_ header: String) {
        #expect(ByteRange(header: header, length: 10) == .unsatisfiable)
    }

    @Test func anEmptyFileHasNoPart() {
        #expect(ByteRange(header: nil, length: 0) == .whole)
        for header in ["bytes=0-", "bytes=0-0", "bytes=-1"] {
            #expect(ByteRange(header: header, length: 0) == .unsatisfiable)
        }
    }
}

@Suite struct HTTPDateTests {
    @Test(arguments: [
        ("Sun, 06 Nov 1994 08:49:37 GMT", 784_111_777), ("Thu, 01 Jan 1970 00:00:00 GMT", 0),
        ("Sat, 21 Nov 2026 07:06:55 GMT", 1_795_244_815), ("Wed, 31 Dec 1969 23:59:59 GMT", -1),
        ("Thu, 29 Feb 2024 12:00:00 GMT", 1_709_208_000),
    ])
    func bothWays(_ text: String, _ seconds: Int64) {
        #expect(HTTPDate(seconds: seconds).text == text)
        #expect(HTTPDate(text)?.seconds == seconds)
    }

    @Test(arguments: [
        "", "Sun", "Sunday, 06-Nov-94 08:49:37 GMT", "Sun Nov  6 08:49:37 1994", "Sun, 06 Now 1994 08:49:37 GMT",
        "Sun, 06 Nov 1994 08:49:37 CET", "Sun, 06 Nov 1994 25:49:37 GMT", "Sun, 6 Nov 1994 08:49:37 GMT",
        "Sun, 06 Nov 9999 08:49:37 GMT", "Sun, 06 Nov 1994 08:49:37 GMT x",
    ])
    func otherTextsAreNone(_ text: String) {
        #expect(HTTPDate(text) == nil)
    }

    @Test func timesOutOfReachHaveNoText() {
        #expect(HTTPDate(seconds: .max).text.isEmpty)
        #expect(HTTPDate(seconds: .min).text.isEmpty)
    }
}
