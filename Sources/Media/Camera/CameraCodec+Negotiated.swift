// SPDX-License-Identifier: Apache-2.0

internal import SDP

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
