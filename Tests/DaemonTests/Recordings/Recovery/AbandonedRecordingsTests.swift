// SPDX-License-Identifier: Apache-2.0

import Storage
import Testing

@testable import Daemon

@Suite struct AbandonedRecordingsTests {
    private static let first = RecordingID.random()
    private static let second = RecordingID.random()

    /// What was abandoned, with a clock.
    private struct Bench {
        var abandoned = AbandonedRecordings(repairInterval: .seconds(600))
        var now = ContinuousClock.now
        /// What somebody completes.
        var held: Set<RecordingID> = []

        /// A look a minute after the one before, and what an earlier repair has left, if that is to be looked for.
        mutating func look(missing: Set<RecordingID>, left: Set<RecordingID> = []) -> Set<RecordingID> {
            self.now += .seconds(60)
            let isAgain = self.abandoned.takesUpWhatIsLeft(at: self.now)
            let held = self.held
            return self.abandoned.look(missing: missing, left: isAgain ? left : [], at: self.now) { held.contains($0) }
        }

        mutating func failed() { self.abandoned.failed(at: self.now) }
    }

    /// One that could not be closed, a moment ago.
    private static func failed() -> Bench {
        var bench = Bench()
        #expect(bench.look(missing: [Self.first]).isEmpty)
        #expect(bench.look(missing: [Self.first]) == [Self.first])
        bench.failed()
        return bench
    }

    @Test func whatIsMissingTwiceIsClosed() {
        var bench = Bench()
        #expect(bench.look(missing: [Self.first]).isEmpty && !bench.abandoned.isLeft(Self.first))
        #expect(bench.look(missing: [Self.first, Self.second]) == [Self.first])
        #expect(bench.abandoned.isLeft(Self.first) && !bench.abandoned.isLeft(Self.second))
        bench.abandoned.repaired([Self.first])
        #expect(!bench.abandoned.isLeft(Self.first))
        #expect(bench.look(missing: [Self.second]) == [Self.second])
        bench.abandoned.repaired([Self.second])
        #expect(bench.abandoned == AbandonedRecordings(repairInterval: .seconds(600)))
    }

    @Test func aWorkerThatGoesOnWithOneIsSeenInBetween() {
        var bench = Bench()
        for _ in 1...3 {
            #expect(bench.look(missing: [Self.first]).isEmpty)
            #expect(bench.look(missing: []).isEmpty)
        }
    }

    @Test func whatIsStillCompletedIsNotClosed() {
        var bench = Bench()
        bench.held = [Self.first]
        for _ in 1...5 { #expect(bench.look(missing: [Self.first]).isEmpty) }
        bench.held = []
        #expect(bench.look(missing: [Self.first]) == [Self.first])
    }

    @Test func whatARepairLeftIsRepairedWhenThatIsDue() {
        var bench = Self.failed()
        for _ in 1...3 {
            #expect(bench.abandoned.isLeft(Self.first))
            // Nine minutes: nobody looks for it.
            for _ in 1...9 { #expect(bench.look(missing: [], left: [Self.first]).isEmpty) }
            #expect(bench.look(missing: [], left: [Self.first]) == [Self.first])
            bench.failed()
        }
        for _ in 1...9 { #expect(bench.look(missing: [], left: [Self.first]).isEmpty) }
        #expect(bench.look(missing: [], left: [Self.first]) == [Self.first])
        bench.abandoned.repaired([Self.first])
        #expect(!bench.abandoned.isLeft(Self.first))
        for _ in 1...20 { #expect(bench.look(missing: [], left: [Self.first]).isEmpty) }
    }

    /// The catalogue does not know it, so that the store has it again.
    @Test func whatWentBackIsClosedWhenThatIsDueAndHoldsUpNoOther() {
        var bench = Self.failed()
        bench.abandoned.wentBack(Self.first)
        #expect(bench.look(missing: [Self.first, Self.second]).isEmpty)
        #expect(bench.look(missing: [Self.first, Self.second]) == [Self.second])
        bench.abandoned.repaired([Self.second])
        for _ in 3...9 { #expect(bench.look(missing: [Self.first]).isEmpty) }
        #expect(bench.look(missing: [Self.first]) == [Self.first])
    }

    @Test func whatIsDeletedMeanwhileIsForgotten() {
        var suspect = Bench()
        #expect(suspect.look(missing: [Self.first]).isEmpty)
        #expect(suspect.look(missing: []).isEmpty)
        #expect(suspect.abandoned == AbandonedRecordings(repairInterval: .seconds(600)))
        var left = Self.failed()
        for _ in 1...20 { #expect(left.look(missing: []).isEmpty) }
        #expect(left.abandoned == AbandonedRecordings(repairInterval: .seconds(600)))
    }

    @Test func aRepairOfTheStartThatFailedIsTakenUpAgainOnce() {
        var bench = Bench()
        bench.failed()
        for _ in 1...9 { #expect(bench.look(missing: [], left: [Self.first, Self.second]).isEmpty) }
        #expect(bench.look(missing: [], left: [Self.first, Self.second]) == [Self.first, Self.second])
        bench.abandoned.repaired([Self.first, Self.second])
        for _ in 1...20 { #expect(bench.look(missing: [], left: [Self.first]).isEmpty) }
    }

    /// As of a catalogue that is not read: it is tried again when a repair would be.
    @Test func whatCouldNotBeLookedForIsLookedForLater() {
        var bench = Self.failed()
        bench.now += .seconds(600)
        let isAgain = bench.abandoned.takesUpWhatIsLeft(at: bench.now)
        bench.failed()
        let due = bench.abandoned.look(missing: [], left: [], at: bench.now) { _ in false }
        #expect(isAgain && due.isEmpty)
        for _ in 1...9 { #expect(bench.look(missing: [], left: [Self.first]).isEmpty) }
        #expect(bench.look(missing: [], left: [Self.first]) == [Self.first])
    }
}
