// SPDX-License-Identifier: Apache-2.0

/// How far the monotonic clocks of two hosts are apart, by the senders that both heard.
///
/// A sender has one wall clock, whichever host it sends to. At each host the lowest curve of (arrival − wall clock) is
/// that clock on the host's own, plus the shortest delay of the path; where both curves meet, their difference is the
/// offset of the hosts. Paths of different length do not show in it: media that both received come to lie on each other.
public struct HostClockOffset: Sendable, Hashable {
    /// The addend that brings a time of the other host's clock onto ours, in nanoseconds.
    public var nanoseconds: Int64
    /// How far it may be off: by what reports scatter, by what senders disagree, and by what clocks drift in between.
    public var boundNanoseconds: Int64

    /// An offset with each part given.
    public init(nanoseconds: Int64, boundNanoseconds: Int64) {
        (self.nanoseconds, self.boundNanoseconds) = (nanoseconds, boundNanoseconds)
    }

    /// Compares what came to us with what came to another host; `nil` if no sender reported twice to each.
    ///
    /// Most senders decide; of two that disagree, the one nearer to the hosts' wall clocks.
    ///
    /// - Parameter utcNanoseconds: the offset by the wall clocks of the two hosts, in nanoseconds.
    public static func find(
        _ ours: SenderReportArrivals,
        _ others: SenderReportArrivals,
        near utcNanoseconds: Int64
    ) -> HostClockOffset? {
        let theirs = others.bySender
        let estimates = ours.bySender.compactMap { sender, arrivals in
            theirs[sender].flatMap { Estimate(arrivals, $0) }
        }.sorted { ($0.offset, $0.bound) < ($1.offset, $1.bound) }
        let groups = estimates.map { centre in
            estimates.filter { abs($0.offset - centre.offset) <= Self.tolerance + $0.bound + centre.bound }
        }
        let distance = { (group: [Estimate]) in abs(median(group.map(\.offset)) - Double(utcNanoseconds)) }
        let best = groups.max { ($0.count, distance($1)) < ($1.count, distance($0)) }
        guard let best else { return nil }
        let offset = median(best.map(\.offset))
        let spread = best.map { abs($0.offset - offset) }.max() ?? 0
        let bound = max(Self.leastBound, spread, median(best.map(\.bound)))
        return HostClockOffset(nanoseconds: clamped(offset.rounded()), boundNanoseconds: clamped(bound.rounded(.up)))
    }

    /// Senders at the ends of different paths may differ by this much, in nanoseconds.
    private static let tolerance = 50e6
    /// Reports are stamped and read by processes that share a machine with others.
    private static let leastBound = 1e6
}

/// The offset of two hosts by the clock of one sender.
private struct Estimate {
    let offset: Double
    let bound: Double

    init?(_ ours: [SenderReportArrivals.Arrival], _ theirs: [SenderReportArrivals.Arrival]) {
        guard let first = ours.first?.ntpTime, let our = Lead(ours, since: first),
            let their = Lead(theirs, since: first)
        else { return nil }
        // In the middle of what both heard, or of the time in between.
        let (from, to) = (
            max(our.span.lowerBound, their.span.lowerBound), min(our.span.upperBound, their.span.upperBound)
        )
        let meeting = from + (to - from) / 2
        guard let mine = our.curve(near: meeting), let other = their.curve(near: meeting) else { return nil }
        self.offset = our.base - their.base + mine.lead - other.lead
        self.bound = mine.noise + other.noise + max(0, from - to) * Self.fastestDrift
    }

    /// Crystals drift by some ppm as they warm, wall clocks are corrected at tens of ppm.
    private static let fastestDrift = 50e-6
}

/// How far a host's clock leads a sender's.
private struct Lead {
    /// The sender's times, in nanoseconds, and the host's clock less `base` and less them.
    private let points: [Point]
    let base: Double
    /// From the first of the sender's times to the last.
    let span: ClosedRange<Double>

    init?(_ arrivals: [SenderReportArrivals.Arrival], since epoch: NTPTime) {
        guard let base = arrivals.first?.monotonicNanoseconds else { return nil }
        self.base = Double(base)
        self.points = arrivals.map { arrival in
            let time = Double(arrival.ntpTime.nanoseconds(since: epoch))
            return Point(x: time, y: Double(arrival.monotonicNanoseconds &- base) - time)
        }.sorted { $0.x < $1.x }
        guard let first = self.points.first, let last = self.points.last else { return nil }
        self.span = first.x...last.x
    }

    /// The lead at one of the sender's times, and how far the reports around it let it be off.
    func curve(near time: Double) -> (lead: Double, noise: Double)? {
        let nearest = min(max(time, self.span.lowerBound), self.span.upperBound)
        let points = self.points.filter { abs($0.x - nearest) <= Self.reach }
        guard points.count >= 2, let envelope = ArrivalEnvelope(points) else { return nil }
        // Of so many delays of the usual kind, the least is above none by about the mean over their number.
        let heights = points.map { $0.y - envelope.lead(at: $0.x) }
        return (envelope.lead(at: time), 4 * median(heights) / Double(points.count))
    }

    /// Enough reports to see a clock's rate, and few enough that a sender's clock is rarely set among them.
    private static let reach = 600e9
}
