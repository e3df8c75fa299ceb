// SPDX-License-Identifier: Apache-2.0

/// Counts what encoders had no time for, and decides when that is reported.
///
/// Pure; instants are nanoseconds of one monotonic clock.
struct EncoderBacklog: Sendable, Equatable {
    /// It is reported at once, and then no more often than this while it lasts.
    static let pause = Duration.seconds(60)

    /// All that was left out.
    private(set) var total: UInt64 = 0
    private var told: UInt64 = 0
    private var toldAt: UInt64?

    /// Takes what was left out since the last call; how much must be reported now, nil for nothing.
    mutating func add(_ count: UInt64, at now: UInt64) -> UInt64? {
        self.total += count
        guard self.total > self.told else { return nil }
        if let toldAt = self.toldAt, now < toldAt + UInt64(Self.pause.components.seconds) * 1_000_000_000 { return nil }
        defer { (self.told, self.toldAt) = (self.total, now) }
        return self.total - self.told
    }
}
