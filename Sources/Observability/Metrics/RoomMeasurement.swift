// SPDX-License-Identifier: Apache-2.0

/// Measurements of a room at one time.
public struct RoomMeasurement: Sendable, Hashable {
    /// One received track; its counts only rise while it is listed.
    public struct Track: Sendable, Hashable {
        /// Its number in the recording; 0 when it is not recorded.
        public var number: Int
        /// The sending participant's id; distinguishes tracks, and is never shown.
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
        /// PLI requests that we sent (RFC 4585 section 6.3.1).
        public var keyframeRequests: UInt64
        /// Interarrival jitter, if known.
        public var jitterSeconds: Double?
        /// Its audio level; `nil` for video, and where the sender does not send it.
        public var sound: Sound?

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
            jitterSeconds: Double? = nil,
            sound: Sound? = nil
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
            self.sound = sound
        }
    }

    /// An audio level.
    public struct Sound: Sendable, Hashable {
        /// In dBov over a second, if anything comes.
        public var decibels: Double?
        /// How long it has been silent.
        public var silentSeconds: Double

        /// A level with each part given.
        public init(decibels: Double?, silentSeconds: Double) {
            self.decibels = decibels
            self.silentSeconds = silentSeconds
        }
    }

    /// A place that tracks are sent on to; its counts only rise while its worker lives.
    public struct Output: Sendable, Hashable {
        /// Its name; distinguishes outputs, and is never shown.
        public var name: String
        /// Whether packets do not get away.
        public var isFailing: Bool
        /// Packets sent.
        public var packets: UInt64
        /// Their bytes.
        public var bytes: UInt64
        /// Packets that did not get away.
        public var droppedPackets: UInt64

        /// An output with each part given.
        public init(name: String, isFailing: Bool, packets: UInt64, bytes: UInt64, droppedPackets: UInt64) {
            self.name = name
            self.isFailing = isFailing
            self.packets = packets
            self.bytes = bytes
            self.droppedPackets = droppedPackets
        }
    }

    /// Number of participants without us.
    public var participants: Int
    /// Whether media are written.
    public var isRecording: Bool
    /// The longest time from a unit's arrival to the end of its write since the measurement before, if anything was written.
    public var recordingLagSeconds: Double?
    /// Round trip time to the farthest participant, if known.
    public var roundTripSeconds: Double?
    /// Packets of more sources than a connection may have, by participant.
    public var refusedPackets: [String: UInt64]
    /// Sender reports that were left out because there were too many, by participant.
    public var droppedReports: [String: UInt64]
    /// Units that were not written because the disk was too slow or there were too many, by participant.
    public var droppedUnits: [String: UInt64]
    /// Packets that came while a recording was made and are in no file of it, by participant and reason.
    public var unrecordedPackets: [String: [String: UInt64]]
    /// The level of our own audio; `nil` while no peer takes it.
    public var cameraAudio: Sound?
    /// Bits a second that are asked of the camera's video encoder, the least if there are several; nil while none runs.
    public var cameraBitsPerSecond: Int?
    /// How often that was lowered, since the camera began; nil without a camera.
    public var cameraReductions: UInt64?
    /// How often a source of the camera failed, since the camera began; nil without a camera.
    public var cameraFailures: UInt64?
    /// Video frames and audio buffers that its encoders had no time for, since the camera began; nil without a camera.
    public var cameraDropped: UInt64?
    /// Every track, ended ones too as long as they are known.
    public var tracks: [Track]
    /// Every output.
    public var outputs: [Output]

    /// A measurement with each part given.
    public init(
        participants: Int,
        isRecording: Bool,
        recordingLagSeconds: Double? = nil,
        roundTripSeconds: Double? = nil,
        refusedPackets: [String: UInt64] = [:],
        droppedReports: [String: UInt64] = [:],
        droppedUnits: [String: UInt64] = [:],
        unrecordedPackets: [String: [String: UInt64]] = [:],
        cameraAudio: Sound? = nil,
        cameraBitsPerSecond: Int? = nil,
        cameraReductions: UInt64? = nil,
        cameraFailures: UInt64? = nil,
        cameraDropped: UInt64? = nil,
        tracks: [Track] = [],
        outputs: [Output] = []
    ) {
        self.participants = participants
        self.isRecording = isRecording
        self.recordingLagSeconds = recordingLagSeconds
        self.roundTripSeconds = roundTripSeconds
        self.refusedPackets = refusedPackets
        self.droppedReports = droppedReports
        self.droppedUnits = droppedUnits
        self.unrecordedPackets = unrecordedPackets
        self.cameraAudio = cameraAudio
        self.cameraBitsPerSecond = cameraBitsPerSecond
        self.cameraReductions = cameraReductions
        self.cameraFailures = cameraFailures
        self.cameraDropped = cameraDropped
        self.tracks = tracks
        self.outputs = outputs
    }
}

/// New counts since the last measurement of a room.
///
/// Tracks come and go with recordings and workers, and their counts restart; a counter must only rise by packets that
/// really came. The growth of each track is therefore what counts.
struct RoomGrowth: Sendable {
    /// Counts that rise.
    struct Counts: Sendable, Hashable {
        var bytes: UInt64 = 0
        var lostPackets: UInt64 = 0
        var keyframeRequests: UInt64 = 0
    }

    /// The labels of growth.
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
            // Packets that a track counted before its file began are in the file's counts, too. Those without a file
            // come first.
            let withoutFile = Key(number: 0, participant: track.participant, group: group)
            if next[key] == nil, self.last[key] == nil, next[withoutFile] == nil,
                let counted = self.last.removeValue(forKey: withoutFile)
            {
                before = counted
            }
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

/// Packets that outputs of a room sent since the last measurement; with each worker their counts restart.
struct OutputGrowth: Sendable {
    /// Counts that rise.
    struct Counts: Sendable, Hashable {
        var packets: UInt64 = 0
        var bytes: UInt64 = 0
        var droppedPackets: UInt64 = 0
    }

    private var last: [String: Counts] = [:]

    /// The growth over all outputs since the last call; one that is new, or that counts less than before, counts from
    /// zero.
    mutating func advance(to outputs: [RoomMeasurement.Output]) -> Counts {
        var next: [String: Counts] = [:]
        var growth = Counts()
        for output in outputs {
            let counts = Counts(packets: output.packets, bytes: output.bytes, droppedPackets: output.droppedPackets)
            var before = self.last[output.name] ?? Counts()
            if counts.packets < before.packets || counts.droppedPackets < before.droppedPackets { before = Counts() }
            growth.packets &+= counts.packets - before.packets
            growth.bytes &+= counts.bytes &- before.bytes
            growth.droppedPackets &+= counts.droppedPackets - before.droppedPackets
            next[output.name] = counts
        }
        self.last = next
        return growth
    }
}

/// The growth of one count, which begins again with another worker or another camera.
struct CountGrowth: Sendable {
    /// Where it stood.
    var last: UInt64 = 0

    /// The growth since the last call; a count that is less than before counts from zero.
    mutating func advance(to count: UInt64) -> UInt64 {
        defer { self.last = count }
        return count >= self.last ? count - self.last : count
    }

    /// The same of a count that may not be there; when it comes back it begins again.
    mutating func advance(to count: UInt64?) -> UInt64? {
        guard let count else {
            self.last = 0
            return nil
        }
        return self.advance(to: count) as UInt64
    }
}

/// Packets that were refused since the last measurement; with each worker their counts begin again.
struct RefusalGrowth: Sendable {
    /// It includes participants that are absent at the moment: a worker continues their counts when they come again.
    private var last: [String: UInt64] = [:]

    /// As many as a worker keeps counts of, and those who are there.
    private static let maximumAbsent = 1024

    /// The growth over all participants since the last call; one that counts less than before counts from zero.
    mutating func advance(to refused: [String: UInt64]) -> UInt64 {
        let growth: UInt64 = refused.reduce(0) { sum, each in
            var count = CountGrowth(last: self.last[each.key] ?? 0)
            return sum &+ count.advance(to: each.value)
        }
        let absent = self.last.filter { $0.value > 0 && refused[$0.key] == nil }
        self.last = refused
        for (participant, count) in absent.prefix(Self.maximumAbsent) { self.last[participant] = count }
        return growth
    }
}
