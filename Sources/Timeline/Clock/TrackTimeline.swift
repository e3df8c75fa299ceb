// SPDX-License-Identifier: Apache-2.0

internal import Basics

/// The units of one track, unwrapped and in order, and the breaks of its RTP timeline.
///
/// A sender may continue with another RTP time than the clock says: its timeline stands still while the camera is off,
/// or restarts. Between such jumps lie stretches, on each of which one relation of the clocks holds.
struct TrackTimeline {
    /// A sender report whose RTP time stamp is unwrapped.
    struct Report {
        var rtpTime: Int64
        /// The same, but no later than the units before it, if it came while the timeline stood still.
        ///
        /// Senders count on in their reports while nothing is captured, and then continue where they stopped.
        var reached: Int64
        var ntpTime: NTPTime
        var monotonicNanoseconds: Int64
        /// How far the sender's wall clock leads the RTP clock, in nanoseconds from any zero.
        var lead = 0.0
    }

    /// An instant at which the lead of the wall clock changed: one of the two clocks was set.
    struct Break {
        /// The first report after it.
        var index: Int
        /// By how much, in nanoseconds.
        var step: Double
    }

    let data: TrackClockData
    /// In order of arrival, without absurd ones; at least one.
    let samples: [ClockSample]
    /// In order of arrival; those without a wall clock or of another RTP timeline are left out.
    var reports: [Report]
    /// RTP times at which the sender's timeline jumps, rising.
    private(set) var jumps: [Int64]
    /// The RTP time and the arrival that others are compared with.
    let origin: ClockSample

    init?(_ data: TrackClockData) {
        // The first one is that of the file's first unit, which the journal always has.
        guard let origin = data.samples.first else { return nil }
        let sorted = data.samples.sorted { $0.monotonicNanoseconds < $1.monotonicNanoseconds }
        let points = sorted.map { Self.lateness($0, from: origin, data.clock) }
        let runs = ClockRuns.find(points, tolerance: Self.queueNanoseconds, reference: .lowest)
        let firstRun = runs.first { run in run.contains { sorted[$0] == origin } } ?? []
        let credible = ClockRuns.disjoint(runs.filter { $0.count >= 3 || $0 == firstRun })

        var kept: [ClockSample] = []
        var jumps: [Int64] = []
        for run in credible {
            let members = run.map { sorted[$0] }
            guard let first = members.first else { continue }
            if let last = kept.last {
                // Time rises in a file: an earlier time is of another timeline than the file's.
                guard first.rtpTime > last.rtpTime, first.rtpTime &- origin.rtpTime >= 0 else { continue }
                let elapsed = first.monotonicNanoseconds &- last.monotonicNanoseconds
                let media = data.clock.nanoseconds(ticks: first.rtpTime &- last.rtpTime)
                let later = Double(elapsed) - Double(media)
                if later > 0 {
                    // Units that come later than before, but without a pause, wait in a queue.
                    guard later >= Self.shortestPause else { continue }
                    // Units that catch up wait in a queue, too: a timeline that stood still stays as late as it is.
                    let makesUp = Self.catchUp(members, data.clock)
                    if later - makesUp >= Self.shortestPause { jumps.append(first.rtpTime) }
                } else if -later > Self.longestStall {
                    jumps.append(first.rtpTime)
                }
            }
            kept += members
        }
        self.data = data
        self.origin = origin
        self.samples = kept.isEmpty ? [origin] : kept
        self.jumps = jumps
        self.reports = []
        self.reports = data.reports.compactMap { $0.ntpTime.isUnset ? nil : self.unwrap($0) }
            .sorted { $0.monotonicNanoseconds < $1.monotonicNanoseconds }
    }

    /// How long media lasts from the origin to an RTP time, in nanoseconds.
    func media(_ rtpTime: Int64) -> Double {
        Double(self.data.clock.nanoseconds(ticks: rtpTime &- self.origin.rtpTime))
    }

    /// Takes these jumps in place of those that arrivals suggest.
    mutating func setJumps(_ jumps: [Int64]) {
        self.jumps = Array(Set(jumps)).sorted()
    }

    // MARK: Sender reports

    /// Runs of reports that agree with each other, in order, by index; empty if most of them are nonsense.
    func reportRuns() -> [[Int]] {
        let points = self.reports.map { Point(x: self.media($0.rtpTime), y: $0.lead) }
        let runs = ClockRuns.find(points, tolerance: Self.reportTolerance, reference: .newest)
        let credible = ClockRuns.disjoint(runs.filter { $0.count >= 3 || $0.count * 2 > self.reports.count })
        return credible.reduce(0) { $0 + $1.count } * 2 > self.reports.count ? credible : []
    }

    /// Where one of the sender's two clocks was set, in order.
    func breaks() -> [Break] {
        let runs = self.reportRuns()
        guard let longest = runs.max(by: { $0.count < $1.count }) else { return [] }
        // Pairs so near each other that most of them have no step in between.
        let trend = robustSkew(
            longest.map { Point(x: self.media(self.reports[$0].rtpTime), y: self.reports[$0].lead) },
            distance: min(longest.count / 4, 40)
        )
        let level = { (index: Int) -> Double in
            self.reports[index].lead - trend * self.media(self.reports[index].rtpTime)
        }
        var found: [Break] = []
        for (number, run) in runs.enumerated() {
            if number > 0, let first = run.first {
                let before = median(runs[number - 1].suffix(Self.stepWindow).map(level))
                found.append(Break(index: first, step: median(run.prefix(Self.stepWindow).map(level)) - before))
            }
            found += smallSteps(run.map(level)).map { Break(index: run[$0.index], step: $0.step) }
        }
        return found.count <= Self.mostBreaks ? found : []
    }

    /// Whether a step between these arrivals would have been seen.
    func hasReports(before: Int64, after: Int64) -> Bool {
        let early = self.reports.partitioningIndex { $0.monotonicNanoseconds > before }
        let late = self.reports.count - self.reports.partitioningIndex { $0.monotonicNanoseconds >= after }
        return min(early, late) >= 3 && !self.reportRuns().isEmpty
    }

    /// How much later units came after a report than before it, for the half minute on both sides; `nil` if none came.
    func latenessStep(before: Report, after: Report) -> Double? {
        let early = self.samples.filter { sample in
            sample.rtpTime <= before.reached
                && Double(before.monotonicNanoseconds) - Double(sample.monotonicNanoseconds) < Self.window
        }
        let late = self.samples.filter { sample in
            sample.rtpTime >= after.rtpTime
                && Double(sample.monotonicNanoseconds) - Double(after.monotonicNanoseconds) < Self.window
        }
        let lowest = { (samples: [ClockSample]) in
            samples.map { Self.lateness($0, from: self.origin, self.data.clock).y }.min()
        }
        guard let first = lowest(early), let second = lowest(late) else { return nil }
        return second - first
    }

    /// The RTP time between two others with which lateness changes by about so much; `nil` if none stands out.
    func likelyJump(after before: Int64, until after: Int64, of step: Double) -> Int64? {
        let near = self.samples.partitioningIndex { $0.rtpTime > before }
        let steps = self.samples.indices.dropFirst(max(1, near)).prefix { index in
            self.samples[index - 1].rtpTime < after
        }.map { index -> (rtpTime: Int64, error: Double) in
            let later = Self.lateness(self.samples[index], from: self.samples[index - 1], self.data.clock).y
            return (self.samples[index].rtpTime, abs(later - step))
        }
        guard let best = steps.min(by: { $0.error < $1.error }), best.error < abs(step) / 2 else { return nil }
        return best.rtpTime
    }

    // MARK: Stretches

    /// The part between two jumps.
    struct Stretch {
        /// The RTP time from which it holds.
        var start: Int64
        var samples: [ClockSample] = []
        /// Those that agree with each other.
        var reports: [Report] = []
    }

    /// The stretches in order; none is without samples.
    var stretches: [Stretch] {
        var result = ([.min] + self.jumps).map { Stretch(start: $0) }
        let index = { (rtpTime: Int64) in self.jumps.partitioningIndex { $0 > rtpTime } }
        for sample in self.samples { result[index(sample.rtpTime)].samples.append(sample) }
        for run in self.reportRuns() {
            for report in run { result[index(self.reports[report].reached)].reports.append(self.reports[report]) }
        }
        return result.filter { !$0.samples.isEmpty }
    }

    /// How much less late than the first of these samples others are in the half minute behind it, in nanoseconds.
    private static func catchUp(_ samples: [ClockSample], _ clock: RTPClock) -> Double {
        guard let first = samples.first else { return 0 }
        let points = samples.map { Self.lateness($0, from: first, clock) }
        return -(points.prefix { $0.x < Self.window }.map(\.y).min() ?? 0)
    }

    private static func lateness(_ sample: ClockSample, from origin: ClockSample, _ clock: RTPClock) -> Point {
        let elapsed = Double(sample.monotonicNanoseconds &- origin.monotonicNanoseconds)
        return Point(x: elapsed, y: elapsed - Double(clock.nanoseconds(ticks: sample.rtpTime &- origin.rtpTime)))
    }

    /// A report's RTP time near the samples that arrived next to it; `nil` when it is of another timeline.
    private func unwrap(_ report: TrackClockData.Report) -> Report? {
        let after = self.samples.partitioningIndex { $0.monotonicNanoseconds >= report.monotonicNanoseconds }
        let neighbours = self.samples[max(0, after - 1)..<min(self.samples.count, after + 1)]
        var nearest: (rtpTime: Int64, error: Double)?
        for sample in neighbours {
            let elapsed = report.monotonicNanoseconds &- sample.monotonicNanoseconds
            let expected = sample.rtpTime &+ self.data.clock.ticks(nanoseconds: elapsed)
            let rtpTime = RTPTimestampUnwrapper.nearest(report.rtpTimestamp, to: expected)
            let error = abs(Double(self.data.clock.nanoseconds(ticks: rtpTime &- expected)))
            if error < nearest?.error ?? Self.greatestReportDistance { nearest = (rtpTime, error) }
        }
        return nearest.map {
            Report(
                rtpTime: $0.rtpTime,
                reached: self.reached($0.rtpTime, before: after),
                ntpTime: report.ntpTime,
                monotonicNanoseconds: report.monotonicNanoseconds
            )
        }
    }

    /// The RTP time of a report that came before a sample, or that of the sample before, if the timeline stood still in between.
    private func reached(_ rtpTime: Int64, before index: Int) -> Int64 {
        guard index > 0, index < self.samples.count, self.samples[index].rtpTime < rtpTime else { return rtpTime }
        let later = Self.lateness(self.samples[index], from: self.samples[index - 1], self.data.clock).y
        return later < Self.shortestPause ? rtpTime : min(rtpTime, self.samples[index - 1].rtpTime)
    }

    /// A queue that grows by more than this, in nanoseconds, is looked at as if the sender's timeline had broken.
    private static let queueNanoseconds = 500e6
    /// A timeline that stands still does so while nothing comes: then the next unit is later by this at least.
    private static let shortestPause = 400e6
    /// Units that come this much earlier than before, in nanoseconds, did not wait in a queue before.
    private static let longestStall = 5e9
    /// Sender reports are of the timeline whose units come with them, give or take a queue, in nanoseconds.
    private static let greatestReportDistance = 5e9
    /// Error of a sender's reading of its clocks, in nanoseconds, up to which it does not count as another clock.
    private static let reportTolerance = 100e6
    private static let window = 30e9
    private static let stepWindow = 5
    /// Clocks that are set more often are not worth following.
    private static let mostBreaks = 256
}

/// Steps in a series of levels that noise does not explain, in order.
///
/// At each place the medians of up to five values on both sides are compared: single outliers are no steps.
private func smallSteps(_ levels: [Double]) -> [(index: Int, step: Double)] {
    let (reach, least) = (5, 3)
    guard levels.count >= 2 * least else { return [] }
    // The difference of neighbours has noise of both.
    let noise = medianDeviation(zip(levels, levels.dropFirst()).map { $1 - $0 }) / 2.0.squareRoot()
    let threshold = max(5e6, 6 * noise)
    let steps = levels.indices.map { index -> Double in
        guard index >= least, levels.count - index >= least else { return 0 }
        return median(levels[index..<min(index + reach, levels.count)]) - median(levels[max(0, index - reach)..<index])
    }
    var found: [(index: Int, step: Double)] = []
    var index = 0
    while index < steps.count {
        guard abs(steps[index]) > threshold else {
            index += 1
            continue
        }
        // Medians see a step two places early and two late; the true one leaves the least rest.
        let end = min(index + reach, steps.count)
        let best = (index..<end).min { rest(levels, at: $0, reach) < rest(levels, at: $1, reach) } ?? index
        found.append((best, steps[best]))
        index = best + reach
    }
    return found.filter { abs($0.step) > threshold }
}

/// The residual of the levels around an index when each side is taken as constant.
private func rest(_ levels: [Double], at index: Int, _ reach: Int) -> Double {
    [levels[max(0, index - reach)..<index], levels[index..<min(index + reach, levels.count)]].reduce(0) { sum, side in
        let middle = median(side)
        return side.reduce(sum) { $0 + abs($1 - middle) }
    }
}
