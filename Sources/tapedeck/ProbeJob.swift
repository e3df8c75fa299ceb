// SPDX-License-Identifier: Apache-2.0

import Basics
import Diagnosis
import Foundation
import GStreamer
import Matroska
import Media
import Model
import Recording
import Rendering
import Session
import Signalling
import Storage
import Synchronization
import Worker

/// One call of a test camera with ourselves, or with somebody who sends it back, and what is seen of it.
///
/// What arrives is recorded into a temporary folder like any call, and decoded when the call is over: nothing but the
/// recorder and the camera runs while it is measured.
struct ProbeJob: Sendable {
    /// The room, how long to measure, and what to send there.
    var stay: RoomStay
    var settings: SendSpec
    /// Whether somebody in the room sends back what we send.
    var isEchoed: Bool
    /// Where the signalling of each of our peers is traced.
    var trace: TraceSettings?

    /// Pictures that the recorder wrote, as it notes them.
    private final class Notes: Sendable {
        /// More than ten minutes of several cameras at 60 frames a second.
        private static let most = 200_000
        private let notes = Mutex<[WrittenPicture]>([])

        func append(_ picture: WrittenPicture) {
            self.notes.withLock { if $0.count < Self.most { $0.append(picture) } }
        }

        var all: [WrittenPicture] { self.notes.withLock { $0 } }
        var isEmpty: Bool { self.notes.withLock { $0.isEmpty } }
    }

    /// Everything that is in the room, and what it was seen to do.
    private struct Stage {
        let control: ControlThread
        let camera: CameraSource
        let recorder: RecorderThread
        let notes: Notes
        /// Who sends, and who receives; the same if we are sent back.
        let sender: RoomSession
        let receiver: RoomSession
        var joinNanoseconds: Int64 = 0
        var endNanoseconds: Int64 = 0
        var firstFrameNanoseconds: UInt64?
        var tracks: [TrackStatus] = []
    }

    func run(interrupts: Interrupts) async throws -> ProbeReport {
        let folder = FileManager.default.temporaryDirectory.appending(path: "tapedeck-probe-\(UUID().uuidString)").path
        defer { try? FileManager.default.removeItem(atPath: folder) }
        do {
            var stage = try await self.stage(in: folder)
            let outcome = await self.call(&stage, interrupts)
            let (camera, recorder) = (stage.camera, stage.recorder)
            await stage.control.end("stopping the camera", logger: self.stay.logger) { camera.stop() }
            try await stage.control.run("finishing the recording", deadline: .seconds(60)) {
                recorder.finish(reason: "probed")
            }
            if interrupts.came { throw CommandFailure(.interrupted, "interrupted before everything was measured") }
            if case .failed(let error) = outcome { throw error }
            return try self.report(of: stage)
        } catch {
            throw CommandFailure(error)
        }
    }

    private func stage(in folder: String) async throws -> Stage {
        try Runtime.initialise()
        let control = ControlThread(name: "control")
        let camera = try await CaptureArgument.camera(
            self.settings,
            from: self.stay.pipelines,
            control: control,
            logger: self.stay.logger
        )
        let notes = Notes()
        let recorder = RecorderThread(
            settings: RecorderSettings(
                storage: folder,
                room: self.stay.url.roomName,
                host: ProcessInfo.processInfo.hostName
            ),
            logger: self.stay.logger,
            onPicture: { notes.append($0) }
        )
        func session(_ name: String, sends: Bool, receives: Bool) throws -> RoomSession {
            var stay = self.stay
            stay.trace = try self.trace?.file(room: sends ? "camera" : "receiver")
            var request = stay.request(sends: sends)
            request.options.displayName = name
            request.options.receives = receives
            return try stay.session(
                request,
                control: control,
                recorder: receives ? recorder : nil,
                outputs: nil,
                camera: sends ? camera : nil
            )
        }
        let sender = try session("tapedeck-probe-camera", sends: true, receives: self.isEchoed)
        let receiver = self.isEchoed ? sender : try session("tapedeck-probe", sends: false, receives: true)
        return Stage(
            control: control,
            camera: camera,
            recorder: recorder,
            notes: notes,
            sender: sender,
            receiver: receiver
        )
    }

    /// The whole call: the receiver joins, then the camera; returns the first failure of them.
    private func call(_ stage: inout Stage, _ interrupts: Interrupts) async -> SessionOutcome {
        let (sender, receiver) = (stage.sender, stage.receiver)
        return await withTaskGroup(of: SessionOutcome.self) { group in
            if !self.isEchoed {
                group.addTask { await receiver.run() }
                await self.poll(interrupts, [receiver], for: self.stay.wait) { receiver.status.isJoined }
            }
            stage.joinNanoseconds = Runtime.monotonicNanoseconds
            let sessions = self.isEchoed ? [sender] : [sender, receiver]
            if self.isEchoed || receiver.status.isJoined {
                group.addTask { await sender.run() }
                let notes = stage.notes
                let hasBegun = await self.poll(interrupts, sessions, for: self.stay.wait) {
                    let status = sender.status
                    return (status.hasConnected || status.isPublishing) && !notes.isEmpty
                }
                if hasBegun, let duration = self.stay.duration {
                    await self.poll(interrupts, sessions, for: duration) { false }
                }
            }
            stage.endNanoseconds = Runtime.monotonicNanoseconds
            stage.firstFrameNanoseconds = stage.camera.firstFrameNanoseconds
            stage.tracks = stage.recorder.status.tracks
            for session in sessions { session.stop() }
            var result = SessionOutcome.stopped
            for await outcome in group {
                if case .failed = outcome, case .stopped = result { result = outcome }
            }
            return result
        }
    }

    /// Looks every 50 ms until something is so; false if time is over, a session ended, or somebody interrupts.
    @discardableResult
    private func poll(
        _ interrupts: Interrupts,
        _ sessions: [RoomSession],
        for limit: Duration,
        until isSo: () -> Bool
    ) async -> Bool {
        let end = ContinuousClock.now + limit
        while !interrupts.came, !sessions.contains(where: \.status.hasEnded), ContinuousClock.now < end {
            if isSo() { return true }
            try? await Task.sleep(for: .milliseconds(50))
        }
        return false
    }

    /// Decodes what was recorded, and judges it.
    private func report(of stage: Stage) throws -> ProbeReport {
        let written = stage.notes.all.map { TestSending.Note($0.track, $0.rtpTime, $0.nanoseconds) }
        guard let folder = stage.recorder.status.folder, let first = stage.firstFrameNanoseconds, !written.isEmpty
        else {
            throw self.stay.nothingCame(
                [stage.receiver.status, stage.sender.status],
                media: "frame",
                silence: "no participant sent video"
            )
        }
        let observations = try TestSending.read(folder, written: written).map { sending in
            let sound = stage.tracks.filter { $0.codec.kind == .audio && $0.participant == sending.participant }
            return ProbeObservation(
                framesPerSecond: self.settings.framesPerSecond,
                trips: self.isEchoed ? 2 : 1,
                joinNanoseconds: stage.joinNanoseconds,
                firstFrameNanoseconds: Int64(clamping: first),
                endNanoseconds: stage.endNanoseconds,
                pictures: sending.pictures.compactMap { picture in
                    picture.writtenNanoseconds.map {
                        ProbeObservation.Picture(
                            nanoseconds: picture.nanoseconds,
                            writtenNanoseconds: $0,
                            counter: picture.counter,
                            hasFlash: picture.hasFlash
                        )
                    }
                },
                beeps: sending.beeps,
                soundPackets: sound.reduce(0) { $0 + $1.units },
                lostSoundPackets: sound.reduce(0) { $0 + $1.lostPackets }
            )
        }
        guard let report = ProbeObservation.ours(observations).flatMap(ProbeReport.init) else {
            throw CommandFailure(.noMedia, "video came, but none of it from our test camera")
        }
        return report
    }
}
