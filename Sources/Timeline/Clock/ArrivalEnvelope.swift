// SPDX-License-Identifier: Apache-2.0

/// The curve below all (arrival − sender time): the sender's clock on ours, plus the shortest delay of the path.
///
/// Queues only add delay, so the lowest points carry the clock. The curve is a line, the edge of the lower convex hull
/// that spans the points' mean, and the highest deviation from it that stays below the points and changes no faster
/// than crystals drift and wall clocks are corrected. It therefore follows a clock over hours, and not a queue of
/// minutes.
struct ArrivalEnvelope {
    /// How much faster our clock runs than the sender's, as a fraction, over all.
    let skew: Double
    private let reference: Double
    private let deviation: SampledCurve

    /// Fits the envelope of (sender's time, arrival minus sender's time); `nil` for no points.
    init?(_ points: [Point]) {
        let sorted = points.sorted { ($0.x, $0.y) < ($1.x, $1.y) }
        guard let first = sorted.first, let last = sorted.last else { return nil }
        let span = last.x - first.x
        var skew = 0.0
        if span >= Self.shortestSkewSpan {
            let hull = lowerHull(sorted)
            let mean = sorted.reduce(0) { $0 + ($1.x - first.x) } / Double(sorted.count) + first.x
            if let edge = zip(hull, hull.dropFirst()).first(where: { $0.1.x >= mean }), edge.1.x > edge.0.x {
                skew = (edge.1.y - edge.0.y) / (edge.1.x - edge.0.x)
            }
        }
        // In a short call a steep slope is rather a queue than a clock, and a small one does no harm.
        let limit = greatestSkew * min(1, span / Self.fullSkewSpan)
        let limited = min(max(skew, -limit), limit)
        self.skew = limited
        self.reference = first.x

        let places = SampledCurve.places(from: first.x, to: last.x, spacing: Self.spacing)
        var lowest = [Double](repeating: .infinity, count: places.count)
        for point in sorted {
            let place = min(Int(((point.x - first.x) / places.spacing).rounded()), places.count - 1)
            lowest[place] = min(lowest[place], point.y - limited * (point.x - first.x))
        }
        let rise = Self.fastestDrift * places.spacing
        for place in lowest.indices.dropFirst() { lowest[place] = min(lowest[place], lowest[place - 1] + rise) }
        for place in lowest.indices.dropLast().reversed() {
            lowest[place] = min(lowest[place], lowest[place + 1] + rise)
        }
        self.deviation = SampledCurve(start: first.x, spacing: places.spacing, values: lowest)
    }

    /// Our clock's lead at a sender's time, in nanoseconds.
    func lead(at senderTime: Double) -> Double {
        self.skew * (senderTime - self.reference) + self.deviation(senderTime)
    }

    /// Below this span, in nanoseconds, one offset serves.
    private static let shortestSkewSpan = 30e9
    /// From this span on, in nanoseconds, any skew of a crystal is believed.
    private static let fullSkewSpan = 1500e9
    private static let spacing = 10e9
    /// Crystals drift by some ppm as they warm, wall clocks are corrected at tens of ppm; a queue that stays for three
    /// minutes lifts the curve by 4.5 ms.
    private static let fastestDrift = 50e-6
}

/// The lower convex hull of points sorted by `x`, left to right (Andrew's monotone chain).
private func lowerHull(_ sorted: [Point]) -> [Point] {
    var hull: [Point] = []
    for point in sorted {
        while hull.count >= 2 {
            let (before, last) = (hull[hull.count - 2], hull[hull.count - 1])
            let turn = (last.x - before.x) * (point.y - before.y) - (last.y - before.y) * (point.x - before.x)
            guard turn <= 0 else { break }
            hull.removeLast()
        }
        hull.append(point)
    }
    return hull
}
