// SPDX-License-Identifier: Apache-2.0

internal import Basics
internal import GStreamer
internal import SDP

extension SendFormat {
    /// The format that we prepare for an offer of ours.
    init(_ codec: MediaCodec) {
        self.init(
            media: codec.kind.rawValue,
            encodingName: codec.capsName,
            clockRateHz: codec.clockRateHz,
            payloadType: Int(codec.usualPayloadType)
        )
    }

    /// The format that was negotiated on an m-line.
    init(_ media: NegotiatedMedia) {
        self.init(
            media: media.kind.rawValue,
            encodingName: media.codec.codec.capsName,
            clockRateHz: media.codec.clockRate,
            payloadType: Int(media.codec.payloadType)
        )
    }

    /// Caps of a receive-only m-line in an offer of ours.
    static func receiveCaps(_ codec: MediaCodec) -> String {
        """
        application/x-rtp,media=\(codec.kind.rawValue),encoding-name=\(codec.capsName),\
        clock-rate=\(codec.clockRateHz),payload=\(codec.usualPayloadType)
        """
    }
}
