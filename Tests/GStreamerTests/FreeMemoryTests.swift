// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing

@testable import GStreamer

@Suite struct FreeMemoryTests {
    private let start = ContinuousClock.now

    @Test func memoryIsReleasedWhenTheLastConnectionHasEnded() {
        var schedule = MemorySchedule(now: self.start)
        #expect(!schedule.isDue(now: self.start))
        schedule.connectionBegan()
        schedule.connectionBegan()
        #expect(!schedule.isDue(now: self.start))
        schedule.connectionEnded()
        #expect(!schedule.isDue(now: self.start + .seconds(2)))
        schedule.connectionEnded()
        #expect(schedule.isDue(now: self.start + .seconds(2)))
        #expect(!schedule.isDue(now: self.start + .seconds(3)))
    }

    @Test func anotherConnectionThatBeganPutsItOff() {
        var schedule = MemorySchedule(now: self.start)
        schedule.connectionBegan()
        schedule.connectionEnded()
        schedule.connectionBegan()
        #expect(!schedule.isDue(now: self.start + .seconds(2)))
        schedule.connectionEnded()
        #expect(schedule.isDue(now: self.start + .seconds(4)))
    }

    @Test func whereSomebodyIsAlwaysConnectedItIsReleasedEveryTenMinutes() {
        var schedule = MemorySchedule(now: self.start)
        schedule.connectionBegan()
        schedule.connectionBegan()
        #expect(!schedule.isDue(now: self.start + .seconds(600)))
        schedule.connectionEnded()
        #expect(!schedule.isDue(now: self.start + .seconds(599)))
        #expect(schedule.isDue(now: self.start + .seconds(600)))
        schedule.connectionBegan()
        schedule.connectionEnded()
        #expect(!schedule.isDue(now: self.start + .seconds(1199)))
        #expect(schedule.isDue(now: self.start + .seconds(1200)))
    }

    /// Of 64 MB in pieces, one of a hundred stays in use: malloc itself gives nothing of that back.
    @Test func theSystemGetsThePagesThatNobodyUses() throws {
        let pieces = (0..<65536).map { _ -> UnsafeMutableRawPointer in
            let piece = UnsafeMutableRawPointer.allocate(byteCount: 1000, alignment: 16)
            memset(piece, 1, 1000)
            return piece
        }
        for (place, piece) in pieces.enumerated() where place % 100 != 0 { piece.deallocate() }
        let before = try Self.residentPages()
        Runtime.releaseFreeMemory()
        let released = before - (try Self.residentPages())
        for (place, piece) in pieces.enumerated() where place % 100 == 0 { piece.deallocate() }
        #expect(released * sysconf(Int32(_SC_PAGESIZE)) > 32_000_000)
    }

    private static func residentPages() throws -> Int {
        let text = try String(contentsOfFile: "/proc/self/statm", encoding: .utf8)
        return try #require(text.split(separator: " ").dropFirst().first.flatMap { Int($0) })
    }
}
