// SPDX-License-Identifier: Apache-2.0

internal import Basics
internal import CGStreamer
internal import CTapedeck

/// Converts one image through a pipeline that lives for one call.
public enum Still {
    /// Runs `bytes` through `launch`, from its appsrc `in` to its appsink `out`; nil if nothing comes out in time.
    ///
    /// Blocks for `limit` and the time that the pipeline takes to come down: use a separate thread, never one of media.
    public static func convert(_ bytes: [UInt8], through launch: String, limit: Duration) -> [UInt8]? {
        var size = 0
        let nanoseconds = UInt64(max(0, limit.nanoseconds))
        guard let result = CTapedeck_convert_one(launch, bytes, bytes.count, nanoseconds, &size) else { return nil }
        defer { g_free(result) }
        return Array(UnsafeBufferPointer(start: result, count: size))
    }
}
