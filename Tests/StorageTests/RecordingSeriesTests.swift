// SPDX-License-Identifier: Apache-2.0

import Basics
import Storage
import TestSupport
import Testing
import Timeline

/// The order of a series' segments, by the first lines of their journals.
@Suite struct RecordingSeriesTests {
    private let storage: TemporaryStorage

    init() throws {
        self.storage = try TemporaryStorage()
    }

    /// One series in a room: epochs and numbers of its segments in the order in which they were written, and what is found.
    struct Case: Sendable {
        var written: [(epoch: Int?, number: Int)]
        var order: [String]
        var missing: [ClosedRange<Int>] = []
        var doubles = 0
    }

    private static let cases: [Case] = [
        Case(written: [(nil, 2), (nil, 1), (nil, 3)], order: ["0/1", "0/2", "0/3"]),
        Case(written: [(nil, 1), (nil, 1)], order: ["0/1"], doubles: 1),
        Case(written: [(nil, 3), (nil, 5)], order: ["0/3", "0/5"], missing: [1...2, 4...4]),
        // A successor begins with the number that its predecessor, which was cut off, uses as well.
        Case(written: [(2, 3), (1, 1), (1, 2), (1, 3), (2, 4)], order: ["1/1", "1/2", "1/3", "2/3", "2/4"]),
        Case(written: [(1, 1), (2, 2), (2, 2)], order: ["1/1", "2/2"], doubles: 1),
        Case(written: [(1, 1), (3, 3)], order: ["1/1", "3/3"], missing: [2...2]),
        // The number 3 is there, but not that of the first owner.
        Case(written: [(1, 1), (1, 2), (1, 4), (2, 3)], order: ["1/1", "1/2", "1/4", "2/3"], missing: [3...3]),
        Case(written: [(1, 2), (1, 6), (2, 5)], order: ["1/2", "1/6", "2/5"], missing: [1...1, 3...5]),
        Case(
            written: [(nil, 1), (1, 2), (-4, 3), (Int.max, 4)],
            order: ["0/1", "0/3", "1/2", "\(Int.max)/4"],
            missing: [2...2]
        ),
        Case(written: [(1, 1), (1, 0), (1, .max)], order: ["1/1"]),
    ]

    @Test(arguments: RecordingSeriesTests.cases.indices)
    func segmentsAreInTheOrderOfTheirOwners(index: Int) throws {
        let table = Self.cases[index]
        var folders: [RecordingFolder] = []
        for (epoch, number) in table.written {
            let folder = try self.storage.makeFolder()
            let started = RecordingStarted(
                room: "standup",
                id: folder.id.rawValue,
                host: "host\(epoch ?? 0)",
                utc: .init(nanosecondsSince1970: 1_795_230_746_000_000_000),
                series: "first",
                segment: number,
                claim: epoch.map { RecordingClaim(cluster: "calls", epoch: $0) }
            )
            try JournalWriter(folder: folder).append(.recordingStarted(started), monotonicNanoseconds: 1)
            folders.append(folder)
        }
        let series = try #require(try RecordingSeries.find(folders[0]))
        #expect(series.segments.map { "\($0.epoch)/\($0.number)" } == table.order)
        #expect(series.missing == table.missing)
        #expect(series.doubles.count == table.doubles)
        #expect(series.segments.contains { $0.folder == folders[0] })
        #expect(series.segments.allSatisfy { $0.host.hasPrefix("host") })
    }
}
