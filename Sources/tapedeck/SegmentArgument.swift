// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Session

/// How large a recording gets: a time from 2s, or a size from 1MB, in powers of 1000.
struct SegmentArgument: ExpressibleByArgument, Sendable {
    var limit: SegmentPolicy.Limit

    init?(argument: String) {
        let units: [(String, UInt64)] = [
            ("kB", 1000), ("MB", 1_000_000), ("GB", 1_000_000_000), ("TB", 1_000_000_000_000),
        ]
        if let (suffix, factor) = units.first(where: { argument.hasSuffix($0.0) }) {
            guard let number = UInt64(argument.dropLast(suffix.count)) else { return nil }
            let (bytes, overflow) = number.multipliedReportingOverflow(by: factor)
            guard !overflow, (1_000_000...1_000_000_000_000).contains(bytes) else { return nil }
            self.limit = .bytes(bytes)
        } else {
            guard let time = TimeArgument(argument: argument)?.duration, time >= .seconds(2) else { return nil }
            self.limit = .time(UInt64(time / .nanoseconds(1)))
        }
    }
}
