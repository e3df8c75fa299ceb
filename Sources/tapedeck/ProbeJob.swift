// SPDX-License-Identifier: Apache-2.0

import Basics
import Diagnosis
import Foundation
import GStreamer
import Logging
import Matroska
import Media
import Model
import PipelineCatalogue
import Recording
import Rendering
import Session
import Signalling
import Storage
import Synchronization
import Worker

/// One call of a test camera with ourselves, or with a participant that sends it back, and what is seen of it.
///
/// What arrives is recorded into a temporary folder like any call, and decoded when the call is over: nothing but the
/// recorder and the camera runs while it is measured.
struct ProbeJob: Sendable {
    /// The room, but for what is recorded there.
    var spec: RoomSpec
    /// What is sent there.
    var send: SendSpec
    /// How long to wait for the first frame, and to measure from it on.
    var wait, duration: Duration
    /// Where what is sent is looked up.
    var pipelines: PipelineCatalogue
    /// Whether a participant sends back what we send.
    var isEchoed: Bool
    /// Where the signalling of each of our peers is traced.
    var trace: TraceSettings?
    var logger: Logger

    /// Frames that the recorder wrote, as it notes them.
    private final class Notes: Sendable {
        /// More than ten minutes of several cameras at 60 frames a second.
        private static let most = 200_000
        private let notes = Mutex<[WrittenPicture]>([])

        /// Whether it is the first.
        func append(_ picture: WrittenPicture) -> Bool {
            self.notes.withLock {
                if $0.count < Self.most { $0.append(picture) }
                return $0.count == 1
            }
        }

        var all: [WrittenPicture] { self.notes.withLock { $0 } }
        var isEmpty: Bool { self.notes.withLock { $0.isEmpty } }
    }

    /// Everything that is in the room, and what it was seen to do.
    private struct Stage {
        let notes: Notes
        /// Who sends, and who receives; the same if we are sent back.
        let sender: RoomRun
        let receiver: RoomRun
        var joinNanoseconds: Int64 = 0
        var endNanoseconds: Int64 = 0
        var firstFrameNanoseconds: UInt64?
        var tracks: [TrackStatus] = []
    }

    func run(interrupts: Interrupts) async throws -> ProbeReport {
        let folder = FileManager.default.temporaryDirectory.appending(path: "tapedeck-probe-\(UUID().uuidString)").path
        defer { try? FileManager.default.removeItem(atPath: folder) }
        do {
            var stage = try await self.stage(in: folder, interrupts.bell)
            let outcome = await self.call(&stage, interrupts)
            let (sender, recorder) = (stage.sender, stage.receiver.recorder)
            await sender.control.end("stopping the camera", logger: self.logger) { sender.camera?.stop() }
            try await sender.control.run("finishing the recording", deadline: .seconds(60)) {
                recorder?.finish(reason: "probed")
            }
            if interrupts.came { throw CommandFailure(.interrupted, "interrupted before everything was measured") }
            if case .failed(let error) = outcome { throw error }
            return try self.report(of: stage)
        } catch {
            throw CommandFailure(error)
        }
    }

    private func stage(in folder: String, _ bell: Bell) async throws -> Stage {
        try Runtime.initialise()
        let control = ControlThread(name: "control")
        let camera = try await CameraSource.opened(
            self.send,
            from: self.pipelines,
            control: control,
            logger: self.logger
        )
        return try self.stage(in: folder, bell, camera, control)
    }

    // Not a part of the other: the optimiser of Swift 6.3 crashes when it splits an asynchronous function with all of this.
    private func stage(
        in folder: String,
        _ bell: Bell,
        _ camera: CameraSource,
        _ control: ControlThread
    ) throws -> Stage {
        let notes = Notes()
        func run(_ name: String, sends: Bool, receives: Bool) throws -> RoomRun {
            var (spec, options) = (self.spec, RoomRun.Options(receives: receives))
            (spec.displayName, spec.send, spec.storage) = (name, self.send, folder)
            if receives { spec.record = RecordSpec() }
            spec.record?.chat = false
            options.environment = .forCommand(trace: try self.trace?.file(room: sends ? "camera" : "receiver"))
            return try RoomRun(
                spec,
                options,
                camera: sends ? camera : nil,
                control: control,
                bell: bell,
                logger: self.logger,
                onPicture: { if notes.append($0) { bell.ring() } }
            )
        }
        let sender = try run("tapedeck-probe-camera", sends: true, receives: self.isEchoed)
        let receiver = self.isEchoed ? sender : try run("tapedeck-probe", sends: false, receives: true)
        return Stage(notes: notes, sender: sender, receiver: receiver)
    }

    /// The whole call: the receiver joins, then the camera; returns the first failure of them.
    private func call(_ stage: inout Stage, _ interrupts: Interrupts) async -> SessionOutcome {
        let (sender, receiver) = (stage.sender, stage.receiver)
        return await withTaskGroup(of: SessionOutcome.self) { group in
            if !self.isEchoed {
                group.addTask { await receiver.run() }
                await self.wait(interrupts, [receiver], for: self.wait) { receiver.status.isJoined }
            }
            stage.joinNanoseconds = Runtime.monotonicNanoseconds
            let sessions = self.isEchoed ? [sender] : [sender, receiver]
            if self.isEchoed || receiver.status.isJoined {
                group.addTask { await sender.run() }
                let notes = stage.notes
                let hasBegun = await self.wait(interrupts, sessions, for: self.wait) {
                    let status = sender.status
                    return (status.hasConnected || status.isPublishing) && !notes.isEmpty
                }
                if hasBegun { await self.wait(interrupts, sessions, for: self.duration) { false } }
            }
            stage.endNanoseconds = Runtime.monotonicNanoseconds
            stage.firstFrameNanoseconds = sender.camera?.firstFrameNanoseconds
            stage.tracks = receiver.recorder?.status.tracks ?? []
            for session in sessions { session.stop() }
            var result = SessionOutcome.stopped
            for await outcome in group {
                if case .failed = outcome, case .stopped = result { result = outcome }
            }
            return result
        }
    }

    /// Waits until something is so; false if time is over, a session ended, or the user interrupts.
    @discardableResult
    private func wait(
        _ interrupts: Interrupts,
        _ runs: [RoomRun],
        for limit: Duration,
        until isSo: () -> Bool
    ) async -> Bool {
        await interrupts.bell.wait(until: ContinuousClock.now + limit) {
            interrupts.came || runs.contains(where: \.status.hasEnded) ? false : isSo() ? true : nil
        } ?? false
    }

    /// Decodes what was recorded, and judges it.
    private func report(of stage: Stage) throws -> ProbeReport {
        let written = stage.notes.all.map { TestSending.Note($0.track, $0.rtpTime, $0.nanoseconds) }
        let (sender, receiver) = (stage.sender, stage.receiver)
        guard let folder = receiver.recorder?.status.folder, let first = stage.firstFrameNanoseconds, !written.isEmpty
        else {
            throw CommandFailure.nothingCame(
                in: receiver,
                sender,
                wait: self.wait,
                media: "frame",
                silence: "no participant sent video"
            )
        }
        let observations = try TestSending.read(folder, written: written).map { sending in
            let sound = stage.tracks.filter { $0.codec.kind == .audio && $0.participant == sending.participant }
            return ProbeObservation(
                framesPerSecond: self.send.framesPerSecond,
                trips: self.isEchoed ? 2 : 1,
                joinNanoseconds: stage.joinNanoseconds,
                firstFrameNanoseconds: Int64(clamping: first),
                endNanoseconds: stage.endNanoseconds,
                pictures: sending.frames.compactMap { picture in
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
                audioPackets: sound.reduce(0) { $0 + $1.units },
                lostAudioPackets: sound.reduce(0) { $0 + $1.lostPackets }
            )
        }
        guard let report = ProbeObservation.ours(observations).flatMap(ProbeReport.init) else {
            throw CommandFailure(.noMedia, "video came, but none of it from our test camera")
        }
        return report
    }
}
