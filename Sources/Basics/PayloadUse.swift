// SPDX-License-Identifier: Apache-2.0

/// How a payload type is used on a connection.
public enum PayloadUse: Sendable, Hashable {
    /// Its packets carry this codec, and can be recorded.
    case media(MediaCodec)
    /// Its packets repeat others (RFC 4588).
    case repair
    /// The peer or we offered it, and it was not taken.
    case refused
    /// No description names it.
    case unknown
}
