// SPDX-License-Identifier: Apache-2.0

public import Export
internal import Foundation
internal import GStreamer
internal import Matroska
internal import Media
public import Storage
public import Supervision

/// One export as a process of its own, at low priority: recording comes first.
public struct ExportJob: Sendable {
    /// A rendition that takes longer than its bytes at 1 MB/s, and a minute, hangs.
    private static let slowestBytesPerSecond: UInt64 = 1 << 20

    private let folder: RecordingFolder
    private let layout: Exporter.Layout
    private let selection: ExportSelection
    private let output: String?

    /// A job that has not begun.
    ///
    /// - Parameter output: where the file goes; beside the tracks if left out, named after the layout.
    public init(folder: RecordingFolder, layout: Exporter.Layout, selection: ExportSelection, output: String?) {
        self.folder = folder
        self.layout = layout
        self.selection = selection
        self.output = output
    }

    /// Runs the job on this thread; `progress` is called at most ten times a second.
    ///
    /// - Throws: `ExportError`, `GStreamerError`, `StorageError`.
    public func run(progress: (ExportJobEvent) -> Void) throws -> ExportJobResult {
        // The scheduler of block devices follows the nice value where nothing else is set.
        _ = setpriority(__priority_which_t(PRIO_PROCESS.rawValue), 0, 19)
        var lastReport: ContinuousClock.Instant?
        let report = { (state: ExportProgress) in
            let now = ContinuousClock.now
            if let lastReport, now - lastReport < .milliseconds(100), state.fraction < 1 { return }
            lastReport = now
            progress(.progress(bytesDone: state.bytesDone, bytesTotal: state.bytesTotal))
        }
        switch self.layout {
        case .tracks:
            let result = try Exporter.run(
                folder: self.folder,
                layout: self.layout,
                selection: self.selection,
                output: self.output,
                progress: report
            )
            return Self.result(result, mediaType: "video/x-matroska")
        case .browser:
            return try self.rendition(report)
        }
    }

    /// A file for a player: as it is where the codecs allow, remuxed by GStreamer where not.
    private func rendition(_ progress: (ExportProgress) -> Void) throws -> ExportJobResult {
        let base = self.output ?? self.folder.path + "/browser"
        let intermediate = base + ".\(RecordingID.random()).tmp"
        defer { try? FileManager.default.removeItem(atPath: intermediate) }
        var report = try Exporter.run(
            folder: self.folder,
            layout: .browser,
            selection: self.selection,
            output: intermediate,
            isNoted: false,
            progress: progress
        )
        let codecs = report.tracks.compactMap { Codec(rawValue: $0.codec) }
        let mediaType = BrowserRemux.mediaType(codecs)
        let output = self.output ?? base + (mediaType == "video/mp4" ? ".mp4" : ".webm")
        if BrowserRemux.isNeeded(codecs) {
            try Runtime.initialise()
            let remuxed = intermediate + ".remux"
            defer { try? FileManager.default.removeItem(atPath: remuxed) }
            let limit = Duration.seconds(Int64(clamping: 60 + report.bytes / Self.slowestBytesPerSecond))
            try BrowserRemux.run(from: intermediate, to: remuxed, codecs: codecs, limit: limit)
            let size = try FileManager.default.attributesOfItem(atPath: remuxed)[.size] as? UInt64
            report.bytes = size ?? report.bytes
            try File.rename(remuxed, to: output)
        } else {
            try File.rename(intermediate, to: output)
        }
        report.output = output
        try Exporter.note(report, folder: self.folder)
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
