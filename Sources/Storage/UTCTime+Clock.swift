// SPDX-License-Identifier: Apache-2.0

public import Basics
import Glibc

extension UTCTime {
    /// The system's wall clock.
    public static func now() -> UTCTime {
        var time = timespec()
        clock_gettime(CLOCK_REALTIME, &time)
        return UTCTime(nanosecondsSince1970: Int64(time.tv_sec) &* 1_000_000_000 &+ Int64(time.tv_nsec))
    }

    /// The time that the wall clock, as it is set now, would have shown at an instant of the monotonic clock.
    public static func at(monotonicNanoseconds: Int64) -> UTCTime {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC, &time)
        let age = Int64(time.tv_sec) &* 1_000_000_000 &+ Int64(time.tv_nsec) &- monotonicNanoseconds
        return UTCTime(nanosecondsSince1970: UTCTime.now().nanosecondsSince1970 &- age)
    }
}
