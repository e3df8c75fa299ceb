// SPDX-License-Identifier: Apache-2.0

import Rooms
import Testing

@testable import Daemon

@Suite struct PendingRequestTests {
    /// What a pendingRequest of room `a` makes of events, in words; each is answered in the end.
    private static func hear(
        _ question: PendingRequest.Question,
        command: String = "pause",
        _ events: [WorkerEvent]
    ) async -> [String] {
        var heard: [String] = []
        _ = await withCheckedContinuation { continuation in
            var pendingRequest = PendingRequest(
                room: "a",
                command: command,
                question: question,
                deadline: .seconds(3),
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
        #expect(await Self.hear(.status([]), [Self.status(.off)]) == ["status", "late: silence"])
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

    @Test func collectsGraphsUntilItIsLateAndNotWithoutEnd() async {
        let one: [WorkerEvent] = [
            .graph(room: "a", pipeline: "x", dot: ""), .graph(room: "b", pipeline: "y", dot: ""),
        ]
        #expect(await Self.hear(.graphs, one) == ["waits", "waits", "late: graphs [\"x\"]"])
        let many = (0..<1000).map { WorkerEvent.graph(room: "a", pipeline: "\($0)", dot: "") }
        let last = await Self.hear(.graphs, many).last ?? ""
        #expect(last.split(separator: ",").count == 64)
    }
}
