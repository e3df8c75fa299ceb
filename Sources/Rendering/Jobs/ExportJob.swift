// SPDX-License-Identifier: Apache-2.0

internal import Basics
public import Export
internal import Foundation
internal import GStreamer
public import Model
public import Storage

/// One export as a process of its own, at low priority: recording comes first.
public struct ExportJob: Sendable {
    private let subject: ExportSubject
    private let work: Work
    private let selection: ExportSelection
    private let options: ExportOptions
    private let writesProject: Bool
    private let output: String?

    /// What is made.
    private enum Work {
        case remux(TrackLayout)
        case render(RenderSettings, isStuck: @Sendable ([String]) -> Void)

        /// Whether what peers sent is decoded, or taken apart by GStreamer.
        var decodes: Bool {
            if case .remux(.tracks) = self { return false }
            return true
        }
    }

    /// A job that has not begun.
    ///
    /// - Parameters:
    ///   - subject: what a file is made of; a series in the layout `tracks` only.
    ///   - options: how the file of the layout `tracks` is made.
    ///   - writesProject: whether a project of OpenTimelineIO is written beside that file.
    ///   - output: where the file goes; beside the tracks if left out, named after the layout.
    public init(
        _ subject: ExportSubject,
        layout: TrackLayout,
        selection: ExportSelection,
        options: ExportOptions = ExportOptions(),
        writesProject: Bool = false,
        output: String?
    ) {
        self.subject = subject
        self.work = .remux(layout)
        self.selection = selection
        self.options = options
        self.writesProject = writesProject
        self.output = output
    }

    /// A job that decodes and encodes.
    ///
    /// - Parameter isStuck: see `Renderer.run`.
    public init(
        folder: RecordingFolder,
        settings: RenderSettings,
        selection: ExportSelection,
        output: String?,
        isStuck: @escaping @Sendable ([String]) -> Void
    ) {
        self.subject = .recording(folder)
        self.work = .render(settings, isStuck: isStuck)
        self.selection = selection
        self.options = ExportOptions()
        self.writesProject = false
        self.output = output
    }

    /// Runs the job on this thread; `progress` is called at most ten times a second.
    ///
    /// - Throws: `ExportError`, `GStreamerError`, `StorageError`.
    public func run(progress: (ExportJobEvent) -> Void) throws -> ExportJobResult {
        ProcessLimits.yieldToRecordings()
        if self.work.decodes { try JobLimits.begin() }
        var lastReport: ContinuousClock.Instant?
        let report = { (state: ExportProgress) throws in
            if self.work.decodes { try JobLimits.checkMemory() }
            let now = ContinuousClock.now
            if let lastReport, now - lastReport < .milliseconds(100), state.fraction < 1 { return }
            lastReport = now
            progress(.progress(bytesDone: state.bytesDone, bytesTotal: state.bytesTotal))
        }
        switch self.work {
        case .remux(.tracks):
            let result = try TracksExport.run(
                self.subject,
                selection: self.selection,
                options: self.options,
                output: self.output,
                progress: report
            )
            if self.writesProject { _ = try ProjectFile.write(result, folder: self.subject.folder) }
            return Self.result(result, mediaType: self.options.container.mediaType)
        case .remux(.browser):
            return try self.rendition(report)
        case .render(let settings, let isStuck):
            let result = try Renderer.run(
                folder: self.subject.folder,
                settings: settings,
                selection: self.selection,
                output: self.output,
                isStuck: isStuck,
                progress: report,
                willBegin: JobLimits.limitTime
            )
            return Self.result(result, mediaType: settings.mediaType)
        }
    }

    /// A file for a player: as it is where the codecs allow, remuxed by ffmpeg where not.
    private func rendition(_ progress: (ExportProgress) throws -> Void) throws -> ExportJobResult {
        let base = self.output ?? self.subject.renditionPath(self.selection)
        let file = try RenderOutput(path: base)
        let source = try MuxSource(
            self.subject,
            layout: .browser,
            selection: self.selection,
            beside: file,
            progress: progress,
            begins: { if FFmpegMux.rendition($0) != nil { try FFmpegMux.requireProgram() } }
        )
        let nanoseconds = source.report.tracks.reduce(0) { $0 &+ max(0, $1.durationNanoseconds) }
        JobLimits.limitTime(ofMedia: .nanoseconds(nanoseconds), removing: file.temporaryPaths)
        let muxed = FFmpegMux.rendition(source.codecs)
        let container = muxed ?? .webm
        let output = self.output ?? "\(base).\(container.rawValue)"
        var report = source.report
        if muxed != nil {
            report = try FFmpegMux.make(container, of: source, into: file, as: output, progress: progress)
        } else {
            try File.rename(source.path, to: output)
            report.output = output
        }
        report = try Exporter.note(report, of: self.subject)
        return Self.result(report, mediaType: container.mediaType)
    }

    private static func result(_ report: ExportReport, mediaType: String) -> ExportJobResult {
        ExportJobResult(
            output: report.output,
            layout: report.layout,
            mediaType: mediaType,
            bytes: report.bytes,
            durationNanoseconds: report.durationNanoseconds,
            isComplete: report.isComplete,
            warnings: report.warnings
        )
    }
}
