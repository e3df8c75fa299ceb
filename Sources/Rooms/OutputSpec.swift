// SPDX-License-Identifier: Apache-2.0

/// Where the tracks of a room are sent on as RTP.
public struct OutputSpec: Sendable, Hashable, Codable {
    /// A host name or an address, multicast too.
    public var host: String
    /// RTP port of the first participant's pictures; `nil` sends none.
    public var videoPort: UInt16?
    /// RTP port of the first participant's sound; `nil` sends none.
    public var audioPort: UInt16?
    /// How many participants are sent at the same time, 1 to 64; `nil`: 1.
    public var participants: Int?
    /// Ports from one participant to the next, 2 to 1024; `nil`: 4.
    public var portStep: Int?
    /// The only participant that is sent, by id or name.
    public var participant: String?
    /// Our own first port; `nil`: any.
    public var sourcePort: UInt16?
    /// The interface of multicast packets.
    public var interface: String?
    /// Routers that a packet may pass, 1 to 255; `nil`: 1 for a group, 64 for a host.
    public var timeToLive: Int?
    /// Payload type of pictures, 0 to 127; `nil`: one for each codec.
    public var videoPayloadType: UInt8?
    /// Payload type of sound, 0 to 127; `nil`: one for each codec.
    public var audioPayloadType: UInt8?
    /// Where the session description is written, with `{place}` in it where there are several participants.
    public var sdpFile: String?
    /// Whether packets are encrypted, with keys that the description tells; `nil`: no.
    public var isEncrypted: Bool?
    /// Whether the only place is that of who speaks; `nil`: no.
    public var followsSpeaker: Bool?
    /// What an output is called that feeds a part of Tapedeck; `nil` for those of the configuration.
    public var label: String?
    /// What takes the packets on the worker's host: host and ports are then the worker's choice; `nil`: nothing of ours.
    public var pipeline: PipelineOutputSpec?

    /// An order without ports, which nobody takes.
    public init(host: String) {
        self.host = host
    }
}

/// A pipeline that takes an output's packets on the worker's host.
public struct PipelineOutputSpec: Sendable, Hashable, Codable {
    /// The name of a file of `output/`.
    public var file: String
    /// Values for the file's parameters, by name; they may hold secrets.
    public var parameters: [String: String]?
    /// Absolute path of the operator's folder of pipeline files; `nil` for none.
    public var pipelines: String?

    /// A file without values.
    public init(file: String) {
        self.file = file
    }
}
