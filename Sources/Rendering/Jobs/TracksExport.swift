// SPDX-License-Identifier: Apache-2.0

public import Export
internal import Storage

/// The layout `tracks` in any container: our own writer makes Matroska and WebM, and ffmpeg puts the former into MP4.
public enum TracksExport {
    /// Exports a recording or a series and notes it in its manifest, with its certificate; blocks.
    ///
    /// - Parameters:
    ///   - output: where to; beside the tracks if left out.
    ///   - progress: called about every megabyte, on this thread; what it throws ends the export.
    /// - Throws: `ExportError` (`notInstalled` before any work, where MP4 is asked for and there is no ffmpeg),
    ///   `GStreamerError`, `StorageError`, or what `progress` throws.
    public static func run(
        _ subject: ExportSubject,
        selection: ExportSelection = ExportSelection(),
        options: ExportOptions,
        output: String? = nil,
        progress: (ExportProgress) throws -> Void = { _ in }
    ) throws -> ExportReport {
        guard options.container == .mp4 else {
            return try Exporter.run(
                subject,
                selection: selection,
                options: options,
                output: output,
                progress: progress
            )
        }
        try FFmpegMux.requireProgram()
        let output = output ?? subject.path(selection, suffix: "mp4")
        let file = try RenderOutput(path: output)
        let source = try MuxSource(subject, selection: selection, options: options, beside: file, progress: progress)
        var report = try FFmpegMux.make(.mp4, of: source, into: file, as: output, progress: progress)
        if !report.events.isEmpty { report.warnings.append("an MP4 file has no chapters of the call's events") }
        return try Exporter.note(report, of: subject)
    }
}
