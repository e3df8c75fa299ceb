// SPDX-License-Identifier: Apache-2.0

/// The names of labels; the values of each are few, and known before the daemon runs.
///
/// Rooms are named by the operator. Participants, recordings and whatever else peers or chance name are never labels.
public enum MetricLabel: String, Sendable, CaseIterable {
    /// A room's name in the configuration.
    case room
    /// Where a room's life is.
    case phase
    /// `audio` or `video`.
    case kind
    /// A codec's short name.
    case codec
    /// How something ended.
    case result
    /// Which group of addresses a request was for.
    case route
    /// The first digit of an HTTP status, such as `2xx`.
    case status
    /// A log level.
    case level
    /// The program's version.
    case version
    /// A worker process, by the place that it fills: it keeps its name when the process is replaced.
    case worker
    /// Why something happened.
    case reason
    /// A step on the way from an offer to the first unit.
    case part
}

/// Steps on the way from an offer to the first unit of a track in a file; each begins where the one before ended.
public enum SetupPart: String, Sendable, CaseIterable {
    /// Until the answer went out, or came.
    case answer
    /// Until ICE had a pair that works.
    case ice
    /// Until DTLS was up.
    case dtls
    /// Until the track's first packet was there.
    case packet
    /// Until the first unit was in the file; for video that is a keyframe.
    case file
}

/// How a webhook delivery ended.
public enum DeliveryResult: String, Sendable, CaseIterable {
    /// The receiver took it.
    case delivered
    /// The receiver did not take it; it is tried again.
    case retried
    /// It failed for good.
    case dead
}

/// How an export ended.
public enum ExportResult: String, Sendable, CaseIterable {
    /// The file is there.
    case done
    /// It failed.
    case failed
}

/// The result of reloading a configuration.
public enum ReloadResult: String, Sendable, CaseIterable {
    /// It is in force.
    case applied
    /// It is refused; the old one stays in force.
    case refused
}

/// Why a worker process was replaced.
public enum RestartReason: String, Sendable, CaseIterable {
    /// The process exited.
    case exited
    /// It was killed by a signal that is none of ours.
    case crashed
    /// The supervisor ended it: it gave no sign of life, or was too large.
    case hung
}

/// Groups of endpoints of the HTTP interface.
public enum RouteGroup: String, Sendable, CaseIterable {
    /// `/v1/rooms…`
    case rooms
    /// `/v1/recordings…` but files.
    case recordings
    /// `/v1/recordings/{id}/files/{file}`
    case files
    /// `/v1/events`
    case events
    /// `/metrics`
    case metrics
    /// `/healthz` and `/readyz`
    case health
    /// The dashboard's page and its parts.
    case dashboard
    /// Everything else, unknown addresses among it.
    case other
}
