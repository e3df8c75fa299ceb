// SPDX-License-Identifier: Apache-2.0

public import Matroska

/// What identifies a received track to the recorder.
public struct ReceivedTrack: Sendable, Hashable {
    /// The participant's id in the room; untrusted.
    public var participant: String
    /// Codec of the track.
    public var codec: Codec
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
    /// `CLOCK_MONOTONIC` when the offer was made or came; nil if it is not known.
    public var offerNanoseconds: Int64?
}
