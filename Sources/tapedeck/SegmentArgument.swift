// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Basics
import Recording

/// How large a recording gets: a time from 2s, or a size from 1MB, in powers of 1000.
struct SegmentArgument: ExpressibleByArgument, Sendable {
    var limit: SegmentPolicy.Limit

    init?(argument: String) {
        if let bytes = ByteCountText.parseDecimal(argument) {
            guard (1_000_000...1_000_000_000_000).contains(bytes) else { return nil }
            self.limit = .bytes(UInt64(bytes))
        } else {
            guard let time = TimeArgument(argument: argument)?.duration, time >= .seconds(2) else { return nil }
            self.limit = .time(UInt64(time.nanoseconds))
        }
    }
}
