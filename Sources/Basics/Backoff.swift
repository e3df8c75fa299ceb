// SPDX-License-Identifier: Apache-2.0

/// Waits that grow with each failure up to a longest one, and vary by chance so that many do not come back at the same
/// instant.
public struct Backoff: Sendable, Hashable {
    /// The value that `longest` bounds.
    public enum Bound: Sendable, Hashable {
        /// The wait before chance varies it.
        case grown
        /// The wait as it is in the end.
        case varied
    }

    /// The wait after the first failure.
    public var first: Duration
    /// No wait is longer.
    public var longest: Duration
    /// Growth of the wait at each further failure, in thousandths: 2000 doubles it.
    public var growth: Int
    /// Random variation of the wait, in thousandths.
    public var variation: ClosedRange<Int>
    /// Whether chance may make the wait longer than `longest`.
    public var bound: Bound

    /// Waits with each part given.
    public init(
        first: Duration,
        longest: Duration,
        growth: Int = 2000,
        variation: ClosedRange<Int>,
        bound: Bound = .grown
    ) {
        self.first = first
        self.longest = longest
        self.growth = growth
        self.variation = variation
        self.bound = bound
    }

    /// The wait after this many failures in a row.
    ///
    /// - Parameters:
    ///   - failures: 1 and up.
    ///   - random: A random number from 0 to 1.
    public func delay(failures: Int, random: Double) -> Duration {
        var delay = self.first
        // Enough for any growth that people wait for.
        for _ in 1..<max(1, min(failures, 64)) where delay < self.longest { delay = delay * self.growth / 1000 }
        switch self.bound {
        case .grown: return min(delay, self.longest).varied(by: self.variation, random: random)
        case .varied: return min(delay.varied(by: self.variation, random: random), self.longest)
        }
    }
}

extension Duration {
    /// A part of the time, or more of it, as chance has it.
    ///
    /// - Parameters:
    ///   - thousandths: The least and the most of it.
    ///   - random: A random number from 0 to 1; others count as the nearer end.
    public func varied(by thousandths: ClosedRange<Int>, random: Double) -> Duration {
        let step = Double(thousandths.upperBound - thousandths.lowerBound) * min(max(random, 0), 1)
        return self * (thousandths.lowerBound + Int(step)) / 1000
    }
}
