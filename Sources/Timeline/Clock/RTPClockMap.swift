// SPDX-License-Identifier: Apache-2.0

/// Maps every track's RTP time onto one session clock: the monotonic clock of the recording host.
///
/// Per track a curve through its sender reports gives the sender's wall clock. Per sender and connection one
/// correction, from the lower envelope of arrival minus sender time over all its tracks, brings that clock onto ours:
/// tracks of one sender keep exactly the distance that their sender reports state. A track without usable reports is
/// placed by the envelope of its arrivals alone. Each track's map rises with its RTP time.
///
/// A wall clock that is set in mid-call is seen and brought back; an RTP timeline that stands still or jumps is
/// followed, and so is an RTP clock of another rate than described, where reports and arrivals agree on that rate. So are reports
/// that count fractions of a second in another unit. Numbers that no clock gives are left out.
public struct RTPClockMap: Sendable {
    /// Basis of a track's position on the session clock.
    public enum Basis: String, Sendable, Hashable, Codable {
        /// The sender's reports and the sender's common correction.
        case senderReports = "sender-reports"
        /// The arrival of the track's units alone.
        case arrival
    }

    /// How long a track lasts by its placed times, and how long its units took to come.
    public struct Contradiction: Sendable, Hashable {
        /// From the first arrival to the last, in nanoseconds.
        public var arrivalNanoseconds: Int64
        /// The same stretch by the track's times, in nanoseconds; negative for a clock that runs backwards.
        public var mediaNanoseconds: Int64
        /// Whether they drift apart all the time, as with a clock of another rate, and not once.
        public var isSteady: Bool

        /// A contradiction with each part given.
        public init(arrivalNanoseconds: Int64, mediaNanoseconds: Int64, isSteady: Bool) {
            self.arrivalNanoseconds = arrivalNanoseconds
            self.mediaNanoseconds = mediaNanoseconds
            self.isSteady = isSteady
        }
    }

    private var tracks: [Int: TrackPlacement] = [:]
    private var realClocks: [Int: RealClock] = [:]
    private var contradictions: [Int: Contradiction] = [:]

    /// The maps of all tracks that have at least one clock sample.
    public init(_ tracks: [TrackClockData]) {
        for senderTracks in Dictionary(grouping: tracks, by: \.sender).values.map(ReportFractions.corrected) {
            for data in senderTracks { self.realClocks[data.track] = RealClock(data) }
            let corrected = senderTracks.map { self.realClocks[$0.track]?.corrected($0) ?? $0 }
            self.place(corrected)
            for data in senderTracks { self.contradictions[data.track] = self.contradiction(of: data) }
            // A clock that does not count seconds says nothing of the sender's other tracks.
            var trusted = corrected
            for index in trusted.indices where self.contradictions[trusted[index].track]?.isSteady == true {
                trusted[index].reports = []
            }
            if trusted != corrected { self.place(trusted) }
        }
    }

    /// When the unit belongs, in nanoseconds of the recording host's monotonic clock; `nil` for an unknown track.
    public func sessionTimeNanoseconds(track: Int, rtpTime: Int64) -> Int64? {
        self.tracks[track]?.sessionTimeNanoseconds(self.realClocks[track]?.described(rtpTime) ?? rtpTime)
    }

    /// The rates in Hz, in their order, at which the track's RTP clock really counts; empty if the described one holds.
    public func realRates(track: Int) -> [Int64] {
        (self.realClocks[track]?.rates ?? []).map(clamped)
    }

    /// How the track's times contradict the arrival of its units; `nil` if they do not.
    public func contradiction(track: Int) -> Contradiction? {
        self.contradictions[track]
    }

    /// Basis of the track's position; `nil` for an unknown track.
    public func basis(track: Int) -> Basis? {
        self.tracks[track]?.basis
    }

    /// Places the tracks of one sender.
    private mutating func place(_ tracks: [TrackClockData]) {
        let sender = SenderTimeline(tracks)
        let stretches = sender.tracks.map { track in track.stretches.map { Stretch(track, $0) } }
        let reporting = stretches.flatMap { $0 }.filter { $0.curve != nil }
        let leading = reporting.max { $0.reportCount < $1.reportCount }
        // Other tracks must agree with the one that has most reports, or their wall clock is another one.
        let agrees = { (stretch: Stretch) -> Bool in
            guard let leading, stretch.curve != nil else { return false }
            return abs(stretch.leastLead - leading.leastLead) <= Self.greatestDisagreement
        }
        let envelope = ArrivalEnvelope(reporting.filter(agrees).flatMap(\.points))
        for (track, stretches) in zip(sender.tracks, stretches) {
            var placement = TrackPlacement(clock: track.data.clock)
            for stretch in stretches {
                let curve = agrees(stretch) ? stretch.curve : nil
                if let curve, let envelope {
                    placement.append(stretch.start, stretch.samples, basis: .senderReports) { rtpTime in
                        let wallTime = curve.wallTime(at: track.media(rtpTime))
                        return wallTime + envelope.lead(at: wallTime)
                    }
                } else if let envelope = ArrivalEnvelope(stretch.arrivalPoints(track)) {
                    placement.append(stretch.start, stretch.samples, basis: .arrival) { rtpTime in
                        let media = track.media(rtpTime)
                        return media + envelope.lead(at: media)
                    }
                }
            }
            self.tracks[track.data.track] = placement
        }
    }

    /// Looks whether units come later and later, or earlier and earlier, than the times that they are given.
    ///
    /// A queue makes units late for a while, and drains; a clock that does not count seconds drifts all the time.
    private func contradiction(of data: TrackClockData) -> Contradiction? {
        let samples = data.samples.sorted { $0.monotonicNanoseconds < $1.monotonicNanoseconds }
        guard samples.count >= 4, let first = samples.first, let last = samples.last else { return nil }
        let points = samples.compactMap { sample -> Point? in
            guard let time = self.sessionTimeNanoseconds(track: data.track, rtpTime: sample.rtpTime) else { return nil }
            let elapsed = Double(sample.monotonicNanoseconds &- first.monotonicNanoseconds)
            return Point(x: elapsed, y: Double(sample.monotonicNanoseconds) - Double(time))
        }
        let third = points.count / 3
        guard third > 0 else { return nil }
        let (early, late) = (points.prefix(third), points.suffix(third))
        let elapsed = median(late.map(\.x)) - median(early.map(\.x))
        guard elapsed > 0 else { return nil }
        let slope = (median(late.map(\.y)) - median(early.map(\.y))) / elapsed
        let arrival = Double(last.monotonicNanoseconds &- first.monotonicNanoseconds)
        let drift = abs(slope * arrival)
        guard drift > Self.leastDrift else { return nil }
        // A timeline that jumped once, as between two parts of a recording, does not drift.
        let largestStep = zip(points, points.dropFirst()).map { abs($1.y - $0.y) }.max() ?? 0
        let rest = spread(points.map { $0.y - slope * $0.x })
        let isSteady = abs(slope) > Self.leastSlope && rest * 4 <= drift && largestStep * 2 <= drift
        guard isSteady || drift > Self.greatestDisagreement else { return nil }
        return Contradiction(
            arrivalNanoseconds: clamped(arrival),
            mediaNanoseconds: clamped(arrival * (1 - slope)),
            isSteady: isSteady
        )
    }

    /// Congestion adds less to a path's delay within a call, in nanoseconds, or does not drain as steadily.
    private static let leastDrift = 750e6
    private static let leastSlope = 0.03

    /// Tracks of one sender whose wall clocks differ by more than this, in nanoseconds, do not share a clock.
    private static let greatestDisagreement = Double(greatestDisagreementNanoseconds)

    /// How much later than the other tracks of its sender one may come and keep the place that its reports give it.
    public static let greatestDisagreementNanoseconds: Int64 = 5_000_000_000
}

extension RTPClockMap {
    /// A stretch of a track on its sender's wall clock.
    private struct Stretch {
        let start: Int64
        let samples: [ClockSample]
        let curve: SenderReportCurve?
        let reportCount: Int
        /// The samples: the sender's time, and how far our clock leads at arrival.
        let points: [Point]
        /// The smallest lead of our clock.
        let leastLead: Double

        init(_ track: TrackTimeline, _ stretch: TrackTimeline.Stretch) {
            let curve = SenderReportCurve(
                stretch.reports.map { Point(x: track.media($0.rtpTime), y: $0.lead) }.sorted { $0.x < $1.x }
            )
            self.start = stretch.start
            self.samples = stretch.samples
            self.curve = curve
            self.reportCount = curve == nil ? 0 : stretch.reports.count
            self.points = stretch.samples.compactMap { sample in
                curve.map { curve in
                    let wallTime = curve.wallTime(at: track.media(sample.rtpTime))
                    return Point(x: wallTime, y: Double(sample.monotonicNanoseconds) - wallTime)
                }
            }
            self.leastLead = self.points.map(\.y).min() ?? 0
        }

        /// The samples: media time, and how much later they arrived.
        func arrivalPoints(_ track: TrackTimeline) -> [Point] {
            self.samples.map { sample in
                let media = track.media(sample.rtpTime)
                return Point(x: media, y: Double(sample.monotonicNanoseconds) - media)
            }
        }
    }
}
