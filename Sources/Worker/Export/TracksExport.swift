// SPDX-License-Identifier: Apache-2.0

internal import Codecs
public import Export
internal import Foundation
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
        let intermediate = output + ".\(RecordingID.random()).tmp"
        let remuxed = intermediate + ".remux"
        defer {
            try? FileManager.default.removeItem(atPath: intermediate)
            try? FileManager.default.removeItem(atPath: remuxed)
        }
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
            to: remuxed,
            codecs: report.tracks.compactMap { MediaCodec(rawValue: $0.codec) },
            asMP4: true,
            limit: limit
        )
        try RemuxReadBack.check(remuxed, report, limit: limit)
        let size = try FileManager.default.attributesOfItem(atPath: remuxed)[.size] as? UInt64
        report.bytes = size ?? report.bytes
        try File.rename(remuxed, to: output)
        report.output = output
        if !report.events.isEmpty { report.warnings.append("an MP4 file has no chapters of the call's events") }
        return try Exporter.note(report, of: subject)
    }
}
