// SPDX-License-Identifier: Apache-2.0

public import Basics
public import Storage
public import Timeline

/// A step that a recording session requests; steps are in the order in which they were decided.
public enum RecordingAction: Sendable {
    /// Send a PLI for a track.
    case requestKeyframe(track: UInt64)
    /// Perform this on a thread that may wait for the disk, in parallel with others of its kind, and report it with
    /// `completed`.
    case complete(RecordingCompletion)
    /// Perform this where it may wait for the disk, and report it with `synchronised`.
    case synchronise(SynchronisationRound)
    /// Tell that a recording, or the next part of one, began; and its place, if it is of a series.
    case tellStarted(RecordingFolder, part: Int, SeriesPlace?)
    /// Tell that a recording is over, and every file of it complete as far as it will ever be.
    case tellFinished(RecordingFolder, part: Int, reason: String)
    /// Report that media are being lost on this side, by the disk or otherwise; nil while nothing is being recorded.
    case tellDegraded(RecordingFolder?, part: Int, reason: String, byDisk: Bool)
    /// Tell that the first unit of a track is in its file.
    case tellFirstUnit(track: UInt64, nanoseconds: Int64)
    /// Report that the session cannot continue the recording named in its settings: the next media begin another.
    case tellNotContinued(RecordingError)
    /// Log that a recording is incomplete; nil for the present one, or none.
    case logIncomplete(RecordingError, RecordingFolder?)
    /// Log that media of a source are in no file, and why; once for each source and recording.
    case logRefused(SourceCounted)
    /// Log that a sender changed its codec, which begins another track.
    case logCodecChanged(ReceivedTrack, before: MediaCodec)
    /// Log that a recording continues after a failure.
    case logGoesOn(RecordingFolder)
}

/// The work that remains for a file or a recording that is over.
public struct RecordingCompletion: Sendable {
    enum Work: Sendable {
        case file(TrackFileEnd)
        case recording(reason: String, nanoseconds: Int64)
    }

    /// The recording, as it was when it was decided; nil for a file of none.
    let recording: ActiveRecording?
    let work: Work

    /// Does it; waits for the disk.
    ///
    /// Any thread; what it must come after was reported as `completed` before it was wanted.
    public func perform() throws(RecordingError) {
        switch self.work {
        case .file(let end): try end.complete()
        case .recording(let reason, let nanoseconds): try self.recording?.finish(reason: reason, nanoseconds)
        }
    }
}

/// The files to force to the disk, for each recording in progress.
public struct SynchronisationRound: Sendable {
    /// A failure, and the recording it belongs to.
    public struct Failure: Sendable, Hashable {
        /// The recording.
        public var recording: RecordingID
        /// The failed part: the journal, the folder that is gone or cannot be synchronised, or the file of a track.
        public var error: RecordingError
    }

    struct Files: Sendable {
        let recording: RecordingID
        let journal: JournalWriter
        /// Files with units that are not on the disk.
        var tracks: [(number: Int, file: File)] = []
        /// Folders in which names were made.
        var folders: [String] = []
        /// The journal's file, if lines went into it.
        var lines: File?
    }

    let recordings: [Files]

    /// Files whose content `perform` forces to the disk.
    public var files: [File] {
        self.recordings.flatMap { $0.tracks.map(\.file) + [$0.lines].compactMap(\.self) }
    }

    /// Forces each to the disk, and waits for it; returns the failures, and the recordings that are gone.
    ///
    /// Any thread. If a recording's folder is gone, its other failures are not reported.
    public func perform() -> [Failure] {
        self.recordings.flatMap { files in
            Self.failures(files).map { Failure(recording: files.recording, error: $0) }
        }
    }

    private static func failures(_ files: Files) -> [RecordingError] {
        guard !files.journal.isGone() else {
            let message = "the recording's folder is gone: its journal was deleted or moved"
            return [RecordingError(.folder, StorageError(.notFound, message, path: files.lines?.path ?? ""))]
        }
        // Tracks first, then their names: everything that the journal mentions exists then.
        var failures = files.tracks.compactMap { number, file in
            Self.failure(.track(number)) { () throws(StorageError) in
                guard !file.isGone() else {
                    throw StorageError(.notFound, "\(file.path) is gone: it was deleted or moved", path: file.path)
                }
                try file.synchronise()
            }
        }
        let folders = Self.failure(.folder) { () throws(StorageError) in
            try RecordingFolder.synchronise(folders: files.folders)
        }
        let journal = Self.failure(.journal) { () throws(StorageError) in try files.lines?.synchronise() }
        failures += [folders, journal].compactMap(\.self)
        return failures
    }

    private static func failure(
        _ part: RecordingError.Part,
        _ body: () throws(StorageError) -> Void
    ) -> RecordingError? {
        do throws(StorageError) {
            try body()
            return nil
        } catch {
            return RecordingError(part, error)
        }
    }
}
