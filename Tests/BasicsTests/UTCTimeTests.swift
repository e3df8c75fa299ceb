// SPDX-License-Identifier: Apache-2.0

import Basics
import Testing

@Suite struct UTCTimeTests {
    @Test(
        arguments: [
            (0, "1970-01-01T00:00:00.000000000Z", "19700101T000000Z"),
            (1_795_230_746_123_456_789, "2026-11-21T03:12:26.123456789Z", "20261121T031226Z"),
            (951_782_400_000_000_000, "2000-02-29T00:00:00.000000000Z", "20000229T000000Z"),
            (-1, "1969-12-31T23:59:59.999999999Z", "19691231T235959Z"),
            (Int64.max, "2262-04-11T23:47:16.854775807Z", "22620411T234716Z"),
            (Int64.min, "1677-09-21T00:12:43.145224192Z", "16770921T001243Z"),
        ] as [(Int64, String, String)]
    )
    func writes(nanoseconds: Int64, iso8601: String, compact: String) {
        let time = UTCTime(nanosecondsSince1970: nanoseconds)
        #expect(time.iso8601 == iso8601)
        #expect(time.compact == compact)
    }

    @Test func readsWhatItWrites() {
        for nanoseconds in stride(
            from: Int64(-5_000_000_000_000_000_000),
            to: 5_000_000_000_000_000_000,
            by: 98_765_432_109_876_543
        ) {
            let time = UTCTime(nanosecondsSince1970: nanoseconds)
            #expect(UTCTime(iso8601: time.iso8601) == time)
        }
    }

    @Test(arguments: [
        "", "Z", "2026-11-21", "2026-11-21T03:12:26", "2026-13-21T03:12:26Z", "2026-11-21T24:12:26Z",
        "2026-11-21T03:12:26.Z", "2026-11-21T03:12:26.1234567890Z", "2026/11/21T03:12:26Z", "abcd-11-21T03:12:26Z",
        "9999-11-21T03:12:26Z", "2026-11-21T03:12:26+01:00",
    ])
    func refuses(text: String) {
        #expect(UTCTime(iso8601: text) == nil)
    }

    @Test func countsFrom2001ForMatroska() {
        #expect(UTCTime(iso8601: "2001-01-01T00:00:01Z")?.nanosecondsSince2001 == 1_000_000_000)
    }

    @Test func addsWithoutLeavingTheRange() {
        let time = UTCTime(nanosecondsSince1970: 5)
        #expect(time.adding(.nanoseconds(-7)) == UTCTime(nanosecondsSince1970: -2))
        #expect(UTCTime(nanosecondsSince1970: .max).adding(.seconds(1)).nanosecondsSince1970 == .max)
        #expect(time.adding(.seconds(Int64.max)).nanosecondsSince1970 == .max)
    }
}
