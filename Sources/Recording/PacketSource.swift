// SPDX-License-Identifier: Apache-2.0

public import Basics
internal import Timeline

/// Counters of the packets of a received track so far.
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
    /// Outcomes of the packets before the session.
    public var outcomes: PacketOutcomes

    /// Counters with each part given.
    public init(
        received: UInt64 = 0,
        lost: UInt64 = 0,
        repaired: UInt64 = 0,
        lastPacketNanoseconds: Int64? = nil,
        units: UInt64 = 0,
        droppedUnits: UInt64 = 0,
        outcomes: PacketOutcomes = PacketOutcomes()
    ) {
        self.received = received
        self.lost = lost
        self.repaired = repaired
        self.lastPacketNanoseconds = lastPacketNanoseconds
        self.units = units
        self.droppedUnits = droppedUnits
        self.outcomes = outcomes
    }
}

/// Outcomes of the RTP packets of a track between its reorder buffer and the session.
///
/// Each packet of `received` is counted once: here, in a unit that the session got, or in one that is on its way to it.
public struct PacketOutcomes: Sendable, Hashable {
    /// Without a payload.
    public var empty: UInt64 = 0
    /// Out of order behind the reorder buffer.
    public var late: UInt64 = 0
    /// Packets of frames that came before the first keyframe.
    public var beforeKeyframe: UInt64 = 0
    /// Packets of frames whose other packets never came.
    public var incomplete: UInt64 = 0
    /// Packets of frames that do not parse as their codec.
    public var undecodable: UInt64 = 0
    /// Packets of units that a bounded queue had no room for.
    public var queueFull: UInt64 = 0
    /// Packets of units that went into the queue to the session and were not dropped there.
    public var inUnits: UInt64 = 0
    /// Packets of a frame that has begun.
    public var waiting: UInt64 = 0
    /// Packets whose padding looks like media, in addition to what became of them.
    public var doubtful: UInt64 = 0
    /// Frames that a server lost, by their numbers; none of the packets.
    public var skipped: UInt64 = 0

    /// No packets.
    public init() {}
}

/// Where the units of a track come from, as far as its packets are counted there.
public protocol PacketSource: Sendable {
    /// The counters now; read on the session's thread, now and then.
    var counters: PacketCounters { get }
}

/// Counts of the authenticated RTP packets of one source (SSRC) of a peer connection before they reached its tracks.
///
/// Each packet is counted once here or at one of the tracks of the source.
public struct SourceCounts: Sendable, Hashable {
    /// Synchronisation source.
    public var ssrc: UInt32
    /// Authenticated packets by payload type, without those that `beyond` counts.
    public var packets: [UInt8: UInt64]
    /// Authenticated packets of more payload types than a source may have; `notAccepted` counts them as well.
    public var beyond: UInt64 = 0
    /// Use of each of these payload types in the descriptions.
    public var uses: [UInt8: PayloadUse]
    /// Packets that were restored from retransmissions.
    public var restored: UInt64 = 0
    /// Packets that came late or twice, or out of sequence.
    public var late: UInt64 = 0
    /// Packets of payload types that no track takes, and of more types than a source may have.
    public var notAccepted: UInt64 = 0
    /// Packets that a bounded queue had no room for.
    public var queueFull: UInt64 = 0
    /// Packets that wait for others.
    public var waiting: UInt64 = 0
    /// Packets of a layer that is not recorded, as a better one is.
    public var otherLayer: UInt64 = 0
    /// Packets that were not made with the key of the handshake; of no source, since anyone may have written its number.
    public var forged: UInt64 = 0

    /// A source with its packets, and nothing that became of them.
    public init(ssrc: UInt32, packets: [UInt8: UInt64] = [:], uses: [UInt8: PayloadUse] = [:]) {
        self.ssrc = ssrc
        self.packets = packets
        self.uses = uses
    }

    /// All packets that came, directly or by retransmission.
    var received: UInt64 {
        self.packets.reduce(self.restored &+ self.beyond &+ self.forged) {
            self.uses[$1.key] == .repair ? $0 : $0 &+ $1.value
        }
    }

    /// Whether all that came of it repairs other sources.
    var isRepair: Bool {
        let types = self.packets.filter { $0.value > 0 }.keys
        return !types.isEmpty && types.allSatisfy { self.uses[$0] == .repair }
    }

    /// Why packets of it are not accepted.
    var refusal: RefusalReason {
        let isRefused = self.packets.keys.contains { self.uses[$0] == .refused }
        return isRefused ? .codecRefused : .payloadTypeNotAccepted
    }
}
