// SPDX-License-Identifier: Apache-2.0

import Foundation
import GStreamer
import Matroska
import Media
import Session
import Storage
import Testing

/// Two room sessions of ours in one process: a camera and a recorder, over loopback.
@Suite(.serialized, .timeLimit(.minutes(5)))
struct LoopbackTests {
    /// Runs a camera and a recorder until `isDone` says so, then stops both.
    private func record(
        cameraOffers: Bool,
        codec: CameraCodec,
        alteration: @escaping @Sendable (String) -> String = { $0 },
        until isDone: @escaping @Sendable (RoomRecorder, RoomSession) -> Bool
    ) async throws -> (recorder: RoomRecorder, storage: String, recording: RoomSession, sent: [CameraCodec: UInt64]) {
        let storage = FileManager.default.temporaryDirectory.appending(path: "tapedeck-\(UUID())").path
        let control = ControlThread(name: "control")
        let recorder = RoomRecorder(
            settings: RecorderSettings(storage: storage, room: "test", host: "here"),
            logger: TestSession.logger
        )
        let camera = CameraSource(settings: CameraSettings(), logger: TestSession.logger)
        let cameraEnd = LoopbackSignaller("camera", alteration: alteration)
        let recorderEnd = LoopbackSignaller("recorder")
        let sending = RoomSession(
            signaller: cameraEnd,
            context: try TestSession.context(control: control, camera: camera, preferred: codec),
            logger: TestSession.logger
        )
        let recording = RoomSession(
            signaller: recorderEnd,
            context: try TestSession.context(control: control, recorder: recorder, preferred: codec),
            logger: TestSession.logger
        )
        if cameraOffers {
            LoopbackSignaller.join(cameraEnd, recorderEnd)
        } else {
            LoopbackSignaller.join(recorderEnd, cameraEnd)
        }
        var sent: [CameraCodec: UInt64] = [:]
        await withTaskGroup(of: Void.self) { group in
            group.addTask { _ = await sending.run() }
            group.addTask { _ = await recording.run() }
            let deadline = ContinuousClock.now + .seconds(60)
            while !isDone(recorder, recording), ContinuousClock.now < deadline {
                try? await Task.sleep(for: .milliseconds(50))
            }
            recording.stop()
            sending.stop()
            await group.waitForAll()
            sent = sending.status.sent
        }
        try await control.run("camera", deadline: .seconds(60)) { camera.stop() }
        try await control.run("recorder", deadline: .seconds(60)) { recorder.finish(reason: "test over") }
        return (recorder, storage, recording, sent)
    }

    @Test(arguments: [true, false], [CameraCodec.vp8, .h264])
    func recordsTheCamera(cameraOffers: Bool, codec: CameraCodec) async throws {
        let result = try await self.record(cameraOffers: cameraOffers, codec: codec) { recorder, _ in
            recorder.tracks.count == 2 && recorder.tracks.allSatisfy { $0.units >= 30 }
        }
        defer { try? FileManager.default.removeItem(atPath: result.storage) }
        let tracks = result.recorder.tracks
        #expect(tracks.count == 2)
        #expect(tracks.contains { $0.codec == (codec == .vp8 ? .vp8 : .h264) && $0.size ?? (0, 0) == (1280, 720) })
        #expect(tracks.contains { $0.codec == .opus })
        for track in tracks {
            #expect(track.units >= 30)
            #expect(track.duration > .zero)
        }
        #expect(result.recorder.failure == nil)
    }

    @Test
    func refusesAForgedFingerprint() async throws {
        let forge: @Sendable (String) -> String = { sdp in
            sdp.replacing(/a=fingerprint:sha-256 ../, with: "a=fingerprint:sha-256 00")
        }
        let result = try await self.record(cameraOffers: true, codec: .vp8, alteration: forge) {
            _,
            session in
            session.status.counters["peer_refused"] != nil
        }
        #expect(result.recording.status.counters["peer_refused"] == 1)
        #expect(result.recorder.tracks.isEmpty)
        #expect(!FileManager.default.fileExists(atPath: result.storage))
    }
}
