// SPDX-License-Identifier: Apache-2.0

/// When the files of a recording are forced to the disk.
///
/// As often as is asked, but so rarely that a slow disk spends a tenth of its time on it at most. One round at a time. Each
/// begins at a multiple of the interval, so that the rounds of all rooms of a process come together.
public struct SynchronisationSchedule: Sendable {
    private static let shareOfTime: UInt64 = 10

    private enum State {
        /// Since the end of a round that took so long.
        case resting(since: UInt64, cost: UInt64)
        case running
    }

    private var state = State.resting(since: 0, cost: 0)
    /// How many rounds have begun.
    public private(set) var rounds: UInt64 = 0

    /// A schedule whose first round is due at once.
    public init() {}

    /// Whether a round begins now; times are in nanoseconds of one clock that only rises.
    ///
    /// - Parameter interval: how far rounds are apart, in nanoseconds; half of it passes from the end of one to the next at least.
    public mutating func begins(now: UInt64, interval: UInt64) -> Bool {
        guard case .resting(let since, let cost) = self.state else { return false }
        let (share, isEndless) = cost.multipliedReportingOverflow(by: Self.shareOfTime)
        let (earliest, isNever) = since.addingReportingOverflow(max(interval - interval / 2, isEndless ? .max : share))
        guard !isNever, now >= earliest else { return false }
        // A multiple of the interval lies between the two.
        guard interval == 0 || now % interval <= now - earliest else { return false }
        self.state = .running
        self.rounds += 1
        return true
    }

    /// The round is over.
    ///
    /// - Parameter cost: how long the disk took, in nanoseconds: it decides when the next round begins.
    public mutating func ended(now: UInt64, cost: UInt64) {
        guard case .running = self.state else { return }
        self.state = .resting(since: now, cost: cost)
    }
}
