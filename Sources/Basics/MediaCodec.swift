// SPDX-License-Identifier: Apache-2.0

/// A codec that can be received, recorded and exported; our camera sends some of them.
///
/// Its form in a description, a Matroska file or GStreamer is in an extension in the target that reads or writes that.
public enum MediaCodec: String, Sendable, Hashable, Codable, CaseIterable {
    /// VP8 (RFC 6386, RFC 7741).
    case vp8
    /// VP9 (RFC 9628).
    case vp9
    /// H.264 (RFC 6184).
    case h264
    /// Opus (RFC 6716, RFC 7587).
    case opus
    /// G.711 µ-law (RFC 3551).
    case pcmu
    /// G.711 A-law (RFC 3551).
    case pcma

    /// The kind of its media.
    public var kind: MediaKind {
        switch self {
        case .vp8, .vp9, .h264: .video
        case .opus, .pcmu, .pcma: .audio
        }
    }

    /// The encoding name that is registered for RTP, as `a=rtpmap` has it; names compare without case.
    public var encodingName: String {
        switch self {
        case .vp8: "VP8"
        case .vp9: "VP9"
        case .h264: "H264"
        case .opus: "opus"
        case .pcmu: "PCMU"
        case .pcma: "PCMA"
        }
    }

    /// The RTP clock in Hz.
    public var clockRateHz: Int {
        switch self {
        case .vp8, .vp9, .h264: 90_000
        case .opus: 48_000
        case .pcmu, .pcma: 8000
        }
    }

    /// The payload type that we give it where we choose: those that browsers use, and for G.711 the static ones.
    public var usualPayloadType: UInt8 {
        switch self {
        case .vp8: 96
        case .vp9: 98
        case .h264: 102
        case .opus: 111
        case .pcmu: 0
        case .pcma: 8
        }
    }

    /// `encodingName` in capitals, as GStreamer's caps, pipeline files and our statistics have it.
    public var capsName: String { self.encodingName.uppercased() }

    /// The codec of an encoding name, in whatever case; nil if it is none of these.
    public init?(encodingName: String) {
        let name = encodingName.lowercased()
        guard let codec = Self.allCases.first(where: { $0.encodingName.lowercased() == name }) else { return nil }
        self = codec
    }
}
