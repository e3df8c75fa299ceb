// SPDX-License-Identifier: Apache-2.0

public import Basics

/// Where the tracks of a room are sent on as RTP, as they come, and who reads about it.
public struct OutputSpec: Sendable, Hashable, Codable {
    /// A host name or an address, multicast too.
    public var host: String
    /// RTP port of the video of the first participant, RTCP using the next; `nil` sends none.
    public var videoPort: UInt16?
    /// RTP port of the audio of the first participant, RTCP using the next; `nil` sends none.
    public var audioPort: UInt16?
    /// How many participants are sent at the same time, each with separate ports.
    public var participants = 1
    /// Ports from one participant to the next: RTP and RTCP for video and for audio.
    public var portStep = 4
    /// The only participant that is sent, by id or name; `nil`: the first that comes.
    public var participant: String?
    /// Our own first port, for firewalls and for receivers that answer to a port of their choice; `nil`: any.
    public var sourcePort: UInt16?
    /// The interface of multicast packets; `nil` leaves it to the routing table.
    public var interface: String?
    /// Routers that a packet may pass; `nil`: 1 for a group, 64 for a host.
    public var timeToLive: Int?
    /// Payload type of video; `nil`: one for each codec.
    public var videoPayloadType: UInt8?
    /// Payload type of audio; `nil`: one for each codec.
    public var audioPayloadType: UInt8?
    /// Where the session description is written, with `{place}` in it where there are several participants; `nil`:
    /// nowhere.
    public var sdpFile: String?
    /// Whether packets are encrypted (SRTP), with keys that only `sdpFile` has.
    public var isEncrypted = false
    /// Whether the only place is that of who speaks, one after the other in the same streams.
    public var followsSpeaker = false
    /// What an output is called that feeds a part of Tapedeck; `nil` for others.
    ///
    /// Packets without a receiver are no failure there.
    public var label: String?
    /// What takes the packets on the worker's host: host and ports are then the worker's choice; `nil`: nothing of ours.
    public var pipeline: PipelineOutputSpec?

    /// The most outputs of a room, without those that feed a part of Tapedeck.
    public static let maximumCount = 16
    /// In the name of a description's file: the participant's place, from 1.
    public static let placeMark = "{place}"
    /// What `participants` takes.
    public static let participantsRange = 1...64
    /// What `portStep` takes.
    public static let portStepRange = 2...1024
    /// What `timeToLive` takes.
    public static let timeToLiveRange = 1...255
    /// What payload types take.
    public static let payloadTypeRange = 0...127

    /// An output without ports, which no participant takes.
    public init(host: String) {
        self.host = host
    }

    /// Packets for a pipeline file; they do not leave the host.
    public init(pipeline: PipelineOutputSpec, participant: String? = nil) {
        self.init(host: "127.0.0.1")
        self.pipeline = pipeline
        self.participant = participant
    }

    /// Reads what is there; `host` must be, what else is missing has its default.
    public init(from decoder: any Decoder) throws {
        let values = try decoder.container(keyedBy: CodingKeys.self)
        self.host = try values.decode(String.self, forKey: .host)
        try values.read(.videoPort, into: &self.videoPort)
        try values.read(.audioPort, into: &self.audioPort)
        try values.read(.participants, into: &self.participants)
        try values.read(.portStep, into: &self.portStep)
        try values.read(.participant, into: &self.participant)
        try values.read(.sourcePort, into: &self.sourcePort)
        try values.read(.interface, into: &self.interface)
        try values.read(.timeToLive, into: &self.timeToLive)
        try values.read(.videoPayloadType, into: &self.videoPayloadType)
        try values.read(.audioPayloadType, into: &self.audioPayloadType)
        try values.read(.sdpFile, into: &self.sdpFile)
        try values.read(.isEncrypted, into: &self.isEncrypted)
        try values.read(.followsSpeaker, into: &self.followsSpeaker)
        try values.read(.label, into: &self.label)
        try values.read(.pipeline, into: &self.pipeline)
    }

    /// What the output is called in logs and events, such as `rtp://192.0.2.7:5004`.
    public var name: String {
        self.label ?? "rtp://\(IPAddress.bracketed(self.host)):\(self.videoPort ?? self.audioPort ?? 0)"
    }

    /// The description's file of the participant at a place, from 0.
    public func sdpFile(place: Int) -> String? {
        self.sdpFile.map { $0.replacing(Self.placeMark, with: "\(place + 1)") }
    }
}

/// A pipeline that takes an output's packets on the worker's host.
public struct PipelineOutputSpec: Sendable, Hashable, Codable {
    /// The name of a file of `output/`.
    public var file: String
    /// Values for the file's parameters, by name; addresses of servers may hold keys.
    public var parameters: [String: Secret] = [:]
    /// Absolute path of the operator's folder of pipeline files; `nil` for none.
    public var pipelines: String?

    /// A file without values.
    public init(file: String) {
        self.file = file
    }

    /// Reads what is there; `file` must be.
    public init(from decoder: any Decoder) throws {
        let values = try decoder.container(keyedBy: CodingKeys.self)
        self.file = try values.decode(String.self, forKey: .file)
        try values.read(.parameters, into: &self.parameters)
        try values.read(.pipelines, into: &self.pipelines)
    }
}
