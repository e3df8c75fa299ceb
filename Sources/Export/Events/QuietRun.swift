// SPDX-License-Identifier: Apache-2.0

/// Finds stretches of units so small that they have no content: digital silence, or video without motion.
struct QuietRun {
    /// A stretch; `end` is `nil` while it lasts.
    struct Stretch: Hashable {
        var start: Int64
        var end: Int64?
    }

    /// Shorter ones are pauses of speech, and still moments.
    static let shortest: Int64 = 1_000_000_000

    private var start: Int64?
    private var last: Int64 = 0

    /// Takes the next unit; returns the stretch that it ends, if that was long enough.
    mutating func note(isQuiet: Bool, at nanoseconds: Int64) -> Stretch? {
        defer { self.last = nanoseconds }
        if isQuiet {
            self.start = self.start ?? nanoseconds
            return nil
        }
        guard let start = self.start else { return nil }
        self.start = nil
        return nanoseconds - start >= Self.shortest ? Stretch(start: start, end: nanoseconds) : nil
    }

    /// The stretch in which the track ends, if that is long enough.
    var open: Stretch? {
        guard let start = self.start, self.last - start >= Self.shortest else { return nil }
        return Stretch(start: start)
    }
}
