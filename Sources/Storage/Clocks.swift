// SPDX-License-Identifier: Apache-2.0

import Glibc
public import Timeline

extension UTCTime {
    /// The system's wall clock.
    public static func now() -> UTCTime {
        UTCTime(nanosecondsSince1970: read(CLOCK_REALTIME))
    }
}

/// This host's monotonic clock, the one that journal entries carry; GStreamer's system clock is the same.
public enum MonotonicClock {
    /// Nanoseconds of `CLOCK_MONOTONIC`.
    public static func nowNanoseconds() -> Int64 {
        read(CLOCK_MONOTONIC)
    }
}

private func read(_ clock: clockid_t) -> Int64 {
    var time = timespec()
    clock_gettime(clock, &time)
    return Int64(time.tv_sec) &* 1_000_000_000 &+ Int64(time.tv_nsec)
}
