// SPDX-License-Identifier: Apache-2.0

internal import Codecs
public import Export
internal import Foundation
internal import GStreamer
internal import Matroska
internal import Media
internal import Rendering
public import Rooms
public import Storage
public import Supervision

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
        case remux(Exporter.Layout)
        case render(RenderSettings, isStuck: @Sendable ([String]) -> Void)
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
        layout: Exporter.Layout,
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
        // Recordings go first, at the processor and at the disk.
        _ = setpriority(__priority_which_t(PRIO_PROCESS.rawValue), 0, 19)
        Runtime.useIdleDiskTime()
        var lastReport: ContinuousClock.Instant?
        let report = { (state: ExportProgress) in
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
                progress: report
            )
            return Self.result(result, mediaType: settings.mediaType)
        }
    }

    /// A file for a player: as it is where the codecs allow, remuxed by GStreamer where not.
    private func rendition(_ progress: (ExportProgress) -> Void) throws -> ExportJobResult {
        let base = self.output ?? self.subject.renditionPath(self.selection)
        // The names are the same each time: what a job leaves that is killed, the next one takes over.
        let file = try RenderOutput(path: base)
        let intermediate = file.scratchPath("tracks")
        var report = try Exporter.run(
            self.subject,
            layout: .browser,
            selection: self.selection,
            output: intermediate,
            isNoted: false,
            progress: progress
        )
        let codecs = report.tracks.compactMap { MediaCodec(rawValue: $0.codec) }
        let mediaType = BrowserRemux.mediaType(codecs)
        let output = self.output ?? base + (mediaType == "video/mp4" ? ".mp4" : ".webm")
        if BrowserRemux.isNeeded(codecs) {
            try Runtime.initialise()
            try BrowserRemux.run(
                from: intermediate,
                to: file.partialPath,
                codecs: codecs,
                limit: StreamEnd.limit(forBytes: report.bytes)
            )
            report.bytes = file.bytes
            try file.commit(as: output)
        } else {
            try File.rename(intermediate, to: output)
        }
        report.output = output
        report = try Exporter.note(report, of: self.subject)
        return Self.result(report, mediaType: mediaType)
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
