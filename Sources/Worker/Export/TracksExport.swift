// SPDX-License-Identifier: Apache-2.0

internal import Codecs
public import Export
internal import GStreamer
internal import Matroska
internal import Media
internal import Storage

/// The layout `tracks` in any container: our own writer makes Matroska and WebM, and GStreamer puts the former into MP4.
public enum TracksExport {
    /// Exports a recording or a series and notes it in its manifest, with its certificate; blocks.
    ///
    /// - Parameters:
    ///   - output: where to; beside the tracks if left out.
    ///   - progress: called about every megabyte, on this thread; what it throws ends the export.
    /// - Throws: `ExportError`, `GStreamerError`, `StorageError`, or what `progress` throws.
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
        let output = output ?? subject.path(selection, suffix: "mp4")
        // The names are the same each time: what a job leaves that is killed, the next one takes over.
        let file = try RenderOutput(path: output)
        let intermediate = file.scratchPath("tracks")
        var report = try Exporter.run(
            subject,
            selection: selection,
            options: options,
            output: intermediate,
            isNoted: false,
            progress: progress
        )
        try Runtime.initialise()
        let limit = StreamEnd.limit(forBytes: report.bytes)
        try BrowserRemux.run(
            from: intermediate,
            to: file.partialPath,
            codecs: report.tracks.compactMap { MediaCodec(rawValue: $0.codec) },
            asMP4: true,
            limit: limit
        )
        try RemuxReadBack.check(file.partialPath, report, limit: limit)
        report.bytes = file.bytes
        try file.commit()
        report.output = output
        if !report.events.isEmpty { report.warnings.append("an MP4 file has no chapters of the call's events") }
        return try Exporter.note(report, of: subject)
    }
}
