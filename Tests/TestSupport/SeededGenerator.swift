// SPDX-License-Identifier: Apache-2.0

/// The same numbers in every run (SplitMix64), so that a failure comes back with its seed.
public struct SeededGenerator: RandomNumberGenerator, Sendable {
    private var state: UInt64

    /// The numbers of a seed.
    public init(seed: UInt64) { self.state = seed }

    /// The next number.
    public mutating func next() -> UInt64 {
        self.state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = self.state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }

    /// A number from 0 to 1.
    public mutating func fraction() -> Double { Double(self.next() >> 11) / 9_007_199_254_740_992 }

    /// A number of a range: cheaper than `Int.random` in a debug build.
    public mutating func pick(_ range: ClosedRange<Int>) -> Int {
        range.lowerBound + Int(self.next() >> 1) % (range.upperBound - range.lowerBound + 1)
    }
}
