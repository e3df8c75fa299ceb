// SPDX-License-Identifier: Apache-2.0

/// The rate of an RTP clock, and the arithmetic between its ticks and nanoseconds.
///
/// Results saturate at the ends of `Int64`; nothing here traps.
public struct RTPClock: Sendable, Hashable {
    /// Ticks in a second, 1…1 000 000 000.
    public let rateHz: Int

    /// A clock of that rate; rates outside 1…1 000 000 000 are brought into the range.
    public init(rateHz: Int) {
        self.rateHz = min(max(rateHz, 1), 1_000_000_000)
    }

    /// How long that many ticks last, rounded to the nearest nanosecond.
    public func nanoseconds(ticks: Int64) -> Int64 {
        scaled(ticks, from: Int64(self.rateHz), to: nanosecondsPerSecond)
    }

    /// How many ticks last that long, rounded to the nearest.
    public func ticks(nanoseconds: Int64) -> Int64 {
        scaled(nanoseconds, from: nanosecondsPerSecond, to: Int64(self.rateHz))
    }
}

/// `value` units of 1/`from` s in units of 1/`to` s, for rates up to 10^9.
private func scaled(_ value: Int64, from: Int64, to: Int64) -> Int64 {
    var (seconds, rest) = value.quotientAndRemainder(dividingBy: from)
    if rest < 0 {
        seconds -= 1
        rest += from
    }
    let (whole, overflow) = seconds.multipliedReportingOverflow(by: to)
    let (sum, carried) = whole.addingReportingOverflow((rest * to + from / 2) / from)
    guard !overflow, !carried else { return value < 0 ? .min : .max }
    return sum
}

let nanosecondsPerSecond: Int64 = 1_000_000_000
