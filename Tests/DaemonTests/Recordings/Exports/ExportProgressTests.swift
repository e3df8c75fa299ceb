// SPDX-License-Identifier: Apache-2.0

import Foundation
import Model
import Testing

@testable import Daemon

@Suite struct ExportProgressTests {
    private static func line(_ done: UInt64, of total: UInt64 = 1000) throws -> Data {
        try WorkerLine.encode(ExportJobEvent.progress(bytesDone: done, bytesTotal: total))
    }

    @Test func tellsOnceASecondAtMostAndTheLast() throws {
        let progress = ExportProgress()
        let start = ContinuousClock.now
        var told: [Int] = []
        // Ten times a second for ten seconds.
        for tenth in 0..<100 {
            let line = try Self.line(UInt64(tenth) * 10)
            told += [progress.take(line, now: start + .milliseconds(100 * tenth))].compactMap { $0 }
        }
        #expect(told == [0, 10, 20, 30, 40, 50, 60, 70, 80, 90])
        #expect(progress.untold == 99)
    }

    @Test func doesNotTellTheSameAgain() throws {
        let progress = ExportProgress()
        let start = ContinuousClock.now
        #expect(progress.untold == nil)
        #expect(progress.take(try Self.line(1000), now: start) == 100)
        // As while the file is read back.
        for second in 1..<100 { #expect(progress.take(try Self.line(1000), now: start + .seconds(second)) == nil) }
        #expect(progress.untold == nil)
    }

    /// Nothing to do is nothing done; more than everything is everything.
    @Test func numbersThatMakeNoSenseAreTakenAsTheyMayBe() throws {
        #expect(ExportProgress().take(try Self.line(5, of: 0)) == 0)
        #expect(ExportProgress().take(try Self.line(.max, of: 1)) == 100)
    }

    @Test func remembersWhatTheJobSaid() throws {
        let progress = ExportProgress()
        #expect(progress.file == nil && progress.error == nil && progress.isRetriable == nil)
        let failed = ExportJobEvent.failed(message: "disk full", retriable: true)
        #expect(progress.take(try WorkerLine.encode(failed)) == nil)
        #expect(progress.error == "disk full" && progress.file == nil && progress.isRetriable == true)
    }

    @Test(arguments: ["", "{}", "[1]", "progress", "{\"progress\":{\"done\":\"x\"}}", "{\"unknown\":{}}"])
    func aLineThatIsNoneChangesNothing(text: String) {
        let progress = ExportProgress()
        #expect(progress.take(Data(text.utf8)) == nil)
        #expect(progress.untold == nil && progress.file == nil && progress.error == nil)
    }
}
