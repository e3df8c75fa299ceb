// SPDX-License-Identifier: Apache-2.0

import Foundation
import Supervision
import Testing

@Suite struct WorkerLineTests {
    private static let recording = RecordingReference(id: "r", folder: "/srv/r", part: 2)

    @Test(arguments: [
        WorkerCommand.join(RoomOrder(name: "a", url: "socketio+http://192.0.2.1/a", storage: "/srv")),
        .leave(room: "a"), .record(room: "a"), .stopRecording(room: "a"), .pause(room: "a"), .resume(room: "a"),
        .requestKeyframe(room: "a", participant: nil), .requestKeyframe(room: "a", participant: "p"),
        .mark(room: "a", text: "line\nbreak"), .camera(room: "a", CameraOrder()), .camera(room: "a", nil),
        .recordOrder(room: "a", RecordOrder()), .recordOrder(room: "a", nil),
        .thumbnail(room: "a", participant: "p"), .graph(room: "a"), .shutDown,
    ])
    func commandsSurviveALine(command: WorkerCommand) throws {
        let line = try WorkerLine.encode(command)
        #expect(line.last == UInt8(ascii: "\n"))
        #expect(line.filter { $0 == UInt8(ascii: "\n") }.count == 1)
        #expect(try WorkerLine.decode(WorkerCommand.self, from: line.dropLast()) == command)
    }

    @Test(arguments: [
        WorkerEvent.ready(protocolVersion: 1, processID: 7),
        .heartbeat(WorkerVitals(cpuSeconds: 1.5, residentBytes: 2, threads: 3, descriptors: 4)),
        .joined(room: "a"), .notJoined(room: "a", reason: "full"), .left(room: "a", .ordered),
        .left(room: "a", .failed(message: "x", retriable: true)), .left(room: "a", .removed(message: "x")),
        .status(room: "a", RoomStatus()),
        .recordingStarted(room: "a", recording), .recordingFinished(room: "a", recording, reason: "empty"),
        .recordingDegraded(room: "a", recording, reason: "disk"), .participantJoined(room: "a", participant: "p"),
        .participantLeft(room: "a", participant: "p", reason: "left"),
        .peerRefused(room: "a", participant: "p", reason: "x"),
        .firstUnit(room: "a", participant: "p", kind: "video", milliseconds: 1.25),
        .thumbnail(room: "a", participant: "p", base64: "AA=="), .graph(room: "a", pipeline: "x", dot: "digraph {}"),
        .commandFailed(room: nil, command: "x", reason: "y"),
    ])
    func eventsSurviveALine(event: WorkerEvent) throws {
        let line = try WorkerLine.encode(event)
        #expect(try WorkerLine.decode(WorkerEvent.self, from: line.dropLast()) == event)
    }

    @Test(arguments: ["", "{}", "[]", "nonsense", "{\"joined\":{}}", "{\"joined\":{\"room\":7}}", "{\"unknown\":{}}"])
    func garbageIsAnError(text: String) {
        #expect(throws: (any Error).self) { try WorkerLine.decode(WorkerEvent.self, from: Data(text.utf8)) }
    }
}
