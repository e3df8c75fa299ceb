// SPDX-License-Identifier: Apache-2.0

import Foundation
import Timeline

/// A clock by what it shows, in seconds, at an instant of true time.
struct SimulatedClock {
    /// How much faster it runs than true time, as a fraction.
    var skew = 0.0
    /// How far the skew swings to both sides, and in how many seconds there and back: a crystal that warms and cools.
    var swing = (skew: 0.0, seconds: 3600.0)
    /// Instants at which it was set, and by how many seconds.
    var steps: [(at: Double, by: Double)] = []
    /// Instants from which it counts so many seconds in each.
    var rates: [(at: Double, rate: Double)] = []

    func reading(at seconds: Double) -> Double {
        let angle = 2 * Double.pi * seconds / self.swing.seconds
        // The integral of skew · sin(angle).
        let swung = self.swing.skew * self.swing.seconds / (2 * .pi) * (1 - cos(angle))
        var (changed, before) = (0.0, 1 + self.skew)
        for (at, rate) in self.rates where at < seconds {
            changed += (seconds - at) * (rate - before)
            before = rate
        }
        return self.steps.reduce(seconds * (1 + self.skew) + swung + changed) {
            $0 + ($1.at <= seconds ? $1.by : 0)
        }
    }
}

/// A path that delays, reorders and loses packets; what it delivers is in order, as behind a jitter buffer.
struct SimulatedNetwork {
    enum Jitter {
        /// Evenly between zero and so many seconds.
        case uniform(Double)
        /// Mostly little, now and then a lot: the mean, in seconds.
        case exponential(Double)
        /// As `exponential`, and one packet in a hundred waits this long.
        case bursts(Double, Double)
    }

    var delay = 0.030
    var jitter = Jitter.uniform(0.015)
    /// Queues that grow, stay and drain: from when to when, and how long they get, in seconds.
    var queues: [(from: Double, to: Double, delay: Double)] = []
    /// A sender that stops for so many seconds at once, and makes up so much of them in each second that follows.
    var stall: (at: Double, seconds: Double, madeUp: Double)?
    /// The share of packets that are lost.
    var loss = 0.0

    func delay(at seconds: Double, _ generator: inout some RandomNumberGenerator) -> Double {
        let queued = self.queues.reduce(0) { sum, queue in
            guard seconds > queue.from, seconds < queue.to else { return sum }
            // It takes a tenth of the time to grow, and as long to drain.
            let edge = (queue.to - queue.from) / 10
            return sum + queue.delay * min(1, (seconds - queue.from) / edge, (queue.to - seconds) / edge)
        }
        let unit = Double.random(in: 1e-9..<1, using: &generator)
        let jitter =
            switch self.jitter {
            case .uniform(let most): unit * most
            case .exponential(let mean): -mean * log(unit)
            case .bursts(let mean, let long):
                unit < 0.01 ? long : -mean * log(unit)
            }
        let stalled = self.stall.map { stall in
            seconds < stall.at ? 0 : max(0, stall.seconds - (seconds - stall.at) * stall.madeUp)
        }
        return self.delay + queued + jitter + (stalled ?? 0)
    }

    func loses(_ generator: inout some RandomNumberGenerator) -> Bool {
        self.loss > 0 && Double.random(in: 0..<1, using: &generator) < self.loss
    }
}

/// A track of a simulated sender.
struct SimulatedTrack {
    enum NTP {
        /// The sender's wall clock.
        case right
        /// None, the same in every report, any number, or one that runs backwards.
        case unset, constant, random, backwards
    }

    var number: Int
    var rate: Int
    var firstRTPTime: Int64
    var unitSeconds: Double
    /// Seconds of the call at which it begins and ends; for ever if `nil`.
    var begins = 0.0
    var ends: Double?
    var clock = SimulatedClock()
    /// The clock that reports state in place of the units'.
    var reportClock: SimulatedClock?
    /// Takes the place of the sender's path.
    var network: SimulatedNetwork?
    /// Times at which nothing is sent, or little: silence with discontinuous transmission.
    var pauses: [ClosedRange<Double>] = []
    var silences: [ClosedRange<Double>] = []
    /// Seconds of the call at which the first report is sent; none if `nil`.
    var firstReport: Double? = 0.5
    var reportInterval = 2.5
    /// Whether reports continue in pauses, and count on, as those of libwebrtc do.
    var reportsInPauses = false
    /// How far a report's wall clock may be wrong to both sides, in seconds.
    var reportNoise = 0.0
    var ntp = NTP.right
    /// The unit of the fractions of seconds in reports.
    var fractionUnit = 4_294_967_296.0
    /// Errors of single reports' wall clocks, in nanoseconds, and of their RTP time stamps, by index.
    var reportNTPError: [Int: Int64] = [:]
    var reportRTPError: [Int: UInt32] = [:]
    /// Every so many reports one comes twice.
    var duplicateEvery: Int?

    static func video(_ number: Int = 1) -> SimulatedTrack {
        SimulatedTrack(number: number, rate: 90_000, firstRTPTime: 0xFFFF_F000, unitSeconds: 1.0 / 30)
    }

    static func audio(_ number: Int = 2) -> SimulatedTrack {
        SimulatedTrack(number: number, rate: 48_000, firstRTPTime: 123_456, unitSeconds: 0.020)
    }

    func rtpTime(at seconds: Double) -> Int64 {
        self.firstRTPTime + Int64((self.clock.reading(at: seconds) * Double(self.rate)).rounded())
    }

    func reportTimestamp(at seconds: Double) -> UInt32 {
        var track = self
        track.clock = self.reportClock ?? self.clock
        return UInt32(truncatingIfNeeded: track.rtpTime(at: seconds))
    }

    func isSending(at seconds: Double) -> Bool {
        seconds >= self.begins && seconds <= self.ends ?? .infinity && !self.pauses.contains { $0.contains(seconds) }
    }
}

/// A sender whose true capture times are known, as its recorder's journal shows it.
struct SimulatedSender {
    var participant = "alice"
    var connection: UInt64?
    /// Our clock when the call begins, in nanoseconds.
    var start: Int64 = 5_000_000_000_000
    var seconds = 60.0
    /// The wall clock when the call begins; its seconds run on from there.
    var wallStart: UInt64 = 0xE900_0000_0000_0000
    var wallClock = SimulatedClock()
    var network = SimulatedNetwork()

    func data(_ track: SimulatedTrack, _ generator: inout some RandomNumberGenerator) -> TrackClockData {
        var data = TrackClockData(
            track: track.number,
            sender: TrackClockData.Sender(participant: self.participant, connection: self.connection),
            clock: RTPClock(rateHz: track.rate)
        )
        data.samples = self.samples(track, data.clock, &generator)
        data.reports = self.reports(track, &generator)
        return data
    }

    /// When something captured at an instant of the call belongs, in nanoseconds of our clock: with the shortest delay.
    func truth(at seconds: Double) -> Int64 {
        self.start + Int64(((seconds + self.network.delay) * 1e9).rounded())
    }

    private func samples(
        _ track: SimulatedTrack,
        _ clock: RTPClock,
        _ generator: inout some RandomNumberGenerator
    ) -> [ClockSample] {
        var samples: [ClockSample] = []
        var sampler = ClockAnchorSampler(clock: clock)
        let network = track.network ?? self.network
        var newest = Int64.min
        var seconds = track.begins
        while seconds < min(self.seconds, track.ends ?? .infinity) {
            defer {
                seconds += track.silences.contains { $0.contains(seconds) } ? 0.4 : track.unitSeconds
            }
            guard track.isSending(at: seconds), !network.loses(&generator) else { continue }
            newest = max(newest, self.start + Int64((seconds + network.delay(at: seconds, &generator)) * 1e9))
            let sample = ClockSample(rtpTime: track.rtpTime(at: seconds), monotonicNanoseconds: newest)
            if samples.isEmpty { samples.append(sample) }
            if let anchor = sampler.observe(sample) { samples.append(anchor) }
        }
        return samples
    }

    private static func counted(_ wall: UInt64, in unit: Double) -> UInt64 {
        wall & ~0xFFFF_FFFF | UInt64(Double(wall & 0xFFFF_FFFF) / 4_294_967_296 * unit)
    }

    private func reports(
        _ track: SimulatedTrack,
        _ generator: inout some RandomNumberGenerator
    ) -> [TrackClockData.Report] {
        guard let first = track.firstReport else { return [] }
        var reports: [TrackClockData.Report] = []
        let network = track.network ?? self.network
        for (index, seconds) in stride(
            from: max(first, track.begins),
            to: min(self.seconds, track.ends ?? .infinity),
            by: track.reportInterval
        ).enumerated()
        where (track.isSending(at: seconds) || track.reportsInPauses) && !network.loses(&generator) {
            let noise =
                track.reportNoise > 0
                ? Double.random(in: -track.reportNoise...track.reportNoise, using: &generator) : 0
            let wall = self.wallClock.reading(at: seconds) + noise + Double(track.reportNTPError[index] ?? 0) / 1e9
            let elapsed = UInt64(bitPattern: Int64((wall * 4_294_967_296).rounded()))
            let ntpTime =
                switch track.ntp {
                case .right: Self.counted(self.wallStart &+ elapsed, in: track.fractionUnit)
                case .unset: 0 as UInt64
                case .constant: self.wallStart
                case .random: UInt64.random(in: 1...(.max), using: &generator)
                case .backwards: self.wallStart &- elapsed
                }
            let report = TrackClockData.Report(
                rtpTimestamp: track.reportTimestamp(at: seconds) &+ (track.reportRTPError[index] ?? 0),
                ntpTime: NTPTime(rawValue: ntpTime),
                monotonicNanoseconds: self.start + Int64((seconds + network.delay(at: seconds, &generator)) * 1e9)
            )
            reports.append(report)
            if let every = track.duplicateEvery, index.isMultiple(of: every) { reports.append(report) }
        }
        return reports
    }
}

/// How far a map is from the truth, in milliseconds.
struct MapErrors {
    /// Between the tracks of a sender, at each instant at which both send.
    var betweenTracks: [Double] = []
    /// The error of each track, against the truth.
    var absolute: [Double] = []

    /// Measures tracks every quarter of a second, or so often that there are 5000 instants.
    mutating func measure(
        _ map: RTPClockMap,
        _ sender: SimulatedSender,
        _ tracks: [SimulatedTrack],
        leavingOut: [ClosedRange<Double>] = []
    ) {
        for seconds in stride(from: 0, to: sender.seconds - 0.5, by: max(0.25, sender.seconds / 5000)) {
            guard !leavingOut.contains(where: { $0.contains(seconds) }) else { continue }
            let times = tracks.filter { $0.isSending(at: seconds) }.map { track in
                // A track that is not placed is as wrong as can be.
                map.sessionTimeNanoseconds(track: track.number, rtpTime: track.rtpTime(at: seconds)) ?? .max / 4
            }
            for time in times { self.absolute.append(Double(abs(time - sender.truth(at: seconds))) / 1e6) }
            if let first = times.first, let last = times.last, times.count > 1 {
                self.betweenTracks.append(Double(abs(last - first)) / 1e6)
            }
        }
    }
}

/// A small generator with a seed, so that a failure repeats.
struct Xorshift: RandomNumberGenerator {
    var state: UInt64

    mutating func next() -> UInt64 {
        self.state ^= self.state << 13
        self.state ^= self.state >> 7
        self.state ^= self.state << 17
        return self.state
    }
}
