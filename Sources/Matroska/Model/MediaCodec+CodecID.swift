// SPDX-License-Identifier: Apache-2.0

public import Basics

extension MediaCodec {
    /// Whether some senders send frames in another order than they are shown.
    public var mayReorder: Bool { self == .h264 }

    /// The CodecID of the track entry (Matroska codec registry).
    ///
    /// Both G.711 laws share one and differ in CodecPrivate.
    public var codecID: String {
        switch self {
        case .vp8: "V_VP8"
        case .vp9: "V_VP9"
        case .h264: "V_MPEG4/ISO/AVC"
        case .opus: "A_OPUS"
        case .pcmu, .pcma: "A_MS/ACM"
        }
    }

    /// The codec of a track entry, or nil if it is none of these.
    init?(codecID: String, codecPrivate: [UInt8]) {
        switch codecID {
        case "V_VP8": self = .vp8
        case "V_VP9": self = .vp9
        case "V_MPEG4/ISO/AVC": self = .h264
        case "A_OPUS": self = .opus
        case "A_MS/ACM":
            guard let codec = G711.codec(privateData: codecPrivate) else { return nil }
            self = codec
        default: return nil
        }
    }
}
