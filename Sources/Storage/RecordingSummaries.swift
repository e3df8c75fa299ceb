// SPDX-License-Identifier: Apache-2.0

internal import Synchronization

/// Reads the summaries of recordings in progress, again and again: of each journal only the records since the last
/// time.
///
/// From any thread; one recording is read by one at a time.
public final class RecordingSummaries: Sendable {
    private struct Known {
        var progress: JournalProgress
        /// When it was read last, in reads.
        var read: UInt64
    }

    private struct State {
        var known: [RecordingID: Known] = [:]
        var reads: UInt64 = 0
    }

    /// Limit of recordings whose reading position is kept; the ones not read for longest are forgotten.
    ///
    /// It exceeds the number that can be in progress at a time: they are read one after the other, and one that was
    /// forgotten is read from its beginning.
    private static let limit = 10_000

    private let state = Mutex(State())

    /// Without a recording.
    public init() {}

    /// Reads a recording's folder; see `RecordingSummary.read`.
    public func read(_ folder: RecordingFolder) throws(StorageError) -> RecordingSummary {
        // Taken out during the read: another reader of it begins at its beginning.
        var progress = self.state.withLock { $0.known.removeValue(forKey: folder.id)?.progress } ?? JournalProgress()
        let summary = try RecordingSummary.read(folder, &progress)
        guard !progress.isFinished else { return summary }
        self.state.withLock { [progress] state in
            state.reads += 1
            state.known[folder.id] = Known(progress: progress, read: state.reads)
            guard state.known.count > Self.limit, let oldest = state.known.min(by: { $0.value.read < $1.value.read })
            else { return }
            state.known[oldest.key] = nil
        }
        return summary
    }
}
