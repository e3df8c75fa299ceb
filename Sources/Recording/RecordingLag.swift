// SPDX-License-Identifier: Apache-2.0

/// How long units take from their arrival to the end of their write.
public struct RecordingLag: Sendable, Hashable {
    /// The result.
    public struct Figures: Sendable, Hashable {
        /// The longest.
        public var maximum: Duration
        /// The mean.
        public var mean: Duration
    }

    private var maximum: Int64 = 0
    private var sum: Int64 = 0
    private var count: Int64 = 0

    /// Nothing was written.
    public init() {}

    /// A unit that came then is in its file now.
    mutating func written(arrival: Int64, now: Int64) {
        let lag = max(0, now &- arrival)
        self.maximum = max(self.maximum, lag)
        self.sum &+= lag
        self.count += 1
    }

    /// Adds what was measured after it.
    public mutating func add(_ later: RecordingLag) {
        self.maximum = max(self.maximum, later.maximum)
        self.sum &+= later.sum
        self.count += later.count
    }

    /// The figures; nil if nothing was written.
    public var figures: Figures? {
        guard self.count > 0 else { return nil }
        return Figures(maximum: .nanoseconds(self.maximum), mean: .nanoseconds(self.sum / self.count))
    }
}
