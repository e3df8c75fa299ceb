// SPDX-License-Identifier: Apache-2.0

/// A point of a clock comparison: `x` on one clock, `y` the other clock's lead, both in nanoseconds.
struct Point {
    var x: Double
    var y: Double
}

/// No crystal is further off than this; a steeper trend is an error, not skew.
let greatestSkew = 1e-3

/// The middle value, or the mean of the two middle ones; zero for none.
func median(_ values: some Collection<Double>) -> Double {
    guard !values.isEmpty else { return 0 }
    let sorted = values.sorted()
    let middle = sorted.count / 2
    return sorted.count.isMultiple(of: 2) ? (sorted[middle - 1] + sorted[middle]) / 2 : sorted[middle]
}

/// A function given at equal distances: straight in between, level beyond its ends.
struct SampledCurve {
    let start: Double
    let spacing: Double
    let values: [Double]

    /// The least number of places, so far apart at least, that cover `from...to`.
    static func places(from start: Double, to end: Double, spacing: Double) -> (count: Int, spacing: Double) {
        let span = max(0, end - start)
        // A span that no call has must not take the memory that it asks for.
        let spacing = max(spacing, span / 20_000)
        return (Int((span / spacing).rounded(.up)) + 1, spacing)
    }

    func callAsFunction(_ x: Double) -> Double {
        guard let first = self.values.first, let last = self.values.last else { return 0 }
        let place = (x - self.start) / self.spacing
        guard place > 0 else { return first }
        guard place < Double(self.values.count - 1) else { return last }
        let index = Int(place)
        let share = place - Double(index)
        return self.values[index] * (1 - share) + self.values[index + 1] * share
    }
}
