// SPDX-License-Identifier: Apache-2.0

/// Which video codec is to be used where there is a choice.
public enum PreferredCodec: String, Sendable, Hashable, Codable, CaseIterable {
    /// H.264 before VP8.
    case h264
    /// VP8 before H.264.
    case vp8
    /// VP9 before VP8 and H.264; it is not sent otherwise, for it costs the most.
    case vp9
    /// Whatever the peer names first; VP8 before H.264 where we are asked.
    case any
}
