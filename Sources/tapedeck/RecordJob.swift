// SPDX-License-Identifier: Apache-2.0

import Basics
import Export
import Foundation
import GStreamer
import Logging
import Media
import Model
import Observability
import PipelineCatalogue
import Recording
import Rendering
import Session
import Signalling
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
    /// How the clocks of a series' hosts were joined, if several recorded it.
    var joined: [ClockJoin]?
    let report: ExportReport

    private enum CodingKeys: String, CodingKey {
        case recording, output, durationSeconds, isComplete = "complete", verdict, problems, tracks, counters, outputs
        case project, joined
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
        self.joined = report.joined
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

    /// Prints it.
    func show(_ common: CommonOptions) throws {
        if common.json { return try Output.json(self) }
        Output.result(self.output)
        if let project = self.project { Output.result(project) }
        Output.result(self.report.table())
        for join in self.joined ?? [] { Output.result(join.text) }
    }

    /// Fails with code 5 if something is missing.
    func check() throws {
        guard !self.isComplete else { return }
        let reasons = self.problems.isEmpty ? "see the table" : self.problems.joined(separator: "; ")
        throw CommandFailure(.incomplete, "recorded, but incomplete: \(reasons)")
    }
}

/// What came of a room in which nothing is recorded: tracks are only sent on; printed as JSON for scripts.
struct RelayResult: Encodable {
    var outputs: [OutputResult]
    var counters: [String: Int]
}

/// One stay in one room, from joining to the exported file.
struct RecordJob: Sendable {
    /// The room; only sent on is what is not recorded.
    var spec: RoomSpec
    var options = RoomRun.Options()
    var leaving: LeaveRule
    /// Where what is sent is looked up.
    var pipelines = PipelineCatalogue([])
    /// The file that is exported; in the recording's folder if left out.
    var output: String?
    /// How it is made.
    var tracks = ExportSpec.Tracks()
    /// Takes what came of each recording but the last.
    var onSegment: @Sendable (RecordResult) -> Void = { _ in }
    /// Where a person watches it.
    var lines: LiveLines
    var logger: Logger

    /// How it was in the room.
    private struct Stay {
        var reason: LeaveRule.Reason
        var hadMedia: Bool
        var outcome: SessionOutcome
        /// What was sent on, before we left and after it.
        var sentOn: (before: [OutputResult], after: [OutputResult])
    }

    func record(interrupts: Interrupts) async throws -> RecordResult {
        defer { self.lines.end() }
        // One for each segment, and for each recording that the disk ended; they are rare, and none may be dropped.
        let (segments, feed) = AsyncStream.makeStream(of: Earlier.self, bufferingPolicy: .unbounded)
        let run = try await self.open(interrupts) { event in
            guard case .finished(let folder, _, let reason) = event else { return }
            if reason == "segment" || StorageError.Code(rawValue: reason) != nil { feed.yield((folder, reason)) }
        }
        guard let recorder = run.recorder else { throw CommandFailure(.usage, "nothing is recorded") }
        async let earlier = self.exportSegments(segments)
        interrupts.abandoning {
            guard let folder = recorder.status.folder else { return "nothing was recorded" }
            return "the files of \(folder.path); `tapedeck export \(folder.path)` makes a file of what they have"
        }
        let stay = await self.stay(in: run, interrupts)
        try await self.finish(recorder, reason: "\(stay.reason)")
        feed.finish()
        let problems = try await earlier
        let recorded = recorder.status
        guard let folder = recorded.folder, recorded.tracks.contains(where: { $0.units > 0 }) else {
            if let failure = recorded.failure { throw failure.cause }
            throw Self.unrecorded(recorded) ?? self.failure(stay, run, "recorded")
        }
        var result = RecordResult(
            folder: folder,
            report: try self.export(folder),
            problems: problems + self.problems(recorder),
            counters: run.status.counters,
            recorded: recorded.tracks
        )
        result.outputs = run.outputs == nil ? nil : stay.sentOn.after
        return result
    }

    func relay(interrupts: Interrupts) async throws -> RelayResult {
        let run = try await self.open(interrupts)
        let stay = await self.stay(in: run, interrupts)
        guard stay.hadMedia else { throw self.failure(stay, run, "sent on") }
        return RelayResult(outputs: stay.sentOn.before, counters: run.status.counters)
    }

    /// The room, and what is sent there, which is opened once.
    private func open(
        _ interrupts: Interrupts,
        onEvent: @escaping @Sendable (RecorderEvent) -> Void = { _ in }
    ) async throws -> RoomRun {
        try Runtime.initialise()
        let control = ControlThread(name: "control")
        var camera: CameraSource?
        if let send = self.spec.send {
            camera = try await CameraSource.opened(send, from: self.pipelines, control: control, logger: self.logger)
        }
        return try RoomRun(
            self.spec,
            self.options,
            camera: camera,
            control: control,
            bell: interrupts.bell,
            logger: self.logger,
            onEvent: onEvent
        )
    }

    /// Is in the room until there is a reason to leave; then nothing is sent any more.
    private func stay(in run: RoomRun, _ interrupts: Interrupts) async -> Stay {
        async let outcome = run.run()
        let (reason, hadMedia) = await self.end(of: run, interrupts)
        let before = run.outputs?.status.map { OutputResult($0) } ?? []
        run.stop()
        let ended = await outcome
        // Without media it is why the command fails.
        if hadMedia, case .failed(let error) = ended {
            self.logger.warning("the call is over", metadata: .tagged([.errorMessage: "\(error.message)"]))
        }
        await run.control.end("stopping the camera", logger: self.logger) { run.camera?.stop() }
        let after = run.outputs?.status.map { OutputResult($0) } ?? []
        await run.outputs?.finishPipelines()
        await run.control.end("ending the outputs", logger: self.logger) { run.outputs?.finish() }
        return Stay(reason: reason, hadMedia: hadMedia, outcome: ended, sentOn: (before, after))
    }

    private static let patience = Duration.seconds(5)
    /// A level at which nothing is heard; muted audio has it.
    private static let silenceDecibels = -90.0

    /// Completes every file, however long the disk takes: the export is what the command is for.
    ///
    /// Says that it waits, so that a user who cannot wait interrupts it; `tapedeck export` continues from there.
    private func finish(_ recorder: RoomRecorder, reason: String) async throws {
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
                    self.logger.notice("the disk is slow: still completing the recording's files")
                }
            }
            defer { group.cancelAll() }
            try await group.next()
        }
    }

    /// Waits for a reason to leave; draws the live table.
    private func end(of run: RoomRun, _ interrupts: Interrupts) async -> (reason: LeaveRule.Reason, hadMedia: Bool) {
        guard let recorder = run.recorder else {
            return await run.end(self.leaving, interrupts) {
                run.outputs?.status.contains { $0.total != RTPStreamCounters() } ?? false ? .some : .none
            }
        }
        var live = LiveTable(self.lines, directory: self.options.directory ?? self.spec.storage)
        defer { live.finish() }
        let resizes = SignalWatch(SIGWINCH) { _ in interrupts.bell.ring() }
        defer { withExtendedLifetime(resizes) {} }
        var tracks: [TrackStatus] = []
        return await run.end(self.leaving, interrupts) {
            let recorded = recorder.status
            tracks = recorded.tracks
            if tracks.contains(where: { $0.units > 0 }) { return .some }
            return recorded.failure == nil ? .none : .failed
        } meanwhile: { elapsed in
            live.draw(tracks, run.status, elapsed: elapsed, of: self.leaving.duration, at: .now) { track in
                guard let level = recorder.audioLevel(of: track) else { return .unmeasured }
                guard let decibels = level.decibels, decibels > Self.silenceDecibels else { return .silent }
                return .decibels(decibels)
            }
        }
    }

    /// Why there is nothing.
    private func failure(_ stay: Stay, _ run: RoomRun, _ done: String) -> CommandFailure {
        if case .failed(let error) = stay.outcome { return CommandFailure(error) }
        if stay.reason == .interrupted { return .init(.interrupted, "interrupted before anything was \(done)") }
        let silence = "the peers sent nothing that can be \(done)"
        return .nothingCame(in: run, wait: self.leaving.wait, media: "media", silence: silence)
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

    private func problems(_ recorder: RoomRecorder) -> [String] {
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
        do {
            return try ExportJob(folder, program: Program.name, output: self.output, isStuck: ExportJob.giveUp)
                .run(spec) { progress.draw($0) }
        } catch {
            throw Self.notExported(folder, error)
        }
    }
}
