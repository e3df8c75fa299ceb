// SPDX-License-Identifier: Apache-2.0

/// What the supervisor tells a worker: one JSON object a line on its standard input.
///
/// A worker performs the commands for one room in order. A command for a room that it is not in is answered with
/// `.commandFailed` and changes nothing.
public enum WorkerCommand: Sendable, Hashable, Codable {
    /// Joins a room and stays in it until `.leave`; a worker may be in several.
    case join(RoomOrder)
    /// Finishes the room's recording and leaves; `.left` follows.
    case leave(room: String)
    /// Starts to record, or goes on recording where automatic recording was stopped.
    case record(room: String)
    /// Finishes the room's recording, stays in the room, and does not record until `.record`.
    case stopRecording(room: String)
    /// Leaves what comes out of the recording until `.resume`; the time passes in the recording.
    case pause(room: String)
    /// Ends a pause.
    case resume(room: String)
    /// Asks every sender, or one participant, for a keyframe.
    case requestKeyframe(room: String, participant: String?)
    /// Notes an instant in the recording, to be found as a chapter.
    case mark(room: String, text: String)
    /// Changes what we send; `nil` sends nothing from now on. The call goes on where pictures and sound stay what they are
    /// for peers.
    case camera(room: String, CameraOrder?)
    /// Changes what is recorded while the call goes on; `nil` finishes the recording and starts none by itself.
    case recordOrder(room: String, RecordOrder?)
    /// Sends tracks on to these places from now on; places that are the same are not touched.
    case outputs(room: String, [RTPOutputOrder])
    /// Answers with `.thumbnail` made of the participant's last keyframe.
    case thumbnail(room: String, participant: String)
    /// Answers with `.graph` for each pipeline of the room.
    case graph(room: String)
    /// Finishes every recording, leaves every room, and ends with exit code 0.
    case shutDown
}

/// Everything that a worker needs to be in a room.
public struct RoomOrder: Sendable, Hashable, Codable {
    /// The display name of those who were given none.
    public static let usualName = "tapedeck"
    /// The room's name in the configuration: how commands and events speak of it.
    public var name: String
    /// The room URL, with its secrets.
    public var url: String
    /// The name under which we appear to others, where the protocol has one.
    public var displayName: String
    /// The password of our account, the room's PIN, or the token; `nil` where there is none.
    public var secret: String?
    /// The storage directory.
    public var storage: String
    /// Whether and what is recorded; `nil` records nothing until `.record`.
    public var record: RecordOrder?
    /// The folder of an unfinished recording of this room that goes on as its next part.
    public var continues: String?
    /// What we send; `nil` receives only.
    public var send: CameraOrder?
    /// Where tracks are sent on; `nil`: nowhere.
    public var outputs: [RTPOutputOrder]?
    /// About how many seconds a full room is left alone before the next try, 1 to 86 400; `nil`: 5, 10, 20, then every 30.
    public var whenFullSeconds: Int?
    /// How many seconds we stay away after the server put us out, 1 to 86 400; `nil`: until somebody asks.
    ///
    /// The worker gives the room up; the supervisor waits.
    public var afterKickSeconds: Int?
    /// How important the room is where not all of them can be joined, 0 to 100; `nil`: 50.
    ///
    /// For the supervisor; a worker has the rooms that it is given.
    public var priority: Int?
    /// The priority of rooms that say nothing of it.
    public static let usualPriority = 50
    /// How peers reach us.
    public var ice: ICEOrder

    /// An order that records nothing and sends nothing.
    public init(name: String, url: String, displayName: String = RoomOrder.usualName, storage: String) {
        self.name = name
        self.url = url
        self.displayName = displayName
        self.storage = storage
        self.ice = ICEOrder()
    }
}

/// What is recorded.
public struct RecordOrder: Sendable, Hashable, Codable {
    /// Whether a recording starts by itself when media come.
    public var isAutomatic = true
    /// Whether pictures are recorded.
    public var video = true
    /// Whether sound is recorded.
    public var audio = true
    /// Whether what people write into data channels is recorded; `nil`: yes.
    public var chat: Bool?
    /// Seconds without anybody in the room after which the recording is finished; the next media start another.
    public var emptyAfterSeconds = 30
    /// The video codec that others are asked to send, `h264`, `vp8`, `vp9` or `any`; `nil`: as what we send, else `vp8`.
    public var preferredCodec: String?
    /// Seconds after which a recording is cut into the next of its series, 1 to 604 800; `nil` for no such limit.
    public var segmentSeconds: Int?
    /// Bytes after which a recording is cut, where `segmentSeconds` is `nil`; 1 and up.
    public var segmentBytes: Int64?
    /// Milliseconds of what came before `.record` that are recorded, up to 60 000; `nil` for none.
    public var prerollMilliseconds: Int?
    /// How often written data are forced to the disk, in milliseconds, 100 to 60 000; `nil`: every second.
    public var synchroniseMilliseconds: Int?
    /// Words to find the recordings by.
    public var tags: [String]?
    /// What people wrote about them.
    public var notes: String?

    /// Everything, by itself.
    public init() {}
}

/// What we send into a room.
public struct CameraOrder: Sendable, Hashable, Codable {
    /// A capture as `NAME` or `NAME:ARGUMENT`, such as `test`, `v4l2:/dev/video0`, `file:PATH`; `nil` sends no picture.
    public var video: String?
    /// A capture, such as `test`, `alsa:default` or `file:PATH`; `nil` sends no sound.
    public var audio: String?
    /// Values for parameters of the capture files, by name.
    public var parameters: [String: String]?
    /// Absolute path of the operator's folder of pipeline files; `nil` for none.
    public var pipelines: String?
    /// The codec offered first: `h264`, `vp8` or `vp9`; `any` leaves it to the peers.
    public var preferredCodec = "vp8"
    /// Picture width in pixels, even, 320 or more.
    public var width = 1280
    /// Picture height in pixels, even, 180 or more.
    public var height = 720
    /// Frames a second, 1 to 60.
    public var framesPerSecond = 30
    /// Video bits a second.
    public var bitsPerSecond = 1_500_000
    /// Video bits a second that are sent where the network takes no more, at most `bitsPerSecond`; as much fixes the
    /// rate.
    public var minimumBitsPerSecond = 100_000
    /// Sound bits a second, 6000 to 510 000.
    public var audioBitsPerSecond = 64_000
    /// Whether Opus has in-band error correction.
    public var audioFEC = true
    /// Whether Opus pauses in silence.
    public var audioDTX = false
    /// Whether devices stay open while nobody receives what they give.
    public var keepsOpen = false
    /// Whether pictures are black, and a camera is closed.
    public var videoMuted = false
    /// Whether there is silence, and a microphone is closed.
    public var audioMuted = false
    /// Whether the last picture stands still.
    public var frozen = false

    /// The test picture and the test sound.
    public init(video: String? = "test", audio: String? = "test") {
        self.video = video
        self.audio = audio
    }

    /// Reads an order; without `video` or `audio` there is none, what else is missing has its default.
    public init(from decoder: any Decoder) throws {
        let values = try decoder.container(keyedBy: CodingKeys.self)
        self.video = try values.decodeIfPresent(String.self, forKey: .video)
        self.audio = try values.decodeIfPresent(String.self, forKey: .audio)
        self.parameters = try values.decodeIfPresent([String: String].self, forKey: .parameters)
        self.pipelines = try values.decodeIfPresent(String.self, forKey: .pipelines)
        func take<Value: Decodable>(_ path: WritableKeyPath<Self, Value>, _ key: CodingKeys) throws {
            if let value = try values.decodeIfPresent(Value.self, forKey: key) { self[keyPath: path] = value }
        }
        try take(\.preferredCodec, .preferredCodec)
        try take(\.width, .width)
        try take(\.height, .height)
        try take(\.framesPerSecond, .framesPerSecond)
        try take(\.bitsPerSecond, .bitsPerSecond)
        self.minimumBitsPerSecond = min(self.minimumBitsPerSecond, self.bitsPerSecond)
        try take(\.minimumBitsPerSecond, .minimumBitsPerSecond)
        try take(\.audioBitsPerSecond, .audioBitsPerSecond)
        try take(\.audioFEC, .audioFEC)
        try take(\.audioDTX, .audioDTX)
        try take(\.keepsOpen, .keepsOpen)
        try take(\.videoMuted, .videoMuted)
        try take(\.audioMuted, .audioMuted)
        try take(\.frozen, .frozen)
    }
}

/// How peers reach us.
public struct ICEOrder: Sendable, Hashable, Codable {
    /// One STUN or TURN server.
    public struct Server: Sendable, Hashable, Codable {
        /// Its URLs (RFC 7064, RFC 7065).
        public var urls: [String]
        /// The user name of a TURN server.
        public var username: String?
        /// The password of a TURN server.
        public var credential: String?

        /// A server with each part given.
        public init(urls: [String], username: String? = nil, credential: String? = nil) {
            self.urls = urls
            self.username = username
            self.credential = credential
        }
    }

    /// STUN and TURN servers.
    public var servers: [Server] = []
    /// Local addresses for media; empty: every interface but loopback, and loopback too if the room server is on it.
    public var hostAddresses: [String] = []
    /// Whether media go through TURN servers only.
    public var relaysOnly = false
    /// Whether servers that the room's server offers are used beside `servers`.
    public var usesOffered = true
    /// Their hosts: names, addresses, `*.DOMAIN`; empty: any.
    public var offeredHosts: [String] = []
    /// Lowest local UDP port for media; `nil` leaves it to the system.
    public var firstPort: UInt16?
    /// Highest local UDP port for media.
    public var lastPort: UInt16?

    /// Every interface, any port, no server.
    public init() {}

    /// Reads an order; what is missing has its default.
    public init(from decoder: any Decoder) throws {
        let values = try decoder.container(keyedBy: CodingKeys.self)
        self.servers = try values.decodeIfPresent([Server].self, forKey: .servers) ?? []
        self.hostAddresses = try values.decodeIfPresent([String].self, forKey: .hostAddresses) ?? []
        self.relaysOnly = try values.decodeIfPresent(Bool.self, forKey: .relaysOnly) ?? false
        self.usesOffered = try values.decodeIfPresent(Bool.self, forKey: .usesOffered) ?? true
        self.offeredHosts = try values.decodeIfPresent([String].self, forKey: .offeredHosts) ?? []
        self.firstPort = try values.decodeIfPresent(UInt16.self, forKey: .firstPort)
        self.lastPort = try values.decodeIfPresent(UInt16.self, forKey: .lastPort)
    }
}
