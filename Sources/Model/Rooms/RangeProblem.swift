// SPDX-License-Identifier: Apache-2.0

/// A number of a spec that is outside of its range.
public struct RangeProblem: Sendable, Hashable, CustomStringConvertible {
    /// The number's name in the spec's JSON.
    public var key: String
    /// What it takes.
    public var range: ClosedRange<Int>
    /// What it is.
    public var value: Int

    /// Nil if the range has the number.
    init?(_ key: String, _ value: Int, in range: ClosedRange<Int>) {
        guard !range.contains(value) else { return nil }
        (self.key, self.range, self.value) = (key, range, value)
    }

    /// As in `framesPerSecond takes 1 to 60, not 61`.
    public var description: String {
        "\(self.key) takes \(self.range.lowerBound) to \(self.range.upperBound), not \(self.value)"
    }
}
