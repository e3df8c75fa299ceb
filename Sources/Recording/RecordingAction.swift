// SPDX-License-Identifier: Apache-2.0

public import Storage
public import Timeline

/// What a recording session wants done; in the order in which it was decided.
public enum RecordingAction: Sendable {
    /// Send a PLI for a track.
    case requestKeyframe(track: UInt64)
    /// Perform this where it may wait for the disk, beside others of its kind, and report it with `completed`.
    case complete(RecordingCompletion)
    /// Perform this where it may wait for the disk, and report it with `synchronised`.
    case synchronise(SynchronisationRound)
    /// Tell that a recording, or the next part of one, began.
    case tellStarted(RecordingFolder, part: Int)
    /// Tell that a recording is over, and every file of it complete as far as it will ever be.
    case tellFinished(RecordingFolder, part: Int, reason: String)
    /// Tell that media are being lost on this side, by the disk or otherwise; nil while no recording goes on.
    case tellDegraded(RecordingFolder?, part: Int, reason: String, byDisk: Bool)
    /// Tell that the first unit of a track is in its file.
    case tellFirstUnit(track: UInt64, nanoseconds: Int64)
    /// Tell that the session cannot go on with the recording that it was to go on with: the next media begin another.
    case tellNotContinued(RecordingError)
    /// Log that a recording is incomplete; nil for the present one, or none.
    case logIncomplete(RecordingError, RecordingFolder?)
    /// Log that media of a source are in no file, and why; once for each source and recording.
    case logRefused(SourceCounted)
    /// Log that a recording goes on after a failure.
    case logGoesOn(RecordingFolder)
}

/// What is left to do for a file or a recording that is over.
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

/// Files that are to be forced to the disk.
public struct SynchronisationRound: Sendable {
    let files: [(part: RecordingError.Part, file: File)]

    /// Forces each to the disk, and waits for it; returns what failed.
    ///
    /// Any thread.
    public func perform() -> [RecordingError] {
        self.files.compactMap { part, file in
            do throws(StorageError) {
                try file.synchronise()
                return nil
            } catch {
                return RecordingError(part, error)
            }
        }
    }
}
