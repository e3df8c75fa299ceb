// SPDX-License-Identifier: Apache-2.0

internal import Basics
public import Export
internal import Foundation
internal import GStreamer
public import Model
public import Storage

/// Makes one file of a recording, whatever its layout: for a command, or as all that a process does.
public struct ExportJob: Sendable {
    private let folder: RecordingFolder
    private let program: String
    private let output: String?
    private let isStuck: @Sendable ([String]) -> Void
    /// Whether this process does nothing else: it has limits then.
    private var isAlone = false

    /// A job that has not begun.
    ///
    /// - Parameters:
    ///   - folder: the recording, or any segment of the series.
    ///   - program: the program and version that the file names as its maker.
    ///   - output: where the file goes; next to the tracks if left out, under the name of the spec.
    ///   - isStuck: called from another thread when a codec does not return for two minutes, with the files to remove: there is
    ///     nothing to do then but to end the process.
    public init(
        _ folder: RecordingFolder,
        program: String,
        output: String? = nil,
        isStuck: @escaping @Sendable ([String]) -> Void
    ) {
        self.folder = folder
        self.program = program
        self.output = output
        self.isStuck = isStuck
    }

    /// Makes the file and notes it in the recording's manifest, with its certificate; blocks.
    ///
    /// - Parameter progress: called now and then, on this thread; what it throws ends the export.
    /// - Throws: `ExportError` (`invalidSpec` for one with a problem; `notInstalled` before any work, where ffmpeg is needed and
    ///   is not there), `GStreamerError`, `StorageError`, or what `progress` throws.
    public func run(
        _ spec: ExportSpec,
        progress: (ExportProgress) throws -> Void = { _ in }
    ) throws -> ExportReport {
        if let problem = spec.problems.first {
            throw ExportError(.invalidSpec, "\(problem.option) \(problem.text { $0 })")
        }
        switch spec.layout {
        case .tracks(let tracks): return try self.tracks(tracks, spec, progress)
        case .browser: return try self.rendition(spec, progress)
        case .grid(let grid):
            return try self.render(spec, Encoders.elements(grid), progress) { try $0.grid(grid) }
        case .audio(let audio):
            return try self.render(spec, Encoders.elements(audio), progress) { try $0.audio(audio) }
        }
    }

    /// The same in a process that does nothing else, at low priority and with limits: recording comes first.
    ///
    /// - Parameter event: takes the progress, at most ten times a second.
    public func runAlone(_ spec: ExportSpec, event: (ExportJobEvent) -> Void) throws -> ExportJobResult {
        ProcessLimits.yieldToRecordings()
        // Whether what peers sent is decoded, or taken apart by GStreamer.
        let decodes = spec.layout.tracks == nil
        if decodes { try JobLimits.begin() }
        var job = self
        job.isAlone = true
        var lastReport: ContinuousClock.Instant?
        let report = try job.run(spec) { state in
            if decodes { try JobLimits.checkMemory() }
            let now = ContinuousClock.now
            if let lastReport, now - lastReport < .milliseconds(100), state.fraction < 1 { return }
            lastReport = now
            event(.progress(bytesDone: state.bytesDone, bytesTotal: state.bytesTotal))
        }
        return ExportJobResult(
            output: report.output,
            layout: report.layout,
            mediaType: mediaType(ofFile: report.output),
            bytes: report.bytes,
            durationNanoseconds: report.durationNanoseconds,
            isComplete: report.isComplete,
            warnings: report.warnings
        )
    }

    /// Every track: our own writer makes Matroska and WebM, and ffmpeg puts the former into MP4.
    private func tracks(
        _ tracks: ExportSpec.Tracks,
        _ spec: ExportSpec,
        _ progress: (ExportProgress) throws -> Void
    ) throws -> ExportReport {
        if tracks.container == .mp4 { try FFmpegMux.requireProgram() }
        let subject = try ExportSubject(self.folder, spec)
        var report: ExportReport
        if tracks.container == .mp4 {
            let output = self.output ?? "\(subject.folder.path)/\(spec.fileName)"
            let file = try RenderOutput(path: output)
            let source = try MuxSource(subject, spec, program: self.program, beside: file, progress: progress)
            report = try FFmpegMux.make(.mp4, of: source, into: file, as: output, progress: progress)
            if !report.events.isEmpty { report.warnings.append("an MP4 file has no chapters of the call's events") }
            report = try Exporter.note(report, of: subject)
        } else {
            report = try Exporter.run(subject, spec, program: self.program, output: self.output, progress: progress)
        }
        guard tracks.switches.contains(.project) else { return report }
        report.project = try ProjectFile.write(report, folder: subject.folder)
        return report
    }

    /// A file for a player: as it is where the codecs allow, remuxed by ffmpeg where not.
    private func rendition(_ spec: ExportSpec, _ progress: (ExportProgress) throws -> Void) throws -> ExportReport {
        let base = self.output ?? "\(self.folder.path)/\(spec.fileName)"
        let file = try RenderOutput(path: base)
        let subject = ExportSubject.recording(self.folder)
        let source = try MuxSource(
            subject,
            spec,
            program: self.program,
            beside: file,
            progress: progress,
            begins: { if FFmpegMux.rendition($0) != nil { try FFmpegMux.requireProgram() } }
        )
        let nanoseconds = source.report.tracks.reduce(0) { $0 &+ max(0, $1.durationNanoseconds) }
        if self.isAlone { JobLimits.limitTime(ofMedia: .nanoseconds(nanoseconds), removing: file.temporaryPaths) }
        let muxed = FFmpegMux.rendition(source.codecs)
        let output = self.output ?? "\(base).\((muxed ?? .webm).rawValue)"
        var report = source.report
        if let muxed {
            report = try FFmpegMux.make(muxed, of: source, into: file, as: output, progress: progress)
        } else {
            try File.rename(source.path, to: output)
            report.output = output
        }
        return try Exporter.note(report, of: subject)
    }

    private func render(
        _ spec: ExportSpec,
        _ elements: [String],
        _ progress: (ExportProgress) throws -> Void,
        _ make: (Renderer.Work) throws -> ExportReport
    ) throws -> ExportReport {
        try Renderer.run(
            folder: self.folder,
            spec,
            encoders: elements,
            output: self.output,
            isStuck: self.isStuck,
            progress: progress,
            willBegin: { if self.isAlone { JobLimits.limitTime(ofMedia: $0, removing: $1) } },
            make
        )
    }
}
