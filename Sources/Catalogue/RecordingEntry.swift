// SPDX-License-Identifier: Apache-2.0

public import Basics
public import Storage
public import Timeline

/// A recording as the catalogue knows it.
public struct RecordingEntry: Sendable, Hashable {
    /// Where a recording's life is.
    public enum State: String, Sendable, Hashable, Codable, CaseIterable {
        /// It is in progress.
        case recording
        /// Every file is closed.
        case finished
        /// It was cut off, and is not repaired yet.
        case unfinished
    }

    /// Its id.
    public var id: RecordingID
    /// The room as peers know it, unsanitised.
    public var room: String
    /// When it began.
    public var start: UTCTime
    /// When it ended; `nil` while it is in progress.
    public var end: UTCTime?
    /// Seconds of media time; `nil` while unknown.
    public var durationSeconds: Double?
    /// Bytes of all its files.
    public var bytes: Int64
    /// Where its life is.
    public var state: State
    /// Whether everything is there; `nil` before the first export.
    public var verdict: Manifest.Verdict?
    /// The host that recorded.
    public var host: String?
    /// How often recording began, from 1: a worker that dies is followed by the next part.
    public var parts: Int
    /// The recording's folder, relative to the storage directory.
    public var folder: String
    /// All participants, in order of appearance.
    public var participants: [Participant]
    /// Words to find it by.
    public var tags: [String]
    /// Notes about it.
    public var notes: String?
    /// All tracks by number; empty in a listing.
    public var tracks: [RecordedTrack]

    /// A recording with each part given.
    public init(
        id: RecordingID,
        room: String,
        start: UTCTime,
        end: UTCTime? = nil,
        durationSeconds: Double? = nil,
        bytes: Int64 = 0,
        state: State,
        verdict: Manifest.Verdict? = nil,
        host: String? = nil,
        parts: Int = 1,
        folder: String,
        participants: [Participant] = [],
        tags: [String] = [],
        notes: String? = nil,
        tracks: [RecordedTrack] = []
    ) {
        self.id = id
        self.room = room
        self.start = start
        self.end = end
        self.durationSeconds = durationSeconds
        self.bytes = bytes
        self.state = state
        self.verdict = verdict
        self.host = host
        self.parts = parts
        self.folder = folder
        self.participants = participants
        self.tags = tags
        self.notes = notes
        self.tracks = tracks
    }

    /// An entry with the facts read from the recording's folder.
    ///
    /// - Parameter storage: The storage directory; a folder elsewhere is named by its whole path.
    public init(_ summary: RecordingSummary, storage: String) {
        self.init(
            id: summary.folder.id,
            room: summary.room,
            start: summary.start,
            end: summary.end,
            durationSeconds: summary.durationSeconds,
            bytes: summary.bytes,
            state: summary.isFinished ? .finished : .unfinished,
            verdict: summary.verdict,
            host: summary.host,
            parts: summary.parts,
            folder: Self.relative(summary.folder.path, to: storage),
            participants: summary.participants,
            tags: summary.tags,
            notes: summary.notes,
            tracks: summary.tracks
        )
    }

    /// A path below the storage directory, without the directory; any other as it is.
    public static func relative(_ path: String, to storage: String) -> String {
        let root = storage.hasSuffix("/") ? storage : storage + "/"
        return path.hasPrefix(root) ? String(path.dropFirst(root.count)) : path
    }
}
