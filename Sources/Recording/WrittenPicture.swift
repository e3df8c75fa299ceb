// SPDX-License-Identifier: Apache-2.0

public import Basics

/// A frame that is in its file.
public struct WrittenPicture: Sendable, Hashable {
    /// Track number within the recording.
    public var track: Int
    /// Unwrapped RTP time stamp, in units of the track's RTP clock.
    public var rtpTime: Int64
    /// `CLOCK_MONOTONIC` when the kernel had it.
    public var nanoseconds: Int64
}

/// A keyframe of which an image can be made.
public struct CodedStill: Sendable, Hashable {
    /// How it is coded.
    public var codec: MediaCodec
    /// All that a decoder needs to show it; H.264 in Annex B.
    public var bytes: [UInt8]
    /// How it is turned.
    public var rotation: VideoRotation
}
