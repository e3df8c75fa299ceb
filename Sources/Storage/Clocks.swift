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

    /// What the wall clock would have shown, as it is set now, at an instant of the monotonic clock.
    public static func at(monotonicNanoseconds: Int64) -> UTCTime {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC, &time)
        let age = Int64(time.tv_sec) &* 1_000_000_000 &+ Int64(time.tv_nsec) &- monotonicNanoseconds
        return UTCTime(nanosecondsSince1970: UTCTime.now().nanosecondsSince1970 &- age)
    }
}

/// This run of this host's kernel: processes with the same one share the monotonic clock of journal entries.
public enum BootID {
    /// The kernel's own name for its run; `nil` where there is none to read.
    public static let current: String? = {
        guard let file = try? File("/proc/sys/kernel/random/boot_id", .read),
            let bytes = try? file.readAll(limit: 64)
        else { return nil }
        let text = String(decoding: bytes.prefix { $0 > UInt8(ascii: " ") }, as: UTF8.self)
        return text.isEmpty ? nil : text
    }()
}
