// SPDX-License-Identifier: Apache-2.0

/// Maps every track's RTP time onto one session clock: the monotonic clock of the recording host.
///
/// Per track a line through its sender reports gives the sender's wall clock. Per participant one correction, from the
/// lower envelope of arrival minus sender time over all its tracks, brings that clock onto ours: tracks of one
/// participant keep exactly the distance that their sender reports state. A track without usable reports is placed by
/// the envelope of its own arrivals. Each track's map is one line, so it is monotonic.
///
/// A sender that sets its wall clock or breaks its RTP timeline in the middle of a track is not followed.
public struct RTPClockMap: Sendable {
    /// What a track's place on the session clock rests on.
    public enum Basis: String, Sendable, Hashable, Codable {
        /// The sender's reports and the participant's common correction.
        case senderReports = "sender-reports"
        /// The arrival of the track's units alone.
        case arrival
    }

    private struct Line {
        var clock: RTPClock
        var rtpOrigin: Int64
        var originNanoseconds: Int64
        var skew: Double
        var basis: Basis
    }

    private var lines: [Int: Line] = [:]

    /// The maps of all tracks that have at least one clock sample.
    public init(_ tracks: [TrackClockData]) {
        for participantTracks in Dictionary(grouping: tracks, by: \.participant).values {
            self.place(participantTracks.sorted { $0.track < $1.track })
        }
    }

    /// The maps that a journal's entries give, in any order.
    public init(entries: some Sequence<JournalEntry>) {
        self.init(TrackClockData.collect(entries))
    }

    /// When the unit belongs, in nanoseconds of the recording host's monotonic clock; `nil` for an unknown track.
    public func sessionTimeNanoseconds(track: Int, rtpTime: Int64) -> Int64? {
        guard let line = self.lines[track] else { return nil }
        let media = line.clock.nanoseconds(ticks: rtpTime &- line.rtpOrigin)
        let correction = Int64((Double(media) * line.skew).rounded())
        return line.originNanoseconds &+ media &+ correction
    }

    /// What the track's place rests on; `nil` for an unknown track.
    public func basis(track: Int) -> Basis? {
        self.lines[track]?.basis
    }

    /// Places the tracks of one participant.
    private mutating func place(_ tracks: [TrackClockData]) {
        let placed = tracks.compactMap { PlacedTrack($0) }
        for track in placed { self.lines[track.data.track] = track.arrivalLine }

        // The wall clock's epoch is the first report's of the track with most reports; others must agree with it.
        let reporting = placed.filter { !$0.reports.isEmpty }
        guard
            let reference = reporting.max(by: { ($0.reports.count, $1.data.track) < ($1.reports.count, $0.data.track) }
            ),
            let epoch = reference.reports.first?.ntpTime
        else { return }
        let aligned = reporting.compactMap { track -> AlignedTrack? in
            SenderReportLine(track.reports, clock: track.data.clock, epoch: epoch).flatMap {
                AlignedTrack(track: track, line: $0)
            }
        }
        let leading = aligned.first { $0.track.data.track == reference.data.track } ?? aligned.first
        guard let leading else { return }
        let agreeing = aligned.filter { abs($0.leastLead - leading.leastLead) <= Self.greatestDisagreement }
        guard let envelope = ArrivalEnvelope(agreeing.flatMap(\.points)) else { return }
        for member in agreeing {
            let sender = member.line.originNanoseconds
            let origin = sender + envelope.offset + envelope.skew * sender
            guard let originNanoseconds = Int64(exactly: origin.rounded()) else { continue }
            self.lines[member.track.data.track] = Line(
                clock: member.track.data.clock,
                rtpOrigin: member.line.rtpOrigin,
                originNanoseconds: originNanoseconds,
                skew: (1 + member.line.skew) * (1 + envelope.skew) - 1,
                basis: .senderReports
            )
        }
    }

    /// Tracks of one participant whose wall clocks differ by more than this, in nanoseconds, do not share a clock.
    private static let greatestDisagreement = 5e9
}

extension RTPClockMap {
    /// A track placed by its arrivals, with its reports unwrapped.
    ///
    /// Reports without a wall clock or of another RTP timeline are left out.
    private struct PlacedTrack {
        let data: TrackClockData
        let reports: [SenderReportLine.Report]
        let arrivalLine: Line

        init?(_ data: TrackClockData) {
            let samples = data.samples.sorted { $0.monotonicNanoseconds < $1.monotonicNanoseconds }
            guard let first = samples.first else { return nil }
            let envelope = ArrivalEnvelope(
                samples.map { sample in
                    let media = data.clock.nanoseconds(ticks: sample.rtpTime &- first.rtpTime)
                    let elapsed = sample.monotonicNanoseconds &- first.monotonicNanoseconds
                    return Point(x: Double(media), y: Double(elapsed &- media))
                }
            )
            guard let envelope, let offset = Int64(exactly: envelope.offset.rounded()) else { return nil }
            self.data = data
            self.arrivalLine = Line(
                clock: data.clock,
                rtpOrigin: first.rtpTime,
                originNanoseconds: first.monotonicNanoseconds &+ offset,
                skew: envelope.skew,
                basis: .arrival
            )
            self.reports = data.reports.compactMap { report in
                report.ntpTime.isUnset ? nil : Self.unwrap(report, samples: samples, clock: data.clock)
            }
        }

        /// A report's RTP time near the sample that arrived closest to it; `nil` when it is of another timeline.
        private static func unwrap(
            _ report: TrackClockData.Report,
            samples: [ClockSample],
            clock: RTPClock
        ) -> SenderReportLine.Report? {
            var low = 0
            var high = samples.count
            while low < high {
                let middle = (low + high) / 2
                if samples[middle].monotonicNanoseconds < report.monotonicNanoseconds {
                    low = middle + 1
                } else {
                    high = middle
                }
            }
            let neighbours = samples[max(0, low - 1)..<min(samples.count, low + 1)]
            let nearest = neighbours.min {
                ($0.monotonicNanoseconds &- report.monotonicNanoseconds).magnitude
                    < ($1.monotonicNanoseconds &- report.monotonicNanoseconds).magnitude
            }
            guard let nearest else { return nil }
            let elapsed = report.monotonicNanoseconds &- nearest.monotonicNanoseconds
            let expected = nearest.rtpTime &+ clock.ticks(nanoseconds: elapsed)
            let rtpTime = RTPTimestampUnwrapper.nearest(report.rtpTimestamp, to: expected)
            let error = clock.nanoseconds(ticks: rtpTime &- expected)
            guard abs(Double(error)) <= greatestDisagreement else { return nil }
            return SenderReportLine.Report(rtpTime: rtpTime, ntpTime: report.ntpTime)
        }
    }

    /// A track on its sender's wall clock.
    private struct AlignedTrack {
        let track: PlacedTrack
        let line: SenderReportLine
        /// Its samples: the sender's time, and how far our clock leads at arrival.
        let points: [Point]
        /// The smallest lead of our clock.
        let leastLead: Double

        init?(track: PlacedTrack, line: SenderReportLine) {
            self.track = track
            self.line = line
            self.points = track.data.samples.map { sample in
                let media = Double(track.data.clock.nanoseconds(ticks: sample.rtpTime &- line.rtpOrigin))
                let sender = line.originNanoseconds + media * (1 + line.skew)
                return Point(x: sender, y: Double(sample.monotonicNanoseconds) - sender)
            }
            guard let least = self.points.map(\.y).min() else { return nil }
            self.leastLead = least
        }
    }
}
