// SPDX-License-Identifier: Apache-2.0

public import Basics
public import Model
public import Storage

/// The upload of one recording.
public struct UploadEntry: Sendable, Hashable {
    /// The recording's id.
    public var recording: RecordingID
    /// The recording's folder at the remote, as rclone names it.
    public var place: String
    /// When its files were looked at last.
    public var planned: UTCTime
    /// When every file of it was verified; `nil` while one is not.
    public var finished: UTCTime?
    /// Its files.
    public var objects: [UploadObject]

    /// An upload of which nothing is verified.
    public init(recording: RecordingID, place: String, planned: UTCTime, objects: [UploadObject] = []) {
        self.recording = recording
        self.place = place
        self.planned = planned
        self.objects = objects
    }
}

/// How far the upload of a recording is.
public struct UploadProgress: Sendable, Hashable {
    /// The recording's folder at the remote, as rclone names it.
    public var place: String
    /// When every file of it was verified; `nil` while one is not.
    public var finished: UTCTime?
    /// Its files.
    public var files = 0
    /// Those that are verified.
    public var verifiedFiles = 0
    /// The bytes of its files.
    public var bytes: Int64 = 0
    /// The bytes of those that are verified.
    public var verifiedBytes: Int64 = 0
    /// The error of the file, among those whose last attempt failed, that is tried next.
    public var error: String?
    /// When that one is tried again.
    public var nextAttempt: UTCTime?
}

extension RecordingResource.Upload {
    /// The stored progress of an upload.
    public init(_ progress: UploadProgress) {
        self.init(
            place: progress.place,
            finished: progress.finished?.iso8601,
            files: progress.files,
            verifiedFiles: progress.verifiedFiles,
            bytes: progress.bytes,
            verifiedBytes: progress.verifiedBytes,
            error: progress.error,
            nextAttempt: progress.nextAttempt?.iso8601
        )
    }
}

/// Figures of waiting uploads.
public struct UploadFigures: Sendable, Hashable {
    /// Recordings.
    public var recordings = 0
    /// When the oldest of them ended, or began if that is not known.
    public var oldest: UTCTime?
}
