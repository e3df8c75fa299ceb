// SPDX-License-Identifier: Apache-2.0

/// A picture that is in its file.
public struct WrittenPicture: Sendable, Hashable {
    /// Track number within the recording.
    public var track: Int
    /// Unwrapped RTP time stamp, in units of the track's RTP clock.
    public var rtpTime: Int64
    /// `CLOCK_MONOTONIC` when the kernel had it.
    public var nanoseconds: Int64
}
