// SPDX-License-Identifier: Apache-2.0

/// The curve through the sender reports of one stretch of a track: from its RTP clock to its sender's wall clock.
///
/// A line, bent where the clocks drift. Outliers are cut; reports that scatter too far give no curve.
struct SenderReportCurve {
    /// Between ends of the bend, how much faster the wall clock runs than the RTP clock, as a fraction.
    let skew: Double
    private let level: Double
    private let bend: SampledCurve

    /// Fits the curve to (RTP time, lead of the wall clock) in order of RTP time; `nil` if the points do not make one.
    init?(_ points: [Point]) {
        guard !points.isEmpty else { return nil }
        let trend = robustSkew(points, distance: points.count / 2)
        let levels = points.map { $0.y - trend * $0.x }
        let level = median(levels)
        let spread = medianDeviation(levels)
        guard spread <= Self.worstSpread else { return nil }
        let limit = max(5 * spread, Self.tolerance)
        let kept = zip(points, levels).filter { abs($0.1 - level) <= limit }.map(\.0)
        guard kept.count * 2 > points.count, let first = kept.first, let last = kept.last else { return nil }

        let skew = leastSquaresSkew(kept) ?? 0
        self.skew = skew
        self.level = median(kept.map { $0.y - skew * $0.x })
        let places = SampledCurve.places(from: first.x, to: last.x, spacing: Self.spacing)
        self.bend = SampledCurve(
            start: first.x,
            spacing: places.spacing,
            values: smoothed(
                kept.map { [level = self.level] in Point(x: $0.x, y: $0.y - skew * $0.x - level) },
                from: first.x,
                places
            )
        )
    }

    /// The sender's wall clock at an RTP time, both in nanoseconds.
    func wallTime(at media: Double) -> Double {
        media + self.skew * media + self.level + self.bend(media)
    }

    /// Reports that differ by less than this are noise of a sender's clock reading.
    private static let tolerance = 5e6
    /// Reports that scatter more than this say nothing: arrival times are better.
    private static let worstSpread = 75e6
    private static let spacing = 15e9
}

/// The standard deviation of normal noise of which these are values, some outliers among them.
func medianDeviation(_ values: [Double]) -> Double {
    let middle = median(values)
    return 1.4826 * median(values.map { abs($0 - middle) })
}

/// Below this span, in nanoseconds, noise would outweigh the skew that a fit finds (200 ppm of 10 s are 2 ms).
private let shortestSkewSpan = 10e9

/// The median slope over pairs of points so many places apart, pairs that are steeper than any clock left out.
func robustSkew(_ points: [Point], distance: Int) -> Double {
    guard let first = points.first, let last = points.last, last.x - first.x >= shortestSkewSpan else { return 0 }
    let slopes = zip(points, points.dropFirst(max(1, distance))).compactMap { left, right -> Double? in
        guard right.x > left.x else { return nil }
        let slope = (right.y - left.y) / (right.x - left.x)
        return abs(slope) <= greatestSkew ? slope : nil
    }
    return median(slopes)
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

/// At each place, the mean of the points of a minute to both sides, near ones counting more.
///
/// Crystals drift by less than a millisecond in that time, and the noise of reports is averaged out.
private func smoothed(_ points: [Point], from start: Double, _ places: (count: Int, spacing: Double)) -> [Double] {
    let reach = max(60e9, places.spacing)
    var low = 0
    var newest = 0.0
    return (0..<places.count).map { place in
        let middle = start + Double(place) * places.spacing
        while low < points.count, points[low].x <= middle - reach { low += 1 }
        var (sum, weights) = (0.0, 0.0)
        for point in points[low...] {
            let weight = 1 - abs(point.x - middle) / reach
            guard weight > 0 else { break }
            sum += weight * point.y
            weights += weight
        }
        if weights > 0 { newest = sum / weights }
        return newest
    }
}
