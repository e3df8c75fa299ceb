// SPDX-License-Identifier: Apache-2.0

import Rooms
import Supervision
import Testing

@testable import Daemon

@Suite struct PendingRequestTests {
    /// What a pendingRequest of room `a` makes of events, in words; each is answered in the end.
    private static func hear(
        _ question: PendingRequest.Question,
        command: String = "pause",
        answersBefore: Int = 0,
        _ events: [WorkerEvent]
    ) async -> [String] {
        var heard: [String] = []
        _ = await withCheckedContinuation { continuation in
            var pendingRequest = PendingRequest(
                worker: WorkerID(1),
                room: "a",
                command: command,
                question: question,
                deadline: .seconds(3),
                answersBefore: answersBefore,
                continuation: continuation
            )
            heard = events.map { event in pendingRequest.hear(event).map(Self.word) ?? "waits" }
            heard.append("late: \(Self.word(pendingRequest.late))")
            continuation.resume(returning: pendingRequest.late)
        }
        return heard
    }

    private static func word(_ answer: PendingRequest.Answer) -> String {
        switch answer {
        case .status: "status"
        case .done: "done"
        case .image(let base64): "image \(base64)"
        case .graphs(let graphs): "graphs \(graphs.keys.sorted())"
        case .refused(let reason): "refused \(reason)"
        case .silence: "silence"
        }
    }

    private static func status(_ state: RoomStatus.RecordingState, room: String = "a") -> WorkerEvent {
        var status = RoomStatus()
        status.recordingState = state
        return .status(room: room, status)
    }

    @Test func waitsForTheStateThatWasAskedFor() async {
        let events = [
            Self.status(.recording), Self.status(.paused, room: "b"), Self.status(.paused),
            .left(room: "b", .ordered), .left(room: "a", .ordered),
            .commandFailed(room: "a", command: "pause", reason: "no"),
            .commandFailed(room: "b", command: "pause", reason: "no"),
        ]
        #expect(
            await Self.hear(.status([.paused]), events) == [
                "waits", "waits", "status", "waits", "status", "refused no", "waits", "late: silence",
            ]
        )
    }

    @Test func waitsUntilItsOwnCommandIsDone() async {
        let events = [
            Self.status(.off), .commandDone(room: "a", command: "mark"), .commandDone(room: "b", command: "camera"),
            .commandFailed(room: "a", command: "camera", reason: "no"), .commandDone(room: "a", command: "camera"),
            .left(room: "a", .ordered),
        ]
        #expect(
            await Self.hear(.done, command: "camera", events) == [
                "waits", "waits", "waits", "refused no", "done", "refused the room was left meanwhile", "late: silence",
            ]
        )
    }

    @Test func answersToThoseBeforeItAreNotItsOwn() async {
        let events: [WorkerEvent] = [
            .commandDone(room: "a", command: "mark"), .commandDone(room: "a", command: "camera"),
            .commandFailed(room: "a", command: "camera", reason: "no"),
            .commandFailed(room: "a", command: "camera", reason: "not that"),
        ]
        #expect(
            await Self.hear(.done, command: "camera", answersBefore: 2, events) == [
                "waits", "waits", "waits", "refused not that", "late: silence",
            ]
        )
    }

    @Test func commandsAreCountedUntilTheyAreAnswered() {
        var unanswered = UnansweredCommands()
        func mark(_ room: String) -> WorkerCommand { .mark(room: room, text: "x") }
        for room in ["a", "a", "b"] { unanswered.note(mark(room)) }
        unanswered.note(.thumbnail(room: "a", participant: "p"))
        #expect(unanswered.count(before: mark("a")) == 2 && unanswered.count(before: mark("b")) == 1)
        #expect(unanswered.count(before: .thumbnail(room: "a", participant: "p")) == 0)
        #expect(unanswered.count(before: .pause(room: "a")) == 0)
        unanswered.hear(.commandDone(room: "a", command: "mark"))
        unanswered.hear(.commandDone(room: "a", command: "pause"))
        #expect(unanswered.count(before: mark("a")) == 1)
        unanswered.hear(.commandFailed(room: "a", command: "mark", reason: "no"))
        unanswered.hear(.commandFailed(room: nil, command: "mark", reason: "no"))
        #expect(unanswered.count(before: mark("a")) == 0 && unanswered.count(before: mark("b")) == 1)
        // It is in the room no more: what it was told is not answered.
        unanswered.hear(.left(room: "b", .ordered))
        #expect(unanswered.count(before: mark("b")) == 0)
    }

    @Test func isRefusedByTheFailureOfItsOwnCommandOnly() async {
        let events: [WorkerEvent] = ["camera", "thumbnail", "mark"].map {
            .commandFailed(room: "a", command: $0, reason: "no \($0)")
        }
        #expect(
            await Self.hear(.status([.paused]), command: "mark", events) == [
                "waits", "waits", "refused no mark", "late: silence",
            ]
        )
        #expect(
            await Self.hear(.thumbnail(participant: "p"), command: "thumbnail", events) == [
                "waits", "refused no thumbnail", "waits", "late: silence",
            ]
        )
    }

    @Test func isNotRefusedWithAnImageOfSomebodyElse() async {
        let events: [WorkerEvent] = ["q", nil, "p"].map {
            .commandFailed(room: "a", command: "thumbnail", participant: $0, reason: "no \($0 ?? "images")")
        }
        #expect(
            await Self.hear(.thumbnail(participant: "p"), command: "thumbnail", events) == [
                "waits", "refused no images", "refused no p", "late: silence",
            ]
        )
    }

    @Test func takesTheImageOfItsParticipantOnly() async {
        let events: [WorkerEvent] = [
            .thumbnail(room: "a", participant: "q", base64: "QQ=="),
            .thumbnail(room: "b", participant: "p", base64: "QQ=="), Self.status(.recording),
            .thumbnail(room: "a", participant: "p", base64: "QQ=="),
        ]
        #expect(
            await Self.hear(.thumbnail(participant: "p"), events) == [
                "waits", "waits", "waits", "image QQ==", "late: silence",
            ]
        )
    }

    @Test func collectsGraphsUntilAllHaveComeAndNotWithoutEnd() async {
        let one: [WorkerEvent] = [
            .graph(room: "a", pipeline: "x", dot: ""), .graph(room: "b", pipeline: "y", dot: ""),
            .commandDone(room: "a", command: "mark"), .commandDone(room: "a", command: "graph"),
        ]
        #expect(
            await Self.hear(.graphs, command: "graph", one) == [
                "waits", "waits", "waits", "graphs [\"x\"]", "late: graphs [\"x\"]",
            ]
        )
        let many = (0..<1000).map { WorkerEvent.graph(room: "a", pipeline: "\($0)", dot: "") }
        let last = await Self.hear(.graphs, many).last ?? ""
        #expect(last.split(separator: ",").count == 64)
    }
}
