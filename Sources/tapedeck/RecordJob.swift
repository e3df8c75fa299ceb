// SPDX-License-Identifier: Apache-2.0

import Export
import Foundation
import GStreamer
import Logging
import Media
import Session
import Signalling
import Storage
import Timeline
import Worker

/// What came of a recording; printed as JSON for scripts.
struct RecordResult: Encodable {
    struct Track: Encodable {
        var number: Int
        var participant: String
        var kind: String
        var codec: String
        var width: Int?
        var height: Int?
        var units: UInt64
        var keyframes: UInt64
        var lostPackets: Int64
        var startSeconds: Double
        var durationSeconds: Double
        var gaps: Int
        /// From the offer to the first unit in the file; only known to the process that recorded.
        var firstUnitMilliseconds: Double?
    }

    var recording: String
    var output: String
    var durationSeconds: Double
    var isComplete: Bool
    var problems: [String]
    var tracks: [Track]
    var counters: [String: Int]
    let report: ExportReport

    private enum CodingKeys: String, CodingKey {
        case recording, output, durationSeconds, isComplete = "complete", problems, tracks, counters
    }

    /// `recorded`: the tracks as the recorder knows them, if it was this process.
    init(
        folder: RecordingFolder,
        report: ExportReport,
        problems: [String] = [],
        counters: [String: Int] = [:],
        recorded: [TrackStatus] = []
    ) {
        self.recording = folder.path
        self.output = report.output
        self.durationSeconds = Double(report.durationNanoseconds) / 1e9
        self.problems = problems + report.warnings
        self.isComplete = report.isComplete && problems.isEmpty
        self.counters = counters
        self.report = report
        self.tracks = report.tracks.map { track in
            Track(
                number: track.number,
                participant: track.participant,
                kind: track.media.rawValue,
                codec: track.codec,
                width: track.width,
                height: track.height,
                units: track.units,
                keyframes: track.keyframes,
                lostPackets: track.packetsLost ?? 0,
                startSeconds: Double(track.startNanoseconds) / 1e9,
                durationSeconds: Double(track.durationNanoseconds) / 1e9,
                gaps: track.gapCount,
                firstUnitMilliseconds: recorded.first { $0.number == track.sourceTrack }?.firstUnitDelay.map {
                    Double($0.components.seconds) * 1000 + Double($0.components.attoseconds) / 1e15
                }
            )
        }
    }

    /// Fails with code 5 if something is missing.
    func check() throws {
        guard !self.isComplete else { return }
        let reasons = self.problems.isEmpty ? "see the table" : self.problems.joined(separator: "; ")
        throw CommandFailure(.incomplete, "recorded, but incomplete: \(reasons)")
    }
}

/// One recording of one room, from joining to the exported file.
struct RecordJob: Sendable {
    var url: RoomURL
    var duration: Duration?
    var untilEmpty: Bool
    var output: String?
    var directory: String
    /// What to send; nothing if left out.
    var sends: CameraSettings?
    var wait: Duration
    var network: NetworkOptions
    var showsProgress: Bool
    var logger: Logger

    /// Why the recording ended.
    private enum End {
        case interrupted
        case duration
        case empty
        case noMedia
        case session
    }

    func run(interrupts: Interrupts) async throws -> RecordResult {
        do {
            return try await self.record(interrupts)
        } catch {
            throw CommandFailure(error)
        }
    }

    private func record(_ interrupts: Interrupts) async throws -> RecordResult {
        try Runtime.initialise()
        let control = ControlThread(name: "control")
        let camera: CameraSource?
        if let sends = self.sends {
            camera = try await CaptureArgument.camera(sends, control: control, logger: self.logger)
        } else {
            camera = nil
        }
        let recorder = RoomRecorder(
            settings: RecorderSettings(
                storage: self.directory,
                room: RoomConnection.roomName(of: self.url),
                host: ProcessInfo.processInfo.hostName
            ),
            logger: self.logger
        )
        let session = RoomSession(
            signaller: RoomConnection.signaller(for: self.url, policy: .oneShot, logger: self.logger),
            context: try RoomConnection.context(
                url: self.url,
                network: self.network.settings,
                control: control,
                recorder: recorder,
                camera: camera,
                preferred: .vp8
            ),
            logger: self.logger
        )
        let (end, outcome) = await self.watch(session, recorder, interrupts)
        try await control.run("stopping the camera") { camera?.stop() }
        try await control.run("finishing the recording", deadline: .seconds(60)) {
            recorder.finish(reason: "\(end)")
        }
        guard let folder = recorder.folder, recorder.tracks.contains(where: { $0.units > 0 }) else {
            if let failure = recorder.failure { throw failure }
            throw self.failure(end, outcome, session.status)
        }
        let report = try self.export(folder)
        return RecordResult(
            folder: folder,
            report: report,
            problems: self.problems(recorder),
            counters: session.status.counters,
            recorded: recorder.tracks
        )
    }

    /// Runs the session until something ends the recording.
    private func watch(
        _ session: RoomSession,
        _ recorder: RoomRecorder,
        _ interrupts: Interrupts
    ) async -> (End, SessionOutcome) {
        async let outcome = session.run()
        let end = await self.end(of: session, recorder, interrupts)
        session.stop()
        return (end, await outcome)
    }

    /// Looks ten times a second for a reason to stop, and draws the live table once a second.
    private func end(of session: RoomSession, _ recorder: RoomRecorder, _ interrupts: Interrupts) async -> End {
        var live = LiveTable()
        let started = ContinuousClock.now
        var firstMedia: ContinuousClock.Instant?
        while true {
            let now = ContinuousClock.now
            let status = session.status
            let tracks = recorder.tracks
            if firstMedia == nil, tracks.contains(where: { $0.units > 0 }) { firstMedia = now }
            if interrupts.came { return .interrupted }
            if status.hasEnded { return .session }
            if let firstMedia {
                if let duration = self.duration, now - firstMedia >= duration { return .duration }
                if self.untilEmpty, status.presentPeers.isEmpty { return .empty }
            } else if now - started >= self.wait || recorder.failure != nil {
                return .noMedia
            }
            if self.showsProgress { live.draw(tracks, status, at: now) }
            try? await Task.sleep(for: .milliseconds(100))
        }
    }

    /// Why there is nothing to export.
    private func failure(_ end: End, _ outcome: SessionOutcome, _ status: RoomSessionStatus) -> CommandFailure {
        if case .failed(let error) = outcome { return CommandFailure(error) }
        if end == .interrupted { return CommandFailure(.interrupted, "interrupted before anything was recorded") }
        guard status.hasJoined else {
            return CommandFailure(
                .notJoined,
                "could not join \(self.url): timed out, the room did not answer within \(self.wait)"
            )
        }
        let reason = status.lastRefusal.map { " (last refused: \($0))" } ?? ""
        let peers = status.everConnected.isEmpty ? "nobody connected" : "the peers sent nothing that can be recorded"
        return CommandFailure(.noMedia, "joined \(self.url), but no media came: \(peers)\(reason)")
    }

    private func problems(_ recorder: RoomRecorder) -> [String] {
        var problems: [String] = []
        if let failure = recorder.failure { problems.append(failure.message) }
        if recorder.droppedUnits > 0 {
            problems.append("\(recorder.droppedUnits) units were lost: the disk was too slow")
        }
        return problems
    }

    private func export(_ folder: RecordingFolder) throws -> ExportReport {
        let progress = ExportProgressBar(isShown: self.showsProgress)
        return try Exporter.run(folder: folder, layout: .tracks, output: self.output) { progress.draw($0) }
    }
}
