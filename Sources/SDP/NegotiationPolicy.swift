// SPDX-License-Identifier: Apache-2.0

public import Basics

/// Limits of the negotiation of one peer connection.
public struct NegotiationPolicy: Sendable, Hashable {
    /// Video codecs to receive, preferred first; empty: no video is received.
    public var receivedVideo: [MediaCodec]
    /// Audio codecs to receive, preferred first; empty: no audio is received.
    public var receivedAudio: [MediaCodec]
    /// Video codecs that can be encoded, preferred first; empty: no video is sent.
    public var sentVideo: [MediaCodec]
    /// Audio codecs that can be encoded, preferred first; empty: no audio is sent.
    public var sentAudio: [MediaCodec]
    /// Whether transport-wide congestion control feedback is negotiated.
    public var usesTransportCC: Bool
    /// Whether retransmissions are negotiated for video (RFC 4588).
    public var usesRTX: Bool
    /// Whether TCP candidates of the peer are used.
    public var usesICETCP: Bool
    /// Whether the peer gets only relayed candidates of ours, and not the addresses behind them.
    public var sendsRelayedOnly = false
    /// Whether data channels are accepted that the peer offers in addition to its media; we offer none.
    public var takesDataChannels = false
    /// Whether our offers name the orientation of video (3GPP TS 26.114, 7.4.5), as those to a server that passes on what others send.
    ///
    /// A peer that is not offered it turns its own video, which every player shows right.
    public var offersOrientation = false
    /// Whether our descriptions ask for, and so promise, in-band error correction of Opus (`useinbandfec`, RFC 7587
    /// section 6.1).
    public var usesOpusFEC = true
    /// Whether they do for Opus that pauses in silence (`usedtx`).
    public var usesOpusDTX = false
    /// Our claim to the room, which our descriptions show to other recorders; `nil` for a room that no cluster shares.
    public var claim: RoomClaim?
    /// Whether the peer's order of codecs decides, instead of ours.
    public var honoursOfferOrder: Bool
    /// The media stream id of what we send, a token.
    public var streamID: String

    /// Receives everything that can be recorded and sends nothing, by default.
    public init(
        receivedVideo: [MediaCodec] = [.vp8, .h264, .vp9],
        receivedAudio: [MediaCodec] = [.opus, .pcmu, .pcma],
        sentVideo: [MediaCodec] = [],
        sentAudio: [MediaCodec] = [],
        usesTransportCC: Bool = true,
        usesRTX: Bool = true,
        usesICETCP: Bool = false,
        honoursOfferOrder: Bool = false,
        streamID: String = "tapedeck"
    ) {
        self.receivedVideo = receivedVideo.filter { $0.kind == .video }
        self.receivedAudio = receivedAudio.filter { $0.kind == .audio }
        self.sentVideo = sentVideo.filter { $0.kind == .video }
        self.sentAudio = sentAudio.filter { $0.kind == .audio }
        self.usesTransportCC = usesTransportCC
        self.usesRTX = usesRTX
        self.usesICETCP = usesICETCP
        self.honoursOfferOrder = honoursOfferOrder
        self.streamID = streamID.isToken ? streamID : "tapedeck"
    }

    /// The same policy with one video codec moved to the front of what is received and sent, where it is listed.
    public func preferringVideo(_ codec: MediaCodec) -> NegotiationPolicy {
        func moved(_ list: [MediaCodec]) -> [MediaCodec] {
            list.contains(codec) ? [codec] + list.filter { $0 != codec } : list
        }
        var copy = self
        copy.receivedVideo = moved(self.receivedVideo)
        copy.sentVideo = moved(self.sentVideo)
        return copy
    }

    /// The `fmtp` value of Opus in our descriptions.
    ///
    /// - Parameter inStereo: whether to ask for two channels: a sender that has them sends one to a receiver that does not (RFC 7587
    ///   section 6.1). Without repetition then, because FFmpeg cannot decode repeated speech in stereo (decision 74).
    func opusParameters(inStereo: Bool = false) -> String {
        "minptime=10;useinbandfec=\(self.usesOpusFEC && !inStereo ? 1 : 0)" + (self.usesOpusDTX ? ";usedtx=1" : "")
            + (inStereo ? ";stereo=1" : "")
    }

    /// Codecs received of a kind.
    public func received(_ kind: MediaKind) -> [MediaCodec] { kind == .video ? self.receivedVideo : self.receivedAudio }
    /// Codecs sent of a kind.
    public func sent(_ kind: MediaKind) -> [MediaCodec] { kind == .video ? self.sentVideo : self.sentAudio }
}
