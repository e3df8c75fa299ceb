// SPDX-License-Identifier: Apache-2.0

/// What is measured of a room at one time.
public struct RoomMeasurement: Sendable, Hashable {
    /// One received track; its counts only rise while it is listed.
    public struct Track: Sendable, Hashable {
        /// Its number in the recording; 0 when it is not recorded.
        public var number: Int
        /// The sending participant's id; tells tracks apart, and is never shown.
        public var participant: String
        /// `audio` or `video`.
        public var kind: String
        /// The codec's short name.
        public var codec: String
        /// Whether it still receives.
        public var isOpen: Bool
        /// Bytes of media.
        public var bytes: UInt64
        /// Packets that never came.
        public var lostPackets: UInt64
        /// Picture loss indications that we sent.
        public var keyframeRequests: UInt64
        /// Interarrival jitter, if known.
        public var jitterSeconds: Double?

        /// A track with each part given.
        public init(
            number: Int,
            participant: String,
            kind: String,
            codec: String,
            isOpen: Bool = true,
            bytes: UInt64 = 0,
            lostPackets: UInt64 = 0,
            keyframeRequests: UInt64 = 0,
            jitterSeconds: Double? = nil
        ) {
            self.number = number
            self.participant = participant
            self.kind = kind
            self.codec = codec
            self.isOpen = isOpen
            self.bytes = bytes
            self.lostPackets = lostPackets
            self.keyframeRequests = keyframeRequests
            self.jitterSeconds = jitterSeconds
        }
    }

    /// Everybody but us.
    public var participants: Int
    /// Whether media are written.
    public var isRecording: Bool
    /// Age of the oldest unit that is not yet written, if known.
    public var recordingLagSeconds: Double?
    /// Round trip time to the farthest participant, if known.
    public var roundTripSeconds: Double?
    /// Every track, ended ones too as long as they are known.
    public var tracks: [Track]

    /// A measurement with each part given.
    public init(
        participants: Int,
        isRecording: Bool,
        recordingLagSeconds: Double? = nil,
        roundTripSeconds: Double? = nil,
        tracks: [Track] = []
    ) {
        self.participants = participants
        self.isRecording = isRecording
        self.recordingLagSeconds = recordingLagSeconds
        self.roundTripSeconds = roundTripSeconds
        self.tracks = tracks
    }
}

/// What came new since the last measurement of a room.
///
/// Tracks come and go with recordings and workers, and their counts begin again; what a counter shows must only rise
/// by what really came. So it is the growth of each track that counts.
struct RoomGrowth: Sendable {
    /// Counts that rise.
    struct Counts: Sendable, Hashable {
        var bytes: UInt64 = 0
        var lostPackets: UInt64 = 0
        var keyframeRequests: UInt64 = 0
    }

    /// What growth is shown by.
    struct Group: Sendable, Hashable {
        var kind: String
        var codec: String
    }

    private struct Key: Hashable {
        var number: Int
        var participant: String
        var group: Group
    }

    private var last: [Key: Counts] = [:]

    /// The growth of all tracks since the last call, by kind and codec.
    ///
    /// A track that is new, or whose bytes are fewer than before, counts from zero. Bytes decide for the other counts:
    /// the number of lost packets falls also when a late one comes.
    mutating func advance(to tracks: [RoomMeasurement.Track]) -> [Group: Counts] {
        var next: [Key: Counts] = [:]
        var growth: [Group: Counts] = [:]
        for track in tracks {
            let group = Group(kind: track.kind, codec: track.codec)
            let key = Key(number: track.number, participant: track.participant, group: group)
            var before = next[key] ?? self.last[key] ?? Counts()
            if track.bytes < before.bytes { before = Counts() }
            let counts = Counts(
                bytes: track.bytes,
                lostPackets: max(track.lostPackets, before.lostPackets),
                keyframeRequests: max(track.keyframeRequests, before.keyframeRequests)
            )
            next[key] = counts
            growth[group, default: Counts()].bytes &+= counts.bytes - before.bytes
            growth[group, default: Counts()].lostPackets &+= counts.lostPackets - before.lostPackets
            growth[group, default: Counts()].keyframeRequests &+= counts.keyframeRequests - before.keyframeRequests
        }
        self.last = next
        return growth
    }
}
