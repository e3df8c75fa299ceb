// SPDX-License-Identifier: Apache-2.0

import Basics
import Export
import Foundation
import GStreamer
import Logging
import Media
import Model
import PipelineCatalogue
import Recording
import Rendering
import Session
import Signalling
import SignallingClients
import Storage
import Terminal
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
        /// What came, but cannot be decoded for want of what was lost.
        var unitsLeftOut: UInt64
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
    var verdict: String
    var problems: [String]
    var tracks: [Track]
    var counters: [String: Int]
    /// What was sent on, where anything was to be.
    var outputs: [OutputResult]?
    /// The file for an editor, where one was asked for.
    var project: String?
    let report: ExportReport

    private enum CodingKeys: String, CodingKey {
        case recording, output, durationSeconds, isComplete = "complete", verdict, problems, tracks, counters, outputs
        case project
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
        self.verdict = report.verdict.rawValue
        self.counters = counters
        self.report = report
        self.project = report.project
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
                unitsLeftOut: track.unitsLeftOut,
                startSeconds: Double(track.startNanoseconds) / 1e9,
                durationSeconds: Double(track.durationNanoseconds) / 1e9,
                gaps: track.gapCount,
                firstUnitMilliseconds: recorded.first { $0.number == track.sourceTrack }?.firstUnitDelay.map {
                    $0.seconds * 1000
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
    var stay: RoomStay
    /// What is recorded.
    var record = RecordSpec()
    /// The name under which we appear to others.
    var shownName = RoomSpec.recorderName
    /// The file that is exported; in the recording's folder if left out.
    var output: String?
    /// How it is made.
    var tracks = ExportSpec.Tracks()
    var directory: String
    /// Where tracks are sent on.
    var outputs: [OutputSpec] = []
    /// Takes what came of each recording but the last.
    var onSegment: @Sendable (RecordResult) -> Void = { _ in }
    /// Where a person watches it.
    var lines: LiveLines

    func run(interrupts: Interrupts) async throws -> RecordResult {
        defer { self.lines.end() }
        do {
            return try await self.record(interrupts)
        } catch {
            throw CommandFailure(error)
        }
    }

    private func record(_ interrupts: Interrupts) async throws -> RecordResult {
        try Runtime.initialise()
        let control = ControlThread(name: "control")
        let camera = try await self.stay.camera(control)
        var request = self.stay.request(sends: camera != nil)
        (request.options.displayName, request.options.records) = (self.shownName, true)
        var settings = RecorderSettings(
            storage: self.directory,
            room: self.stay.url.roomName,
            host: ProcessInfo.processInfo.hostName
        )
        settings.displayName = request.options.displayName
        settings.take(self.record)
        settings.emptyLimit = nil
        // One for each segment, and for each recording that the disk ended; they are rare, and none may be dropped.
        let (segments, feed) = AsyncStream.makeStream(of: Earlier.self, bufferingPolicy: .unbounded)
        let announcement = Announcement(self.record.announcement)
        let recorder = RecorderThread(settings: settings, logger: self.stay.logger) { event in
            announcement.note(event)
            guard case .finished(let folder, _, let reason) = event else { return }
            if reason == "segment" || StorageError.Code(rawValue: reason) != nil { feed.yield((folder, reason)) }
        }
        let outputs =
            self.outputs.isEmpty
            ? nil : RTPOutputs(try RTPOutputSettings.all(self.outputs), room: self.stay.url.roomName, logger: self.stay.logger)
        async let earlier = self.exportSegments(segments)
        let session = try self.stay.session(
            request,
            control: control,
            recorder: recorder,
            outputs: outputs,
            camera: camera,
            announcement: announcement,
            recordsChat: self.record.chat
        )
        interrupts.abandoning {
            guard let folder = recorder.status.folder else { return "nothing was recorded" }
            return "the files of \(folder.path); `tapedeck export \(folder.path)` makes a file of what they have"
        }
        let (end, outcome) = await self.watch(session, recorder, announcement, interrupts)
        await control.end("stopping the camera", logger: self.stay.logger) { camera?.stop() }
        let sentOn = outputs?.status.map { OutputResult($0) }
        await outputs?.finishPipelines()
        await control.end("ending the outputs", logger: self.stay.logger) { outputs?.finish() }
        try await self.finish(recorder, reason: "\(end)")
        feed.finish()
        let earlierProblems = try await earlier
        let recorded = recorder.status
        guard let folder = recorded.folder, recorded.tracks.contains(where: { $0.units > 0 }) else {
            if let failure = recorded.failure { throw failure.cause }
            if let unrecorded = Self.unrecorded(recorded) { throw unrecorded }
            throw self.failure(end, outcome, session.status)
        }
        let report: ExportReport
        do {
            report = try self.export(folder)
        } catch {
            throw Self.notExported(folder, error)
        }
        var result = RecordResult(
            folder: folder,
            report: report,
            problems: earlierProblems + self.problems(recorder),
            counters: session.status.counters,
            recorded: recorded.tracks
        )
        result.outputs = sentOn
        return result
    }

    private static let patience = Duration.seconds(5)
    /// A level at which nothing is heard; muted audio has it.
    private static let silenceDecibels = -90.0

    /// Completes every file, however long the disk takes: the export is what the command is for.
    ///
    /// Says that it waits, so that who cannot wait interrupts it; `tapedeck export` goes on from there.
    private func finish(_ recorder: RecorderThread, reason: String) async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask {
                try await ControlThread(name: "files").run("finishing the recording", deadline: nil) {
                    recorder.finish(reason: reason)
                }
            }
            group.addTask {
                // Ends with the wait only.
                while true {
                    try await Task.sleep(for: Self.patience)
                    self.stay.logger.notice("the disk is slow: still completing the recording's files")
                }
            }
            defer { group.cancelAll() }
            try await group.next()
        }
    }

    /// Runs the session until something ends the recording.
    private func watch(
        _ session: RoomSession,
        _ recorder: RecorderThread,
        _ announcement: Announcement,
        _ interrupts: Interrupts
    ) async -> (RoomStay.End, SessionOutcome) {
        async let outcome = session.run()
        let end = await self.end(of: session, recorder, announcement, interrupts)
        session.stop()
        return (end, await outcome)
    }

    /// Waits for a reason to stop, and draws the live table once a second.
    private func end(
        of session: RoomSession,
        _ recorder: RecorderThread,
        _ announcement: Announcement,
        _ interrupts: Interrupts
    ) async -> RoomStay.End {
        var live = LiveTable(self.lines, directory: self.directory)
        defer { live.finish() }
        var tracks: [TrackStatus] = []
        var announced: UInt64 = 0
        return await self.stay.end(
            of: session,
            interrupts,
            media: {
                let recorded = recorder.status
                tracks = recorded.tracks
                if tracks.contains(where: { $0.units > 0 }) { return .some }
                return recorded.failure == nil ? .none : .failed
            },
            meanwhile: { status, elapsed, now in
                if let number = announcement.current?.number, number != announced {
                    announced = number
                    session.announce()
                }
                live.draw(tracks, status, elapsed: elapsed, of: self.stay.duration, at: now) { track in
                    guard let level = recorder.soundLevel(of: track) else { return .unmeasured }
                    guard let decibels = level.decibels, decibels > Self.silenceDecibels else { return .silent }
                    return .decibels(decibels)
                }
            }
        ).end
    }

    /// Why there is nothing to export.
    private func failure(_ end: RoomStay.End, _ outcome: SessionOutcome, _ status: RoomSessionStatus) -> CommandFailure
    {
        if case .failed(let error) = outcome { return CommandFailure(error) }
        if end == .interrupted { return CommandFailure(.interrupted, "interrupted before anything was recorded") }
        return self.stay.nothingCame([status], media: "media", silence: "the peers sent nothing that can be recorded")
    }

    /// Media came, and none of them could be recorded; nil if none came.
    private static func unrecorded(_ recorded: RecordingStatus) -> CommandFailure? {
        let reasons = recorded.unrecorded.values.reduce(into: [:]) { $0.merge($1, uniquingKeysWith: &+) }
        guard !reasons.isEmpty else { return nil }
        let text = reasons.sorted { ($1.value, $0.key.rawValue) < ($0.value, $1.key.rawValue) }
            .map { "\($0.value) packets: \($0.key.text)" }.joined(separator: ", ")
        let place = recorded.folder.map { "; the journal is in \($0.path)" } ?? ""
        return CommandFailure(.incomplete, "media came, and none of them could be recorded: \(text)\(place)")
    }

    private func problems(_ recorder: RecorderThread) -> [String] {
        var problems: [String] = []
        if let failure = recorder.status.failure { problems.append(failure.message) }
        if recorder.droppedUnits > 0 {
            problems.append("\(recorder.droppedUnits) units were lost: the disk was too slow, or too many came")
        }
        return problems
    }

    /// A recording that is over while the room is still recorded, and why.
    private typealias Earlier = (folder: RecordingFolder, reason: String)

    /// Exports each recording but the last when it is closed; what is missing in them.
    private func exportSegments(_ segments: AsyncStream<Earlier>) async throws -> [String] {
        let thread = ControlThread(name: "export")
        var problems: [String] = []
        for await (folder, reason) in segments {
            let report: ExportReport
            let isLost = reason != "segment"
            if isLost { problems.append("\(folder.path) ended because of its disk: \(reason)") }
            do {
                report = try await thread.run("exporting a segment", deadline: .seconds(3600)) {
                    try ExportJob(folder, program: Program.name, isStuck: ExportJob.giveUp)
                        .run(ExportSpec(.tracks(self.tracks)))
                }
            } catch {
                guard isLost else { throw Self.notExported(folder, error) }
                problems.append(Self.notExported(folder, error).message)
                continue
            }
            let result = RecordResult(folder: folder, report: report)
            self.onSegment(result)
            if !result.isComplete { problems.append("\(folder.path) is incomplete") }
        }
        return problems
    }

    /// The call is recorded, whatever the export lacks: says where, so that it can be exported again.
    private static func notExported(_ folder: RecordingFolder, _ error: any Error) -> CommandFailure {
        let failure = CommandFailure(error)
        guard failure.code != .noMedia else { return failure }
        let isWhole = (error as? ExportError)?.code == .notNoted
        let rest = isWhole ? "; \(failure.message)" : ", but not exported: \(failure.message)"
        return CommandFailure(.incomplete, "recorded into \(folder.path)\(rest)")
    }

    private func export(_ folder: RecordingFolder) throws -> ExportReport {
        let spec = ExportSpec(.tracks(self.tracks))
        let progress = ExportProgressBar(self.lines, spec, output: self.output)
        return try ExportJob(folder, program: Program.name, output: self.output, isStuck: ExportJob.giveUp)
            .run(spec) { progress.draw($0) }
    }
}
