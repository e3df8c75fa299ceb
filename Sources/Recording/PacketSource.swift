// SPDX-License-Identifier: Apache-2.0

/// What the packets of a received track have come to so far.
public struct PacketCounters: Sendable, Hashable {
    /// RTP packets that came in time.
    public var received: UInt64
    /// Packets that never came.
    public var lost: UInt64
    /// Packets that were lost and came again.
    public var repaired: UInt64
    /// `CLOCK_MONOTONIC` of the last packet; nil before the first.
    public var lastPacketNanoseconds: Int64?
    /// Units that were taken on their way to the session.
    public var units: UInt64
    /// Units that were not, or that made place for those of others, because the session was too slow.
    public var droppedUnits: UInt64

    /// Counters with each part given.
    public init(
        received: UInt64 = 0,
        lost: UInt64 = 0,
        repaired: UInt64 = 0,
        lastPacketNanoseconds: Int64? = nil,
        units: UInt64 = 0,
        droppedUnits: UInt64 = 0
    ) {
        self.received = received
        self.lost = lost
        self.repaired = repaired
        self.lastPacketNanoseconds = lastPacketNanoseconds
        self.units = units
        self.droppedUnits = droppedUnits
    }
}

/// Where the units of a track come from, as far as its packets are counted there.
public protocol PacketSource: Sendable {
    /// The counters now; read on the session's thread, now and then.
    var counters: PacketCounters { get }
}
