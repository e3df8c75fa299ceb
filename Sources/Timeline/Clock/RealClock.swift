// SPDX-License-Identifier: Apache-2.0

internal import Basics

/// The rates at which a track's RTP clock really counts, where they are not the one that its description states.
///
/// A rate is taken only where sender reports and arrivals agree on it, and the described one does not explain what
/// arrived. Bursts, queues and pauses change arrivals, but not the reports; a wall clock that is set or slewed changes the
/// reports, but not the arrivals.
struct RealClock: Sendable {
    /// A part of the track with one rate.
    private struct Piece {
        /// The RTP time from which it holds; the first one also holds before.
        var start: Int64
        /// The time of a clock of the described rate at that point.
        var described: Int64
        /// The real rate, as a share of the described one.
        var ratio: Double
    }

    private let pieces: [Piece]
    private let clock: RTPClock

    /// Finds the rates; `nil` where the described one holds, or nothing better is known.
    init?(_ data: TrackClockData) {
        let samples = data.samples.sorted { $0.monotonicNanoseconds < $1.monotonicNanoseconds }
        // In ticks of a coarser clock, RTP times would lose what they state.
        guard data.clock.rateHz >= Self.leastRateHz, let origin = data.samples.first, let first = samples.first else {
            return nil
        }
        let readings = Self.readings(data, samples)
        let found = Self.joined(
            Self.runs(readings).map { run in
                let isFirst = run.lowerBound == 0
                let isLast = run.upperBound == readings.count
                return RateRun(readings[run], isFirst: isFirst, isLast: isLast, samples, from: first, data.clock)
            }
        )
        guard let ratio = found.first?.ratio, found.contains(where: { $0.ratio != 1 }) else { return nil }
        var pieces = [Piece(start: origin.rtpTime, described: origin.rtpTime, ratio: ratio)]
        for (before, after) in zip(found, found.dropFirst()) {
            let last = pieces[pieces.count - 1]
            let start = Self.change(from: before, to: after, data.clock)
            // Time rises in a file.
            guard start > last.start else { continue }
            pieces.append(Piece(start: start, described: Self.described(start, last), ratio: after.ratio))
        }
        self.pieces = pieces
        self.clock = data.clock
    }

    /// The time that a clock of the described rate would have shown at an RTP time.
    func described(_ rtpTime: Int64) -> Int64 {
        Self.described(rtpTime, self.pieces[max(0, self.pieces.partitioningIndex { $0.start > rtpTime } - 1)])
    }

    private static func described(_ rtpTime: Int64, _ piece: Piece) -> Int64 {
        piece.described &+ clamped(Double(rtpTime &- piece.start) / piece.ratio)
    }

    /// The track as a clock of the described rate would have counted it.
    func corrected(_ data: TrackClockData) -> TrackClockData {
        var corrected = data
        let samples = data.samples.sorted { $0.monotonicNanoseconds < $1.monotonicNanoseconds }
        for index in corrected.samples.indices {
            corrected.samples[index].rtpTime = self.described(data.samples[index].rtpTime)
        }
        for index in corrected.reports.indices {
            let rtpTime = self.described(Self.unwrapped(data.reports[index], samples))
            corrected.reports[index].rtpTimestamp = UInt32(truncatingIfNeeded: rtpTime)
        }
        return corrected
    }

    /// The real rates in the order in which they held, in ticks of a second.
    var rates: [Double] { self.pieces.map { $0.ratio * Double(self.clock.rateHz) } }

    // MARK: Readings

    /// The sender's reading of both of its clocks.
    struct Reading {
        var rtpTime: Int64
        /// The RTP clock at the described rate, and the wall clock, both in nanoseconds.
        var media: Double
        var wall: Double
        var arrival: Int64
    }

    /// The readings in order of arrival; of those that are near each other, the first.
    private static func readings(_ data: TrackClockData, _ samples: [ClockSample]) -> [Reading] {
        let reports = data.reports.filter { !$0.ntpTime.isUnset }
            .sorted { $0.monotonicNanoseconds < $1.monotonicNanoseconds }
        guard let epoch = reports.first?.ntpTime, let origin = samples.first else { return [] }
        var readings: [Reading] = []
        for report in reports {
            let rtpTime = Self.unwrapped(report, samples)
            let reading = Reading(
                rtpTime: rtpTime,
                media: Double(data.clock.nanoseconds(ticks: rtpTime &- origin.rtpTime)),
                wall: Double(report.ntpTime.nanoseconds(since: epoch)),
                arrival: report.monotonicNanoseconds
            )
            if let last = readings.last, abs(reading.wall - last.wall) < Self.shortestDistance { continue }
            readings.append(reading)
        }
        return Self.withoutStrays(readings)
    }

    /// Leaves out single readings that have nothing to do with those around them.
    private static func withoutStrays(_ readings: [Reading]) -> [Reading] {
        var kept: [Reading] = []
        for (index, reading) in readings.enumerated() {
            if kept.count >= 2, index + 1 < readings.count {
                let last = kept[kept.count - 1]
                let level = Self.slope(kept[kept.count - 2], last)
                let isStray = !Self.agree(Self.slope(last, reading), level)
                if isStray, Self.agree(Self.slope(last, readings[index + 1]), level) { continue }
            }
            kept.append(reading)
        }
        return kept
    }

    /// A report's RTP time near the sample that arrived next to it.
    private static func unwrapped(_ report: TrackClockData.Report, _ samples: [ClockSample]) -> Int64 {
        let after = samples.partitioningIndex { $0.monotonicNanoseconds >= report.monotonicNanoseconds }
        let near = samples[max(0, after - 1)..<min(samples.count, after + 1)].min { left, right in
            (left.monotonicNanoseconds &- report.monotonicNanoseconds).magnitude
                < (right.monotonicNanoseconds &- report.monotonicNanoseconds).magnitude
        }
        return RTPTimestampUnwrapper.nearest(report.rtpTimestamp, to: near?.rtpTime ?? 0)
    }

    /// Stretches of readings with about one rate, by index; where it changes, or a clock was set, another begins.
    private static func runs(_ readings: [Reading]) -> [Range<Int>] {
        let slopes = zip(readings, readings.dropFirst()).map { Self.slope($0, $1) }
        var runs: [Range<Int>] = []
        var start = 0
        for index in slopes.indices {
            let next = index + 1
            let level = median(slopes[max(start, next - 5)..<next])
            if next < slopes.count, Self.agree(slopes[next], level) { continue }
            // A single slope between others is a step of one of the clocks, or a wrong report.
            if next - start > 1 || slopes.count == 1 { runs.append(start..<next + 1) }
            start = next
        }
        return runs
    }

    /// How fast the RTP clock runs between two readings, as a share of the described rate.
    static func slope(_ one: Reading, _ other: Reading) -> Double {
        (other.media - one.media) / (other.wall - one.wall)
    }

    private static func agree(_ one: Double, _ other: Double) -> Bool {
        one > 0 && other > 0 && abs(one / other - 1) <= Self.slopeTolerance
    }

    // MARK: Pieces

    /// Runs in a row that have one rate; a run that proves none has that of the one before it.
    private static func joined(_ runs: [RateRun]) -> [RateRun] {
        var joined: [RateRun] = []
        for run in runs where run.isKnown {
            if let last = joined.last, abs(run.ratio / last.ratio - 1) <= Self.sameRate {
                let ratio = run.span > last.span ? run.ratio : last.ratio
                joined[joined.count - 1] = RateRun(first: last.first, last: run.last, ratio: ratio)
            } else {
                joined.append(run)
            }
        }
        // A clock that changes its rate more often is none.
        return joined.count <= Self.mostPieces ? joined : []
    }

    /// The RTP time at which one rate ended and the other began: where both lines meet, if they do.
    private static func change(from before: RateRun, to after: RateRun, _ clock: RTPClock) -> Int64 {
        let (left, right) = (before.last, after.first)
        let missing = right.media - left.media - after.ratio * (right.wall - left.wall)
        let wall = missing / (before.ratio - after.ratio)
        let bounded = min(max(0, wall), max(0, right.wall - left.wall))
        return left.rtpTime &+ clock.ticks(nanoseconds: clamped(bounded * before.ratio))
    }

    /// Reports that are nearer to each other, in nanoseconds, are one.
    private static let shortestDistance = 200e6
    /// How far the rates between neighbouring readings of one clock may differ.
    private static let slopeTolerance = 0.15
    private static let sameRate = 0.01
    private static let mostPieces = 64
    /// The least that a codec's description states.
    private static let leastRateHz = 8000
}

/// Readings in a row that have about one rate, and the rate that holds for them.
struct RateRun {
    private(set) var first: RealClock.Reading
    private(set) var last: RealClock.Reading
    /// The real rate as a share of the described one: 1 unless something else is certain.
    private(set) var ratio = 1.0
    /// Whether reports and arrivals prove a rate, be it the described one.
    private(set) var isKnown = true

    /// From the first reading to the last, in nanoseconds of the wall clock.
    var span: Double { self.last.wall - self.first.wall }

    init(first: RealClock.Reading, last: RealClock.Reading, ratio: Double) {
        self.first = first
        self.last = last
        self.ratio = ratio
    }

    /// Looks which rate holds for readings, at least one, among the samples that came in that time.
    ///
    /// - Parameters:
    ///   - isFirst: whether no reading comes before them.
    ///   - isLast: whether none comes after them.
    init(
        _ readings: ArraySlice<RealClock.Reading>,
        isFirst: Bool,
        isLast: Bool,
        _ samples: [ClockSample],
        from origin: ClockSample,
        _ clock: RTPClock
    ) {
        self.first = readings[readings.startIndex]
        self.last = readings[readings.endIndex - 1]
        let margin = Self.margin
        let from = isFirst ? self.first.arrival &- margin : self.first.arrival
        let to = isLast ? self.last.arrival &+ margin : self.last.arrival
        let start = samples.partitioningIndex { $0.monotonicNanoseconds >= from }
        let end = max(start, samples.partitioningIndex { $0.monotonicNanoseconds > to })
        let ratio = Self.ratio(Array(readings), samples[start..<end], from: origin, clock)
        self.ratio = ratio ?? 1
        self.isKnown = ratio != nil
    }

    /// The rate that the readings have and the samples confirm; `nil` if they do not.
    private static func ratio(
        _ readings: [RealClock.Reading],
        _ samples: ArraySlice<ClockSample>,
        from origin: ClockSample,
        _ clock: RTPClock
    ) -> Double? {
        let half = max(1, readings.count / 2)
        let ratio = median(zip(readings, readings.dropFirst(half)).map { RealClock.slope($0, $1) })
        guard let first = readings.first, let last = readings.last else { return nil }
        let span = last.wall - first.wall
        guard span >= Self.shortestSpan, ratio > 0 else { return nil }
        let deviation = medianDeviation(readings.map { $0.media / ratio - $0.wall })
        guard deviation <= Self.worstNoise else { return nil }
        guard abs(ratio - 1) > greatestSkew else { return 1 }
        // Too few do not distinguish a small difference from noise.
        guard readings.count >= (abs(ratio - 1) > Self.clearDifference ? 2 : 4) else { return nil }
        let points = samples.map { sample in
            Point(
                x: Double(clock.nanoseconds(ticks: sample.rtpTime &- origin.rtpTime)),
                y: Double(sample.monotonicNanoseconds &- origin.monotonicNanoseconds)
            )
        }
        guard Self.arrivalsProve(ratio, points) else { return nil }
        let noise = readings.count < 5 ? max(deviation, Self.unseenNoise) : deviation
        return Self.usual(ratio, noise: noise / span, clock)
    }

    /// Whether units arrived at that rate, and jitter does not explain it.
    private static func arrivalsProve(_ ratio: Double, _ points: [Point]) -> Bool {
        guard points.count >= 4, let first = points.first, let last = points.last,
            last.y - first.y >= Self.shortestSpan
        else { return false }
        let real = spread(points.map { $0.y - $0.x / ratio })
        let described = spread(points.map { $0.y - $0.x })
        guard described >= Self.leastDescribedSpread, described >= 4 * real else { return false }
        let third = points.count / 3
        let (early, late) = (points.prefix(max(1, third)), points.suffix(max(1, third)))
        let elapsed = median(late.map(\.y)) - median(early.map(\.y))
        let media = median(late.map(\.x)) - median(early.map(\.x))
        return elapsed > 0 && abs(media / elapsed / ratio - 1) <= Self.arrivalTolerance
    }

    /// The ratio that gives a rate at which clocks are usually run, if one is so near that noise explains the rest.
    private static func usual(_ ratio: Double, noise: Double, _ clock: RTPClock) -> Double {
        let tolerance = min(max(greatestSkew, 3 * noise), Self.arrivalTolerance / 3)
        let candidates = Self.usualRates.map { $0 / Double(clock.rateHz) } + [0.5, 2]
        let nearest = candidates.min { abs($0 / ratio - 1) < abs($1 / ratio - 1) }
        return nearest.map { abs($0 / ratio - 1) <= tolerance ? $0 : ratio } ?? ratio
    }

    /// Rates of RTP clocks (RFC 3551, RFC 7587), sample rates, and units of time.
    private static let usualRates: [Double] = [
        1_000, 8_000, 11_025, 12_000, 16_000, 22_050, 24_000, 32_000, 44_100, 48_000, 90_000, 1_000_000,
    ]
    /// In nanoseconds: below it jitter hides a rate.
    private static let shortestSpan = 4e9
    /// Largest error of a sender's readings, in nanoseconds.
    private static let worstNoise = 75e6
    /// A few readings do not show their own noise.
    private static let unseenNoise = 5e6
    /// No clock is off by as much; then few readings serve.
    private static let clearDifference = 0.1
    /// How far units and reports may disagree on the rate.
    private static let arrivalTolerance = 0.03
    /// By how much arrivals must contradict the described rate, in nanoseconds.
    private static let leastDescribedSpread = 100e6
    /// Samples before the first report, or after the last one, count so long, in nanoseconds.
    private static let margin: Int64 = 5_000_000_000
}

/// The width of the middle four fifths of these values.
func spread(_ values: [Double]) -> Double {
    guard values.count > 1 else { return 0 }
    let sorted = values.sorted()
    let edge = sorted.count / 10
    return sorted[sorted.count - 1 - edge] - sorted[edge]
}

/// A whole number of nanoseconds or ticks, at the ends of `Int64` for what lies beyond.
func clamped(_ value: Double) -> Int64 {
    Int64(exactly: value.rounded()) ?? (value < 0 ? .min : .max)
}
