// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import Media

@Suite struct PipelineOutputLifeTests {
    private static let ada = PipelineSource(participant: "ada")
    private static let bob = PipelineSource(participant: "bob")

    /// A life with its clock; waits are without their random part.
    private struct Told {
        var life = PipelineOutputLife()
        var now = Duration.seconds(1000)

        mutating func wanted(_ source: PipelineSource?, isFull: Bool = false) -> [PipelineOutputLife.Action] {
            self.life.wanted(source, isFull: isFull, now: self.now, random: 0)
        }

        mutating func failed(_ number: Int, _ reason: String = "broken") -> [PipelineOutputLife.Action] {
            self.life.failed(number, reason, now: self.now, random: 0)
        }

        mutating func ended(_ number: Int) -> [PipelineOutputLife.Action] {
            self.life.ended(number, now: self.now, random: 0)
        }
    }

    @Test func aPipelineRunsAsLongAsItsSourceIsTheSame() {
        var told = Told()
        #expect(told.wanted(nil) == [])
        #expect(!told.life.isRunning)
        #expect(told.wanted(Self.ada) == [.start(1, Self.ada)])
        #expect(told.life.isRunning)
        #expect(told.wanted(Self.ada) == [])
        // Another participant: files are completed first.
        #expect(told.wanted(Self.bob) == [.end(1)])
        #expect(!told.life.isRunning)
        #expect(told.wanted(Self.bob) == [])
        #expect(told.ended(1) == [.stop(1)])
        #expect(told.wanted(Self.bob) == [.start(2, Self.bob)])
        #expect(told.wanted(nil) == [.end(2)])
        #expect(told.ended(2) == [.stop(2)])
        #expect(told.wanted(nil) == [])
    }

    @Test func whatFailsIsToldOnceAndTriedAgainWithWaitsThatGrow() {
        var told = Told()
        _ = told.wanted(Self.ada)
        #expect(told.failed(1) == [.stop(1), .tell(.failed(reason: "broken"))])
        #expect(told.life.problem == "broken")
        var waits: [Duration] = []
        for number in 2...9 {
            let since = told.now
            var actions = told.wanted(Self.ada)
            while actions.isEmpty {
                told.now += .seconds(1)
                actions = told.wanted(Self.ada)
            }
            #expect(actions == [.start(number, Self.ada)])
            waits.append(told.now - since)
            #expect(told.failed(number, "again") == [.stop(number)])
        }
        #expect(waits == [0, 1, 2, 4, 8, 16, 30, 30].map { Duration.seconds($0) })
        #expect(told.life.problem == "again")
        // Five seconds without an error: it works again.
        told.now += .seconds(30)
        #expect(told.wanted(Self.ada) == [.start(10, Self.ada)])
        told.now += .seconds(4)
        #expect(told.wanted(Self.ada) == [])
        told.now += .seconds(1)
        #expect(told.wanted(Self.ada) == [.tell(.recovered)])
        #expect(told.life.problem == nil)
        #expect(told.wanted(Self.ada) == [])
        // Earlier failures are forgotten: the next try comes at once.
        #expect(told.failed(10) == [.stop(10), .tell(.failed(reason: "broken"))])
        #expect(told.wanted(Self.ada) == [.start(11, Self.ada)])
    }

    @Test func whoLeavesEndsTheWait() {
        var told = Told()
        _ = told.wanted(Self.ada)
        _ = told.failed(1)
        #expect(told.wanted(nil) == [])
        #expect(told.wanted(Self.bob) == [.start(2, Self.bob)])
    }

    @Test func aQueueThatStaysFullIsAFailure() {
        var told = Told()
        _ = told.wanted(Self.ada)
        for _ in 1..<PipelineOutputLife.patience { #expect(told.wanted(Self.ada, isFull: true) == []) }
        // It moves: the count starts again.
        #expect(told.wanted(Self.ada) == [])
        for _ in 1..<PipelineOutputLife.patience { #expect(told.wanted(Self.ada, isFull: true) == []) }
        let actions = told.wanted(Self.ada, isFull: true)
        #expect(actions.first == .stop(1) && actions.count == 2)
    }

    @Test func whatTakesNothingIsToldOnceAndItsWaitsGrow() {
        var told = Told()
        var tells: [PipelineOutputLife.Action] = []
        var starts: [Duration] = []
        for _ in 0..<600 {
            for action in told.wanted(Self.ada, isFull: told.life.isRunning) {
                switch action {
                case .start: starts.append(told.now)
                case .tell: tells.append(action)
                case .end, .stop, .finished: break
                }
            }
            told.now += .seconds(1)
        }
        let reason = "it takes no more: what is sent to it is stuck"
        #expect(tells == [.tell(.failed(reason: reason))])
        #expect(told.life.problem == reason)
        // Ten looks until it fails, and the longest wait.
        let distances = zip(starts, starts.dropFirst()).map { $1 - $0 }
        #expect(distances.last == Duration.seconds(40), "\(distances)")
        // It takes something again.
        while !told.life.isRunning {
            told.now += .seconds(1)
            _ = told.wanted(Self.ada)
        }
        told.now += .seconds(5)
        #expect(told.wanted(Self.ada, isFull: true) == [])
        #expect(told.wanted(Self.ada) == [.tell(.recovered)])
    }

    @Test func endsByItselfIsAFailure() {
        var told = Told()
        _ = told.wanted(Self.ada)
        #expect(told.ended(1) == [.stop(1), .tell(.failed(reason: "it ended without a command"))])
    }

    @Test func anErrorAtTheEndIsTheEnd() {
        var told = Told()
        _ = told.wanted(Self.ada)
        _ = told.wanted(nil)
        #expect(told.failed(1) == [.stop(1)])
        #expect(told.life.problem == nil)
        #expect(told.wanted(Self.ada) == [.start(2, Self.ada)])
    }

    @Test func whatComesOfAPipelineThatIsGoneIsIgnored() {
        var told = Told()
        func isIgnored(_ number: Int) -> Bool {
            let (failed, ended) = (told.failed(number), told.ended(number))
            return failed.isEmpty && ended.isEmpty
        }
        #expect(isIgnored(1))
        _ = told.wanted(Self.ada)
        #expect(isIgnored(7))
        _ = told.wanted(nil)
        #expect(isIgnored(7))
        _ = told.ended(1)
        _ = told.wanted(Self.ada)
        _ = told.failed(2)
        #expect(isIgnored(2))
        #expect(told.life.finish() == [.finished])
        #expect(isIgnored(2))
    }

    @Test func finishesFromEveryState() {
        var idle = Told()
        #expect(idle.life.finish() == [.finished])
        #expect(idle.life.finish() == [.finished])
        #expect(idle.wanted(Self.ada) == [])

        var running = Told()
        _ = running.wanted(Self.ada)
        #expect(running.life.finish() == [.end(1)])
        #expect(running.life.finish() == [])
        #expect(running.wanted(Self.bob) == [])
        #expect(running.ended(2) == [])
        #expect(running.ended(1) == [.stop(1), .finished])

        var ending = Told()
        _ = ending.wanted(Self.ada)
        _ = ending.wanted(nil)
        #expect(ending.life.finish() == [])
        #expect(ending.failed(1) == [.stop(1), .finished])

        var waiting = Told()
        _ = waiting.wanted(Self.ada)
        _ = waiting.failed(1)
        #expect(waiting.life.finish() == [.finished])
    }

    @Test func aFileThatIsNoneIsToldOnce() {
        var life = PipelineOutputLife()
        #expect(life.blocked("there is none") == [.tell(.failed(reason: "there is none"))])
        #expect(life.blocked("there is none") == [])
        #expect(life.problem == "there is none" && !life.isRunning)
    }
}
