// SPDX-License-Identifier: Apache-2.0

public import Storage
public import Timeline

/// The present status of a recording session.
public struct RecordingStatus: Sendable {
    /// A recording, and the part of it that this process writes, from 1.
    public struct Current: Sendable, Hashable {
        /// The recording's folder.
        public var folder: RecordingFolder
        /// The part.
        public var part: Int
    }

    /// Whether anything is recorded at present.
    public var phase: RecordingStateMachine.Phase
    /// The folder of the recording, or of the last one; nil until the first unit came.
    public var folder: RecordingFolder?
    /// The recording in progress.
    public var current: Current?
    /// The first error of the recording, if there was one: it is incomplete.
    public var failure: RecordingError?
    /// Packets that came while a recording was made and are in no file of it, over all recordings of the session, by
    /// participant and reason; counted every 5 s and at the end of each recording.
    public var unrecorded: [String: [RefusalReason: UInt64]]
    /// Tracks that are open, in no order.
    var open: [TrackStatus]
    /// Those of the recording that are not any more; the session's own array, so that a status costs no copy of it.
    var closed: [TrackStatus]

    /// Tracks that are open, and those of the recording that are not any more, by number.
    public var tracks: [TrackStatus] { (self.closed + self.open).sorted { $0.number < $1.number } }

    /// The status of a session that has not begun.
    public init() {
        self.init(phase: .off, open: [], closed: [])
    }

    init(
        phase: RecordingStateMachine.Phase,
        folder: RecordingFolder? = nil,
        current: Current? = nil,
        failure: RecordingError? = nil,
        unrecorded: [String: [RefusalReason: UInt64]] = [:],
        open: [TrackStatus],
        closed: [TrackStatus]
    ) {
        self.phase = phase
        self.folder = folder
        self.current = current
        self.failure = failure
        self.unrecorded = unrecorded
        self.open = open
        self.closed = closed
    }
}
