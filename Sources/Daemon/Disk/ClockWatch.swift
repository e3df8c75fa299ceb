// SPDX-License-Identifier: Apache-2.0

import Basics

/// Whether the wall clock can be believed when it says that something is old.
///
/// Nothing tells a clock that was put right from one that was put wrong: after either it takes a day until age counts again.
/// Pure.
struct ClockWatch: Sendable {
    /// The clock drifts and is corrected by less between two looks.
    private static let largestCorrection = Duration.seconds(3600)
    /// How long somebody has to notice that it is wrong.
    private static let doubt = Duration.seconds(86_400)

    /// The wall clock less the monotonic one, at the last look.
    private var offset: Duration?
    /// Until then, by the monotonic clock, it is not believed.
    private(set) var doubtedUntil: Duration?

    /// Notes both clocks; true if the wall clock has not been set for a day, as far as was seen.
    mutating func isBelieved(wall: UTCTime, monotonic: Duration) -> Bool {
        let offset = Duration.nanoseconds(wall.nanosecondsSince1970) - monotonic
        if let before = self.offset, max(offset - before, before - offset) > Self.largestCorrection {
            self.doubtedUntil = monotonic + Self.doubt
        }
        self.offset = offset
        if let until = self.doubtedUntil, monotonic >= until { self.doubtedUntil = nil }
        return self.doubtedUntil == nil
    }
}
