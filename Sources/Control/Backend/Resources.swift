// SPDX-License-Identifier: Apache-2.0

public import Rooms

/// A room as the interface shows it.
public struct RoomResource: Sendable, Hashable, Codable {
    /// Where the room's life is.
    public enum Phase: String, Sendable, Hashable, Codable, CaseIterable {
        /// Nobody asked for it, or its schedule has not come.
        case idle
        /// It waits for the place of another room.
        case queued
        /// A worker is being started.
        case starting
        /// We try to become a member.
        case joining
        /// We are a member.
        case joined
        /// We wait before the next try.
        case backingOff = "backing-off"
        /// We are on the way out.
        case leaving
        /// It cannot work, and is not tried again until its definition changes or somebody asks.
        case failed
    }

    /// The process that is in the room.
    public struct Worker: Sendable, Hashable, Codable {
        /// Its process id.
        public var processID: Int32
        /// CPU of one core in percent, over the last seconds.
        public var cpuPercent: Double
        /// Resident memory in bytes.
        public var residentBytes: Int64

        /// A worker with each part given.
        public init(processID: Int32, cpuPercent: Double, residentBytes: Int64) {
            self.processID = processID
            self.cpuPercent = cpuPercent
            self.residentBytes = residentBytes
        }
    }

    /// The room's name in the configuration.
    public var name: String
    /// The room URL, without secrets.
    public var url: String
    /// `always`, `on-demand` or the schedule.
    public var join: String
    /// `configuration` or `api`: where the definition comes from.
    public var origin: String
    /// Where the room's life is.
    public var phase: Phase
    /// Why it is in that phase, for people.
    public var reason: String?
    /// Since when: RFC 3339, UTC.
    public var since: String
    /// The process that is in the room.
    public var worker: Worker?
    /// Workers that ended unexpectedly since the daemon started.
    public var restarts: Int
    /// The room from inside.
    public var status: RoomStatus

    /// A room with each part given.
    public init(
        name: String,
        url: String,
        join: String,
        origin: String,
        phase: Phase,
        reason: String? = nil,
        since: String,
        worker: Worker? = nil,
        restarts: Int = 0,
        status: RoomStatus = RoomStatus()
    ) {
        self.name = name
        self.url = url
        self.join = join
        self.origin = origin
        self.phase = phase
        self.reason = reason
        self.since = since
        self.worker = worker
        self.restarts = restarts
        self.status = status
    }
}

/// Which recordings are asked for.
public struct RecordingQuery: Sendable, Hashable {
    /// Only of this room.
    public var room: String?
    /// Only those whose room, id or participants contain this text.
    public var text: String?
    /// Only those that began at this time or later: RFC 3339.
    public var from: String?
    /// Only those that began before this time: RFC 3339.
    public var to: String?
    /// Most recordings of the page, 1 to 200.
    public var limit: Int
    /// Where the page begins, as the page before said.
    public var cursor: String?

    /// The first page of everything.
    public init(limit: Int = 50) {
        self.limit = limit
    }
}

/// A page of recordings, newest first.
public struct RecordingPage: Sendable, Hashable, Codable {
    /// The recordings.
    public var recordings: [RecordingResource]
    /// Where the next page begins; `nil` on the last one.
    public var next: String?

    /// A page with each part given.
    public init(recordings: [RecordingResource], next: String? = nil) {
        self.recordings = recordings
        self.next = next
    }
}

/// A recording as the interface shows it.
public struct RecordingResource: Sendable, Hashable, Codable {
    /// A track of a recording.
    public struct Track: Sendable, Hashable, Codable {
        /// Its number; `nil` if the journal does not know the file.
        public var number: Int?
        /// The sending participant.
        public var participant: String
        /// `video` or `audio`.
        public var kind: String
        /// The codec's short name.
        public var codec: String
        /// Units in the file.
        public var units: UInt64
        /// Bytes of payload.
        public var bytes: UInt64

        /// A track with each part given.
        public init(number: Int?, participant: String, kind: String, codec: String, units: UInt64, bytes: UInt64) {
            self.number = number
            self.participant = participant
            self.kind = kind
            self.codec = codec
            self.units = units
            self.bytes = bytes
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
    /// The room as peers know it.
    public var room: String
    /// When it began: RFC 3339, UTC.
    public var start: String
    /// Seconds of media time; `nil` while it goes on.
    public var durationSeconds: Double?
    /// Bytes of all its files.
    public var bytes: Int64
    /// `recording`, `finished` or `unfinished` (cut off, not yet repaired).
    public var state: String
    /// `complete`, `complete-with-gaps` or `damaged`; `nil` before the first export.
    public var verdict: String?
    /// Everybody who was there.
    public var participants: [String]
    /// All tracks by number; only with a single recording.
    public var tracks: [Track]
    /// All files; only with a single recording.
    public var files: [File]
    /// How the verdict came about; only with a single recording, `nil` before the first export.
    public var certificate: Certificate?

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
        self.tracks = tracks
        self.files = files
        self.certificate = certificate
    }
}

extension RecordingResource {
    /// What a recording is worth, as it was found when it was closed or exported last.
    public struct Certificate: Sendable, Hashable, Codable {
        /// The most findings of a kind that are listed.
        public static let maximumFindings = 100

        /// A file and what it held.
        public struct File: Sendable, Hashable, Codable {
            /// Its name relative to the recording's folder.
            public var name: String
            /// Its size in bytes.
            public var bytes: UInt64
            /// SHA-256 of its content, in 64 hexadecimal digits.
            public var sha256: String

            /// A file with each part given.
            public init(name: String, bytes: UInt64, sha256: String) {
                self.name = name
                self.bytes = bytes
                self.sha256 = sha256
            }
        }

        /// `complete`, `complete-with-gaps` or `damaged`.
        public var verdict: String
        /// Seconds from the first unit of all tracks to the end of the last.
        public var durationSeconds: Double
        /// Seconds from the first record of the journal to its last, if it tells.
        public var wallClockSeconds: Double?
        /// What never came, a sentence each; at most `maximumFindings`.
        public var gaps: [String]
        /// What is not as it was written, a sentence each; at most `maximumFindings`.
        public var damage: [String]
        /// The journal, the tracks and the exports.
        public var files: [File]

        /// A certificate with each part given.
        public init(
            verdict: String,
            durationSeconds: Double,
            wallClockSeconds: Double? = nil,
            gaps: [String] = [],
            damage: [String] = [],
            files: [File] = []
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

/// What an export should hold.
public struct ExportRequest: Sendable, Hashable, Codable {
    /// `tracks`; `browser`, a WebM or MP4 rendition that browsers play; `grid`; or `audio`.
    public var layout: String
    /// What the layouts take, by the names of the command line: `size`, `fps`, `codec`, `format` and `loudness` those that
    /// decode and encode, `container`, `keep-damaged` and `project` the layout `tracks`.
    public var options: [String: String] = [:]
    /// Only this participant's tracks.
    public var participant: String?
    /// Seconds from the recording's start at which the export begins.
    public var from: Double?
    /// Seconds from the recording's start at which the export ends.
    public var to: Double?

    /// Whether all recordings of the series are exported of which the recording is a segment.
    public var series = false

    /// Every track, all of the time.
    public init(layout: String = "tracks") {
        self.layout = layout
    }
}

/// An export, waiting, running or done.
public struct ExportResource: Sendable, Hashable, Codable {
    /// Where an export's life is.
    public enum State: String, Sendable, Hashable, Codable, CaseIterable {
        /// It waits for its turn.
        case queued
        /// It runs.
        case running
        /// The file is there.
        case done
        /// It failed.
        case failed
    }

    /// Its id.
    public var id: String
    /// The recording's id.
    public var recording: String
    /// The layout's name.
    public var layout: String
    /// Where its life is.
    public var state: State
    /// 0 to 1.
    public var progress: Double
    /// The file's name relative to the recording's folder, when it is done.
    public var file: String?
    /// Why it failed, or what it waits for.
    public var error: String?
    /// How often it began and failed.
    public var attempts: Int
    /// When it is tried again, in UTC; nil unless it waits for that.
    public var nextAttempt: String?

    /// An export with each part given.
    public init(
        id: String,
        recording: String,
        layout: String,
        state: State,
        progress: Double,
        file: String? = nil,
        error: String? = nil,
        attempts: Int = 0,
        nextAttempt: String? = nil
    ) {
        self.id = id
        self.recording = recording
        self.layout = layout
        self.state = state
        self.progress = progress
        self.file = file
        self.error = error
        self.attempts = attempts
        self.nextAttempt = nextAttempt
    }
}

/// The daemon in a few figures.
public struct Overview: Sendable, Hashable, Codable {
    /// The program's version.
    public var version: String
    /// Seconds since the daemon started.
    public var uptimeSeconds: Double
    /// Rooms by phase.
    public var roomsByPhase: [String: Int]
    /// Recordings that go on.
    public var activeRecordings: Int
    /// Exports that wait or run.
    public var pendingExports: Int
    /// Bytes free in the storage.
    public var freeBytes: Int64
    /// Seconds until the storage is full at the present rate; `nil` when nothing is written.
    public var secondsUntilFull: Double?
    /// Worker processes.
    public var workers: Int

    /// An overview with each part given.
    public init(
        version: String,
        uptimeSeconds: Double,
        roomsByPhase: [String: Int],
        activeRecordings: Int,
        pendingExports: Int,
        freeBytes: Int64,
        secondsUntilFull: Double? = nil,
        workers: Int
    ) {
        self.version = version
        self.uptimeSeconds = uptimeSeconds
        self.roomsByPhase = roomsByPhase
        self.activeRecordings = activeRecordings
        self.pendingExports = pendingExports
        self.freeBytes = freeBytes
        self.secondsUntilFull = secondsUntilFull
        self.workers = workers
    }
}
