// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Basics
import Model

/// How large a recording gets: a time from 2s to 7d, in whole seconds, or a size from 1MB, in powers of 1000.
struct SegmentArgument: ExpressibleByArgument, Sendable {
    /// One of the two; nil for the other.
    var limits: (seconds: Int?, bytes: Int64?)

    init?(argument: String) {
        if let bytes = ByteCountText.parseDecimal(argument) {
            guard (1_000_000...1_000_000_000_000).contains(bytes) else { return nil }
            self.limits = (nil, bytes)
        } else {
            guard let time = TimeArgument(argument: argument)?.duration else { return nil }
            let seconds = Int(time.seconds.rounded(.up))
            guard time >= .seconds(2), RecordSpec.segmentRange.contains(seconds) else { return nil }
            self.limits = (seconds, nil)
        }
    }
}
