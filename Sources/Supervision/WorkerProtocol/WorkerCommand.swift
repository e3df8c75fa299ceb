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
    /// Changes what we send; `nil` sends nothing from now on.
    case camera(room: String, CameraOrder?)
    /// Changes what is recorded while the call goes on; `nil` finishes the recording and starts none by itself.
    case recordOrder(room: String, RecordOrder?)
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
    /// The storage directory.
    public var storage: String
    /// Whether and what is recorded; `nil` records nothing until `.record`.
    public var record: RecordOrder?
    /// The folder of an unfinished recording of this room that goes on as its next part.
    public var continues: String?
    /// What we send; `nil` receives only.
    public var send: CameraOrder?
    /// About how many seconds a full room is left alone before the next try, 1 to 86 400; `nil`: 5, 10, 20, then every 30.
    public var whenFullSeconds: Int?
    /// How many seconds we stay away after the server put us out, 1 to 86 400; `nil`: until somebody asks.
    ///
    /// The worker gives the room up; the supervisor waits.
    public var afterKickSeconds: Int?
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
    /// Seconds without anybody in the room after which the recording is finished; the next media start another.
    public var emptyAfterSeconds = 30

    /// Everything, by itself.
    public init() {}
}

/// What we send into a room.
public struct CameraOrder: Sendable, Hashable, Codable {
    /// `test`, `v4l2:/dev/video0` or `file:PATH`; `nil` sends no picture.
    public var video: String?
    /// `test`, `alsa:default` or `file:PATH`; `nil` sends no sound.
    public var audio: String?
    /// The codec offered first: `h264` or `vp8`.
    public var preferredCodec = "vp8"
    /// Picture width in pixels, even, 320 or more.
    public var width = 1280
    /// Picture height in pixels, even, 180 or more.
    public var height = 720
    /// Frames a second, 1 to 60.
    public var framesPerSecond = 30
    /// Video bits a second.
    public var bitsPerSecond = 1_500_000

    /// The test picture and the test sound.
    public init(video: String? = "test", audio: String? = "test") {
        self.video = video
        self.audio = audio
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
    /// Lowest local UDP port for media; `nil` leaves it to the system.
    public var firstPort: UInt16?
    /// Highest local UDP port for media.
    public var lastPort: UInt16?

    /// Every interface, any port, no server.
    public init() {}
}
