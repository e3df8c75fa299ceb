// SPDX-License-Identifier: Apache-2.0

public import Matroska
public import Observability

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
    /// Header extension in which the sender tells how loud the sound is (RFC 6464); nil if it does not.
    public var audioLevelID: UInt8?
    /// When the steps to its first packet were done, on `CLOCK_MONOTONIC`.
    public var setup = SetupTimes()

    /// Whether it carries pictures.
    var isVideo: Bool { self.codec.kind == .video }
}
