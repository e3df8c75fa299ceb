// SPDX-License-Identifier: Apache-2.0

/// Chooses the size and the frame rate of video whose bit rate must be low: first the size goes down, then the frame
/// rate.
///
/// Down after a second, or at once if that is urgent, to the step that fits; up one step at a time, after five seconds
/// with room. Each change costs a keyframe, and restarts the encoder. Times are nanoseconds of one monotonic clock.
public struct VideoLadder: Sendable, Equatable {
    /// The fraction sent of each side and of the frames.
    public struct Step: Sendable, Equatable {
        /// Sides of the frame: `numerator` of `denominator`.
        public var numerator: Int
        /// See `numerator`.
        public var denominator: Int
        /// One of this many frames.
        public var framesDivisor: Int
        /// Down to this share of the configured bit rate.
        fileprivate var leastShare: Double

        /// A side in pixels, even.
        public func side(_ pixels: Int) -> Int { max(2, pixels * self.numerator / self.denominator / 2 * 2) }

        /// Whether it is the full frame at the full rate.
        public var isWhole: Bool { self.numerator == self.denominator && self.framesDivisor == 1 }
    }

    /// From the full frame down.
    public static let steps = [
        Step(numerator: 1, denominator: 1, framesDivisor: 1, leastShare: 0.5),
        Step(numerator: 2, denominator: 3, framesDivisor: 1, leastShare: 0.3),
        Step(numerator: 1, denominator: 2, framesDivisor: 1, leastShare: 0.15),
        Step(numerator: 1, denominator: 2, framesDivisor: 2, leastShare: 0),
    ]

    private static let downDelay: UInt64 = 1_000_000_000
    private static let upDelay: UInt64 = 5_000_000_000
    /// This factor over what a step needs counts as room for it.
    private static let room = 1.3

    private var index = 0
    /// Since when the rate is too low for the step, or high enough for the one above.
    private var lowSince: UInt64?
    private var highSince: UInt64?

    /// A ladder at the full frame.
    public init() {}

    /// The present step.
    public var step: Step { Self.steps[self.index] }

    /// Takes the bit rate of now as a share of the configured one; true if the step changed.
    public mutating func update(share: Double, isUrgent: Bool = false, at now: UInt64) -> Bool {
        if share < self.step.leastShare {
            self.highSince = nil
            let since = self.lowSince ?? now
            self.lowSince = since
            guard isUrgent || now >= since && now - since >= Self.downDelay else { return false }
            let fitting = Self.steps.firstIndex { share >= $0.leastShare }
            return self.move(to: fitting ?? Self.steps.count - 1)
        }
        self.lowSince = nil
        guard self.index > 0, share >= min(1, Self.steps[self.index - 1].leastShare * Self.room) else {
            self.highSince = nil
            return false
        }
        let since = self.highSince ?? now
        self.highSince = since
        guard now >= since, now - since >= Self.upDelay else { return false }
        return self.move(to: self.index - 1)
    }

    private mutating func move(to index: Int) -> Bool {
        (self.index, self.lowSince, self.highSince) = (index, nil, nil)
        return true
    }
}
