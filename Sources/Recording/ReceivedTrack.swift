// SPDX-License-Identifier: Apache-2.0

public import Basics
public import Matroska
public import Timeline

/// Identity of a received track, for its consumers.
public struct ReceivedTrack: Sendable, Hashable {
    /// The participant's id in the room; untrusted.
    public var participant: String
    /// Codec of the track.
    public var codec: MediaCodec
    /// RTP clock in Hz.
    public var clockRateHz: Int
    /// Audio channels; 0 for video.
    public var channels: Int
    /// Synchronisation source.
    public var ssrc: UInt32
    /// RTP payload type.
    public var payloadType: Int
    /// Identification tag of the m-line, if the description has one.
    public var mid: String?
    /// Which layer of the camera it is, where the peer offers several.
    public var layer: TrackLayer?
    /// The peer connection that carries it, as its sender reports name it.
    public var connection: UInt64
    /// When the first offer of the connection was there, on `CLOCK_MONOTONIC`; nil if it was not noted.
    public var offerNanoseconds: Int64?
    /// The parameter sets of H.264 that the description states (`sprop-parameter-sets`, RFC 6184 section 8.1).
    public var parameterSets: H264ParameterSets?

    /// Whether its sender continues in another track, in another codec.
    func isContinued(by other: ReceivedTrack) -> Bool {
        let isSameLine = self.mid.map { $0 == other.mid } ?? (self.ssrc == other.ssrc)
        return isSameLine && self.connection == other.connection && self.isVideo == other.isVideo
            && self.codec != other.codec
    }

    /// Whether both are sources of one m-line, in one codec.
    func isOfSender(of other: ReceivedTrack) -> Bool {
        self.participant == other.participant && self.connection == other.connection && self.mid == other.mid
            && self.codec == other.codec
    }

    /// A track with each part given.
    public init(
        participant: String,
        codec: MediaCodec,
        clockRateHz: Int,
        channels: Int,
        ssrc: UInt32,
        payloadType: Int,
        mid: String? = nil,
        layer: TrackLayer? = nil,
        connection: UInt64,
        offerNanoseconds: Int64? = nil,
        parameterSets: H264ParameterSets? = nil
    ) {
        self.participant = participant
        self.codec = codec
        self.clockRateHz = clockRateHz
        self.channels = channels
        self.ssrc = ssrc
        self.payloadType = payloadType
        self.mid = mid
        self.layer = layer
        self.connection = connection
        self.offerNanoseconds = offerNanoseconds
        self.parameterSets = parameterSets
    }

    /// Whether it carries video.
    public var isVideo: Bool { self.codec.kind == .video }
}
