// SPDX-License-Identifier: Apache-2.0

/// What is known of one track's clock: its sender reports and its units' arrivals.
public struct TrackClockData: Sendable, Hashable {
    /// A sender report and its arrival.
    public struct Report: Sendable, Hashable {
        /// The RTP time stamp as it came.
        public var rtpTimestamp: UInt32
        /// The sender's wall clock.
        public var ntpTime: NTPTime
        /// Arrival, in nanoseconds of our monotonic clock.
        public var monotonicNanoseconds: Int64

        /// A report with each part given.
        public init(rtpTimestamp: UInt32, ntpTime: NTPTime, monotonicNanoseconds: Int64) {
            self.rtpTimestamp = rtpTimestamp
            self.ntpTime = ntpTime
            self.monotonicNanoseconds = monotonicNanoseconds
        }
    }

    /// The track's number.
    public var track: Int
    /// Whose track it is: tracks of one participant share one wall clock.
    public var participant: String
    /// The RTP clock.
    public var clock: RTPClock
    /// Sender reports, in any order.
    public var reports: [Report]
    /// Arrivals, in any order.
    public var samples: [ClockSample]

    /// A track with each part given.
    public init(
        track: Int,
        participant: String,
        clock: RTPClock,
        reports: [Report] = [],
        samples: [ClockSample] = []
    ) {
        self.track = track
        self.participant = participant
        self.clock = clock
        self.reports = reports
        self.samples = samples
    }

    /// Gathers the clock data of all tracks that a journal opened, by track number.
    ///
    /// Reports may come before their track is opened; reports of another SSRC than the track's are left out.
    public static func collect(_ entries: some Sequence<JournalEntry>) -> [TrackClockData] {
        var opened: [Int: (record: TrackOpened, monotonicNanoseconds: Int64)] = [:]
        var reports: [Int: [(ssrc: UInt32, report: Report)]] = [:]
        var samples: [Int: [ClockSample]] = [:]
        for entry in entries {
            switch entry.record {
            case .trackOpened(let record):
                opened[record.track] = (record, entry.monotonicNanoseconds)
            case .senderReport(let record):
                let report = Report(
                    rtpTimestamp: record.rtpTimestamp,
                    ntpTime: NTPTime(rawValue: record.ntpTime),
                    monotonicNanoseconds: entry.monotonicNanoseconds
                )
                reports[record.track, default: []].append((record.ssrc, report))
            case .clockAnchor(let record):
                let sample = ClockSample(
                    rtpTime: record.rtpTime,
                    monotonicNanoseconds: entry.monotonicNanoseconds
                )
                samples[record.track, default: []].append(sample)
            case .recordingStarted, .partStarted, .participantJoined, .participantLeft, .formatChanged, .packetsCounted,
                .trackClosed, .marker, .recordingFinished:
                break
            }
        }
        return opened.values.map { record, monotonicNanoseconds in
            let first = ClockSample(
                rtpTime: record.firstRTPTime,
                monotonicNanoseconds: monotonicNanoseconds
            )
            return TrackClockData(
                track: record.track,
                participant: record.participant,
                clock: RTPClock(rateHz: record.clockRateHz),
                reports: (reports[record.track] ?? [])
                    .filter { record.ssrc == nil || $0.ssrc == record.ssrc }.map(\.report),
                samples: [first] + (samples[record.track] ?? [])
            )
        }.sorted { $0.track < $1.track }
    }
}
