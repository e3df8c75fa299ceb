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

    /// Files to force to the disk, in any order and at the same time as those of other rounds, and what follows.
    public struct Step: Sendable {
        /// What follows a step.
        public enum Next: Sendable {
            /// Another one.
            case step(Step)
            /// The round is over.
            case over([Failure])
        }

        /// The files.
        public let files: [File]
        /// To be called once each file is on the disk or cannot be, with the error number for each, or 0; may wait for the
        /// disk.
        public let next: @Sendable (_ errors: [Int32]) -> Next
    }

    let recordings: [Files]

    /// All files that the steps are going to force to the disk.
    public var files: [File] {
        self.recordings.flatMap { $0.tracks.map(\.file) + [$0.lines].compactMap(\.self) }
    }

    /// Begins the round: tracks first, then their names, then journals.
    ///
    /// Everything that a journal mentions exists then. Any thread; may wait for the disk. If a recording's folder is gone, its other failures are not reported.
    public func begin() -> Step {
        var failures: [Failure] = []
        var tracks: [(file: File, recording: RecordingID, number: Int)] = []
        var left: [Files] = []
        for files in self.recordings {
            guard !files.journal.isGone() else {
                let message = "the recording's folder is gone: its journal was deleted or moved"
                let cause = StorageError(.notFound, message, path: files.lines?.path ?? "")
                failures.append(Failure(recording: files.recording, error: RecordingError(.folder, cause)))
                continue
            }
            left.append(files)
            for (number, file) in files.tracks {
                guard file.isGone() else {
                    tracks.append((file, files.recording, number))
                    continue
                }
                let cause = StorageError(.notFound, "\(file.path) is gone: it was deleted or moved", path: file.path)
                failures.append(Failure(recording: files.recording, error: RecordingError(.track(number), cause)))
            }
        }
        return Step(files: tracks.map(\.file)) { [failures, tracks, left] errors in
            let ofTracks = zip(tracks, errors).compactMap { track, error in
                track.file.failure(ofSynchronisation: error).map {
                    Failure(recording: track.recording, error: RecordingError(.track(track.number), $0))
                }
            }
            return .step(Self.journals(of: left, failures + ofTracks))
        }
    }

    /// Forces names to the disk, and lets the journals be the next.
    private static func journals(of recordings: [Files], _ failures: [Failure]) -> Step {
        let ofFolders = recordings.compactMap { files -> Failure? in
            do throws(StorageError) {
                try RecordingFolder.synchronise(folders: files.folders)
                return nil
            } catch {
                return Failure(recording: files.recording, error: RecordingError(.folder, error))
            }
        }
        let journals = recordings.compactMap { files in files.lines.map { (file: $0, recording: files.recording) } }
        return Step(files: journals.map(\.file)) { errors in
            let ofJournals = zip(journals, errors).compactMap { journal, error in
                journal.file.failure(ofSynchronisation: error).map {
                    Failure(recording: journal.recording, error: RecordingError(.journal, $0))
                }
            }
            return .over(failures + ofFolders + ofJournals)
        }
    }
}
