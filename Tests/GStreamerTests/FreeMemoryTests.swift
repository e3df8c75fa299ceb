// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing

@testable import GStreamer

@Suite struct FreeMemoryTests {
    private enum Step {
        case begins
        case ends
        /// It is asked so many seconds after the start.
        case asked(Int)
    }

    /// The answers, in order.
    private func answers(_ steps: [Step]) -> [Bool] {
        let start = ContinuousClock.now
        var schedule = MemorySchedule(now: start)
        var answers: [Bool] = []
        for step in steps {
            switch step {
            case .begins: schedule.connectionBegan()
            case .ends: schedule.connectionEnded()
            case .asked(let seconds): answers.append(schedule.isDue(now: start + .seconds(seconds)))
            }
        }
        return answers
    }

    @Test func memoryIsReleasedWhenTheLastConnectionHasEnded() {
        let steps: [Step] = [
            .asked(0), .begins, .begins, .asked(1), .ends, .asked(2), .ends, .asked(3), .asked(4),
        ]
        #expect(self.answers(steps) == [false, false, false, true, false])
    }

    @Test func anotherConnectionThatBeganPutsItOff() {
        let steps: [Step] = [.begins, .ends, .begins, .asked(2), .ends, .asked(4)]
        #expect(self.answers(steps) == [false, true])
    }

    @Test func whereSomebodyIsAlwaysConnectedItIsReleasedEveryTenMinutes() {
        let steps: [Step] = [
            .begins, .begins, .asked(600), .ends, .asked(599), .asked(600), .begins, .ends, .asked(1199), .asked(1200),
        ]
        #expect(self.answers(steps) == [false, false, true, false, true])
    }

    /// One in a hundred pieces of 64 MB stays in use: malloc alone gives nothing of that back.
    @Test func theSystemGetsThePagesThatNobodyUses() throws {
        let pieces = (0..<65536).map { _ -> UnsafeMutableRawPointer in
            let piece = UnsafeMutableRawPointer.allocate(byteCount: 1000, alignment: 16)
            memset(piece, 1, 1000)
            return piece
        }
        for (place, piece) in pieces.enumerated() where place % 100 != 0 { piece.deallocate() }
        let before = try Self.residentPages()
        FreeMemory.release()
        let released = before - (try Self.residentPages())
        for (place, piece) in pieces.enumerated() where place % 100 == 0 { piece.deallocate() }
        #expect(released * sysconf(Int32(_SC_PAGESIZE)) > 32_000_000)
    }

    private static func residentPages() throws -> Int {
        let text = try String(contentsOfFile: "/proc/self/statm", encoding: .utf8)
        return try #require(text.split(separator: " ").dropFirst().first.flatMap { Int($0) })
    }
}
