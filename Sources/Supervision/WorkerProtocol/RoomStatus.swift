// SPDX-License-Identifier: Apache-2.0

/// What a room looks like from inside its worker.
public struct RoomStatus: Sendable, Hashable, Codable {
    /// Somebody in the room.
    public struct Participant: Sendable, Hashable, Codable {
        /// The room server's name for the peer; untrusted.
        public var id: String
        /// Whether media can flow.
        public var isConnected: Bool

        /// A participant with each part given.
        public init(id: String, isConnected: Bool) {
            self.id = id
            self.isConnected = isConnected
        }

        private enum CodingKeys: String, CodingKey {
            case id, isConnected = "connected"
        }
    }

    /// One received track; counters only rise while the track is open.
    public struct Track: Sendable, Hashable, Codable {
        /// Its number in the recording; 0 when it is not recorded.
        public var number: Int
        /// The sending participant's id.
        public var participant: String
        /// `video` or `audio`.
        public var kind: String
        /// The codec's short name, such as `vp8`.
        public var codec: String
        /// Picture width in pixels; `nil` for sound.
        public var width: Int?
        /// Picture height in pixels; `nil` for sound.
        public var height: Int?
        /// Units written.
        public var units: UInt64
        /// Bytes written, without container.
        public var bytes: UInt64
        /// Packets that never came.
        public var lostPackets: UInt64
        /// Interarrival jitter in milliseconds (RFC 3550, 6.4.1), if known.
        public var jitterMilliseconds: Double?
        /// Picture loss indications that we sent.
        public var keyframeRequests: UInt64
        /// Whether the track still receives.
        public var isOpen: Bool

        /// A track with each part given.
        public init(
            number: Int,
            participant: String,
            kind: String,
            codec: String,
            width: Int? = nil,
            height: Int? = nil,
            units: UInt64 = 0,
            bytes: UInt64 = 0,
            lostPackets: UInt64 = 0,
            jitterMilliseconds: Double? = nil,
            keyframeRequests: UInt64 = 0,
            isOpen: Bool = true
        ) {
            self.number = number
            self.participant = participant
            self.kind = kind
            self.codec = codec
            self.width = width
            self.height = height
            self.units = units
            self.bytes = bytes
            self.lostPackets = lostPackets
            self.jitterMilliseconds = jitterMilliseconds
            self.keyframeRequests = keyframeRequests
            self.isOpen = isOpen
        }

        private enum CodingKeys: String, CodingKey {
            case number, participant, kind, codec, width, height, units, bytes, lostPackets, jitterMilliseconds
            case keyframeRequests, isOpen = "open"
        }
    }

    /// Whether anything is recorded at present.
    public enum RecordingState: String, Sendable, Hashable, Codable, CaseIterable {
        /// Nothing, and nothing will be by itself.
        case off
        /// A recording starts when media come.
        case waiting
        /// Media are written.
        case recording
        /// What comes is left out.
        case paused
    }

    /// Whether we are a member of the room.
    public var isJoined = false
    /// Whether anything is recorded.
    public var recordingState: RecordingState = .off
    /// The recording that goes on.
    public var recording: RecordingReference?
    /// Everybody but us.
    public var participants: [Participant] = []
    /// Every track of the recording, or of the room when nothing is recorded.
    public var tracks: [Track] = []
    /// Facts counted by kind: what was ignored, refused, rebuilt.
    public var counters: [String: Int] = [:]

    /// An empty room that we are not in.
    public init() {}

    private enum CodingKeys: String, CodingKey {
        case isJoined = "joined"
        case recordingState, recording, participants, tracks, counters
    }
}
