// SPDX-License-Identifier: Apache-2.0

internal import GStreamer
internal import Matroska
internal import SDP

/// The branch that turns RTP packets of one codec into units, and what the file says about them.
struct Depayloader {
    let codec: Matroska.Codec
    let launch: String
    let channels: Int

    /// Nil for everything that is not recorded: telephone events, comfort noise, redundancy.
    init?(_ format: GStreamer.RTPFormat) {
        switch format.encodingName {
        case "VP8": (self.codec, self.launch, self.channels) = (.vp8, "rtpvp8depay", 0)
        case "VP9": (self.codec, self.launch, self.channels) = (.vp9, "rtpvp9depay", 0)
        case "H264":
            self.codec = .h264
            self.launch = "rtph264depay ! video/x-h264,stream-format=byte-stream,alignment=au"
            self.channels = 0
        case "OPUS": (self.codec, self.launch, self.channels) = (.opus, "rtpopusdepay", 2)
        case "PCMU": (self.codec, self.launch, self.channels) = (.pcmu, "rtppcmudepay", 1)
        case "PCMA": (self.codec, self.launch, self.channels) = (.pcma, "rtppcmadepay", 1)
        default: return nil
        }
    }
}

extension CameraCodec {
    /// The camera's form of a negotiated codec; nil if it has no encoder for it.
    init?(_ codec: SDP.Codec) {
        self.init(rawValue: codec.rawValue.uppercased())
    }

    /// The codec as descriptions name it.
    var negotiated: SDP.Codec {
        switch self {
        case .h264: .h264
        case .vp8: .vp8
        case .vp9: .vp9
        case .opus: .opus
        }
    }
}

extension SendFormat {
    /// The payload types that our own offers use; those of `SDP.OfferedFormats`.
    private static let offered: [SDP.Codec: Int] = [
        .vp8: 96, .h264: 102, .vp9: 98, .opus: 111, .pcmu: 0, .pcma: 8,
    ]

    /// What we prepare for an offer of ours.
    init?(_ codec: SDP.Codec) {
        guard let payloadType = Self.offered[codec] else { return nil }
        self.init(
            media: codec.kind.rawValue,
            encodingName: codec.rawValue.uppercased(),
            clockRateHz: codec.clockRate,
            payloadType: payloadType
        )
    }

    /// What was negotiated on an m-line.
    init?(_ media: NegotiatedMedia) {
        self.init(
            media: media.kind.rawValue,
            encodingName: media.codec.codec.rawValue.uppercased(),
            clockRateHz: media.codec.clockRate,
            payloadType: Int(media.codec.payloadType)
        )
    }

    /// Caps of a receive-only m-line in an offer of ours.
    static func receiveCaps(_ codec: SDP.Codec) -> String {
        """
        application/x-rtp,media=\(codec.kind.rawValue),encoding-name=\(codec.rawValue.uppercased()),\
        clock-rate=\(codec.clockRate),payload=\(Self.offered[codec] ?? 96)
        """
    }
}

extension CertificateHash {
    /// The hash that a fingerprint names; nil for one that libcrypto is not asked for.
    init?(_ algorithm: HashAlgorithm) {
        switch algorithm.rawValue {
        case "sha-1": self = .sha1
        case "sha-256": self = .sha256
        case "sha-384": self = .sha384
        case "sha-512": self = .sha512
        default: return nil
        }
    }
}
