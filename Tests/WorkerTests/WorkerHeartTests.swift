// SPDX-License-Identifier: Apache-2.0

import Logging
import Synchronization
import Testing

@testable import Worker

/// A heart whose beats the test makes.
@Suite struct WorkerHeartTests {
    /// What a part was asked, until it answers.
    private final class Part: Sendable {
        let questions = Mutex<[@Sendable () -> Void]>([])
        let isLeft = Atomic(false)

        @Sendable func ask(_ answer: @escaping @Sendable () -> Void) { self.questions.withLock { $0.append(answer) } }

        var count: Int { self.questions.withLock(\.count) }

        func answer() {
            let questions = self.questions.withLock { questions in
                defer { questions = [] }
                return questions
            }
            for question in questions { question() }
        }
    }

    private let task = Part()
    private let beats: Beats
    private let heart: WorkerHeart

    private final class Beats: Sendable { let count = Atomic(0) }

    init() {
        let (task, beats) = (self.task, Beats())
        self.beats = beats
        self.heart = WorkerHeart(logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }, task: task.ask) {
            beats.count.add(1, ordering: .relaxed)
        }
    }

    private func room(_ name: String) -> Part {
        let part = Part()
        self.heart.watch(name, ask: part.ask, isLeft: { part.isLeft.load(ordering: .relaxed) })
        return part
    }

    /// How many of so many beats were sent, with answers of `parts` after each.
    private func beats(_ count: Int, answeredBy parts: [Part]) -> Int {
        let before = self.beats.count.load(ordering: .relaxed)
        for _ in 0..<count {
            #expect(self.heart.beat())
            for part in parts { part.answer() }
        }
        return self.beats.count.load(ordering: .relaxed) - before
    }

    @Test func beatsWhileEverythingAnswers() {
        let rooms = [self.room("one"), self.room("two")]
        #expect(self.beats(100, answeredBy: rooms + [self.task]) == 100)
    }

    /// Each question wakes a thread.
    @Test func roomsAreAskedInTurnsWithEveryFifthBeat() {
        let rooms = (1...7).map { self.room("\($0)") }
        let asked = (0..<12).map { _ in
            #expect(self.heart.beat())
            defer { for part in rooms + [self.task] { part.answer() } }
            #expect(self.task.count == 1)
            return rooms.indices.filter { rooms[$0].count == 1 }
        }
        #expect(asked == [[0, 5], [1, 6], [2], [3], [4], [0, 5], [1, 6], [2], [3], [4], [0, 5], [1, 6]])
    }

    @Test func whatDoesNotAnswerIsAskedOnceAndSilencesTheWorkerUntilItDoes() {
        let (hangs, well) = (self.room("hangs"), self.room("well"))
        #expect(self.beats(100, answeredBy: [well, self.task]) == WorkerHeart.patience)
        #expect(hangs.count == 1)
        hangs.answer()
        #expect(self.beats(10, answeredBy: [well, hangs, self.task]) == 10)
    }

    @Test func theWorkersTaskHasToAnswer() {
        let room = self.room("room")
        #expect(self.beats(100, answeredBy: [room]) == WorkerHeart.patience)
        #expect(self.task.count == 1)
    }

    @Test func aRoomThatIsGoneNeedNotAnswer() {
        _ = self.room("gone")
        #expect(self.beats(50, answeredBy: [self.task]) == WorkerHeart.patience)
        self.heart.forget("gone")
        #expect(self.beats(50, answeredBy: [self.task]) == 50)
    }

    @Test func aRoomThatIsLeftNeedNotAnswerWhileAnotherDoes() {
        let (well, left) = (self.room("well"), self.room("left"))
        left.isLeft.store(true, ordering: .relaxed)
        #expect(self.beats(100, answeredBy: [well, self.task]) == 100)
        self.heart.forget("well")
        #expect(self.beats(100, answeredBy: [self.task]) == 0)
    }

    @Test(arguments: [
        ([], 0, true), ([], 2, true), ([false], 1, false), ([false], 2, false), ([true], 1, false), ([true], 2, true),
        ([true, true], 2, false), ([true, true], 3, true), ([true, false], 3, false),
    ])
    func aRoomThatHangsSilencesItsWorkerUnlessItIsLeftAndAnotherIsWell(areLeft: [Bool], rooms: Int, isWell: Bool) {
        #expect(WorkerHeart.isWell(hangingRoomsAreLeft: areLeft, rooms: rooms) == isWell)
    }

    @Test func aHeartThatWasStoppedIsStill() {
        self.heart.stop()
        #expect(!self.heart.beat())
        #expect(self.beats.count.load(ordering: .relaxed) == 0)
    }
}
