// SPDX-License-Identifier: Apache-2.0

/// How long units take from their arrival to the end of their write.
public struct RecordingLag: Sendable, Hashable {
    /// What came out.
    public struct Figures: Sendable, Hashable {
        /// The longest.
        public var maximum: Duration
        /// The mean.
        public var mean: Duration
    }

    private var maximum: Int64 = 0
    private var sum: Int64 = 0
    private var count: Int64 = 0

    init() {}

    mutating func written(arrival: Int64, now: Int64) {
        let lag = max(0, now &- arrival)
        self.maximum = max(self.maximum, lag)
        self.sum &+= lag
        self.count += 1
    }

    /// The figures since the last call.
    mutating func take() -> Figures? {
        guard self.count > 0 else { return nil }
        defer { self = RecordingLag() }
        return Figures(maximum: .nanoseconds(self.maximum), mean: .nanoseconds(self.sum / self.count))
    }
}
