// SPDX-License-Identifier: Apache-2.0

import Basics
import Foundation
import Model
import Signalling
import Testing

@testable import Worker

/// The worker's side of the line protocol, with room servers that the test plays.
@Suite(.serialized, .timeLimit(.minutes(5))) struct WorkerProcessTests {
    @Test func isReadyAndEndsWithItsInput() async throws {
        let worker = try await RunningWorker.run { _ in }
        #expect(
            worker.facts == [.ready(protocolVersion: WorkerLine.protocolVersion, processID: getpid())]
        )
    }

    @Test func joinsAndLeavesSeveralRoomsOnOrder() async throws {
        let worker = try await RunningWorker.run { worker in
            for name in ["one", "two", "three"] { try await worker.join(name) }
            try worker.send(.leave(room: "two"))
            #expect(await worker.says(.left(room: "two", .ordered)))
            #expect(!worker.events.contains(.left(room: "one", .ordered)))
            try worker.send(.shutDown)
        }
        for name in ["one", "two", "three"] { #expect(worker.events.contains(.left(room: name, .ordered))) }
    }

    @Test func beatsAndTellsItsVitals() async throws {
        _ = try await RunningWorker.run { worker in
            let beats = await worker.eventually { worker in
                worker.events.contains {
                    guard case .heartbeat(let vitals) = $0 else { return false }
                    return vitals.residentBytes > 1_000_000 && vitals.threads > 1 && vitals.descriptors > 3
                        && vitals.cpuSeconds > 0
                }
            }
            #expect(beats)
        }
    }

    @Test func tellsWhoIsThereAndWhatIsRecorded() async throws {
        _ = try await RunningWorker.run { worker in
            try await worker.join("room")
            worker.room("room")?.say(.peerArrived(PeerID("alice")))
            #expect(await worker.says(.participantJoined(room: "room", participant: "alice")))
            let isSeen = await worker.eventually { worker in
                worker.events.contains {
                    guard case .status("room", let status) = $0 else { return false }
                    return status.isJoined && status.recordingState == .off
                        && status.participants == [RoomStatus.Participant(id: "alice", isConnected: false)]
                }
            }
            #expect(isSeen)
            worker.room("room")?.say(.peerLeft(PeerID("alice")))
            #expect(await worker.says(.participantLeft(room: "room", participant: "alice", reason: "left")))
        }
    }

    @Test func tellsThatARoomIsFullOrUnreachableAndStaysAtIt() async throws {
        let worker = try await RunningWorker.run { worker in
            try worker.send(.be(worker.order("room"), revision: 1))
            #expect(await worker.eventually { $0.room("room") != nil })
            worker.room("room")?.say(.joinFailed(reason: "refused by 192.0.2.1"))
            #expect(await worker.says(.notJoined(room: "room", reason: "refused by 192.0.2.1")))
            worker.room("room")?.say(.full)
            #expect(await worker.says(.notJoined(room: "room", reason: "the room is full")))
            worker.room("room")?.say(.joined(ownID: nil))
            #expect(await worker.says(.joined(room: "room")))
            worker.room("room")?.say(.signallingLost(reason: "kicked"))
            #expect(await worker.says(.notJoined(room: "room", reason: "kicked")))
            worker.room("room")?.say(.joined(ownID: nil))
            let joins = await worker.eventually { $0.events.count { $0 == .joined(room: "room") } == 2 }
            #expect(joins)
        }
        #expect(worker.events.contains(.left(room: "room", .ordered)))
    }

    @Test func theEndOfOneRoomLeavesTheOthersAlone() async throws {
        _ = try await RunningWorker.run { worker in
            try await worker.join("good")
            try await worker.join("bad")
            worker.room("bad")?.fail(SignallingError(.refused, "not invited", blame: .peer))
            #expect(await worker.says(.left(room: "bad", .failed(message: "not invited", retriable: false))))
            worker.room("good")?.say(.peerArrived(PeerID("alice")))
            #expect(await worker.says(.participantJoined(room: "good", participant: "alice")))
            // The name is free again.
            try await worker.join("bad")
        }
    }

    @Test func answersWhatItCannotDo() async throws {
        _ = try await RunningWorker.run { worker in
            try await worker.join("room")
            let refusals: [(WorkerCommand, String)] = [
                (.graph(room: "elsewhere"), "the worker is not in that room"),
                (.mark(room: "room", text: "x"), "nothing is recorded"),
                (.requestKeyframe(room: "room", participant: nil), "no participant sends video"),
                (.graph(room: "room"), "there are no pipelines: no participant is connected"),
            ]
            for (number, (command, reason)) in zip(UInt64(1)..., refusals) {
                try worker.send(command, number: number)
                let event = WorkerEvent.commandFailed(
                    room: command.room,
                    command: command.name,
                    reason: reason,
                    number: number
                )
                #expect(await worker.says(event), "\(worker.facts.suffix(1))")
            }
            var order = worker.order("wrong")
            order.url = Secret("http://nowhere/")
            try worker.send(.be(order, revision: 1))
            let isRefused = await worker.eventually { worker in
                worker.events.contains {
                    guard case .left("wrong", .failed(_, retriable: false)) = $0 else { return false }
                    return true
                }
            }
            #expect(isRefused)
        }
    }

    /// What cannot be in force is in the status of its revision, and told once.
    @Test func partsThatCannotBeAreRefused() async throws {
        _ = try await RunningWorker.run { worker in
            try await worker.join("room")
            #expect(await worker.has(nil, inForceAt: 1))
            let changes: [(RoomPart, String, (inout RoomSpec) -> Void)] = [
                (.recording, "nothing is recorded", { ($0.record, $0.recording) = (RecordSpec(), .paused) }),
                (.send, "the camera has neither video nor audio", { $0.send = SendSpec(video: nil, audio: nil) }),
                (
                    .send,
                    "no capture \"tape\" gives video; there is: file, image, rtp, rtsp, screen, slate, test, v4l2",
                    { $0.send = SendSpec(video: MediaSource("tape"), audio: nil) }
                ),
                (
                    .address, "the room must be left and joined again for that",
                    { $0.url = Secret("socketio+http://h/x") }
                ),
                (
                    .outputs, "output rtp://h:0: there is neither a video nor an audio port",
                    { $0.outputs = [OutputSpec(host: "h")] }
                ),
            ]
            for (revision, (part, reason, change)) in zip(UInt64(2)..., changes) {
                var spec = worker.order("room")
                change(&spec)
                try worker.send(.be(spec, revision: revision))
                #expect(await worker.has([part: reason], inForceAt: revision), "\(worker.events.suffix(3))")
            }
            try worker.send(.be(worker.order("room"), revision: 9))
            #expect(await worker.has(nil, inForceAt: 9))
        }
    }

    @Test func garbageIsAnsweredAndDoesNoHarm() async throws {
        _ = try await RunningWorker.run { worker in
            try await worker.join("room")
            let garbage = [
                "\n\n\nnonsense\n", "{}\n", "[]\n", "{\"be\":{\"_0\":{\"name\":7},\"revision\":1}}\n", "\u{0}\u{1}\n",
                "{\"explode\":{}}\n", "{\"pause\":{\"room\":\"room\"}}\n",
                String(repeating: "x", count: WorkerLine.maximumLength + 1) + "\n",
            ]
            for text in garbage { try worker.send(text: text) }
            let isAnswered = await worker.eventually { worker in
                worker.facts.count {
                    guard case .commandFailed(room: nil, _, _, _, _) = $0 else { return false }
                    return true
                } == garbage.count
            }
            #expect(isAnswered, "\(worker.facts)")
            worker.room("room")?.say(.peerArrived(PeerID("alice")))
            #expect(await worker.says(.participantJoined(room: "room", participant: "alice")))
        }
    }

    @Test func aRecordingThatCannotGoOnIsSaidAndTheRoomIsJoined() async throws {
        _ = try await RunningWorker.run { worker in
            var order = worker.order("room")
            order.continues = worker.storage + "/recordings/room/20260704T120000Z-0123456789abcdef"
            order.record = RecordSpec()
            try worker.send(.be(order, revision: 1))
            #expect(await worker.eventually { $0.room("room") != nil })
            let isSaid = await worker.eventually { worker in
                worker.events.contains {
                    guard case .commandFailed("room", "join", _, let reason, _) = $0 else { return false }
                    return reason.contains("does not go on")
                }
            }
            #expect(isSaid)
        }
    }
}
