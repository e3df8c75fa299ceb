// SPDX-License-Identifier: Apache-2.0

/// Decides why units of a track were dropped: a slow disk, or a sender that floods.
///
/// Pure; instants are nanoseconds of one monotonic clock.
struct UnitRate: Sendable, Hashable {
    /// The rate of the units that were dropped since the last question.
    enum OnLook: Sendable, Hashable {
        case nothing
        /// The track has no more units than a sender of audio or video may have.
        case few
        /// The track has more units than any real sender.
        case flood
    }

    /// Opus with 2.5 ms in each packet has 400 a second, and no camera as many.
    private static let unitsPerSecond: UInt64 = 1000

    /// When the units were counted that a rate is taken from.
    private var countedAt: Int64
    private var counted: UInt64
    private var dropped: UInt64

    /// The rate of a track from now on.
    init(at now: Int64, _ counters: PacketCounters) {
        self.countedAt = now
        self.counted = Self.made(counters)
        self.dropped = counters.droppedUnits
    }

    /// Units that came; those that made place for others count twice.
    private static func made(_ counters: PacketCounters) -> UInt64 { counters.units &+ counters.droppedUnits }

    /// Looks whether anything was dropped, and why.
    mutating func look(at now: Int64, _ counters: PacketCounters) -> OnLook {
        defer { self.dropped = counters.droppedUnits }
        guard counters.droppedUnits > self.dropped else { return .nothing }
        // Units counted in less than a second may be a burst.
        let seconds = max(1, Double(now &- self.countedAt) / 1e9)
        let made = Self.made(counters)
        let units = made &- min(self.counted, made)
        return Double(units) > seconds * Double(Self.unitsPerSecond) ? .flood : .few
    }

    /// Takes rates from now on.
    mutating func count(at now: Int64, _ counters: PacketCounters) {
        (self.countedAt, self.counted) = (now, Self.made(counters))
    }
}
