// SPDX-License-Identifier: Apache-2.0

internal import CTapedeck

/// Counts of the packets of one source (SSRC) of a peer, before they reached its taps.
///
/// Each number is counted where it happens. Once a connection is closed two sums hold for each source, of which packets of a
/// repair payload type are left out (they carry packets of another source, where those are `restored`):
///
///     packets of all types + restored = outOfSequence + entered
///     entered = late + waiting + notAccepted + heldAndDropped + TapCounters.packets of all its taps
public struct SourceCounters: Sendable, Hashable {
    /// The source.
    public var ssrc: UInt32
    /// Authentic packets by payload type, those that `typesBeyond` counts left out.
    public var packets: [UInt8: UInt64]
    /// Packets of this source that came over RTX, in packets of another (RFC 4588).
    public var restored: UInt64
    /// Packets that rtpsession kept back: it waits for a second one behind a large step of the sequence numbers (RFC 3550
    /// appendix A.1).
    ///
    /// While the connection is open those of a source of which none has passed are `waiting`.
    public var outOfSequence: UInt64
    /// Authentic packets of payload types beyond the eight that a source may have.
    public var typesBeyond: UInt64
    /// Packets that came to the reorder buffer, those that were restored included.
    public var entered: UInt64
    /// Packets that the reorder buffer dropped: they came twice or too late, stood alone far from the others, or
    /// waited when the source's stream ended.
    public var late: UInt64
    /// Packets that wait: for the second packet of a new source in rtpsession, for others in the reorder buffer, or for a tap.
    public var waiting: UInt64
    /// Packets of payload types that were not agreed on; no tap counts them as lost.
    public var notAccepted: UInt64
    /// Packets that no tap took: there were too many of them before one came, or none ever did.
    public var heldAndDropped: UInt64

    /// A source of which nothing came.
    public init(ssrc: UInt32) {
        self.ssrc = ssrc
        self.packets = [:]
        (self.restored, self.outOfSequence, self.typesBeyond, self.entered) = (0, 0, 0, 0)
        (self.late, self.waiting, self.notAccepted, self.heldAndDropped) = (0, 0, 0, 0)
    }

    /// Sorts what is under way: no tap takes it of a connection that is stopped; of another, rtpsession may still let pass what
    /// it kept back of a source that it does not believe in yet.
    mutating func sortWaiting(isStopped: Bool) {
        if isStopped {
            (self.heldAndDropped, self.waiting) = (self.heldAndDropped + self.waiting, 0)
        } else if self.entered == 0 {
            (self.waiting, self.outOfSequence) = (self.waiting + self.outOfSequence, 0)
        }
    }

    /// The counts of a path.
    init(_ counts: CTapedeckSourceCount) {
        self.init(ssrc: counts.ssrc)
        withUnsafeBytes(of: counts.payload_types) { types in
            withUnsafeBytes(of: counts.packets) { packets in
                for (type, count) in zip(types, packets.assumingMemoryBound(to: UInt64.self))
                    .prefix(Int(counts.payload_type_count))
                {
                    self.packets[type] = count
                }
            }
        }
        (self.typesBeyond, self.outOfSequence) = (counts.beyond, counts.kept_back)
        (self.entered, self.restored, self.late) = (counts.entered, counts.restored, counts.dropped)
        (self.waiting, self.notAccepted, self.heldAndDropped) = (counts.waiting, counts.not_accepted, counts.not_taken)
    }
}
