// SPDX-License-Identifier: Apache-2.0

internal import Session

/// What an encoder is asked for: bits a second, and the size and frame rate that go with them.
struct EncoderRate: Sendable, Equatable {
    private(set) var bitsPerSecond: Int
    private var ladder = VideoLadder()
    /// Whether the encoder was not set yet.
    private(set) var isDue = false
    /// Whether that concerns the size and the frame rate, too.
    private(set) var isStepDue = false
    /// What the encoder was set to last.
    private var told: Int
    /// For so long it is to get no frames from now on, before it begins again with the next: one that continues makes up
    /// for the pause with larger frames.
    private(set) var pauseDue = Duration.zero
    private let configured: Int

    /// A change by less than this is not worth telling.
    private static let leastChange = 0.02

    /// Everything that is configured.
    init(configured: Int) {
        (self.configured, self.bitsPerSecond, self.told) = (configured, configured, configured)
    }

    /// The size and frame rate.
    var step: VideoLadder.Step { self.ladder.step }

    /// Whether it is less than what is configured.
    var isReduced: Bool { self.bitsPerSecond < self.configured || !self.step.isWhole }

    /// What must be done.
    enum OnFollow: Sendable, Equatable {
        case nothing
        /// The encoder must be set.
        case tell
        /// The same, and it is asked for less than before.
        case reduce
    }

    /// Takes what peers allow.
    mutating func follow(_ limit: RateLimit, at now: UInt64) -> OnFollow {
        let target = limit.bitsPerSecond
        self.bitsPerSecond = target
        let difference = Double(abs(target - self.told)) / Double(max(1, self.told))
        let share = Double(target) / Double(max(1, self.configured))
        let isStep = self.ladder.update(share: share, isUrgent: limit.pause > .zero, at: now)
        let isEnd = target == self.configured && target != self.told
        guard isStep || isEnd || difference >= Self.leastChange else { return .nothing }
        let isReduction = target < self.told
        self.told = target
        self.isDue = true
        if isStep { (self.isStepDue, self.pauseDue) = (true, max(self.pauseDue, limit.pause)) }
        return isReduction ? .reduce : .tell
    }

    /// What to set the encoder to; it counts as set.
    mutating func taken() -> EncoderRate {
        defer { (self.isDue, self.isStepDue, self.pauseDue) = (false, false, .zero) }
        return self
    }

    /// The same for an encoder that was not set yet.
    var fresh: EncoderRate {
        var rate = self
        rate.isStepDue = true
        return rate
    }
}
