// SPDX-License-Identifier: Apache-2.0

/// The line below all (arrival − sender time): the sender's clock on ours, plus the shortest delay of the path.
///
/// Queues only add delay, so the lowest points carry the clock. Of all lines below the points the one with the least
/// total distance is taken: it is the edge of the lower convex hull that spans the points' mean.
struct ArrivalEnvelope {
    /// Our clock's lead at sender time zero, in nanoseconds.
    let offset: Double
    /// How much faster our clock runs than the sender's, as a fraction.
    let skew: Double

    /// Fits the envelope of (sender's time, arrival minus sender's time); `nil` for no points.
    init?(_ points: [Point]) {
        let sorted = points.sorted { ($0.x, $0.y) < ($1.x, $1.y) }
        guard let first = sorted.first, let last = sorted.last else { return nil }
        var skew = 0.0
        if last.x - first.x >= Self.shortestSkewSpan {
            let hull = lowerHull(sorted)
            let mean = sorted.reduce(0) { $0 + ($1.x - first.x) } / Double(sorted.count) + first.x
            if let edge = zip(hull, hull.dropFirst()).first(where: { $0.1.x >= mean }), edge.1.x > edge.0.x {
                skew = (edge.1.y - edge.0.y) / (edge.1.x - edge.0.x)
            }
        }
        let limited = min(max(skew, -greatestSkew), greatestSkew)
        self.skew = limited
        self.offset = sorted.reduce(Double.infinity) { min($0, $1.y - limited * $1.x) }
    }

    /// Below this span, in nanoseconds, one offset serves: 200 ppm of 30 s are 6 ms, less than a path's jitter.
    private static let shortestSkewSpan = 30e9
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
