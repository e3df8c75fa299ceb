// SPDX-License-Identifier: Apache-2.0

public import Basics

/// The one codec that was settled for an m-line.
public struct NegotiatedCodec: Sendable, Hashable {
    /// Which codec.
    public var codec: MediaCodec
    /// Its number in the RTP header, both ways.
    public var payloadType: UInt8
    /// Audio channels; 1 for video.
    public var channels: Int
    /// The `fmtp` text of the peer (answering) or of ours (offering); empty if none.
    public var parameters: String
    /// H.264's packetisation mode; nil for other codecs.
    public var packetizationMode: Int?
    /// The payload type of its retransmissions; nil if there are none.
    public var rtxPayloadType: UInt8?
    /// The header extension id of the transport-wide sequence number, 1 to 14; nil if not negotiated.
    public var transportCCID: UInt8?
    /// The id of the header extension in which the peer sends the level of its audio (RFC 6464), 1 to 14; nil if it
    /// does not.
    public var audioLevelID: UInt8?
    /// The header extension id in which the peer says how its video is turned (3GPP TS 26.114, 7.4.5), 1 to 14; nil if it does not.
    public var orientationID: UInt8?
    /// Whether lost packets are asked for again (`nack`).
    public var usesNACK: Bool
    /// Whether keyframes can be asked for by PLI (`nack pli`).
    public var usesPLI: Bool
    /// Whether they can be asked for by FIR (`ccm fir`, RFC 5104 section 4.3.1).
    public var usesFIR: Bool

    /// The RTP clock in Hz.
    public var clockRate: Int { self.codec.clockRateHz }

    /// The parameter sets of H.264 that the peer states in its description, each a NAL unit (`sprop-parameter-sets`, RFC 6184
    /// section 8.1); those that are no Base64 are left out.
    public var parameterSets: [[UInt8]] {
        guard self.codec == .h264 else { return [] }
        let sets = self.parameter("sprop-parameter-sets")?.split(separator: ",") ?? []
        return sets.prefix(Self.mostParameterSets).compactMap { Base64.decode(Self.padded($0.trimmed)) }
            .filter { !$0.isEmpty }
    }

    /// The value of one of the peer's `fmtp` parameters.
    func parameter(_ name: String) -> String? {
        RTPFormat(payloadType: self.payloadType, map: "", parameters: self.parameters, feedback: []).parameter(name)
    }

    private static let mostParameterSets = 64

    /// Some senders leave the padding out.
    private static func padded(_ text: some StringProtocol) -> [UInt8] {
        let bytes = Array(text.utf8)
        return bytes + Array(repeating: UInt8(ascii: "="), count: (4 - bytes.count % 4) % 4)
    }
}

/// One m-line that is in use, as settled by the last offer and answer.
public struct NegotiatedMedia: Sendable, Hashable {
    /// The m-line's index in the descriptions that the peer sees.
    public var outerIndex: Int
    /// The m-line's index in the descriptions that webrtcbin sees.
    public var innerIndex: Int
    /// The identification tag for the peer; nil if the peer uses none.
    public var mid: String?
    /// Audio or video.
    public var kind: MediaKind
    /// The codec of the packets.
    public var codec: NegotiatedCodec
    /// Our direction: set from the offer on, final with the answer.
    public var ourDirection: Direction
    /// The peer's direction.
    public var remoteDirection: Direction
    /// Whether our media of this kind can go out on this m-line; they do on one m-line at a time.
    ///
    /// A sink pad must be linked before the answer is made, even if the peer does not listen yet: webrtcbin cannot add
    /// it later. Packets go out while `ourDirection.sends`.
    public var carriesOurTrack: Bool
    /// The peer's sources on this m-line, retransmissions included; never forgotten once announced.
    public var remoteSources: [RemoteSource]
    /// The layers that the peer offers of its camera; nil if it is one alone, or nothing is received.
    public var simulcast: Simulcast?
    /// The peer's media stream, the same for a participant's audio and video; untrusted text.
    public var streamID: String?
    /// The peer's track; untrusted text.
    public var trackID: String?
}
