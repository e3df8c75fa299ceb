// SPDX-License-Identifier: Apache-2.0

import Catalogue
import Foundation
import Storage
import Testing

/// The cost of a page with 100 000 recordings: `make figures OF=catalogue`.
///
/// Measures and prints; asserts no times.
@Suite(.enabled(if: ProcessInfo.processInfo.environment["TAPEDECK_FIGURES"] != nil))
struct CatalogueFigures {
    private static let count = 100_000
    private static let runs = 20

    @Test func pages() async throws {
        let storage = try CatalogueStorage()
        let clock = ContinuousClock()
        let catalogue = try storage.open()
        let filling = try await clock.measure {
            for number in 0..<Self.count {
                let people = (0..<4).map { "guest-\((number &* 7919 &+ $0) % 5000)@example.org" }
                try await catalogue.save(
                    storage.entry(
                        number * 60,
                        room: number % 10 == 0 ? "standup" : "room-\(number % 500)",
                        participants: people
                    )
                )
            }
            try await catalogue.save(storage.entry(-60, room: "standup", participants: ["unicorn"]))
        }
        let size = try FileManager.default.attributesOfItem(atPath: Catalogue.path(in: storage.path))[.size] ?? 0
        print("\(Self.count) recordings saved one by one in \(filling), \(size) bytes")
        try catalogue.close()
        var again: Catalogue?
        print("opened, with its check: \(try clock.measure { again = try storage.open() })")
        let opened = try #require(again)

        var deep = RecordingFilter(limit: 200)
        for _ in 0..<400 { deep.cursor = try await opened.list(deep).next }
        let cases: [(String, RecordingFilter)] = [
            ("first page of 50", RecordingFilter()), ("first page of 200", RecordingFilter(limit: 200)),
            ("page 401 of 200", deep), ("a room", RecordingFilter(room: "room-7", limit: 200)),
            ("a month", RecordingFilter(from: CatalogueStorage.time(1_000_000), to: CatalogueStorage.time(3_600_000))),
            ("text in all", RecordingFilter(text: "guest", limit: 200)),
            ("text in few", RecordingFilter(text: "guest-4999@", limit: 200)),
            ("text in the oldest alone", RecordingFilter(text: "unicorn", limit: 200)),
            ("text in none", RecordingFilter(text: "nobody-at-all")),
            ("text in many trigrams of none", RecordingFilter(text: "guest-1@example.com")),
            ("two letters in all", RecordingFilter(text: "gu")), ("two letters in none", RecordingFilter(text: "qq")),
            ("text in a room of 10 000", RecordingFilter(room: "standup", text: "unicorn")),
        ]
        for (name, filter) in cases {
            var times: [Duration] = []
            var found = 0
            for _ in 0..<Self.runs {
                times.append(try await clock.measure { found = try await opened.list(filter).recordings.count })
            }
            times.sort()
            let milliseconds = { (time: Duration) in String(format: "%.1f", time / .milliseconds(1)) }
            print(
                "\(name): median \(milliseconds(times[Self.runs / 2])) ms, worst \(milliseconds(times[Self.runs - 1])) ms, \(found) found"
            )
        }
    }
}
