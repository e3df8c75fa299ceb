// SPDX-License-Identifier: Apache-2.0

import Basics
import Catalogue
import Model
import Storage
import Testing

@testable import Daemon

@Suite struct ExportEntryLifeTests {
    private static let now = UTCTime(nanosecondsSince1970: 1_795_230_746_000_000_000)

    private static func export(_ spec: ExportSpec = ExportSpec()) -> ExportEntry {
        ExportEntry(recording: .random(), spec: spec, created: self.now)
    }

    @Test func whatBeganAndSucceededIsDone() {
        var export = Self.export()
        export.error = "it waits for free space: 1 bytes more are needed"
        export.begins(at: Self.now)
        #expect(export.state == .running && export.started == Self.now && export.error == nil)
        export.progress = 0.5
        export.succeeds(at: Self.now)
        #expect(export.state == .done && export.progress == 1 && export.finished == Self.now)
    }

    /// The first try may be repeated, the last one not.
    @Test(arguments: [(true, 0, true), (true, 6, true), (true, 7, false), (false, 0, false)])
    func whatFailedIsTriedAgainOrGivenUp(isRetriable: Bool, attempts: Int, isTriedAgain: Bool) {
        var export = Self.export()
        export.attempts = attempts
        export.begins(at: Self.now)
        export.progress = 0.5
        export.fails(isRetriable: isRetriable, by: ExportPolicy(), random: 0.5, at: Self.now)
        #expect(export.attempts == attempts + 1 && export.state == (isTriedAgain ? .queued : .failed))
        #expect(export.due.map { $0 > Self.now } == (isTriedAgain ? true : nil))
        #expect(export.finished == (isTriedAgain ? nil : Self.now))
        #expect(export.progress == (isTriedAgain ? 0 : 0.5) && (export.started == nil) == isTriedAgain)
    }

    struct Size: Sendable {
        var from: Int?
        var to: Int?
        var container = ExportSpec.Container.mkv
        var bytes: Int64 = 1000
        /// Seconds at which its recordings begin and end.
        var times: [(Int, Int?)] = [(0, 100)]
        var most: Int64
    }

    @Test(arguments: [
        Size(most: 1000), Size(container: .mp4, most: 2000), Size(bytes: -1, most: 0),
        Size(bytes: .max, most: 1 << 50), Size(container: .mp4, bytes: .max, most: 1 << 51),
        Size(from: 0, to: 50, most: 750), Size(from: 50, most: 750), Size(to: 10, most: 150),
        Size(from: 10, to: 20, times: [(0, 50), (50, 100)], most: 150), Size(from: 10, to: 90, most: 1000),
        // Behind the end, without a length, and of times that are wrong: as much as the whole.
        Size(from: 200, most: 1000), Size(to: 10, times: [], most: 1000), Size(to: 10, times: [(0, nil)], most: 1000),
        Size(to: 10, times: [(10, 0)], most: 1000),
    ])
    func anExportHasItsShareOfTheBytes(_ size: Size) {
        let export = Self.export(
            ExportSpec(
                .tracks(.init(container: size.container)),
                from: size.from.map { .seconds($0) },
                to: size.to.map { .seconds($0) }
            )
        )
        let times = size.times.map { start, end in
            (start: Self.now.adding(.seconds(start)), end: end.map { Self.now.adding(.seconds($0)) })
        }
        #expect(export.mostBytes(ofBytes: size.bytes, recorded: times) == size.most)
    }
}
