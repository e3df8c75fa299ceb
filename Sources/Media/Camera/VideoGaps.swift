// SPDX-License-Identifier: Apache-2.0

/// How far apart the frames of a stream come, as its last few did: a camera for time-lapse gives one in 20 seconds.
///
/// Pure; in nanoseconds.
struct VideoGaps: Sendable, Hashable {
    /// After so many frames a pause is forgotten; those that come at once may be seen in more than one look.
    private static let remembered = 8
    /// No viewer looks longer at a frame that stands still.
    private static let longestPatience: UInt64 = 60_000_000_000

    private var last: [UInt64] = []

    /// The longest of the last ones; 0 before the second frame.
    var longest: UInt64 { self.last.max() ?? 0 }
    /// Whether so many frames came that this is how they come; the first few of a stream may come at once.
    var isKnown: Bool { self.last.count == Self.remembered }

    /// Takes how long after the one before a frame came.
    mutating func add(_ gap: UInt64) {
        self.last.append(gap)
        if self.last.count > Self.remembered { self.last.removeFirst() }
    }

    /// How long the next frame is waited for; one may be lost.
    ///
    /// - Parameter usual: The least, of a stream of which nothing is known.
    func patience(usual: UInt64) -> UInt64 {
        max(usual, min(Self.longestPatience, 2 * self.longest))
    }
}
