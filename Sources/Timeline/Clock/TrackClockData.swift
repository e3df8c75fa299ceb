// SPDX-License-Identifier: Apache-2.0

/// Data on one track's clock: its sender reports and its units' arrivals.
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

    /// A participant on one connection: who comes back may come with other clocks.
    public struct Sender: Sendable, Hashable {
        /// The room server's name for the participant.
        public var participant: String
        /// The part of the recording; each has separate connections.
        public var part: Int
        /// The peer connection; `nil` if the journal does not say so.
        public var connection: UInt64?

        /// A sender with each part given.
        public init(participant: String, part: Int = 1, connection: UInt64? = nil) {
            self.participant = participant
            self.part = part
            self.connection = connection
        }
    }

    /// The track's number.
    public var track: Int
    /// The sender whose clocks the track follows: tracks of one sender share one wall clock.
    public var sender: Sender
    /// The RTP clock.
    public var clock: RTPClock
    /// Sender reports, in any order.
    public var reports: [Report]
    /// Arrivals: first that of the first unit, the others in any order.
    public var samples: [ClockSample]

    /// A track with each part given.
    public init(
        track: Int,
        sender: Sender,
        clock: RTPClock,
        reports: [Report] = [],
        samples: [ClockSample] = []
    ) {
        self.track = track
        self.sender = sender
        self.clock = clock
        self.reports = reports
        self.samples = samples
    }
}
