// SPDX-License-Identifier: Apache-2.0

internal import Basics

/// Sorts points of a clock comparison into runs that can each come from one pair of clocks.
///
/// A step of either clock begins a run; a single absurd point is a separate run; nonsense makes many small ones.
enum ClockRuns {
    /// The reference that the next point of a run is compared with.
    enum Reference {
        /// The newest point: for noise on both sides.
        case newest
        /// The lowest points of late, which may rise as fast as clocks drift: for delays, which only add.
        case lowest
    }

    /// The indices of all runs of points in order of time, in the order of their first points.
    ///
    /// A point that is further than `tolerance` from each of the runs that were last added to begins another.
    static func find(_ points: [Point], tolerance: Double, reference: Reference) -> [[Int]] {
        var runs: [Run] = []
        var open: [Int] = []
        for (index, point) in points.enumerated() {
            let nearest = open.enumerated().min { runs[$0.element].distance(point) < runs[$1.element].distance(point) }
            if let nearest, runs[nearest.element].distance(point) <= tolerance {
                runs[nearest.element].take(index, point, reference)
                open.append(open.remove(at: nearest.offset))
            } else {
                open.append(runs.count)
                runs.append(Run(indices: [index], level: point))
                if open.count > Self.mostOpenRuns { open.removeFirst() }
            }
        }
        return runs.map(\.indices)
    }

    /// The largest of the runs that do not overlap each other, in order of time.
    static func disjoint(_ runs: [[Int]]) -> [[Int]] {
        var chosen: [[Int]] = []
        for run in runs.sorted(by: { ($1.count, $0.first ?? 0) < ($0.count, $1.first ?? 0) }) {
            guard let first = run.first, let last = run.last else { continue }
            // Chosen runs are disjoint, so only those next to this one can overlap it.
            let place = chosen.partitioningIndex { ($0.first ?? 0) > first }
            if place > 0, (chosen[place - 1].last ?? 0) > first { continue }
            if place < chosen.endIndex, (chosen[place].first ?? 0) < last { continue }
            chosen.insert(run, at: place)
        }
        return chosen
    }

    private struct Run {
        var indices: [Int]
        var level: Point

        /// How far a point is from what clocks that drift allow.
        func distance(_ point: Point) -> Double {
            abs(point.y - self.level.y) - greatestSkew * abs(point.x - self.level.x)
        }

        mutating func take(_ index: Int, _ point: Point, _ reference: Reference) {
            self.indices.append(index)
            let risen = self.level.y + greatestSkew * abs(point.x - self.level.x)
            self.level = Point(x: point.x, y: reference == .lowest ? min(point.y, risen) : point.y)
        }
    }

    /// Nonsense must not make the search slow.
    private static let mostOpenRuns = 8
}
