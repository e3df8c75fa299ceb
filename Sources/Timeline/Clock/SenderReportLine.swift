// SPDX-License-Identifier: Apache-2.0

/// The line through the sender reports of one track: from its RTP clock to its sender's wall clock.
///
/// Outliers are cut. Reports that cannot be trusted as a whole give no line: they contradict each other, or the
/// wall clock was set during the call.
struct SenderReportLine {
    /// A report whose RTP time stamp is already unwrapped.
    struct Report {
        var rtpTime: Int64
        var ntpTime: NTPTime
    }

    /// The RTP time of the line's origin.
    let rtpOrigin: Int64
    /// The sender's time at the origin, in nanoseconds since the `epoch` given to `init`.
    let originNanoseconds: Double
    /// How much faster the wall clock runs than the RTP clock, as a fraction (1e-6 is 1 ppm).
    let skew: Double

    /// Fits the line, in nanoseconds from `epoch`; `nil` when the reports do not make one.
    init?(_ reports: [Report], clock: RTPClock, epoch: NTPTime) {
        let usable = reports.sorted { $0.rtpTime < $1.rtpTime }
        guard let first = usable.first else { return nil }
        let points = usable.map { report -> Point in
            let media = Double(clock.nanoseconds(ticks: report.rtpTime &- first.rtpTime))
            return Point(x: media, y: Double(report.ntpTime.nanoseconds(since: epoch)) - media)
        }
        let trend = robustSkew(points)
        let levels = points.map { $0.y - trend * $0.x }
        let level = median(levels)
        let spread = median(levels.map { abs($0 - level) })
        // 1.4826 makes the median deviation a standard deviation of normal noise.
        let limit = max(5 * 1.4826 * spread, Self.toleranceNanoseconds)
        let kept = zip(points, levels).filter { abs($0.1 - level) <= limit }.map(\.0)
        guard spread <= Self.worstSpreadNanoseconds, kept.count * 2 > points.count else { return nil }

        let skew = leastSquaresSkew(kept) ?? 0
        self.rtpOrigin = first.rtpTime
        self.originNanoseconds = median(kept.map { $0.y - skew * $0.x })
        self.skew = skew
    }

    /// Reports that differ by less than this are noise of a sender's clock reading.
    private static let toleranceNanoseconds = 5e6
    /// Reports that scatter more than this say nothing: arrival times are better.
    private static let worstSpreadNanoseconds = 50e6
}

/// A point of a clock comparison: `x` on one clock, `y` the other clock's lead, both in nanoseconds.
struct Point {
    var x: Double
    var y: Double
}

/// No crystal is further off than this; a steeper trend is an error, not skew.
let greatestSkew = 1e-3

/// Below this span, in nanoseconds, noise would outweigh the skew that a fit finds (200 ppm of 10 s are 2 ms).
private let shortestSkewSpan = 10e9

/// The median slope over pairs of points half the list apart, pairs that are steeper than any clock left out.
private func robustSkew(_ points: [Point]) -> Double {
    guard let first = points.first, let last = points.last, last.x - first.x >= shortestSkewSpan else { return 0 }
    let slopes = zip(points, points.dropFirst(points.count / 2)).compactMap { left, right -> Double? in
        guard right.x > left.x else { return nil }
        let slope = (right.y - left.y) / (right.x - left.x)
        return abs(slope) <= greatestSkew ? slope : nil
    }
    return slopes.isEmpty ? 0 : median(slopes)
}

/// The slope of the least-squares line; `nil` for fewer than three points or too short a span.
private func leastSquaresSkew(_ points: [Point]) -> Double? {
    guard points.count >= 3, let first = points.first, let last = points.last, last.x - first.x >= shortestSkewSpan
    else { return nil }
    let count = Double(points.count)
    let meanX = points.reduce(0) { $0 + $1.x } / count
    let meanY = points.reduce(0) { $0 + $1.y } / count
    let covariance = points.reduce(0) { $0 + ($1.x - meanX) * ($1.y - meanY) }
    let variance = points.reduce(0) { $0 + ($1.x - meanX) * ($1.x - meanX) }
    return min(max(covariance / variance, -greatestSkew), greatestSkew)
}

/// The middle value, or the mean of the two middle ones; zero for none.
func median(_ values: [Double]) -> Double {
    guard !values.isEmpty else { return 0 }
    let sorted = values.sorted()
    let middle = sorted.count / 2
    return sorted.count.isMultiple(of: 2) ? (sorted[middle - 1] + sorted[middle]) / 2 : sorted[middle]
}
