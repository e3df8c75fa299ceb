// SPDX-License-Identifier: Apache-2.0

import Fleet
import Model
import Testing

@testable import Daemon

@Suite struct PendingRequestTests {
    /// What the request with the number 7 about room `a` makes of events, in words.
    private static func hear(
        _ question: PendingRequest.Question,
        _ events: [WorkerEvent],
        of worker: WorkerID = WorkerID(1)
    ) async -> [String] {
        var heard: [String] = []
        _ = await withCheckedContinuation { continuation in
            var pendingRequest = PendingRequest(
                worker: WorkerID(1),
                room: "a",
                number: 7,
                question: question,
                deadline: .seconds(3),
                continuation: continuation
            )
            heard = events.map { event in pendingRequest.hear(event, of: worker).map(Self.word) ?? "waits" }
            continuation.resume(returning: .silence)
        }
        return heard
    }

    private static func word(_ answer: PendingRequest.Answer) -> String {
        switch answer {
        case .done: "done"
        case .keyframe(let codec, _, let bytes): "\(codec) \(bytes)"
        case .graphs(let graphs): "graphs \(graphs.keys.sorted())"
        case .refused(let reason): "refused \(reason)"
        case .silence: "silence"
        }
    }

    private static func status(
        _ revision: UInt64?,
        refused: [RoomPart: String]? = nil,
        room: String = "a"
    ) -> WorkerEvent {
        var status = RoomStatus()
        (status.revision, status.refused) = (revision, refused)
        return .status(room: room, status)
    }

    private static func failed(_ number: UInt64?) -> WorkerEvent {
        .commandFailed(room: "a", command: "x", reason: "no", number: number)
    }

    @Test func waitsForItsRevisionOrANewerOne() async {
        let events = [
            Self.status(nil), Self.status(2), Self.status(3, room: "b"), Self.status(3), Self.status(4),
            Self.status(2, refused: [.recording: "no"]), Self.status(3, refused: [.recording: "no"]),
            Self.status(3, refused: [.send: "other"]), .commandDone(room: "a", command: "mark", number: 8),
            .left(room: "b", .ordered), .left(room: "a", .ordered), Self.failed(6), Self.failed(nil),
        ]
        #expect(
            await Self.hear(.inForce(3, .recording), events) == [
                "waits", "waits", "waits", "done", "done", "waits", "refused no", "done", "waits", "waits", "done",
                "waits", "waits",
            ]
        )
        #expect(
            await Self.hear(.inForce(3, .send), [Self.status(3, refused: [.send: "no"]), .left(room: "a", .ordered)])
                == ["refused no", "refused the room was left before that"]
        )
    }

    @Test func waitsUntilItsOwnCommandIsDone() async {
        let events = [
            Self.status(9), .commandDone(room: "a", command: "mark", number: 6),
            .commandDone(room: "a", command: "mark"), .commandDone(room: "a", command: "mark", number: 7),
            Self.failed(7), Self.failed(8), Self.failed(nil), .left(room: "b", .ordered), .left(room: "a", .ordered),
        ]
        #expect(
            await Self.hear(.done, events) == [
                "waits", "waits", "waits", "done", "refused no", "waits", "waits", "waits",
                "refused the room was left before that",
            ]
        )
    }

    /// Parts of a keyframe of `bytes` bytes in all, one for each text of base64.
    private static func parts(
        _ texts: String...,
        of bytes: Int,
        participant: String = "p",
        room: String = "a",
        number: UInt64? = 7
    ) -> [WorkerEvent] {
        texts.map { text in
            let part = KeyframePart(codec: "vp8", keyframeBytes: bytes, base64: text)
            return .keyframe(room: room, participant: participant, part, number: number)
        }
    }

    @Test func takesTheKeyframeOfItsParticipantOnly() async {
        let others =
            Self.parts("AQ==", of: 1, participant: "q") + Self.parts("AQ==", of: 1, room: "b")
            + Self.parts("AQ==", of: 1, number: 6) + Self.parts("AQ==", of: 1, number: nil)
        let answers = await Self.hear(
            .keyframe(participant: "p"),
            others + [Self.status(9), Self.failed(6), Self.failed(nil)] + Self.parts("AQI=", "Aw==", of: 3)
        )
        #expect(answers == [String](repeating: "waits", count: 8) + ["vp8 [1, 2, 3]"])
        #expect(await Self.hear(.keyframe(participant: "p"), [Self.failed(7)]) == ["refused no"])
    }

    @Test(arguments: [
        (["AQI=", "AQI="], 3), (["="], 1), (["AQ=="], KeyframePart.maximumKeyframeBytes + 1), ([""], 1), (["AQ=="], -1),
    ])
    func aKeyframeThatCannotBeReadIsRefused(texts: [String], bytes: Int) async {
        let events = texts.flatMap { Self.parts($0, of: bytes) }
        let answers = await Self.hear(.keyframe(participant: "p"), events)
        #expect(answers.last == "refused the worker sent a keyframe that cannot be read", "\(answers)")
    }

    @Test func collectsGraphsUntilAllHaveComeAndNotWithoutEnd() async {
        let done = WorkerEvent.commandDone(room: "a", command: "graph", number: 7)
        let one: [WorkerEvent] = [
            .graph(room: "a", pipeline: "x", dot: ""), .graph(room: "b", pipeline: "y", dot: ""),
            .commandDone(room: "a", command: "graph", number: 6), done,
        ]
        #expect(await Self.hear(.graphs, one) == ["waits", "waits", "waits", "graphs [\"x\"]"])
        let many = (0..<1000).map { WorkerEvent.graph(room: "a", pipeline: "\($0)", dot: "") }
        let last = await Self.hear(.graphs, many + [done]).last ?? ""
        #expect(last.split(separator: ",").count == 64)
    }

    /// Others number their commands in the same way, and may mix up rooms.
    @Test func onlyTheWorkerThatWasAskedAnswers() async {
        let answers: [(PendingRequest.Question, WorkerEvent)] = [
            (.inForce(1, .send), Self.status(1)), (.inForce(1, .recording), .left(room: "a", .ordered)),
            (.done, .commandDone(room: "a", command: "mark", number: 7)), (.done, Self.failed(7)),
            (.graphs, .commandDone(room: "a", command: "graph", number: 7)),
            (.keyframe(participant: "p"), Self.parts("QQ==", of: 1)[0]), (.keyframe(participant: "p"), Self.failed(7)),
            (.keyframe(participant: "p"), .left(room: "a", .ordered)),
        ]
        for (question, event) in answers {
            #expect(await Self.hear(question, [event]) != ["waits"], "\(event)")
            #expect(await Self.hear(question, [event], of: WorkerID(2)) == ["waits"], "\(event)")
        }
    }
}
