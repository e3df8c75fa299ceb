// SPDX-License-Identifier: Apache-2.0

import Recording
import Testing

@Suite struct RecordingStateMachineTests {
    private static let second: UInt64 = 1_000_000_000

    private enum Event: String, CaseIterable {
        case media, failed, record, stop, pause, resume, empty
    }

    /// A machine in a phase, with a participant in the room.
    private static func machine(in phase: RecordingStateMachine.Phase) -> RecordingStateMachine {
        var machine = RecordingStateMachine(
            startsByItself: phase != .off,
            goesOn: phase == .recording || phase == .paused,
            emptyLimit: 30 * Self.second,
            now: 0
        )
        if phase == .paused { _ = machine.pauseOrdered() }
        machine.presenceChanged(isEmpty: false, now: 0)
        return machine
    }

    /// The result of every event in every phase, and the phase after it.
    private static let table: [RecordingStateMachine.Phase: [Event: String]] = [
        .off: [
            .media: "leaveOut off", .failed: "- off", .record: "done waiting", .stop: "alreadySo off",
            .pause: "nothingRecorded off", .resume: "nothingRecorded off", .empty: "false off",
        ],
        .waiting: [
            .media: "begin recording", .failed: "- waiting", .record: "alreadySo waiting", .stop: "done off",
            .pause: "nothingRecorded waiting", .resume: "nothingRecorded waiting", .empty: "false waiting",
        ],
        .recording: [
            .media: "write recording", .failed: "- waiting", .record: "alreadySo recording", .stop: "finish off",
            .pause: "done paused", .resume: "alreadySo recording", .empty: "true waiting",
        ],
        .paused: [
            .media: "leaveOut paused", .failed: "- paused", .record: "done recording", .stop: "finish off",
            .pause: "alreadySo paused", .resume: "done recording", .empty: "true waiting",
        ],
    ]

    @Test(arguments: RecordingStateMachine.Phase.allCases)
    func everyEventInEveryPhase(phase: RecordingStateMachine.Phase) throws {
        let expected = try #require(Self.table[phase])
        for event in Event.allCases {
            var machine = Self.machine(in: phase)
            let before = machine.phase
            #expect(before == phase)
            let result: String
            switch event {
            case .media: result = "\(machine.mediaCame(now: 1))"
            case .failed:
                machine.beginningFailed()
                result = "-"
            case .record: result = "\(machine.recordOrdered())"
            case .stop: result = "\(machine.stopOrdered())"
            case .pause: result = "\(machine.pauseOrdered())"
            case .resume: result = "\(machine.resumeOrdered())"
            case .empty:
                machine.presenceChanged(isEmpty: true, now: 0)
                result = "\(machine.endsForEmptiness(now: 30 * Self.second))"
            }
            let after = machine.phase
            #expect("\(result) \(after)" == expected[event], "\(event) in \(phase)")
        }
    }

    @Test func countsEmptinessFromTheMomentTheLastOneLeft() {
        var machine = Self.machine(in: .recording)
        machine.presenceChanged(isEmpty: true, now: 10 * Self.second)
        // Said again and again, it is still the same absence.
        machine.presenceChanged(isEmpty: true, now: 35 * Self.second)
        let result1 = machine.endsForEmptiness(now: 40 * Self.second - 1)
        #expect(!result1)
        let result2 = machine.endsForEmptiness(now: 40 * Self.second)
        #expect(result2)
        let result3 = machine.endsForEmptiness(now: 41 * Self.second)
        #expect(!result3, "it ends once")
    }

    @Test func somebodyWhoReturnsInTimeKeepsTheRecording() {
        var machine = Self.machine(in: .recording)
        machine.presenceChanged(isEmpty: true, now: 0)
        machine.presenceChanged(isEmpty: false, now: 29 * Self.second)
        machine.presenceChanged(isEmpty: true, now: 31 * Self.second)
        let result4 = machine.endsForEmptiness(now: 60 * Self.second)
        #expect(!result4)
        let result5 = machine.endsForEmptiness(now: 61 * Self.second)
        #expect(result5)
    }

    @Test func mediaCountAsSomebody() {
        var machine = RecordingStateMachine(startsByItself: true, goesOn: false, emptyLimit: Self.second, now: 0)
        let result6 = machine.mediaCame(now: 100 * Self.second)
        #expect(result6 == .begin)
        let result7 = machine.endsForEmptiness(now: 100 * Self.second)
        #expect(!result7)
        let result8 = machine.endsForEmptiness(now: 101 * Self.second)
        #expect(result8)
    }

    @Test func aContinuedRecordingEndsWhenNobodyComes() {
        var machine = RecordingStateMachine(startsByItself: true, goesOn: true, emptyLimit: Self.second, now: 5)
        let phase = machine.phase
        #expect(phase == .recording)
        let result9 = machine.endsForEmptiness(now: Self.second + 5)
        #expect(result9)
    }

    /// A paused recording stays paused; without a recording, nothing is paused.
    @Test(arguments: [(true, RecordingStateMachine.Phase.paused), (false, .waiting)])
    func aContinuedPauseIsOne(goesOn: Bool, phase: RecordingStateMachine.Phase) {
        let machine = RecordingStateMachine(
            startsByItself: true,
            goesOn: goesOn,
            isPaused: true,
            emptyLimit: nil,
            now: 0
        )
        let found = machine.phase
        #expect(found == phase)
    }

    @Test func withoutALimitItNeverEndsByItself() {
        var machine = RecordingStateMachine(startsByItself: true, goesOn: true, emptyLimit: nil, now: 0)
        let result10 = machine.endsForEmptiness(now: .max)
        #expect(!result10)
    }
}
