// SPDX-License-Identifier: Apache-2.0

public import Basics
internal import Matroska
internal import Storage

/// One received track as the recorder sees it.
public struct TrackStatus: Sendable, Hashable {
    /// The track's number, as given to the session in `trackAppeared`.
    public var id: UInt64
    /// Track number within the recording, from 1; 0 while nothing of it is recorded.
    public var number: Int
    /// The participant's id in the room.
    public var participant: String
    /// How people see the participant.
    public var shownName: String
    /// Codec of the track.
    public var codec: MediaCodec
    /// Synchronisation source.
    public var ssrc: UInt32
    /// The peer connection that carries it.
    public var connection: UInt64
    /// Frame size in pixels; nil for audio and before the first keyframe.
    public var size: (width: Int, height: Int)? { self.width.flatMap { w in self.height.map { (w, $0) } } }
    private var width: Int?
    private var height: Int?
    /// Units written.
    public var units: UInt64
    /// Bytes written, without container.
    public var bytes: UInt64
    /// Packets that never came.
    public var lostPackets: UInt64
    /// PLI requests sent for the file (RFC 4585 section 6.3.1).
    public var keyframeRequests: UInt64
    /// Media time from the first to the last unit.
    public var duration: Duration
    /// Whether the track still receives.
    public var isOpen: Bool
    /// From the offer to the first unit in the file; nil before it and if it is not known.
    public var firstUnitDelay: Duration?

    init(_ track: OpenTrack, isOpen: Bool, _ shown: ShownNames) {
        let statistics = track.writer?.statistics
        self.id = track.id
        self.number = track.writer?.track.number ?? 0
        self.participant = track.received.participant
        self.shownName = shown[self.participant]
        self.codec = track.received.codec
        self.ssrc = track.received.ssrc
        self.connection = track.received.connection
        self.width = statistics?.width
        self.height = statistics?.height
        self.units = statistics?.units ?? 0
        self.bytes = statistics?.bytes ?? 0
        self.lostPackets = UInt64(clamping: track.packets.lost)
        self.keyframeRequests = track.keyframeRequests
        self.duration = .nanoseconds(statistics?.durationNanoseconds ?? 0)
        self.isOpen = isOpen
        self.firstUnitDelay = track.firstUnitDelay
    }
}
