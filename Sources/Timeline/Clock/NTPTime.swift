// SPDX-License-Identifier: Apache-2.0

/// A sender's wall clock as RTCP sender reports carry it: seconds since 1900 and a 32-bit fraction (RFC 3550, 4).
///
/// Only differences are used: senders put uptime, other epochs or nonsense here.
public struct NTPTime: Sendable, Hashable {
    /// Seconds in the upper 32 bits, fraction of a second in the lower.
    public var rawValue: UInt64

    /// Wraps the 64 bits of a sender report.
    public init(rawValue: UInt64) {
        self.rawValue = rawValue
    }

    /// Whether the sender has no wall clock and says so with zero (RFC 3550, 6.4.1).
    public var isUnset: Bool { self.rawValue == 0 }

    /// Nanoseconds from `other` to this time, also across the change of era in 2036: less than 68 years either way.
    public func nanoseconds(since other: NTPTime) -> Int64 {
        let difference = Int64(bitPattern: self.rawValue &- other.rawValue)
        let seconds = difference >> 32
        let fraction = ((difference & 0xFFFF_FFFF) &* nanosecondsPerSecond) >> 32
        return seconds &* nanosecondsPerSecond &+ fraction
    }
}
