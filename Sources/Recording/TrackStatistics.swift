// SPDX-License-Identifier: Apache-2.0

/// Figures of a track's file so far.
public struct TrackStatistics: Sendable, Hashable {
    /// Units written.
    public var units: UInt64 = 0
    /// Bytes of payload written.
    public var bytes: UInt64 = 0
    /// Keyframes among the units; every unit of an audio track counts.
    public var keyframes: UInt64 = 0
    /// RTP packets that the units came in, and those of parameter sets that go into the file with a unit.
    public var packets: UInt64 = 0
    /// Width of the newest keyframe in pixels.
    public var width: Int?
    /// Height of the newest keyframe in pixels.
    public var height: Int?
    /// Unwrapped RTP time of the first unit.
    public var firstRTPTime: Int64?
    /// The latest unwrapped RTP time of a unit.
    public var lastRTPTime: Int64?
    /// From the first unit's time to the latest one's, in nanoseconds.
    public var durationNanoseconds: Int64 = 0
}
