// SPDX-License-Identifier: Apache-2.0

public import Basics

/// The right of a host of a cluster to a room: all that it writes carries it.
public struct RecordingClaim: Sendable, Hashable, Codable {
    /// The cluster's name.
    public var cluster: String
    /// The number of the room's owner, from 1: no two owners have the same.
    public var epoch: Int

    /// A claim with each part given.
    public init(cluster: String, epoch: Int) {
        (self.cluster, self.epoch) = (cluster, epoch)
    }
}

/// The place of a recording among those that follow each other.
public struct SeriesPlace: Sendable, Hashable, Codable {
    /// The id of the first of them.
    public var series: String
    /// Which of them it is, from 1.
    public var segment: Int

    /// A place with each part given.
    public init(series: String, segment: Int) {
        (self.series, self.segment) = (series, segment)
    }

    /// The place after this one.
    public var next: SeriesPlace { SeriesPlace(series: self.series, segment: self.segment + 1) }
}

/// The first record of a journal: which recording this is, and both clocks at one instant.
public struct RecordingStarted: Sendable, Hashable, Codable {
    /// The room as the user names it, unsanitised.
    public var room: String
    /// The recording's id.
    public var id: String
    /// The host that records.
    public var host: String
    /// UTC at the instant that the entry's monotonic time names.
    public var utc: UTCTime
    /// Names the run of the host's kernel, and with it the monotonic clock; `nil` if the host does not tell.
    public var boot: String?
    /// The name under which others saw the recorder in the room, if it had one.
    public var displayName: String?
    /// The id of the first of the recordings that follow each other, without a gap but where another host continued; `nil` if
    /// this is the only one.
    public var series: String?
    /// Which of the series it is, from 1.
    public var segment: Int?
    /// Words to find it by.
    public var tags: [String]?
    /// Notes about the recording.
    public var notes: String?
    /// The claim of the host; `nil` for a room that no cluster shares.
    public var claim: RecordingClaim?

    /// A record with each part given.
    public init(
        room: String,
        id: String,
        host: String,
        utc: UTCTime,
        boot: String? = nil,
        displayName: String? = nil,
        series: String? = nil,
        segment: Int? = nil,
        tags: [String]? = nil,
        notes: String? = nil,
        claim: RecordingClaim? = nil
    ) {
        self.room = room
        self.id = id
        self.host = host
        self.utc = utc
        self.boot = boot
        self.displayName = displayName
        self.series = series
        self.segment = segment
        self.tags = tags
        self.notes = notes
        self.claim = claim
    }
}

/// Another process continued the recording: both clocks at one instant, as in `RecordingStarted`.
public struct PartStarted: Sendable, Hashable, Codable {
    /// The part's number; the first part, which begins with `RecordingStarted`, is 1.
    public var part: Int
    /// The host that records this part.
    public var host: String
    /// UTC at the instant that the entry's monotonic time names.
    public var utc: UTCTime
    /// Names the run of the host's kernel, and with it the monotonic clock; `nil` if the host does not tell.
    public var boot: String?

    /// A record with each part given.
    public init(part: Int, host: String, utc: UTCTime, boot: String? = nil) {
        self.part = part
        self.host = host
        self.utc = utc
        self.boot = boot
    }
}

/// A participant joined, or one already present sent its name.
public struct ParticipantJoined: Sendable, Hashable, Codable {
    /// The room server's name for the peer, unsanitised.
    public var participant: String
    /// Display name of the participant, if known.
    public var name: String?

    /// A record with each part given.
    public init(participant: String, name: String? = nil) {
        self.participant = participant
        self.name = name
    }
}

/// A participant went.
public struct ParticipantLeft: Sendable, Hashable, Codable {
    /// The room server's name for the peer, unsanitised.
    public var participant: String
    /// Why, in a word or two, if known.
    public var reason: String?

    /// A record with each part given.
    public init(participant: String, reason: String? = nil) {
        self.participant = participant
        self.reason = reason
    }
}

/// A track's file was created; its first unit follows.
public struct TrackOpened: Sendable, Hashable, Codable {
    /// The track's number in this recording, from 1.
    public var track: Int
    /// The room server's name for the sending peer.
    public var participant: String
    /// Video or audio.
    public var media: MediaKind
    /// The codec's short name: `vp8`, `vp9`, `h264`, `opus`, `pcmu`, `pcma`.
    public var codec: String
    /// Ticks of the RTP clock in a second.
    public var clockRateHz: Int
    /// Audio channels.
    public var channels: Int?
    /// The sender's synchronisation source.
    public var ssrc: UInt32?
    /// The RTP payload type.
    public var payloadType: Int?
    /// The media section's identification tag (RFC 5888).
    public var mid: String?
    /// Which layer of the camera it is, where several were offered; `nil` otherwise.
    public var layer: TrackLayer?
    /// The peer connection that it came on, by a number that is unique in its part; `nil` if that is not known.
    public var connection: UInt64?
    /// The file, relative to the recording's folder.
    public var file: String
    /// Unwrapped RTP time of the file's time zero.
    public var firstRTPTime: Int64

    /// A record with each part given.
    public init(
        track: Int,
        participant: String,
        media: MediaKind,
        codec: String,
        clockRateHz: Int,
        channels: Int? = nil,
        ssrc: UInt32? = nil,
        payloadType: Int? = nil,
        mid: String? = nil,
        layer: TrackLayer? = nil,
        connection: UInt64? = nil,
        file: String,
        firstRTPTime: Int64
    ) {
        self.track = track
        self.participant = participant
        self.media = media
        self.codec = codec
        self.clockRateHz = clockRateHz
        self.channels = channels
        self.ssrc = ssrc
        self.payloadType = payloadType
        self.mid = mid
        self.layer = layer
        self.connection = connection
        self.file = file
        self.firstRTPTime = firstRTPTime
    }

    /// The RTP clock; that of the kind of media where the rate is none that media have.
    public var clock: RTPClock {
        guard !(8000...1_000_000).contains(self.clockRateHz) else { return RTPClock(rateHz: self.clockRateHz) }
        return switch self.media {
        case .video: RTPClock(rateHz: 90_000)
        case .audio: RTPClock(rateHz: self.codec == "opus" ? 48_000 : 8000)
        }
    }

    private enum CodingKeys: String, CodingKey {
        case track, participant, media, codec, channels, ssrc, mid, layer, connection, file
        case clockRateHz = "clock_rate"
        case payloadType = "payload_type"
        case firstRTPTime = "first_rtp"
    }
}

/// An RTCP sender report: one instant in the sender's RTP clock and in its wall clock (RFC 3550, 6.4.1).
///
/// The entry's monotonic time is the report's arrival.
public struct SenderReport: Sendable, Hashable, Codable {
    /// The track's number.
    public var track: Int
    /// The sender's synchronisation source.
    public var ssrc: UInt32
    /// The RTP time stamp as it came, 32 bits; it is unwrapped at export, with the clock anchors around its arrival.
    public var rtpTimestamp: UInt32
    /// The 64 bits of the sender's NTP time.
    public var ntpTime: UInt64

    /// A record with each part given.
    public init(track: Int, ssrc: UInt32, rtpTimestamp: UInt32, ntpTime: UInt64) {
        self.track = track
        self.ssrc = ssrc
        self.rtpTimestamp = rtpTimestamp
        self.ntpTime = ntpTime
    }

    private enum CodingKeys: String, CodingKey {
        case track, ssrc
        case rtpTimestamp = "rtp"
        case ntpTime = "ntp"
    }
}

/// A unit's RTP time and, as the entry's monotonic time, its arrival.
public struct ClockAnchor: Sendable, Hashable, Codable {
    /// The track's number.
    public var track: Int
    /// The unit's unwrapped RTP time.
    public var rtpTime: Int64

    /// A record with each part given.
    public init(track: Int, rtpTime: Int64) {
        self.track = track
        self.rtpTime = rtpTime
    }

    private enum CodingKeys: String, CodingKey {
        case track
        case rtpTime = "rtp"
    }
}

/// From this unit on, a video track has another size, is turned otherwise, or has other H.264 parameter sets.
public struct FormatChanged: Sendable, Hashable, Codable {
    /// The track's number.
    public var track: Int
    /// Unwrapped RTP time of the first unit of the new format.
    public var rtpTime: Int64
    /// Width in pixels, if the unit has it.
    public var width: Int?
    /// Height in pixels, if the unit has it.
    public var height: Int?
    /// Whether H.264 parameter sets changed.
    public var parameterSets: Bool
    /// How many changes that followed each other at once this is the last of; `nil` for one.
    public var changes: Int?
    /// By how many degrees players turn the frames clockwise; `nil` if the sender never said.
    public var rotation: VideoRotation?

    /// A record with each part given.
    public init(
        track: Int,
        rtpTime: Int64,
        width: Int?,
        height: Int?,
        parameterSets: Bool,
        changes: Int? = nil,
        rotation: VideoRotation? = nil
    ) {
        self.track = track
        self.rtpTime = rtpTime
        self.width = width
        self.height = height
        self.parameterSets = parameterSets
        self.changes = changes
        self.rotation = rotation
    }

    private enum CodingKeys: String, CodingKey {
        case track, width, height, changes, rotation
        case rtpTime = "rtp"
        case parameterSets = "parameter_sets"
    }
}

/// The RTP packets of a track so far.
public struct PacketsCounted: Sendable, Hashable, Codable {
    /// The track's number.
    public var track: Int
    /// Packets that came.
    public var received: UInt64
    /// Packets that should have come and did not; negative with duplicates (RFC 3550, 6.4.1).
    public var lost: Int64
    /// Packets among those received that had been lost and came again over RTX (RFC 4588); `nil` if they were not
    /// counted.
    public var repaired: UInt64?

    /// A record with each part given.
    public init(track: Int, received: UInt64, lost: Int64, repaired: UInt64? = nil) {
        self.track = track
        self.received = received
        self.lost = lost
        self.repaired = repaired
    }
}

/// A track's file was finished.
public struct TrackClosed: Sendable, Hashable, Codable {
    /// The track's number.
    public var track: Int
    /// Units written.
    public var units: UInt64
    /// Bytes of payload written.
    public var bytes: UInt64
    /// Keyframes among the units; every unit of an audio track counts as one.
    public var keyframes: UInt64
    /// The latest unwrapped RTP time of a unit.
    public var lastRTPTime: Int64
    /// Why, in a word or two.
    public var reason: String
    /// RTP packets that the units came in; `nil` in journals of versions that did not count them.
    public var packets: UInt64?

    /// A record with each part given.
    public init(
        track: Int,
        units: UInt64,
        bytes: UInt64,
        keyframes: UInt64,
        lastRTPTime: Int64,
        reason: String,
        packets: UInt64? = nil
    ) {
        self.track = track
        self.units = units
        self.bytes = bytes
        self.keyframes = keyframes
        self.lastRTPTime = lastRTPTime
        self.reason = reason
        self.packets = packets
    }

    private enum CodingKeys: String, CodingKey {
        case track, units, bytes, keyframes, reason, packets
        case lastRTPTime = "last_rtp"
    }
}

/// From this unit on, the frames of a track refer to some that are not in its file, until it is mended.
///
/// A track that was cut off and loses packets before it is mended is damaged twice.
public struct TrackDamaged: Sendable, Hashable, Codable {
    /// The track's number.
    public var track: Int
    /// Unwrapped RTP time of the first unit after the loss.
    public var rtpTime: Int64
    /// Packets that were lost there; 0 where a file begins without a keyframe, because its track went over a cut so.
    public var lostPackets: UInt64

    /// A record with each part given.
    public init(track: Int, rtpTime: Int64, lostPackets: UInt64) {
        self.track = track
        self.rtpTime = rtpTime
        self.lostPackets = lostPackets
    }

    private enum CodingKeys: String, CodingKey {
        case track
        case rtpTime = "rtp"
        case lostPackets = "lost"
    }
}

/// From this unit on, a keyframe, the frames of a damaged track can be decoded again.
public struct TrackMended: Sendable, Hashable, Codable {
    /// The track's number.
    public var track: Int
    /// Unwrapped RTP time of the keyframe.
    public var rtpTime: Int64
    /// Units of the track that cannot be decoded, since it was damaged.
    public var units: UInt64

    /// A record with each part given.
    public init(track: Int, rtpTime: Int64, units: UInt64) {
        self.track = track
        self.rtpTime = rtpTime
        self.units = units
    }

    private enum CodingKeys: String, CodingKey {
        case track, units
        case rtpTime = "rtp"
    }
}

/// A participant's message to the others, received over a data channel or the room's signalling.
public struct ChatMessage: Sendable, Hashable, Codable {
    /// The room server's name for the peer.
    public var participant: String
    /// The text, unsanitised, at most 4096 bytes.
    public var text: String
    /// Name of the data channel, unsanitised, at most 128 bytes; `nil` if it has no name.
    public var label: String?

    /// A record with each part given.
    public init(participant: String, text: String, label: String? = nil) {
        self.participant = participant
        self.text = text
        self.label = label
    }
}

/// New details of a recording; they replace the previous ones.
public struct DetailsChanged: Sendable, Hashable, Codable {
    /// Words to find it by; `nil` if they stay.
    public var tags: [String]?
    /// Notes about it, empty to remove them; `nil` to keep them.
    public var notes: String?

    /// A record with each part given.
    public init(tags: [String]? = nil, notes: String? = nil) {
        self.tags = tags
        self.notes = notes
    }

    /// Replaces the earlier details.
    public func apply(to tags: inout [String], _ notes: inout String?) {
        tags = self.tags ?? tags
        if let text = self.notes { notes = text.isEmpty ? nil : text }
    }
}

/// Something that happened at an instant of the call and is worth finding again.
public struct Marker: Sendable, Hashable, Codable {
    /// The event: `paused`, `resumed`, `mark`, `muted`, `unmuted`, `camera-off`, `camera-on`, or `stalled`, when the
    /// recorder's process stood still until now.
    public var name: String
    /// Whom it concerns.
    public var participant: String?
    /// Which track it concerns.
    public var track: Int?
    /// Additional human-readable text.
    public var text: String?
    /// For how long it has been so, in nanoseconds; only of `stalled`.
    public var lastedNanoseconds: Int64?

    /// The text of a `stalled` that was a suspended machine: the clock of the recording stood still as well.
    public static let suspended = "suspended"

    /// Whether no time passed in the recording during the event.
    public var isSuspension: Bool { self.name == "stalled" && self.text == Self.suspended }

    /// A record with each part given.
    public init(
        name: String,
        participant: String? = nil,
        track: Int? = nil,
        text: String? = nil,
        lastedNanoseconds: Int64? = nil
    ) {
        self.name = name
        self.participant = participant
        self.track = track
        self.text = text
        self.lastedNanoseconds = lastedNanoseconds
    }

    private enum CodingKeys: String, CodingKey {
        case name, participant, track, text
        case lastedNanoseconds = "lasted_ns"
    }
}

/// The last record of a recording that ended normally.
public struct RecordingFinished: Sendable, Hashable, Codable {
    /// The reason that `tapedeck repair` gives.
    public static let repaired = "repaired"
    /// The reason of a recording whose recorder left the room.
    public static let left = "left"

    /// Why, in a word or two.
    public var reason: String

    /// A record with the reason given.
    public init(reason: String) {
        self.reason = reason
    }
}
