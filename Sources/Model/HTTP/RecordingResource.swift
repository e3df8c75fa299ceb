// SPDX-License-Identifier: Apache-2.0

public import Basics
public import Timeline

/// A recording in the HTTP API.
public struct RecordingResource: Sendable, Hashable, Codable {
    /// A track of a recording.
    public struct Track: Sendable, Hashable, Codable {
        /// Its number; `nil` if the journal does not know the file.
        public var number: Int?
        /// The sending participant.
        public var participant: String
        /// How people see the participant; `nil` from a daemon of an earlier version.
        public var name: String?
        /// Video or audio.
        public var kind: MediaKind
        /// The codec.
        public var codec: MediaCodec
        /// Units in the file.
        public var units: UInt64
        /// Bytes of payload.
        public var bytes: UInt64
        /// The file, relative to the recording's folder; `nil` over HTTP, as the two below.
        public var file: String?
        /// The sizes of its frames, such as `1280x720`, in the order in which they came first.
        public var sizes: [String]?
        /// Bits of payload per second on average.
        public var bitsPerSecond: UInt64?

        /// A track, and how people see its participant; with its file, sizes and bit rate if it is shown in full.
        public init(_ track: RecordedTrack, name: String, inFull: Bool) {
            self.number = track.number
            self.participant = track.participant
            self.name = name
            self.kind = track.media
            self.codec = track.codec
            self.units = track.units
            self.bytes = track.bytes
            guard inFull else { return }
            self.file = track.file
            self.sizes = track.sizes?.map(\.description)
            self.bitsPerSecond = track.bitsPerSecond
        }
    }

    /// A file of a recording.
    public struct File: Sendable, Hashable, Codable {
        /// Its name relative to the recording's folder.
        public var name: String
        /// Its size in bytes.
        public var bytes: Int64
        /// Its media type.
        public var type: String

        /// A file with each part given.
        public init(name: String, bytes: Int64, type: String) {
            self.name = name
            self.bytes = bytes
            self.type = type
        }
    }

    /// Its id.
    public var id: String
    /// The host of the cluster that has it; `nil` outside of a cluster.
    public var host: String?
    /// The room as peers know it.
    public var room: String
    /// When it began: RFC 3339, UTC.
    public var start: String
    /// Seconds of media time; `nil` while it is in progress.
    public var durationSeconds: Double?
    /// Bytes of all its files.
    public var bytes: Int64
    /// `recording`, `finished` or `unfinished` (cut off, not yet repaired).
    public var state: String
    /// `complete`, `complete-with-gaps` or `damaged`; `nil` before the first export.
    public var verdict: String?
    /// All participants that were there.
    public var participants: [String]
    /// Words to find it by.
    public var tags: [String]
    /// What people wrote about it.
    public var notes: String?
    /// How far its upload is; `nil` where nothing is uploaded, and before it waits for that.
    public var upload: Upload?
    /// All tracks by number; only with a single recording.
    public var tracks: [Track]
    /// All files; only with a single recording.
    public var files: [File]
    /// How the verdict came about; only with a single recording, `nil` before the first export.
    public var certificate: Certificate?

    /// The files of its exports; only with a single recording.
    public var exports: [File] {
        self.files.filter { file in
            !file.name.contains("/") && ["video/", "audio/"].contains { file.type.hasPrefix($0) }
        }
    }

    /// A recording with each part given.
    public init(
        id: String,
        room: String,
        start: String,
        durationSeconds: Double? = nil,
        bytes: Int64,
        state: String,
        verdict: String? = nil,
        participants: [String] = [],
        tags: [String] = [],
        notes: String? = nil,
        tracks: [Track] = [],
        files: [File] = [],
        certificate: Certificate? = nil
    ) {
        self.id = id
        self.room = room
        self.start = start
        self.durationSeconds = durationSeconds
        self.bytes = bytes
        self.state = state
        self.verdict = verdict
        self.participants = participants
        self.tags = tags
        self.notes = notes
        self.tracks = tracks
        self.files = files
        self.certificate = certificate
    }
}

extension RecordingResource {
    /// How far the upload of a recording is.
    public struct Upload: Sendable, Hashable, Codable {
        /// The recording's folder at the remote, as rclone names it.
        public var place: String
        /// When every file was seen there; `nil` while one was not.
        public var finished: String?
        /// Its files.
        public var files: Int
        /// Those that were seen there.
        public var verifiedFiles: Int
        /// The bytes of its files.
        public var bytes: Int64
        /// The bytes of those that were seen there.
        public var verifiedBytes: Int64
        /// Why the last attempt with a file failed; `nil` if it did not.
        public var error: String?
        /// When that file is tried again.
        public var nextAttempt: String?

        /// An upload with each part given.
        public init(
            place: String,
            finished: String? = nil,
            files: Int,
            verifiedFiles: Int,
            bytes: Int64,
            verifiedBytes: Int64,
            error: String? = nil,
            nextAttempt: String? = nil
        ) {
            self.place = place
            self.finished = finished
            self.files = files
            self.verifiedFiles = verifiedFiles
            self.bytes = bytes
            self.verifiedBytes = verifiedBytes
            self.error = error
            self.nextAttempt = nextAttempt
        }
    }

    /// What a recording is worth, as it was found when it was closed or exported last.
    public struct Certificate: Sendable, Hashable, Codable {
        /// The most findings of a kind that are listed.
        public static let maximumFindings = 100

        /// `complete`, `complete-with-gaps` or `damaged`.
        public var verdict: String
        /// Seconds from the first unit of all tracks to the end of the last.
        public var durationSeconds: Double
        /// Seconds from the first record of the journal to its last, if it says so.
        public var wallClockSeconds: Double?
        /// What never came, a sentence each; at most `maximumFindings`.
        public var gaps: [String]
        /// What is not as it was written, a sentence each; at most `maximumFindings`.
        public var damage: [String]
        /// The journal, the tracks and the exports.
        public var files: [Timeline.Certificate.FileDigest]

        /// A certificate with each part given.
        public init(
            verdict: String,
            durationSeconds: Double,
            wallClockSeconds: Double? = nil,
            gaps: [String] = [],
            damage: [String] = [],
            files: [Timeline.Certificate.FileDigest] = []
        ) {
            self.verdict = verdict
            self.durationSeconds = durationSeconds
            self.wallClockSeconds = wallClockSeconds
            self.gaps = gaps
            self.damage = damage
            self.files = files
        }
    }
}

/// A page of recordings, newest first.
public struct RecordingPage: Sendable, Hashable, Codable {
    /// The recordings.
    public var recordings: [RecordingResource]
    /// Where the next page begins; `nil` on the last one.
    public var next: String?
    /// Hosts of the cluster that did not answer; `nil` where all did.
    public var incomplete: [MissingHost]?

    /// A page with each part given.
    public init(recordings: [RecordingResource], next: String? = nil, incomplete: [MissingHost] = []) {
        self.recordings = recordings
        self.next = next
        self.incomplete = incomplete.isEmpty ? nil : incomplete
    }
}
