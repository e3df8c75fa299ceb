// SPDX-License-Identifier: Apache-2.0

internal import Basics
internal import FoundationEssentials

/// Where the tracks of a room go as RTP, as they come, and who reads about it.
public struct RTPOutputSettings: Sendable, Hashable {
    /// Ports between one participant and the next: RTP and RTCP for pictures and for sound.
    public static let usualPortStep = 4
    /// The most participants of one output.
    public static let maximumParticipants = 64
    /// In the name of a description's file: the participant's place, from 1.
    public static let placeMark = "{place}"

    /// A host name or an address, multicast too.
    public var host: String
    /// RTP port of the pictures of the first participant, RTCP using the next; nil sends none.
    public var videoPort: UInt16?
    /// RTP port of the sound of the first participant, RTCP using the next; nil sends none.
    public var audioPort: UInt16?
    /// How many participants are sent at the same time, each with ports of its own.
    public var participants = 1
    /// Ports from one participant to the next.
    public var portStep = RTPOutputSettings.usualPortStep
    /// The only participant that is sent, by id or by name; nil sends whoever comes first.
    public var participant: String?
    /// Our own first port, for firewalls and for receivers that answer to a port of their choice; nil: any.
    public var sourcePort: UInt16?
    /// The interface of multicast packets; nil leaves it to the routing table.
    public var interface: String?
    /// Routers that a packet may pass; nil: 1 for a group, 64 for a host.
    public var timeToLive: Int?
    /// Payload type of pictures, instead of one for each codec.
    public var videoPayloadType: UInt8?
    /// Payload type of sound, instead of one for each codec.
    public var audioPayloadType: UInt8?
    /// Where the session description is written, with `{place}` in it where there are several participants; nil: nowhere.
    public var descriptionFile: String?
    /// Whether packets are encrypted (SRTP), with keys that only the description's file tells.
    public var isEncrypted = false
    /// Whether the only place is that of who speaks, one after the other in the same streams.
    public var followsSpeaker = false
    /// What an output is called that feeds a part of Tapedeck; nil for others.
    ///
    /// Packets that nobody takes are no failure there.
    public var label: String?
    /// What takes the packets in this process, with `label` as its name; ports are then of our choice.
    public var pipeline: PipelineOutputSettings?

    /// An output to nowhere yet: without ports nothing is sent.
    public init(host: String) {
        self.host = host
    }

    /// What is wrong with the whole, in a sentence; nil if nothing is.
    public var problem: String? {
        guard self.videoPort != nil || self.audioPort != nil || self.pipeline != nil else {
            return "there is neither a video nor an audio port"
        }
        guard !self.followsSpeaker || self.participants == 1 else { return "one speaks at a time" }
        guard (1...Self.maximumParticipants).contains(self.participants) else {
            return "participants takes 1 to \(Self.maximumParticipants)"
        }
        guard (2...1024).contains(self.portStep) else { return "the port step takes 2 to 1024" }
        if let timeToLive, !(1...255).contains(timeToLive) { return "ttl takes 1 to 255" }
        for type in [self.videoPayloadType, self.audioPayloadType].compactMap({ $0 }) where type > 127 {
            return "a payload type takes 0 to 127"
        }
        var used: Set<Int> = []
        for first in [self.videoPort, self.audioPort].compactMap({ $0 }) {
            for place in 0..<self.participants {
                let port = Int(first) + place * self.portStep
                guard port >= 1, port < 65_535 else { return "the ports go beyond 65534" }
                guard used.insert(port).inserted, used.insert(port + 1).inserted else {
                    return "two streams want port \(port) or \(port + 1): RTP uses the port itself, RTCP the next one"
                }
            }
        }
        if let sourcePort, sourcePort == 0 || Int(sourcePort) + self.participants * 4 > 65_535 {
            return "the source ports go beyond 65535"
        }
        if let file = self.descriptionFile, self.participants > 1, !file.contains(Self.placeMark) {
            return "with several participants the description's file needs \(Self.placeMark) in its name"
        }
        if self.isEncrypted, self.descriptionFile == nil {
            return "srtp needs the description's file: the keys are nowhere else"
        }
        return nil
    }

    /// The file of the participant at a place, from 0.
    func descriptionFile(place: Int) -> String? {
        self.descriptionFile.map { $0.replacing(Self.placeMark, with: "\(place + 1)") }
    }

    /// What the output is called in logs and events, such as `rtp://192.0.2.7:5004`.
    public var name: String {
        if let label { return label }
        let host = IPAddress.bracketed(self.host)
        return "rtp://\(host):\(self.videoPort ?? self.audioPort ?? 0)"
    }
}
