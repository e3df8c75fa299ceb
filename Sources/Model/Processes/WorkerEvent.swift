// SPDX-License-Identifier: Apache-2.0

public import Timeline

/// The reports of a worker to the supervisor: one JSON object a line on its standard output.
///
/// Log lines go to standard error.
public enum WorkerEvent: Sendable, Hashable, Codable {
    /// The first line: the worker takes commands from now on.
    case ready(protocolVersion: Int, processID: Int32)
    /// Once a second, sent by the thread that performs commands: a worker that hangs sends none.
    case heartbeat(WorkerVitals)
    /// We are a member of the room; again after each re-join.
    case joined(room: String)
    /// The room has no slot for us, or its server is out of reach; the worker tries again automatically.
    case notJoined(room: String, reason: String)
    /// The worker is in the room no more; the last event about it.
    case left(room: String, LeaveReason)
    /// What the room looks like: after each change, at most once a second, and every 5 s.
    case status(room: String, RoomStatus)
    /// A recording, or the next part of one, began.
    case recordingStarted(room: String, RecordingReference)
    /// Every file of a recording is closed; it can be exported.
    case recordingFinished(room: String, RecordingReference, reason: String)
    /// Media are being lost on this side: the disk is full, broken or too slow, or, if not `byDisk`, a participant sends
    /// what cannot be recorded, the worker stood still, or a file or folder was moved or deleted.
    case recordingDegraded(room: String, RecordingReference, reason: String, byDisk: Bool)
    /// A participant came.
    case participantJoined(room: String, participant: String)
    /// A participant left.
    case participantLeft(room: String, participant: String, reason: String)
    /// A peer was refused, or failed for good, and why.
    case peerRefused(room: String, participant: String, reason: String)
    /// From a participant's offer to the first unit in the file; `parts` are the steps by name, in milliseconds.
    case firstUnit(room: String, participant: String, kind: String, milliseconds: Double, parts: [String: Double])
    /// What is sent to an output does not get away, or no one listens there.
    case outputFailed(room: String, output: String, reason: String)
    /// An output that failed works again.
    case outputRecovered(room: String, output: String)
    /// A part of a participant's last keyframe, answering the `.thumbnail` of that number.
    case keyframe(room: String, participant: String, KeyframePart, number: UInt64?)
    /// A pipeline's graph in the DOT language, answering `.graph`.
    case graph(room: String, pipeline: String, dot: String)
    /// A command was performed; what only a status, an image or a graph shows is in that.
    case commandDone(room: String, command: String, number: UInt64? = nil)
    /// A command could not be performed; `participant` is whom a `.thumbnail` asked for. Without a number also for what
    /// no request ordered, as the camera of a room that is joined.
    case commandFailed(
        room: String?,
        command: String,
        participant: String? = nil,
        reason: String,
        number: UInt64? = nil
    )
}

extension WorkerEvent {
    /// The room that it speaks of; `nil` where it speaks of the worker.
    public var room: String? {
        switch self {
        case .ready, .heartbeat: nil
        case .joined(let room), .notJoined(let room, _), .left(let room, _), .status(let room, _),
            .recordingStarted(let room, _), .recordingFinished(let room, _, _), .recordingDegraded(let room, _, _, _),
            .participantJoined(let room, _), .participantLeft(let room, _, _), .peerRefused(let room, _, _),
            .firstUnit(let room, _, _, _, _), .outputFailed(let room, _, _), .outputRecovered(let room, _),
            .keyframe(let room, _, _, _), .graph(let room, _, _), .commandDone(let room, _, _):
            room
        case .commandFailed(let room, _, _, _, _): room
        }
    }
}

/// Why a worker is in a room no more.
public enum LeaveReason: Sendable, Hashable, Codable {
    /// It was ordered to.
    case ordered
    /// It cannot be in the room: the message says why, and `retriable` whether another try may help.
    case failed(message: String, retriable: Bool)
    /// The room server kicked us, or disconnected us when we joined.
    case removed(message: String)
}

/// How a worker process is.
public struct WorkerVitals: Sendable, Hashable, Codable {
    /// CPU seconds used since the start, user and system.
    public var cpuSeconds: Double
    /// Resident memory in bytes.
    public var residentBytes: Int64
    /// Threads.
    public var threads: Int
    /// Open file descriptors.
    public var descriptors: Int
    /// Connections whose sockets are read in turn with those of others.
    public var sharedConnections: Int
    /// Connections that held up others with that, since the start.
    public var slowConnections: UInt64
    /// Tracks whose packets take the whole way through webrtcbin, since the start.
    public var longTracks: UInt64
    /// Packets of media that were not made with their connection's key, since the start.
    public var forgedPackets: UInt64
    /// GStreamer objects alive; `nil` where they are not counted, which is the usual case.
    public var objects: Int?
    /// Bytes that were allocated and not freed, as the C library counts them; `nil` as `objects` is.
    public var allocatedBytes: Int64?

    /// Vitals with each part given.
    public init(
        cpuSeconds: Double,
        residentBytes: Int64,
        threads: Int,
        descriptors: Int,
        sharedConnections: Int = 0,
        slowConnections: UInt64 = 0,
        longTracks: UInt64 = 0,
        forgedPackets: UInt64 = 0,
        objects: Int? = nil,
        allocatedBytes: Int64? = nil
    ) {
        self.cpuSeconds = cpuSeconds
        self.residentBytes = residentBytes
        self.threads = threads
        self.descriptors = descriptors
        self.sharedConnections = sharedConnections
        self.slowConnections = slowConnections
        self.longTracks = longTracks
        self.forgedPackets = forgedPackets
        self.objects = objects
        self.allocatedBytes = allocatedBytes
    }
}

/// Which recording is spoken of.
public struct RecordingReference: Sendable, Hashable, Codable {
    /// Its id.
    public var id: String
    /// Its folder.
    public var folder: String
    /// The part, from 1: each worker that continues the recording adds one.
    public var part: Int
    /// Its place, if it is of a series; only with `recordingStarted`.
    public var place: SeriesPlace?

    /// A reference with each part given.
    public init(id: String, folder: String, part: Int = 1, place: SeriesPlace? = nil) {
        self.id = id
        self.folder = folder
        self.part = part
        self.place = place
    }
}
