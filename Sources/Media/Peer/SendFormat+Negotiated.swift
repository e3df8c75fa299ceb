// SPDX-License-Identifier: Apache-2.0

internal import GStreamer
internal import SDP

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
