// SPDX-License-Identifier: Apache-2.0

internal import Export
internal import Foundation
internal import GStreamer
internal import Model

/// Limits of a job that decodes data from peers, and its report when it exceeds them.
enum JobLimits {
    /// A grid of nine in 1080p needs a fifth of it (decision 113).
    static let memoryBytes: UInt64 = 4 << 30
    /// Processor time that any export may take.
    private static let leastProcessorTime = Duration.seconds(600)
    /// Processor time for each second of each track.
    private static let shareOfLength = 10

    /// Limits the memory of this process, and has a limit reported on standard output as the job's failure.
    static func begin() throws {
        // The registry of plugins, which it may write, is nothing of a peer's.
        try Runtime.initialise()
        ProcessLimits.report(
            memory: try Self.line(Self.outOfMemory),
            processor: try Self.line(
                "the export was ended: it used more than its processor time, which is \(Self.leastProcessorTime) and "
                    + "\(Self.shareOfLength) times the length of its tracks"
            ),
            to: STDOUT_FILENO
        )
        ProcessLimits.limitMemory(bytes: Self.memoryBytes)
    }

    /// Limits the processor time to the needs of tracks of this length, and names the files that a limit removes.
    static func limitTime(ofMedia length: Duration, removing files: [String]) {
        ProcessLimits.removeAtLimit(files)
        ProcessLimits.limitProcessorTime(Self.processorTime(ofMedia: length))
    }

    /// The processor time for tracks that are so long together.
    static func processorTime(ofMedia length: Duration) -> Duration {
        Self.leastProcessorTime + min(max(length, .zero), .seconds(100 * 86_400 * 1000)) * Self.shareOfLength
    }

    /// Throws `overLimit` when there is hardly any memory left: decoders would fail one after the other.
    static func checkMemory() throws(ExportError) {
        guard ProcessLimits.isOutOfMemory else { return }
        throw ExportError(.overLimit, Self.outOfMemory)
    }

    private static let outOfMemory =
        "the export was ended: it needs more than the \(Self.memoryBytes >> 20) MiB of memory that it may use"

    private static func line(_ message: String) throws -> String {
        let line = try WorkerLine.encode(ExportJobEvent.failed(message: message, retriable: false))
        // It may come in the middle of another one.
        return "\n" + String(decoding: line, as: UTF8.self)
    }
}
