// SPDX-License-Identifier: Apache-2.0

/// Something that happened and that people or machines may want to hear of: what the event stream, the webhooks and
/// the log of the daemon report.
public struct DaemonEvent: Sendable, Hashable, Codable {
    /// What kinds there are; the raw values are part of the HTTP API, documented in `docs/events.md`.
    public enum Kind: String, Sendable, Hashable, Codable, CaseIterable {
        /// We are a member of the room.
        case roomJoined = "room.joined"
        /// We are a member no more; `reason` says why.
        case roomLeft = "room.left"
        /// The room cannot be joined at present; `reason` says why.
        case roomUnreachable = "room.unreachable"
        /// A room was added, changed or removed.
        case roomAdded = "room.added"
        /// A room's definition changed.
        case roomChanged = "room.changed"
        /// A room is known no more.
        case roomRemoved = "room.removed"
        /// A participant came.
        case participantJoined = "participant.joined"
        /// A participant left.
        case participantLeft = "participant.left"
        /// A peer was refused, or failed for good.
        case participantRefused = "participant.refused"
        /// A recording, or its next part, began.
        case recordingStarted = "recording.started"
        /// Media are being lost on this side.
        case recordingDegraded = "recording.degraded"
        /// A client paused a recording.
        case recordingPaused = "recording.paused"
        /// A client resumed a recording.
        case recordingResumed = "recording.resumed"
        /// A client marked a moment of a recording.
        case recordingMarked = "recording.marked"
        /// Every file of a recording is closed.
        case recordingFinished = "recording.finished"
        /// A recording that a crash left unfinished was closed.
        case recordingRepaired = "recording.repaired"
        /// A recording and its files were deleted, by a person or by retention.
        case recordingDeleted = "recording.deleted"
        /// What is sent to an output does not get away, or no one listens there.
        case outputFailed = "output.failed"
        /// An output that failed works again.
        case outputRecovered = "output.recovered"
        /// An export waits or runs.
        case exportStarted = "export.started"
        /// How far an export is, at most once a second.
        case exportProgress = "export.progress"
        /// An exported file is there.
        case exportFinished = "export.finished"
        /// An export failed.
        case exportFailed = "export.failed"
        /// Every file of a recording was seen at the remote.
        case uploadFinished = "upload.finished"
        /// An attempt to upload a file failed; it is repeated.
        case uploadFailed = "upload.failed"
        /// A worker process takes commands.
        case workerStarted = "worker.started"
        /// A worker process ended; `reason` says how.
        case workerExited = "worker.exited"
        /// A room's workers crash again and again: it is tried rarely from now on.
        case workerCrashLoop = "worker.crash_loop"
        /// Another host of the cluster had a room, and this one has it now.
        case roomMoved = "room.moved"
        /// A host of the cluster is gone without saying so.
        case hostLost = "host.lost"
        /// A new configuration is in force.
        case configurationReloaded = "configuration.reloaded"
        /// A new configuration was refused; the old one stays in force.
        case configurationRefused = "configuration.refused"
        /// The disk has less room than the configuration wants.
        case diskLow = "disk.low"
        /// The disk has enough room again.
        case diskRecovered = "disk.recovered"
    }

    /// Which event it is, among those of all runs of all daemons.
    public let id: EventID
    /// Number of the event in this daemon's life, from 1.
    public let sequence: UInt64
    /// When it happened: RFC 3339, UTC, milliseconds.
    public var time: String
    /// What happened.
    public var kind: Kind
    /// The name of the daemon's host in its cluster; nil without a cluster.
    public var host: String?
    /// The room's name in the configuration.
    public var room: String?
    /// The recording's id.
    public var recording: String?
    /// More, under names that `docs/events.md` lists for each kind; never a secret.
    public var details: [String: String]

    /// An event with each part given.
    public init(
        id: EventID,
        time: String,
        kind: Kind,
        host: String? = nil,
        room: String? = nil,
        recording: String? = nil,
        details: [String: String] = [:]
    ) {
        self.id = id
        self.sequence = id.sequence
        self.time = time
        self.kind = kind
        self.host = host
        self.room = room
        self.recording = recording
        self.details = details
    }
}
