// SPDX-License-Identifier: Apache-2.0

internal import Timeline

/// Draws up the account of one source in one recording.
///
/// Pure: from what was counted at the source, at its tracks and in the session.
struct SourceLedger {
    /// A track of the source.
    struct Part {
        var isVideo: Bool
        /// Counters of the track since it began.
        var counters: PacketCounters
        /// Packets of the units that the session got, whatever it did with them.
        var taken: UInt64
        /// Those of them that went elsewhere than into the recording.
        var elsewhere: UInt64
        /// The recording's share.
        var share: TrackShare
        /// How long the track waited for its first unit, in nanoseconds.
        var waitNanoseconds: Int64
    }

    var connection: UInt64
    var ssrc: UInt32
    var participant: String
    /// Counts of the source since it began; nil if its packets are not counted there.
    var counts: SourceCounts?
    /// The same when the recording began.
    var base: SourceCounts?
    var parts: [Part]
    /// Whether the source sends no more.
    var isFinal: Bool

    /// The account.
    func record() -> SourceCounted {
        var refused: [RefusalReason: RefusedPackets] = [:]
        var (before, recorded, empty, waiting) = (UInt64(0), UInt64(0), UInt64(0), UInt64(0))
        let doubtful = self.parts.reduce(0) { $0 &+ $1.share.outcomes.doubtful }
        let skipped = self.parts.reduce(0) { $0 &+ $1.share.outcomes.skipped }
        for part in self.parts {
            let outcomes = part.share.outcomes
            for (reason, figure) in part.share.account.refused {
                refused[reason, default: RefusedPackets()] += figure
            }
            for (reason, packets) in outcomes.refused where packets > 0 {
                refused[reason, default: RefusedPackets()].packets &+= packets
            }
            // The depayloader of VP8 begins with a keyframe.
            if outcomes.beforeKeyframe > 0 {
                refused[.noKeyframe, default: RefusedPackets()].nanoseconds &+= part.waitNanoseconds
            }
            recorded &+= part.share.account.recorded
            empty &+= outcomes.empty
            before &+= part.elsewhere &+ (part.counters.outcomes.settled &- outcomes.settled)
            // Packets in the queue to the session are waiting as well.
            let inUnits = part.counters.outcomes.inUnits
            waiting &+= part.counters.outcomes.waiting &+ (inUnits &- min(inUnits, part.taken))
        }
        if let counts {
            let base = self.base ?? SourceCounts(ssrc: self.ssrc)
            let since = [
                (RefusalReason.late, counts.late, base.late),
                (counts.refusal, counts.notAccepted, base.notAccepted),
                (.queueFull, counts.queueFull, base.queueFull),
                (.simulcastLayer, counts.otherLayer, base.otherLayer),
                (.notAuthentic, counts.forged, base.forged),
            ]
            for (reason, now, then) in since {
                before &+= min(now, then)
                if now > then { refused[reason, default: RefusedPackets()].packets &+= now - then }
            }
            waiting &+= counts.waiting
        }
        let received = self.counts?.received ?? self.parts.reduce(0) { $0 &+ $1.counters.received }
        let isVideo = self.parts.first?.isVideo
        var record = SourceCounted(
            connection: self.connection,
            ssrc: self.ssrc,
            participant: self.participant,
            media: isVideo.map { $0 ? "video" : "audio" },
            tracks: self.parts.flatMap(\.share.account.files),
            received: received,
            before: before,
            recorded: recorded,
            empty: empty,
            waiting: waiting,
            doubtful: doubtful > 0 ? doubtful : nil,
            skipped: skipped > 0 ? skipped : nil,
            refused: refused,
            isFinal: self.isFinal
        )
        // While it sends, packets come between one look at a counter and the next.
        if !self.isFinal { record.settle() }
        return record
    }
}

extension SourceCounted {
    /// Takes what is on its way for waiting, and what came while it was counted for received.
    fileprivate mutating func settle() {
        let imbalance = self.imbalance
        if imbalance > 0 {
            self.waiting &+= UInt64(imbalance)
        } else if imbalance < 0 {
            self.received &+= imbalance.magnitude
        }
    }
}
