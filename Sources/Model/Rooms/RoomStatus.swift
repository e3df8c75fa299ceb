// SPDX-License-Identifier: Apache-2.0

public import Basics

/// What a room looks like from inside its worker.
public struct RoomStatus: Sendable, Hashable, Codable {
    /// A participant.
    public struct Participant: Sendable, Hashable, Codable {
        /// The room server's name for the peer; untrusted.
        public var id: String
        /// What the participant is called, if it said so; one line of untrusted text.
        public var name: String?
        /// How people see the participant: the name, a number behind it where others have the same one, or the id.
        public var shownName: String
        /// Whether media can flow.
        public var isConnected: Bool
        /// The kinds of media that it said it may send, and that we receive.
        public var awaitedKinds: [MediaKind]
        /// The way that media take; `nil` while there is none.
        public var path: Path?
        /// Round trip in milliseconds (RFC 3550, 6.4.1); `nil` until the participant reported on media of ours.
        public var roundTripMilliseconds: Double?
        /// Packets that were dropped because they are of more sources than a connection may have.
        public var refusedPackets: UInt64
        /// Sender reports that were left out, because there are too many of them.
        public var droppedReports: UInt64
        /// Units that were not written, because the disk was too slow or there are too many of them.
        public var droppedUnits: UInt64
        /// Packets that came while a recording was made and are in no file of it, by reason (docs/verifying.md).
        public var unrecordedPackets: [String: UInt64]

        /// A participant with each part given.
        public init(
            id: String,
            name: String? = nil,
            shownName: String? = nil,
            isConnected: Bool,
            awaitedKinds: [MediaKind] = [],
            path: Path? = nil,
            roundTripMilliseconds: Double? = nil,
            refusedPackets: UInt64 = 0,
            droppedReports: UInt64 = 0,
            droppedUnits: UInt64 = 0,
            unrecordedPackets: [String: UInt64] = [:]
        ) {
            self.id = id
            self.name = name
            self.shownName = shownName ?? name ?? id
            self.isConnected = isConnected
            self.awaitedKinds = awaitedKinds
            self.path = path
            self.roundTripMilliseconds = roundTripMilliseconds
            self.refusedPackets = refusedPackets
            self.droppedReports = droppedReports
            self.droppedUnits = droppedUnits
            self.unrecordedPackets = unrecordedPackets
        }

        private enum CodingKeys: String, CodingKey {
            case id, name, shownName, isConnected = "connected", awaitedKinds, path, roundTripMilliseconds
            case refusedPackets, droppedReports, droppedUnits, unrecordedPackets
        }

        /// Counts and what is shown may be missing: a command of this version asks a daemon of an earlier one until it is restarted.
        public init(from decoder: any Decoder) throws {
            let values = try decoder.container(keyedBy: CodingKeys.self)
            func count(_ key: CodingKeys) throws -> UInt64 { try values.decodeIfPresent(UInt64.self, forKey: key) ?? 0 }
            self.init(
                id: try values.decode(String.self, forKey: .id),
                name: try values.decodeIfPresent(String.self, forKey: .name),
                shownName: try values.decodeIfPresent(String.self, forKey: .shownName),
                isConnected: try values.decode(Bool.self, forKey: .isConnected),
                awaitedKinds: try values.decodeIfPresent([MediaKind].self, forKey: .awaitedKinds) ?? [],
                path: try values.decodeIfPresent(Path.self, forKey: .path),
                roundTripMilliseconds: try values.decodeIfPresent(Double.self, forKey: .roundTripMilliseconds),
                refusedPackets: try count(.refusedPackets),
                droppedReports: try count(.droppedReports),
                droppedUnits: try count(.droppedUnits),
                unrecordedPackets: try values.decodeIfPresent([String: UInt64].self, forKey: .unrecordedPackets) ?? [:]
            )
        }
    }

    /// The way that media take, as ICE chose it (RFC 8445).
    public struct Path: Sendable, Hashable, Codable {
        /// One end of it.
        public struct End: Sendable, Hashable, Codable {
            /// `host`, `srflx`, `prflx` or `relay`.
            public var kind: String
            /// An IPv4 or IPv6 address.
            public var address: String
            /// Its port.
            public var port: UInt16
            /// `udp` or `tcp`.
            public var transport: String

            /// An end with each part given.
            public init(kind: String, address: String, port: UInt16, transport: String) {
                self.kind = kind
                self.address = address
                self.port = port
                self.transport = transport
            }
        }

        /// Ours.
        public var local: End
        /// The participant's.
        public var remote: End
        /// URL of the TURN server that lends us our end; `nil` if none does.
        public var relay: String?

        /// A path with each part given.
        public init(local: End, remote: End, relay: String? = nil) {
            self.local = local
            self.remote = remote
            self.relay = relay
        }
    }

    /// How loud an audio track is.
    public struct Sound: Sendable, Hashable, Codable {
        /// The mean of the last second in dBov (RFC 6464 section 3), -127 to 0; `nil` while nothing comes.
        public var levelDecibels: Double?
        /// How long it has been no louder than -60 dBov.
        public var silentSeconds: Double

        /// A level with each part given.
        public init(levelDecibels: Double?, silentSeconds: Double) {
            self.levelDecibels = levelDecibels
            self.silentSeconds = silentSeconds
        }
    }

    /// What we send.
    public struct Camera: Sendable, Hashable, Codable {
        /// The capture of video, without secrets; `nil` if none are sent.
        public var video: String?
        /// The capture of audio, without secrets; `nil` if none is sent.
        public var audio: String?
        /// Video width in pixels.
        public var width = 0
        /// Video height in pixels.
        public var height = 0
        /// Frames a second.
        public var framesPerSecond = 0
        /// Whether the video is black.
        public var isVideoMuted = false
        /// Whether there is silence.
        public var isAudioMuted = false
        /// Whether the last frame stands still.
        public var isFrozen = false
        /// Whether a source is away, and its slate is shown.
        public var showsSlate = false
        /// What goes into the encoder of audio; `nil` while no participant takes it.
        public var sound: Sound?

        /// A camera that shows these captures.
        public init(video: String?, audio: String?) {
            (self.video, self.audio) = (video, audio)
        }

        private enum CodingKeys: String, CodingKey {
            case video, audio, width, height, framesPerSecond, isVideoMuted = "videoMuted"
            case isAudioMuted = "audioMuted", isFrozen = "frozen", showsSlate = "slate", sound
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
        /// Video width in pixels; `nil` for audio.
        public var width: Int?
        /// Video height in pixels; `nil` for audio.
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
        /// How loud it is; `nil` for video, and where the sender does not say so.
        public var sound: Sound?
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
            sound: Sound? = nil,
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
            self.sound = sound
            self.isOpen = isOpen
        }

        private enum CodingKeys: String, CodingKey {
            case number, participant, kind, codec, width, height, units, bytes, lostPackets, jitterMilliseconds
            case keyframeRequests, sound, isOpen = "open"
        }
    }

    /// A place that tracks are sent on to.
    public struct Output: Sendable, Hashable, Codable {
        /// One stream; counters only rise while it is listed.
        public struct Stream: Sendable, Hashable, Codable {
            /// `video` or `audio`.
            public var kind: String
            /// The codec's short name, such as `vp8`.
            public var codec: String
            /// Where RTP goes; RTCP goes to the next port.
            public var port: UInt16
            /// Our own RTP port.
            public var sourcePort: UInt16
            /// RTP payload type.
            public var payloadType: UInt8
            /// Synchronisation source.
            public var ssrc: UInt32
            /// Packets sent.
            public var packets: UInt64
            /// Their bytes, RTP headers included.
            public var bytes: UInt64
            /// Packets that did not get away.
            public var droppedPackets: UInt64
            /// Keyframes that receivers needed.
            public var keyframeRequests: UInt64

            /// A stream with each part given.
            public init(
                kind: String,
                codec: String,
                port: UInt16,
                sourcePort: UInt16,
                payloadType: UInt8,
                ssrc: UInt32,
                packets: UInt64 = 0,
                bytes: UInt64 = 0,
                droppedPackets: UInt64 = 0,
                keyframeRequests: UInt64 = 0
            ) {
                self.kind = kind
                self.codec = codec
                self.port = port
                self.sourcePort = sourcePort
                self.payloadType = payloadType
                self.ssrc = ssrc
                self.packets = packets
                self.bytes = bytes
                self.droppedPackets = droppedPackets
                self.keyframeRequests = keyframeRequests
            }
        }

        /// One participant's streams.
        public struct Session: Sendable, Hashable, Codable {
            /// The participant's id.
            public var participant: String
            /// The session description (RFC 8866) for receivers.
            public var sdp: String
            /// Video, then audio.
            public var streams: [Stream]

            /// A session with each part given.
            public init(participant: String, sdp: String, streams: [Stream]) {
                self.participant = participant
                self.sdp = sdp
                self.streams = streams
            }
        }

        /// What it is called, such as `rtp://192.0.2.7:5004`.
        public var name: String
        /// `idle` (without a participant that it could send), `sending` or `failing`.
        public var state: String
        /// Why it is failing.
        public var reason: String?
        /// The participants that are sent.
        public var sessions: [Session]
        /// Packets sent since the worker came, ended streams included.
        public var packets: UInt64
        /// Their bytes, RTP headers included.
        public var bytes: UInt64
        /// Packets that did not get away.
        public var droppedPackets: UInt64

        /// An output with each part given.
        public init(
            name: String,
            state: String,
            reason: String? = nil,
            sessions: [Session] = [],
            packets: UInt64 = 0,
            bytes: UInt64 = 0,
            droppedPackets: UInt64 = 0
        ) {
            self.name = name
            self.state = state
            self.reason = reason
            self.sessions = sessions
            self.packets = packets
            self.bytes = bytes
            self.droppedPackets = droppedPackets
        }
    }

    /// Whether anything is recorded at present.
    public enum RecordingState: String, Sendable, Hashable, Codable, CaseIterable {
        /// Nothing, and nothing will be without a request.
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
    /// How many members the room takes, we among them; `nil` where it is not known to take more than two.
    public var capacity: Int?
    /// The highest epoch that another host of the cluster showed in the room; `nil` if none is there.
    public var rivalEpoch: Int?
    /// Whether anything is recorded.
    public var recordingState: RecordingState = .off
    /// The recording in progress.
    public var recording: RecordingReference?
    /// The longest time from a unit's arrival to the end of its write since the status before, in milliseconds; `nil` if
    /// nothing was written.
    public var recordingLagMilliseconds: Double?
    /// The mean of that time, in milliseconds.
    public var meanRecordingLagMilliseconds: Double?
    /// Bits a second that are asked of the camera's video encoder, the least if there are several; `nil` while none
    /// runs.
    public var cameraBitsPerSecond: Int?
    /// How often that was lowered, since the camera began; `nil` without a camera.
    public var cameraReductions: UInt64?
    /// How often a source of the camera failed, gave nothing or did not open, since the camera began; `nil` without a
    /// camera.
    public var cameraFailures: UInt64?
    /// Frames and samples of the camera that were left out because an encoder did not keep up, since the camera began; `nil`
    /// without a camera.
    public var cameraDropped: UInt64?
    /// All participants but us.
    public var participants: [Participant] = []
    /// Every track of the recording, or of the room when nothing is recorded.
    public var tracks: [Track] = []
    /// What we send; `nil` if nothing.
    public var camera: Camera?
    /// Where tracks are sent on; `nil` if nowhere.
    public var outputs: [Output]?
    /// Facts counted by kind: what was ignored, refused, rebuilt.
    public var counters: [String: Int] = [:]
    /// The revision of the `RoomSpec` that is in force, but for what was refused; `nil` until the first is, and for
    /// clients of the HTTP API.
    public var revision: UInt64?
    /// Why parts of that revision are not in force; `nil` if all are.
    public var refused: [RoomPart: String]?

    /// An empty room that we are not in.
    public init() {}

    private enum CodingKeys: String, CodingKey {
        case isJoined = "joined"
        case capacity, recordingState, recording, recordingLagMilliseconds, meanRecordingLagMilliseconds, participants,
            tracks
        case camera, cameraBitsPerSecond, cameraReductions, cameraFailures, cameraDropped, outputs, counters
        case revision, refused, rivalEpoch
    }
}
